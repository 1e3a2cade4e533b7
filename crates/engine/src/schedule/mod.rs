//! Schedules: jobs enqueued by the clock, each slot once however many machines run the [scheduler](crate::Verbs::keep_scheduling).
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
//! use tenure::{NewJob, Tenure};
//!
//! let tenure = Tenure::open("memory:").await?;
//! let report = NewJob::new("reports", "nightly", r#"{"format":"pdf"}"#);
//! let nightly = tenure.schedule("nightly-report");
//! let schedule = nightly.cron("30 2 * * *").zone("Europe/Berlin").enqueues(report.clone()).await?;
//! assert!(schedule.next_at > Some(tenure.now().await?));
//!
//! // Every start of a program may put its schedules: what is there already stays as it is.
//! assert_eq!(nightly.cron("30 2 * * *").zone("Europe/Berlin").enqueues(report).await?, schedule);
//! # Ok(()) }
//! ```

mod calendar;
mod handle;
mod scheduler;
mod verbs;

pub use calendar::Calendar;
pub use handle::{ListSchedules, PutSchedule, PutScheduleOf, ScheduleHandle};
pub use scheduler::Looked;
pub use tenure_core::schedule::{CatchUp, Definition, Firing, NewSchedule, Schedule};

use tenure_core::Time;

/// A slot to come.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Slot {
    /// The slot.
    pub at: Time,
    /// What the clocks of its zone show then: RFC 3339 with the zone's offset.
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub local: String,
}
