//! What is answered, on HTTP and by `--json`: what all faces share.
//!
//! Every field is always there; what does not apply is `null`.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use tenure::{Page, Time};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};
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

/// What happened to something.
#[derive(Debug, Serialize)]
pub struct Timeline<E> {
    /// Oldest first.
    pub events: Vec<Told<E>>,
}

impl<E> Timeline<E> {
    /// Events, each with the sentence that `message` makes of it.
    pub fn new(events: Vec<E>, message: impl Fn(&E) -> String) -> Timeline<E> {
        let told = |event| Told { message: message(&event), event };
        Timeline { events: events.into_iter().map(told).collect() }
    }
}

/// One thing that happened.
#[derive(Debug, Serialize)]
pub struct Told<E> {
    /// What.
    #[serde(flatten)]
    pub event: E,
    /// The whole of it as a sentence.
    pub message: String,
}

impl<E: ToSchema> PartialSchema for Timeline<E> {
    fn schema() -> RefOr<Schema> {
        let events = ArrayBuilder::new().items(Ref::from_schema_name(E::name())).description(Some("Oldest first."));
        let timeline = ObjectBuilder::new().property("events", events).required("events");
        RefOr::T(timeline.description(Some("What happened.")).build().into())
    }
}

/// What is told of an event goes by the event's own name.
impl<E: ToSchema> ToSchema for Timeline<E> {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        let mut told = E::schema();
        if let RefOr::T(Schema::Object(event)) = &mut told {
            let message = ObjectBuilder::new().schema_type(Type::String);
            let message = message.description(Some("The whole of it as a sentence."));
            event.properties.insert("message".to_owned(), message.build().into());
            event.required.push("message".to_owned());
        }
        schemas.push((E::name().into_owned(), told));
        E::schemas(schemas);
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
