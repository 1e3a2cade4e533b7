//! PostgreSQL, tested against a real server.

mod conformance;
mod domain;
mod limits;
mod plain_sql;
mod races;
mod schema;
mod support;
