//! What a request may hold: read by the [reader](crate::Body) and by the OpenAPI document. Here is what a shape is, and the
//! fields that several faces have; each face has its own in its `shape.rs`.
//!
//! Only fields that work are here; any other is refused by name.

use serde_json::Value;
use std::collections::BTreeMap;
use tenure::bounds;
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, ArrayBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, SchemaType,
    Type,
};
use utoipa::openapi::{Ref, RefOr};

/// An object that may be sent.
#[derive(Debug)]
pub struct Shape {
    /// What the OpenAPI document calls it.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
}

/// One field of an object.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub holds: Holds,
    /// Whether it must be sent.
    pub required: bool,
    /// Whether `null` sets it back to its default, rather than being the same as not sent.
    pub unsets: bool,
    /// What it means.
    pub about: &'static str,
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub enum Holds {
    /// A string.
    Text,
    /// A whole number in these bounds.
    Int(i64, i64),
    /// A limit on running jobs: a whole number from 1.
    Running,
    /// Any number.
    Number,
    /// `true` or `false`.
    Bool,
    /// An RFC 3339 time with a zone.
    Time,
    /// Any JSON, kept byte for byte.
    Json,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of strings, so many of them.
    Texts(Count),
    /// An object of this shape.
    Object(&'static Shape),
    /// A list of objects, so many of them, each of one of these shapes.
    List(Count, &'static [&'static Shape]),
}

/// How few and how many items a list may have. The library says so too; here it keeps a list from being read that is a
/// thousand times too long.
pub type Count = (u64, u64);

pub(crate) const fn required(name: &'static str, holds: Holds, about: &'static str) -> Field {
    Field { name, holds, required: true, unsets: false, about }
}

pub(crate) const fn optional(name: &'static str, holds: Holds, about: &'static str) -> Field {
    Field { name, holds, required: false, unsets: false, about }
}

pub(crate) const fn setting(name: &'static str, holds: Holds, about: &'static str) -> Field {
    Field { name, holds, required: false, unsets: true, about }
}

pub(crate) const fn lease(about: &'static str) -> Field {
    optional("lease_ms", Holds::Int(bounds::LEASE_MS.0 as i64, bounds::LEASE_MS.1 as i64), about)
}

/// Milliseconds of a span that may be nothing.
pub(crate) const SPAN: Holds = Holds::Int(0, bounds::SPAN_MS_MAX as i64);
/// A fencing token: below 2^53, so that it survives as a JSON number.
pub(crate) const TOKEN: Holds = Holds::Int(0, (1 << 53) - 1);

pub(crate) const WORKER: Field = required("worker", Holds::Text, "Who holds the lease, as named at claim.");
pub(crate) const HELD: Field = required("token", TOKEN, "The fencing token of the claim.");
pub(crate) const ERROR: Field = required("error", Holds::Text, "What went wrong; cut to 8 KiB.");
pub(crate) const RETRY: Field = optional("retry", Holds::Bool, "false: not tried again.");
pub(crate) const RETRY_IN: Field =
    optional("retry_in_ms", SPAN, "Tried again after exactly this long, instead of by the job's backoff; 0 is now.");
pub(crate) const PROGRESS: Field = optional("progress", Holds::Json, "Shown to people, at most 1 MiB.");
pub(crate) const PAYLOAD: Field =
    optional("payload", Holds::Json, "Any JSON, kept byte for byte, at most 1 MiB; default null.");
pub(crate) const PRIORITY: Field =
    optional("priority", Holds::Int(i32::MIN as i64, i32::MAX as i64), "Higher is claimed first; default 0.");
pub(crate) const OWN_BACKOFF: Field = optional("backoff", Holds::Object(&BACKOFF), "Its own backoff.");
pub(crate) const CLAIM_WORKER: Field =
    required("worker", Holds::Text, "Who claims; named again in every write under the lease.");
pub(crate) const LEASE: Field = lease("How long the lease runs unless renewed; default 30 s.");
pub(crate) const WAIT: Field = optional(
    "wait_ms",
    Holds::Int(0, bounds::WAIT_MS_MAX as i64),
    "How long to wait for the first job; default 0, which answers at once.",
);
pub(crate) const REASON: Field = optional("reason", Holds::Text, "Why; kept with the event.");

