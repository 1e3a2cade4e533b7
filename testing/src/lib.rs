//! A private PostgreSQL: what Tenure's tests and benches run on.
//!
//! [`PostgresServer`] is a whole server of one's own, for tests that stop, crash or tune it. [`TestDatabase`] is a fresh
//! database on a server shared by the test run, for all other tests.
//!
//! Always true:  a test that needs PostgreSQL gets one or fails with the reason, it is never skipped · nothing started
//! here outlives the process that started it, however that process ends · no server of the machine's own is touched.

mod account;
#[cfg(feature = "database")]
mod database;
mod installation;
mod janitor;
mod server;

#[cfg(feature = "database")]
pub use database::{DatabaseError, TEST_POSTGRES, TestDatabase};
pub use installation::{InstallationError, programs};
pub use server::{PostgresServer, ServerError, ServerOptions, StopMode};
