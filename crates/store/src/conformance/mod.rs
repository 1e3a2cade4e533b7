//! The suite every backend must pass: what the contracts say, written once and stamped per backend.
//!
//! Two halves. The *scenarios* are claims, one act each, named with the rule they show. The *walks* ([`Walk`], one for
//! each face) draw operations from a seed, apply each to the store and to core at the same instant, compare every
//! answer, and judge the answers by checkers of their own, so that a mistake core and a backend share is still found.
//!
//! Nothing here sleeps: the harness moves the store's clock.
//!
//! ```text
//! struct Memory { .. }
//! impl Harness for Memory { .. }
//! tenure_store::conformance!(queue, Memory);
//!
//! #[tokio::test(flavor = "multi_thread")]
//! async fn the_walk_agrees_with_core() {
//!     walks::<QueueWalk, Memory>(0..150, 1_500).await;
//! }
//! ```

/// Lists the scenarios of a file. Each becomes a test of every backend that stamps the face; the name of the macro that
/// does it stands once more in [`conformance!`](crate::conformance).
macro_rules! scenarios {
    ($stamp:ident = $face:ident::$file:ident; $($scenario:ident,)+) => {
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $stamp {
            () => { $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $scenario() {
                    $crate::conformance::$face::$file::$scenario::<Tested>().await;
                }
            )+ };
        }
    };
}

pub mod domain;
pub mod pipeline;
pub mod queue;
pub mod schedule;
pub mod sync;
mod walk;

use crate::Store;
use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::Time;

pub use domain::DomainWalk;
pub use pipeline::PipelineWalk;
pub use queue::QueueWalk;
pub use schedule::ScheduleWalk;
pub use sync::SyncWalk;
pub use walk::{Bench, Chance, Failure, Report, Seed, Walk, Wrong, walk, walks};

/// Where every clock starts: odd microseconds, so that a backend that keeps only milliseconds is noticed.
const START: Time = Time(1_767_225_600_123_457);

/// How the suite opens a backend and moves its clock.
#[async_trait]
pub trait Harness: Send + Sync + 'static {
    /// A new, empty store on a clock that stands still at `start`.
    async fn open(start: Time) -> Self
    where
        Self: Sized;

    /// The store.
    fn store(&self) -> Arc<dyn Store>;

    /// Sets the store's clock, for every handle of it; it stands still again at `now`.
    async fn set_clock(&self, now: Time);

    /// A second handle on the same store, as another process would have. Memory returns the same.
    async fn another(&self) -> Arc<dyn Store>;
}

/// Stamps every scenario of a face as a `#[tokio::test]` for a [`Harness`], in a module for each file of the suite. The
/// crate that stamps needs `tokio` (`macros`, `rt-multi-thread`) among its dev-dependencies.
#[macro_export]
macro_rules! conformance {
    (queue, $harness:ty) => {
        $crate::__stamp! { $harness;
            claim: __queue_claim,
            fence: __queue_fence,
            attempts: __queue_attempts,
            recovery: __queue_recovery,
            lists: __queue_lists,
            limits: __queue_limits,
            lanes: __queue_lanes,
            dedup: __queue_dedup,
            rates: __queue_rates,
            operator: __queue_operator,
            retention: __queue_retention,
            schedule: __schedule_scenarios,
            timeout: __queue_timeout,
            explain: __queue_explain,
            bytes: __queue_bytes,
            workers: __queue_workers,
            actors: __queue_actors,
        }
    };
    (domain, $harness:ty) => {
        $crate::__stamp! { $harness;
            document: __domain_document,
            fence: __domain_fence,
            expiry: __domain_expiry,
            operator: __domain_operator,
            lists: __domain_lists,
            size: __domain_size,
        }
    };
    (sync, $harness:ty) => {
        $crate::__stamp! { $harness;
            plans: __sync_plans,
            claims: __sync_claims,
            fence: __sync_fence,
            passes: __sync_passes,
            recovery: __sync_recovery,
            reads: __sync_reads,
        }
    };
    (pipeline, $harness:ty) => {
        mod pipeline {
            use super::*;
            $crate::__stamp! { $harness;
                graph: __pipeline_graph,
                hold: __pipeline_hold,
                segments: __pipeline_segments,
                operator: __pipeline_operator,
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __stamp {
    ($harness:ty; $($module:ident: $stamp:ident,)+) => { $(
        mod $module {
            #[allow(unused_imports)]
            use super::*;
            type Tested = $harness;
            $crate::$stamp!();
        }
    )+ };
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// A scenario that is not on the list would be compiled and never run.
    #[test]
    fn every_scenario_is_on_the_list() {
        let stamps = include_str!("mod.rs");
        let (mut files, mut listed) = (0, 0);
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/conformance")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    folders.push(entry);
                    continue;
                }
                let file = std::fs::read_to_string(&entry).unwrap();
                let Some((_, list)) = file.split_once("\nscenarios! {\n") else { continue };
                let (stamp, list) = list.split_once(" = ").unwrap();
                assert!(stamps.contains(&format!(": {},\n", stamp.trim())), "{} is not stamped", entry.display());
                let (list, scenarios) = list.split_once("\n}\n").unwrap();
                for (name, _) in scenarios.split("\npub async fn ").skip(1).filter_map(|rest| rest.split_once('<')) {
                    assert!(list.contains(&format!(" {name},")), "{name} is not on the list of {}", entry.display());
                    listed += 1;
                }
                files += 1;
            }
        }
        assert!((files, listed) >= (33, 551), "only {listed} scenarios were found in {files} files");
    }
}
