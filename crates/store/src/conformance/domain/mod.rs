//! What every backend must do with domains: scenarios, walks against core, and crowds judged for linearizability.
//!
//! ```text
//! tenure_store::domain_conformance!(Memory);      // every scenario, in a module for each file
//! domain::walks::<Memory>(0..80, 1_300).await;     // one caller, every answer compared with core
//! domain::crowds::<Memory>(0..6).await;            // sixteen callers at once, every history explained
//! ```

mod crowd;
pub mod document;
pub mod expiry;
pub mod fence;
mod linear;
pub mod lists;
pub mod operator;
pub mod size;
mod tools;
mod walk;

use super::Harness;
use crate::DomainStore;
use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::{Epoch, Time};

pub use crowd::{Crowd, crowd, crowds};
pub use linear::{Call, Did, Done, explain};
pub use walk::{Failure, Met, Report, walk, walks};

/// How the suite opens a backend and moves its clock. Every [`Harness`] is one.
#[async_trait]
pub trait DomainHarness: Sized + Send + Sync + 'static {
    /// A new, empty store on a clock that stands still at `start`.
    async fn open_domains(start: Time) -> Self;

    /// The store.
    fn domain_store(&self) -> Arc<dyn DomainStore>;

    /// Sets the store's clock.
    async fn set_domain_clock(&self, now: Time);

    /// A second handle on the same store.
    async fn another_domain_store(&self) -> Arc<dyn DomainStore>;

    /// The epoch of tokens.
    async fn epoch(&self) -> Epoch;

    /// Raises the epoch of tokens (L2); the one in force now.
    async fn raise_epoch(&self) -> Epoch;
}

#[async_trait]
impl<H: Harness> DomainHarness for H {
    async fn open_domains(start: Time) -> Self {
        H::open(start).await
    }

    fn domain_store(&self) -> Arc<dyn DomainStore> {
        self.store()
    }

    async fn set_domain_clock(&self, now: Time) {
        self.set_clock(now).await;
    }

    async fn another_domain_store(&self) -> Arc<dyn DomainStore> {
        self.another().await
    }

    async fn epoch(&self) -> Epoch {
        self.store().epoch().await.expect("the epoch")
    }

    async fn raise_epoch(&self) -> Epoch {
        self.store().new_epoch().await.expect("a new epoch")
    }
}

