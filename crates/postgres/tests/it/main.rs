//! PostgreSQL, tested against a real server.

mod abandoned;
mod conformance;
mod domain;
mod full;
mod limits;
mod mixed;
mod open_transactions;
mod pipeline_races;
mod pipeline_stress;
mod pipelines;
mod plain_sql;
mod plans;
mod pooler;
mod races;
mod roles;
mod schedule;
mod schema;
mod stress;
mod support;
mod sync;
mod sync_mixed;
mod sync_waits;
mod timeouts;
mod tokens;
mod unknown;
mod workers;