/// An operator lets a schedule or a run rest, or go on.
pub(crate) static REST: Shape = Shape { name: "Rest", fields: &[] };

/// A job's own backoff.
pub(crate) static BACKOFF: Shape = Shape {
    name: "Backoff",
    fields: &[
        optional("initial_ms", SPAN, "The wait after the first failed attempt; default 1 s."),
        optional("factor", Holds::Number, "How much longer each further wait is, 1 to 100; default 2."),
        optional("max_ms", SPAN, "No wait is longer, before jitter; default 1 h."),
        optional("jitter", Holds::Number, "The share of the wait that chance may add or take, 0 to 1; default 0.2."),
    ],
};

impl Shape {
    /// The field called `name`.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The shape as OpenAPI tells it.
    #[must_use]
    pub fn schema(&self) -> Schema {
        let mut object = ObjectBuilder::new().additional_properties(Some(AdditionalProperties::FreeForm(false)));
        for field in self.fields {
            object = object.property(field.name, field.schema());
            if field.required {
                object = object.required(field.name);
            }
        }
        object.build().into()
    }

    /// The shape and those within it, once each.
    pub fn with_those_within(&'static self, shapes: &mut BTreeMap<&'static str, &'static Shape>) {
        if shapes.insert(self.name, self).is_none() {
            for field in self.fields {
                match field.holds {
                    Holds::Object(shape) => shape.with_those_within(shapes),
                    Holds::List(_, of) => of.iter().for_each(|shape| shape.with_those_within(shapes)),
                    _ => {}
                }
            }
        }
    }

    /// A reference to the shape among the document's components.
    fn reference(&self) -> RefOr<Schema> {
        RefOr::Ref(Ref::from_schema_name(self.name))
    }
}

impl Field {
    fn schema(&self) -> RefOr<Schema> {
        let Field { holds, about, unsets, .. } = *self;
        let plain = |of: Type| {
            let of = if unsets { SchemaType::from_iter([of, Type::Null]) } else { SchemaType::Type(of) };
            ObjectBuilder::new().schema_type(of).description(Some(about))
        };
        let list = |(min, max): Count, items: RefOr<Schema>| {
            let list = ArrayBuilder::new().items(items).description(Some(about));
            list.min_items(Some(min as usize)).max_items(Some(max as usize)).build().into()
        };
        let schema: Schema = match holds {
            Holds::Text => plain(Type::String).build().into(),
            Holds::Int(min, max) => plain(Type::Integer)
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
                .minimum(Some(min))
                .maximum(Some(max))
                .build()
                .into(),
            Holds::Running => {
                plain(Type::Integer).minimum(Some(1)).maximum(Some(bounds::RUNNING_MAX as i64)).build().into()
            }
            Holds::Number => plain(Type::Number).build().into(),
            Holds::Bool => plain(Type::Boolean).build().into(),
            Holds::Time => {
                plain(Type::String).format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))).build().into()
            }
            Holds::Json => {
                ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(about)).build().into()
            }
            Holds::Word(words) => {
                let null = unsets.then_some(Value::Null);
                let values = words.iter().map(|word| Value::from(*word)).chain(null);
                plain(Type::String).enum_values(Some(values)).build().into()
            }
            Holds::Texts(count) => {
                list(count, RefOr::T(ObjectBuilder::new().schema_type(SchemaType::Type(Type::String)).into()))
            }
            Holds::Object(shape) if unsets => {
                let null = ObjectBuilder::new().schema_type(SchemaType::Type(Type::Null));
                let either = AnyOfBuilder::new().item(shape.reference()).item(null);
                either.description(Some(about)).build().into()
            }
            Holds::Object(shape) => return shape.reference(),
            Holds::List(count, shapes) => list(
                count,
                match shapes {
                    [one] => one.reference(),
                    many => {
                        let any = many.iter().fold(AnyOfBuilder::new(), |any, shape| any.item(shape.reference()));
                        RefOr::T(any.build().into())
                    }
                },
            ),
        };
        RefOr::T(schema)
    }
}