/// Stamps every scenario about domains as a `#[tokio::test]` for a harness, in a module for each file.
#[macro_export]
macro_rules! domain_conformance {
    ($harness:ty) => {
        $crate::__stamp_domain! {
            $harness;
            document {
                scenario_1_happy_path,
                scenario_2_queue_then_orchestrated_hand_off,
                scenario_3_out_of_order_acquire_is_a_hard_bug,
                scenario_4_retry,
                scenario_5_final_give_up,
                scenario_6_idempotence,
                invariant_1_single_in_flight_unit,
                invariant_2_disjointness,
                invariant_3_fifo_discipline,
                invariant_4_idempotence,
                invariant_5_token_fencing,
                invariant_6_stable_monitor,
                d1_a_second_acquire_of_the_offset_in_flight_is_told_the_token,
                d1_an_offset_waits_once_however_often_it_is_asked_for,
                d1_succeed_and_fail_leave_the_backlog_alone,
                d1_an_offset_that_waits_is_not_acquired_before_its_turn,
                d1_offsets_need_no_order_of_their_own,
                d1_the_largest_offset_is_an_offset,
                d2_the_age_of_an_offset_is_that_of_its_first_acquisition,
                d2_without_retries_the_first_failure_is_final,
                d8_each_item_of_a_call_is_answered_on_its_own,
                d8_items_of_one_domain_happen_in_the_order_of_the_call,
            }
            fence {
                d1_a_domain_never_seen_has_no_lease,
                d1_a_refused_write_changes_nothing_but_its_event,
                d1_the_token_of_an_ended_lease_is_refused,
                d3_a_named_lease_is_told_to_its_holder_alone,
                d3_an_unnamed_lease_is_told_to_anyone,
                d3_a_name_does_not_guard_the_writes,
                d5_tokens_grow_within_a_domain,
                d5_what_is_no_token_is_a_mismatch,
                l2_tokens_grow_over_a_raised_epoch,
                l8_refused_writes_are_counted_into_one_event,
                l8_each_refused_token_has_an_event_of_its_own,
                l8_refused_tokens_are_bounded,
                d8_an_advance_is_a_succeed_and_an_acquire,
                d8_an_advance_prefers_what_waits,
                d8_a_refused_advance_acquires_nothing,
            }
            expiry {
                d4_a_lease_without_expiry_never_runs_out,
                d4_the_instant_of_expiry_is_lost,
                d4_a_heartbeat_renews,
                d4_a_heartbeat_of_a_lease_without_expiry_is_taken,
                d4_fail_does_not_renew,
                d4_an_expired_lease_refuses_every_write,
                d4_a_takeover_has_a_larger_token_and_keeps_age_and_retries,
                d4_a_takeover_without_a_lease_does_not_run_out,
                d4_a_takeover_has_the_name_of_who_took_over,
                d4_another_offset_is_told_which_one_expired,
                d4_order_is_kept_over_a_takeover,
                d4_the_takeover_beyond_the_limit_fails_the_offset,
                d4_takeovers_are_counted_for_each_offset,
                l7_recovery_tells_an_expiry_once_and_leaves_the_lease,
                l7_recovery_applies_the_limit_of_takeovers,
                l7_recovery_is_bounded_and_takes_the_longest_expired_first,
                l7_a_renewed_lease_is_not_recovered,
                a6_a_clock_that_steps_back_never_shortens_a_lease,
            }
            operator {
                d7_a_skipped_offset_is_failed_wherever_it_stood,
                d7_skipping_the_offset_in_flight_ends_its_lease,
                d7_the_rest_keeps_its_order,
                d7_skipping_what_has_ended_says_so,
                d7_skipping_in_a_domain_never_seen_makes_it,
                x_a_change_makes_the_domain_and_touches_only_what_was_sent,
                d2_a_changed_limit_of_retries_binds_the_offset_in_flight,
                l8_events_say_what_happened,
                l8_the_last_hundred_events_are_kept,
            }
            lists {
                x_a_domain_never_seen_is_absent,
                y_a_domain_shows_its_lease_without_the_token,
                y_a_domain_shows_its_backlog,
                x_domains_are_paged_by_name,
                x_names_are_any_text,
                y_blocked_domains_are_found,
                y_expired_domains_are_found,
            }
            size {
                d6_contiguous_offsets_are_kept_as_ranges,
                d6_offsets_that_ended_out_of_order_are_told_apart,
                d6_a_long_backlog_keeps_its_order,
                d6_failures_between_are_told_apart,
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __stamp_domain {
    ($harness:ty; $($module:ident { $($scenario:ident,)* })*) => {
        $(
            mod $module {
                #[allow(unused_imports)]
                use super::*;
                $(
                    #[tokio::test(flavor = "multi_thread")]
                    async fn $scenario() {
                        $crate::conformance::domain::$module::$scenario::<$harness>().await;
                    }
                )*
            }
        )*
    };
}

#[cfg(test)]
mod tests {
    /// A scenario that is not on the list would be compiled and never run.
    #[test]
    fn every_scenario_is_on_the_list() {
        let list = include_str!("mod.rs");
        let files = [
            include_str!("document.rs"),
            include_str!("fence.rs"),
            include_str!("expiry.rs"),
            include_str!("operator.rs"),
            include_str!("lists.rs"),
            include_str!("size.rs"),
        ];
        for file in files {
            let scenarios = file.split("pub async fn ").skip(1).filter_map(|rest| rest.split_once('<'));
            for (name, _) in scenarios {
                assert!(list.contains(&format!(" {name},\n")), "{name} is not stamped");
            }
        }
    }
}
