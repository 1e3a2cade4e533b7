//! PostgreSQL, tested against a real server.

mod conformance;
mod limits;
mod pipelines;
mod plain_sql;
mod races;
mod schema;
mod support;
