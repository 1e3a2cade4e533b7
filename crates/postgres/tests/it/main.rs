//! PostgreSQL, tested against a real server.

mod conformance;
mod limits;
mod plain_sql;
mod races;
mod roles;
mod schema;
mod support;
