//! Typed jobs: a Rust type whose values are the arguments of one kind of work.
//!
//! The payload in the store is the value as JSON, so any other language can enqueue or run the same kind.

use crate::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tenure_core::bounds::{Code, Invalid};
use tenure_core::queue::NewJob;

/// The arguments of one kind of job. Derived:
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use tenure::Job;
///
/// #[derive(Serialize, Deserialize, Job)]
/// #[job(kind = "resize", queue = "images", attempts_max = 3, ordering_key = "album")]
/// struct Resize {
///     album: String,
///     asset: u64,
/// }
///
/// let job = Resize { album: "summer".into(), asset: 42 }.new_job()?;
/// assert_eq!((job.queue.as_str(), job.kind.as_str()), ("images", "resize"));
/// assert_eq!(job.payload, r#"{"album":"summer","asset":42}"#);
/// assert_eq!(job.ordering_key.as_deref(), Some("summer"));
/// # Ok::<(), tenure::Error>(())
/// ```
pub trait Job: Serialize + DeserializeOwned + Send + 'static {
    /// What a worker knows it by.
    const KIND: &'static str;
    /// The queue it waits in, unless it is enqueued elsewhere.
    const QUEUE: &'static str;

    /// Sets what every job of this kind has: attempts, priority, keys.
    #[must_use]
    fn options(&self, job: NewJob) -> NewJob {
        job
    }

    /// This job, ready to be enqueued; change what only this one needs.
    fn new_job(&self) -> Result<NewJob> {
        let payload = to_json("payload", self)?;
        Ok(self.options(NewJob::new(Self::QUEUE, Self::KIND, payload)))
    }
}

/// What can be enqueued: a typed [`Job`], or a [`NewJob`] made by hand.
pub trait IntoJob {
    /// The job.
    fn into_job(self) -> Result<NewJob>;
}

impl IntoJob for NewJob {
    fn into_job(self) -> Result<NewJob> {
        Ok(self)
    }
}

impl<J: Job> IntoJob for J {
    fn into_job(self) -> Result<NewJob> {
        self.new_job()
    }
}

/// A value of the caller's as JSON text.
pub(crate) fn to_json<T: Serialize + ?Sized>(field: &str, value: &T) -> Result<String> {
    // A map with keys that are no strings, or a type whose own `Serialize` fails.
    serde_json::to_string(value)
        .map_err(|error| Error::Invalid(Invalid::new(Code::JsonSyntax, field, "a value that has a JSON form", error)))
}

/// JSON text of the store's as a value of the caller's.
pub(crate) fn from_json<T: DeserializeOwned>(field: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        let limit = format!("a {field} that reads as {}", std::any::type_name::<T>());
        Error::Invalid(Invalid::new(Code::JsonSyntax, field, limit, error))
    })
}

/// What a handler returned, as JSON text; `()` has nothing to keep.
pub(crate) fn to_json_kept<T: Serialize + ?Sized>(field: &str, value: &T) -> Result<Option<String>> {
    Ok(Some(to_json(field, value)?).filter(|json| json != "null"))
}
