//! The JSON shapes of Tenure, shared by its HTTP API and the `--json` of its command line.
//!
//! Always true:
//! - a request is read strictly, against one table of [shapes](shape): what is not in it is refused by name, and the
//!   same table writes the OpenAPI document;
//! - payloads, results, progress and checkpoints pass through byte for byte;
//! - a refusal is a [`Problem`]: what was wrong, where, the bound, and what was sent.
//!
//! No transport here: the server turns a [`Kind`] into a status, the command line into an exit code.

pub mod domain;
pub mod pipeline;
mod problem;
mod read;
pub mod reply;
pub mod request;
pub mod shape;
pub mod text;
pub mod time;

pub use problem::{Kind, Problem};
pub use read::{Body, Object};
