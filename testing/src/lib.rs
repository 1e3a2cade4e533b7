//! A private PostgreSQL: what Tenure's tests and benches run on.
//!
//! [`PostgresServer`] is a whole server of one's own, for tests that stop, crash or tune it. [`TestDatabase`] is a fresh
//! database on a server shared by the test run, for all other tests. What may stand between a program and its server is
//! here too: [`Pooler`] is PgBouncer in transaction mode, [`FaultProxy`] a connection that breaks on request, and
//! [`SmallDisk`] a file system that really runs full. [`history`] is what a test writes down of its calls, and the judge of
//! it.
//!
//! Always true:  a test that needs PostgreSQL gets one or fails with the reason, it is never skipped · nothing started
//! here outlives the process that started it, however that process ends · no server of the machine's own is touched.

mod account;
#[cfg(feature = "database")]
mod database;
mod disk;
pub mod history;
mod installation;
mod janitor;
#[cfg(feature = "database")]
mod pooler;
#[cfg(feature = "database")]
mod proxy;
mod server;

#[cfg(feature = "database")]
pub use database::{DatabaseError, TEST_POSTGRES, TestDatabase};
pub use disk::SmallDisk;
pub use installation::{InstallationError, install_pooler, programs};
#[cfg(feature = "database")]
pub use pooler::Pooler;
#[cfg(feature = "database")]
pub use proxy::FaultProxy;
pub use server::{PostgresServer, ServerError, ServerOptions, StopMode};
