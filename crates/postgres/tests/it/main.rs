//! PostgreSQL, tested against a real server.

mod conformance;
mod races;
mod schema;
mod support;
