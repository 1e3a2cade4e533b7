//! The work queue: jobs that wait, are claimed under a lease, and end.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> tenure::Result<()> {
//! use std::time::Duration;
//! use tenure::{NewJob, Status, Tenure};
//!
//! let tenure = Tenure::open("memory:").await?;
//! let id = tenure.enqueue(NewJob::new("images", "resize", r#"{"asset":42}"#)).priority(5).await?.id;
//!
//! let images = tenure.queue("images");
//! let job = images.claim().worker("w1").lease(Duration::from_secs(30)).one().await?.expect("one waits");
//! assert_eq!(job.payload, r#"{"asset":42}"#);
//! job.complete(&"images/42.webp").await?;
//!
//! assert_eq!(tenure.job(id).info().await?.status, Status::Completed);
//! assert_eq!(tenure.job(id).wait::<String>().await?, "images/42.webp");
//! # Ok(()) }
//! ```

mod claim;
mod enqueue;
mod handle;
mod held;
mod job;
mod list;
mod operate;
mod verbs;

pub use claim::ClaimJobs;
pub use enqueue::{Enqueue, EnqueueAll};
pub use handle::{Cancel, ChangeQueue, JobHandle, QueueHandle};
pub use held::HeldJob;
pub use job::{IntoJob, Job};
pub(crate) use job::{from_json, to_json, to_json_kept};
pub use list::{ListJobs, ListQueues, ListWorkers};
pub use operate::{Bulk, BulkStep};
