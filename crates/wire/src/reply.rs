//! What is answered, on HTTP and by `--json`: what all faces share.
//!
//! Every field is always there; what does not apply is `null`.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use tenure::{Page, Time};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType};
use utoipa::{PartialSchema, ToSchema};

/// JSON passed through as it was kept.
#[derive(Debug)]
pub struct Json(Box<RawValue>);

impl Json {
    /// JSON from the store. Text that is not JSON (a damaged store) is shown as a string rather than hidden.
    #[must_use]
    pub fn kept(text: String) -> Json {
        let raw = RawValue::from_string(text).or_else(|_| RawValue::from_string("\"(not JSON)\"".to_owned()));
        Json(raw.unwrap_or_default())
    }

    /// The JSON itself.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.get()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl PartialSchema for Json {
    fn schema() -> RefOr<Schema> {
        RefOr::T(ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some("Any JSON.")).build().into())
    }
}

impl ToSchema for Json {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Json")
    }
}

/// A job's own backoff.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = JobBackoff)]
pub struct Backoff {
    /// The wait after the first failed attempt.
    pub initial_ms: u64,
    /// How much longer each further wait is.
    pub factor: f64,
    /// No wait is longer than this, before jitter.
    pub max_ms: u64,
    /// The share of the wait that chance may add or take.
    pub jitter: f64,
}

impl From<tenure::Backoff> for Backoff {
    fn from(backoff: tenure::Backoff) -> Backoff {
        let tenure::Backoff { initial_ms, factor, max_ms, jitter } = backoff;
        Backoff { initial_ms, factor, max_ms, jitter }
    }
}

/// Why a job is not running now.
#[derive(Debug, Serialize, ToSchema)]
pub struct Explanation {
    /// One sentence: the first reason.
    pub summary: String,
    /// All of them, the most telling first.
    pub reasons: Vec<Why>,
}

/// One reason why a job is not running.
#[derive(Debug, Serialize, ToSchema)]
pub struct Why {
    /// `finished`, `held`, `lease_expired`, `not_due`, `paused`, `no_worker_lately`, `lane_blocked`, `at_capacity`,
    /// `tenant_at_limit`, `behind_in_lane`, `rate_limited` or `waiting_for_a_worker`.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
}

impl From<tenure::Explanation> for Explanation {
    fn from(explanation: tenure::Explanation) -> Explanation {
        let one = |why: tenure::Why| Why { code: why.code, message: why.message };
        Explanation { summary: explanation.summary, reasons: explanation.reasons.into_iter().map(one).collect() }
    }
}

/// What was changed about settings.
#[derive(Debug, Serialize, ToSchema)]
pub struct Changes {
    /// Oldest first, the last hundred of ninety days.
    pub events: Vec<Changed>,
}

/// One change.
#[derive(Debug, Serialize, ToSchema)]
pub struct Changed {
    /// When, by the store's clock.
    pub at: Time,
    /// What: `created`, `changed` or `removed`.
    pub what: &'static str,
    /// Which setting.
    pub setting: Option<String>,
    /// What it was, as text; null is none.
    pub from: Option<String>,
    /// What it is, as text; null is none.
    pub to: Option<String>,
    /// Who did it: `cli:USER@HOST`, `http:ADDRESS`, `sql:ROLE`, `lib:PROGRAM`, or what a program calls itself.
    pub by: String,
    /// The whole of it as a sentence.
    pub message: String,
}

impl From<Vec<tenure::changes::Changed>> for Changes {
    fn from(changes: Vec<tenure::changes::Changed>) -> Changes {
        let one = |changed: tenure::changes::Changed| {
            let message = changed.message();
            let tenure::changes::Changed { at, by, what, difference } = changed;
            let (setting, from, to) = difference.map_or((None, None, None), |it| (Some(it.setting), it.from, it.to));
            Changed { at: at, what: what.as_str(), setting, from, to, by, message }
        };
        Changes { events: changes.into_iter().map(one).collect() }
    }
}

/// The items of a page as they are shown, and where the next page begins.
pub(crate) fn paged<T, U>(
    page: Page<T>,
    cursor: impl Fn(&T) -> String,
    show: impl Fn(T) -> U,
) -> (Vec<U>, Option<String>) {
    let next_cursor = page.items.last().filter(|_| page.more).map(cursor);
    (page.items.into_iter().map(show).collect(), next_cursor)
}
