//! The JSON shapes of Tenure, shared by its HTTP API and the `--json` of its command line.
//!
//! Always true:
//! - a request is read strictly, against its [shape]: what is not in it is refused by name, and the same shape
//!   is in the OpenAPI document, for both have it from one [`Request`];
//! - payloads, results, progress and checkpoints pass through byte for byte;
//! - a refusal is a [`Problem`]: what was wrong, where, the bound, and what was sent.
//!
//! Each face has its `shape`, its `request` (what may be sent, and what the library is asked) and its `reply`.
//!
//! No transport here: the server turns a [`Kind`] into a status, the command line into an exit code.

pub mod domain;
pub mod pipeline;
mod problem;
pub mod queue;
mod read;
pub mod reply;
pub mod request;
pub mod schedule;
pub mod shape;
pub mod store;
pub mod sync;
pub mod text;

pub use problem::{Kind, Problem};
pub use read::{Body, Object};
pub use request::Request;
