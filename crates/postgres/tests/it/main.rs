//! PostgreSQL, tested against a real server.

mod abandoned;
mod conformance;
mod domain;
mod full;
mod limits;
mod mixed;
mod pipelines;
mod plain_sql;
mod plans;
mod pooler;
mod races;
mod roles;
mod schedule;
mod schema;
mod support;
mod sync;
mod timeouts;
mod unknown;
mod workers;
