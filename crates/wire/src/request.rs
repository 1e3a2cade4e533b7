//! From a request's JSON to what the library is asked.
//!
//! A [`Request`] is a shape and what is read from it, in one value: routes name it once, for their reading and for the
//! OpenAPI document, so that the two cannot differ.
//!
//! Reads the shape only: bounds that are more than a type's are the library's to refuse, so that every surface
//! refuses alike.

use crate::problem::{Kind, Problem};
use crate::read::{Body, Object};
use crate::shape::Shape;
use tenure::{Backoff, Retry, Token, bounds};

/// Room for the fields around a payload of the largest size: names, an error text, spaces.
const ENVELOPE: usize = 64 << 10;
/// Bytes of a body that holds one payload.
const SINGLE: usize = bounds::BODY_BYTES_MAX + ENVELOPE;
/// Bytes of a body that holds many.
const BULK: usize = bounds::BULK_BYTES_MAX + ENVELOPE;
/// The most bytes of any body.
pub const BYTES_MAX: usize = BULK;

/// What may be sent about an `A`, and what is read from it.
#[derive(Debug)]
pub struct Request<A, T> {
    /// What may be sent.
    pub shape: &'static Shape,
    /// What may be sent instead: the same many times, in a list that is the first field of this shape.
    pub many: Option<&'static Shape>,
    optional: bool,
    bulk: bool,
    read: fn(Object<'_>, A) -> Result<T, Problem>,
}

impl<A, T> Request<A, T> {
    pub(crate) const fn new(shape: &'static Shape, read: fn(Object<'_>, A) -> Result<T, Problem>) -> Self {
        Request { shape, many: None, optional: false, bulk: false, read }
    }

    /// The body may be left out.
    pub(crate) const fn optional(self) -> Self {
        Request { optional: true, ..self }
    }

    /// It may hold many payloads.
    pub(crate) const fn bulk(self) -> Self {
        Request { bulk: true, ..self }
    }

    /// A list of these may be sent instead.
    pub(crate) const fn or_many(self, many: &'static Shape) -> Self {
        Request { many: Some(many), bulk: true, ..self }
    }

    /// Bytes that its body may have.
    #[must_use]
    pub fn bytes_max(&self) -> usize {
        if self.bulk { BULK } else { SINGLE }
    }

    /// Reads a body about `about`.
    pub fn read(&self, bytes: &[u8], about: A) -> Result<T, Problem> {
        let body = if self.optional { Body::parse_optional(bytes)? } else { Body::parse(bytes)? };
        let many = self.many.map(|many| (many, many.fields[0].name));
        let object = body.object_by(|fields| match many {
            Some((many, field)) if fields.has(field) => many,
            _ => self.shape,
        })?;
        if many.is_some_and(|(_, field)| !object.holds(field)) && bytes.len() > SINGLE {
            return Err(too_large(SINGLE));
        }
        (self.read)(object, about)
    }
}

/// A body is longer than `max` bytes.
#[must_use]
pub fn too_large(max: usize) -> Problem {
    // The envelope's room is slack, not a promise.
    let limit = format!("at most {} bytes", if max == BULK { bounds::BULK_BYTES_MAX } else { bounds::BODY_BYTES_MAX });
    let problem = Problem::new(Kind::TooLarge, "too_large", format!("the body is too large: {limit}"));
    problem.fact("field", "body").fact("limit", limit)
}

/// Who writes, and under which token.
pub(crate) fn holder(object: &mut Object<'_>) -> (String, Token) {
    (object.text("worker").unwrap_or_default(), Token(object.int("token").unwrap_or_default()))
}

/// What went wrong, and whether and when it is tried again: by the policy, unless it says otherwise.
pub(crate) fn failure(object: &mut Object<'_>) -> Result<(String, Retry), Problem> {
    let retry = match (object.boolean("retry"), object.int("retry_in_ms").map(narrowed)) {
        (Some(false), Some(delay_ms)) => return Err(contradicting(&object.place("retry_in_ms"), delay_ms)),
        (Some(false), None) => Retry::Never,
        (_, Some(delay_ms)) => Retry::In { delay_ms },
        (_, None) => tenure::by_policy(),
    };
    Ok((object.text("error").unwrap_or_default(), retry))
}

fn contradicting(place: &str, delay_ms: u64) -> Problem {
    let message = format!("`{place}` says when to try again, but `retry` is false: send one of them");
    Problem::invalid("contradiction", place, "not with retry: false", &delay_ms.to_string(), message)
}

/// A backoff of one's own; what it does not say is as in `default`.
pub(crate) fn backoff(object: &mut Object<'_>, default: Backoff) -> Option<Backoff> {
    let mut sent = object.object("backoff")?;
    Some(Backoff {
        initial_ms: sent.int("initial_ms").map_or(default.initial_ms, narrowed),
        factor: sent.number("factor").unwrap_or(default.factor),
        max_ms: sent.int("max_ms").map_or(default.max_ms, narrowed),
        jitter: sent.number("jitter").unwrap_or(default.jitter),
    })
}

/// JSON as it was sent.
pub(crate) fn json(object: &mut Object<'_>, name: &str) -> Option<String> {
    object.json(name).map(str::to_owned)
}

/// A whole number in a narrower type. The shape's bounds have been checked, so it fits.
pub(crate) fn narrowed<T: TryFrom<i64> + Default>(int: i64) -> T {
    T::try_from(int).unwrap_or_default()
}
