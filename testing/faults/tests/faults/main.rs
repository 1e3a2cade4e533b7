//! Thousands of jobs through real worker processes, which are killed, frozen and cut off all the while.
//!
//! What is claimed: every job ends once and only once; nothing is accepted from a worker that lost its lease; what a
//! dead worker held is recovered. The store is judged by its own record and by the record that the handlers keep apart
//! from it. `TENURE_FAULT_SEED` repeats the order of the faults of a run (their timing is the machine's own).

mod crash_limit;
mod fleet;
mod judge;
mod places;
mod storm;

use places::{Postgres, Sqlite};

#[tokio::test(flavor = "multi_thread")]
async fn b1_every_job_ends_once_on_sqlite_whatever_happens_to_its_workers() {
    storm::rage(&Sqlite::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b1_every_job_ends_once_on_postgres_whatever_happens_to_its_workers_or_the_server() {
    storm::rage(&Postgres::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b6_l6_a_poison_job_starts_attempts_max_times_and_its_neighbours_lose_nothing_on_sqlite() {
    crash_limit::holds(&Sqlite::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b6_l6_a_poison_job_starts_attempts_max_times_and_its_neighbours_lose_nothing_on_postgres() {
    crash_limit::holds(&Postgres::new()).await;
}
