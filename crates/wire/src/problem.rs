//! Why a request was not carried out, for every surface.

use serde_json::{Map, Value, json};
use tenure::bounds::{Code, Invalid};
use tenure::pipeline::RunRefusal;
use tenure::{Error, KeyHolder, Refusal, Refused, StoreError};

/// What the caller can do about it; a surface has its own number for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It cannot be read: not JSON, or JSON that nobody could read safely.
    Malformed,
    /// It was read, and something in it is wrong.
    Invalid,
    /// It is too large.
    TooLarge,
    /// The lease is not held.
    LeaseLost,
    /// It does not fit what is on record.
    Conflict,
    /// What it names is not on record.
    Absent,
    /// The store did not answer; nothing was changed.
    Unavailable,
    /// The store did not answer; it may have been carried out.
    UnknownOutcome,
    /// The store has no room.
    Full,
    /// The store refuses us.
    Denied,
    /// There is no store.
    NoStore,
    /// The store was laid out by another release.
    Schema,
    /// The store's address is wrong.
    Address,
    /// A bug, or a damaged store.
    Broken,
}

/// A refusal. Nothing was changed, except perhaps under [`Kind::UnknownOutcome`].
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// What the caller can do about it.
    pub kind: Kind,
    /// The stable word for it.
    pub code: &'static str,
    /// What was wrong and what to do, in a sentence; safe to show to anyone.
    pub message: String,
    /// Facts a program can use, by name.
    pub facts: Vec<(&'static str, Value)>,
    /// What the store said: for its operator's eyes and logs, never for a stranger's.
    pub detail: Option<String>,
}

impl Problem {
    /// A refusal without facts.
    pub fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Problem {
        Problem { kind, code, message: message.into(), facts: Vec::new(), detail: None }
    }

    /// With one more fact.
    #[must_use]
    pub fn fact(mut self, name: &'static str, value: impl Into<Value>) -> Problem {
        self.facts.push((name, value.into()));
        self
    }

    /// Something in the request is wrong: `field` holds `got`, where `limit` would have been accepted.
    pub fn invalid(code: &'static str, field: &str, limit: &str, got: &str, message: String) -> Problem {
        let problem = Problem::new(Kind::Invalid, code, message);
        problem.fact("field", field).fact("limit", limit).fact("got", got)
    }

    /// What was asked for is not on record.
    #[must_use]
    pub fn absent(what: &str) -> Problem {
        Problem::new(Kind::Absent, "not_found", format!("{what} is not on record"))
    }

