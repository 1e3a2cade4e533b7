//! What is answered, on HTTP and by `--json`: what all faces share.
//!
//! Every field is always there; what does not apply is `null`.

use serde::Serialize;
use tenure::changes::{self, What};
use tenure::{Page, Time};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

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
    pub what: What,
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

impl From<Vec<changes::Changed>> for Changes {
    fn from(changes: Vec<changes::Changed>) -> Changes {
        let one = |changed: changes::Changed| {
            let message = changed.message();
            let changes::Changed { at, by, what, difference } = changed;
            let (setting, from, to) = difference.map_or((None, None, None), |it| (Some(it.setting), it.from, it.to));
            Changed { at, what, setting, from, to, by, message }
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
