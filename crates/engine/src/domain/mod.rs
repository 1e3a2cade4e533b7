//! Domains: exclusive, first-in first-out processing of numbered offsets for each key, under a fencing token.
//!
//! [`Tenure::domain`](crate::Tenure::domain) is a handle on one of them, with the verbs of its document. [`DomainWorker`] is
//! the orchestrator that the document leaves outside: it feeds offsets, follows hints, waits between tries.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
//! use tenure::Tenure;
//! use tenure::domain::{Acquired, Succeeded};
//!
//! let tenure = Tenure::open("memory:").await?;
//! let account = tenure.domain("acct-42");
//! let first = account.try_acquire(1).await?.held().expect("nothing is in flight");
//! // Another offset of the same account waits its turn.
//! assert_eq!(account.try_acquire(2).await?, Acquired::Enqueued { expired_offset: None });
//! assert_eq!(first.complete().await?, Succeeded::NextHint { offset: 2 });
//! // The hint is first; anything else is out of order, and says so.
//! assert_eq!(account.try_acquire(3).await.unwrap_err().code(), "backlog_ordering");
//! # Ok(()) }
//! ```

mod desk;
mod drive;
mod handle;
mod held;
mod source;
mod verbs;
mod worker;

pub use handle::{ChangeDomain, DomainHandle, ListDomains};
pub use held::{Acquisition, Advanced, ClaimedOffset, FailedTry, HeldOffset};
pub use source::{Offsets, Source, offsets};
pub use tenure_core::domain::{
    Acquire, Acquired, Advance, Advanced as AdvancedAnswer, Answer, Beaten, Change, DomainInfo, Event, Failed, Held,
    LeaseInfo, OFFSET_MAX, RETRIES_MAX, Recovered, Refused, Settings, Skip, Skipped, State, Succeeded, Verb, What,
    token_of,
};
pub(crate) use worker::offsets_of;
pub use worker::{Act, DomainWorker, Domains, Ended, Offset, Work};