    /// `{"code", "message", …facts}`.
    #[must_use]
    pub fn inner(&self) -> Value {
        let mut inner = Map::new();
        inner.insert("code".to_owned(), json!(self.code));
        inner.insert("message".to_owned(), json!(self.message));
        inner.extend(self.facts.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        Value::Object(inner)
    }

    /// `{"error": {"code", "message", …facts}}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({ "error": self.inner() })
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Problem {
        let kind = match invalid.code {
            Code::JsonSyntax | Code::JsonDuplicateKey | Code::JsonTooDeep => Kind::Malformed,
            Code::TooLarge => Kind::TooLarge,
            Code::InvalidName | Code::OutOfBounds | Code::UnsupportedCharacter => Kind::Invalid,
        };
        let problem = Problem::new(kind, invalid.code.as_str(), invalid.to_string());
        problem.fact("field", invalid.field).fact("limit", invalid.limit).fact("got", invalid.got)
    }
}

/// A key that belongs to something else.
fn conflict(index: usize, with: KeyHolder) -> Problem {
    let message = match with {
        KeyHolder::Run(id) => format!(
            "the key belongs to run {id}, which was started with another input or version: nothing was started; use \
             another key, or send the same"
        ),
        KeyHolder::Job(_) | KeyHolder::SameCall => {
            let holder =
                if with == KeyHolder::SameCall { "another job of this call".to_owned() } else { with.to_string() };
            format!(
                "the key of job {index} of this call belongs to {holder}, which has another kind or payload: nothing was \
                 enqueued; use another key, or send the same job"
            )
        }
    };
    let problem = Problem::new(Kind::Conflict, "dedup_conflict", message);
    match with {
        KeyHolder::Run(id) => problem.fact("id", id.to_string()),
        KeyHolder::Job(id) => problem.fact("index", index).fact("id", id.to_string()),
        KeyHolder::SameCall => problem.fact("index", index).fact("id", Value::Null),
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let kind = match refusal {
            Refusal::Absent => Kind::Absent,
            Refusal::Terminal | Refusal::NotTerminal | Refusal::Busy => Kind::Conflict,
        };
        Problem::new(kind, refusal.as_str(), refusal.sentence())
    }
}

impl From<tenure::sync::Refused> for Problem {
    fn from(refused: tenure::sync::Refused) -> Problem {
        use tenure::sync::Refused;
        let kind = if refused == Refused::Absent { Kind::Absent } else { Kind::Conflict };
        let problem = Problem::new(kind, refused.code(), refused.to_string());
        match refused {
            Refused::Unfinished { id } => problem.fact("id", id.to_string()),
            Refused::Incomplete { left, failed } => problem.fact("left", left).fact("failed", failed),
            Refused::Absent | Refused::Terminal => problem,
        }
    }
}

impl From<tenure::domain::Refused> for Problem {
    fn from(refused: tenure::domain::Refused) -> Problem {
        use tenure::domain::Refused;
        let problem = Problem::new(Kind::Conflict, refused.code(), refused.to_string());
        match refused {
            Refused::BacklogOrdering { expected, got } => problem.fact("expected", expected).fact("got", got),
            Refused::LeaseLost(reason) => problem.fact("reason", reason.as_str()),
            Refused::TokenMismatch | Refused::LeaseNotFound => problem,
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Problem {
        let code = Error::from(refused.clone()).code();
        match refused {
            Refused::Job(refusal) => refusal.into(),
            Refused::Domain(refused) => refused.into(),
            Refused::Sync(refused) => refused.into(),
            Refused::Run(refusal) => {
                let absent = matches!(refusal, RunRefusal::Absent | RunRefusal::NoSuchUnit);
                let kind = if absent { Kind::Absent } else { Kind::Conflict };
                Problem::new(kind, code, refusal.sentence())
            }
            Refused::VersionTaken | Refused::CannotSplit(_) => Problem::new(Kind::Conflict, code, refused.to_string()),
            // A transaction, and what the library may yet learn to say: no request of ours leads there.
            other => Problem { detail: Some(other.to_string()), ..Problem::new(Kind::Broken, code, BROKEN) },
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        match error {
            Error::Invalid(invalid) => invalid.into(),
            Error::LeaseLost(reason) => {
                let problem = Problem::new(Kind::LeaseLost, "lease_lost", format!("lease lost: {}", reason.sentence()));
                problem.fact("reason", reason.as_str())
            }
            Error::Conflict { index, with } => conflict(index, with),
            Error::Refused(refused) => refused.into(),
            Error::NotFound(what) => Problem::absent(&what),
            Error::Unavailable { safe_to_retry, .. } => {
                let (kind, message) = if safe_to_retry { AWAY } else { LOST };
                Problem { detail: Some(error.to_string()), ..Problem::new(kind, error.code(), message) }
            }
            Error::Store(ref store) => {
                let (kind, message) = of_store(store);
                Problem { detail: Some(error.to_string()), ..Problem::new(kind, error.code(), message) }
            }
            // An artifact, and what the library may yet learn to say: no request of ours leads there.
            _ => Problem { detail: Some(error.to_string()), ..Problem::new(Kind::Broken, error.code(), BROKEN) },
        }
    }
}

/// Said where a bug is likelier than anything a caller did.
const BROKEN: &str = "something is wrong on our side";

const AWAY: (Kind, &str) = (Kind::Unavailable, "the store does not answer; nothing was changed, try again");
const LOST: (Kind, &str) = (
    Kind::UnknownOutcome,
    "the store was lost while it worked: this may or may not have been carried out; endings and heartbeats can be sent \
     again safely",
);

/// What a caller is told of the store: its own words are for its operator.
fn of_store(error: &StoreError) -> (Kind, &'static str) {
    match error {
        StoreError::Full { .. } => (Kind::Full, "the store is full; nothing was changed"),
        StoreError::SchemaNewer { .. } | StoreError::FunctionsNewer { .. } => {
            (Kind::Schema, "the store was laid out by a newer Tenure")
        }
        StoreError::SchemaOlder { .. } | StoreError::FunctionsDiffer { .. } => {
            (Kind::Schema, "the store must be upgraded first: run `tenure migrate`")
        }
        StoreError::Absent { .. } => (Kind::NoStore, "there is no Tenure store: run `tenure init`"),
        StoreError::Denied { .. } => (Kind::Denied, "the store refuses access"),
        StoreError::Foreign { .. } => {
            (Kind::Denied, "the store is not trusted: it holds what belongs to somebody else")
        }
        StoreError::Address { .. } => (Kind::Address, "the store address is wrong"),
        _ => (Kind::Broken, BROKEN),
    }
}
