//! The suite for syncs: scenarios named after the rules they show, and a walk compared with
//! [`tenure_core::sync::Syncs`] step by step.
//!
//! Stamped by `sync_conformance!(Harness)`, beside `conformance!`.

pub mod claims;
pub mod fence;
pub mod passes;
pub mod plans;
pub mod reads;
pub mod recovery;
mod tools;
mod walk;

use super::Harness;
use crate::{SyncStore, Upkeep};
use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::{Epoch, Time};

pub use walk::{Failure, Met, Report, walk, walks};

/// How this part of the suite opens a backend and moves its clock. Every [`Harness`] is one; a store with a planted
/// mistake need only be this much.
#[async_trait]
pub trait SyncHarness: Sized + Send + Sync + 'static {
    /// A new, empty store on a clock that stands still at `start`.
    async fn open_syncs(start: Time) -> Self;

    /// The store.
    fn syncs(&self) -> Arc<dyn SyncStore>;

    /// A second handle on the same store, as another process would have.
    async fn other_syncs(&self) -> Arc<dyn SyncStore>;

    /// Sets the store's clock; it stands still again at `now`.
    async fn move_clock(&self, now: Time);

    /// Raises the epoch of tokens.
    async fn raise_epoch(&self) -> Epoch;
}

#[async_trait]
impl<H: Harness> SyncHarness for H {
    async fn open_syncs(start: Time) -> H {
        H::open(start).await
    }

    fn syncs(&self) -> Arc<dyn SyncStore> {
        self.store()
    }

    async fn other_syncs(&self) -> Arc<dyn SyncStore> {
        self.another().await
    }

    async fn move_clock(&self, now: Time) {
        self.set_clock(now).await;
    }

    async fn raise_epoch(&self) -> Epoch {
        Upkeep::new_epoch(&*self.store()).await.expect("new_epoch")
    }
}

/// Stamps every scenario of syncs as a `#[tokio::test]` for a [`SyncHarness`], in a module for each file.
#[macro_export]
macro_rules! sync_conformance {
    ($harness:ty) => {
        $crate::__stamp_syncs! { $harness;
            plans {
                s4_a_plan_makes_its_chunks_available,
                s4_a_plan_without_chunks_waits_for_them,
                s6_an_unfinished_sync_is_named,
                s6_two_planners_have_one_winner,
                s6_after_its_end_a_matrix_is_planned_anew,
                s4_chunks_are_added_while_it_runs,
                s4_adding_a_chunk_twice_changes_nothing,
                s4_adding_to_an_ended_or_unknown_sync_is_refused,
                x_payloads_come_back_byte_for_byte,
                x_a_hundred_thousand_chunks_are_planned_at_once,
            }
            claims {
                s2_syncs_come_by_priority_age_and_id,
                s2_a_claim_may_name_its_matrix,
                s2_a_held_sync_is_not_claimed_again,
                s3_chunks_come_in_the_order_of_the_plan,
                s3_a_chunk_claim_needs_no_lease_on_the_sync,
                s3_a_named_chunk_is_claimed,
                s3_an_unknown_hash_is_nothing,
                s3_what_is_held_or_done_is_nothing,
                s3_an_ended_sync_has_nothing_to_claim,
                s3_a_chunk_of_another_matrix_is_not_this_one,
                s3_many_claimers_never_share_a_chunk,
                l2_tokens_grow_over_passes_and_epochs,
                l4_an_expired_chunk_is_claimed_first,
                l6_a_released_chunk_has_its_attempt_back,
                l5_default_leases_are_those_of_the_document,
            }
            fence {
                i14_equal_hashes_of_two_matrices_are_apart,
                l3_every_write_of_an_older_token_is_superseded,
                l3_a_made_up_token_or_owner_is_unknown,
                l3_an_id_not_on_record_is_unknown,
                l4_the_instant_of_expiry_is_lost,
                l12_an_ending_sent_again_is_answered_as_the_first_time,
                l12_a_receipt_outlives_the_next_pass,
                l12_after_the_hour_it_is_unknown,
                l8_refusals_are_counted_into_one_event,
                l8_another_tokens_refusal_is_another_event,
                l8_a_late_write_of_an_earlier_pass_is_an_event_of_that_pass,
                l3_a_heartbeat_renews_from_now,
                s6_failing_a_sync_ends_its_chunk_leases,
                s6_cancel_is_immediate_and_told_to_every_holder,
                s6_cancelling_an_ended_or_unknown_sync_is_refused,
                s6_what_ran_out_before_the_cancel_stays_expired,
                s2_a_released_sync_is_claimable_at_once,
                i5_a_completion_and_a_cancel_have_one_winner,
            }
            passes {
                s5_a_sync_completes_when_every_chunk_has,
                s5_a_failed_chunk_holds_the_sync_open,
                s5_a_failed_chunk_is_retried_at_once,
                s5_a_final_failure_is_not_retried,
                s5_after_a_crash_only_what_was_in_flight_is_redone,
                s4_completing_records_rows_and_cursor,
                s4_a_new_pass_keeps_what_the_last_one_left,
                s4_a_failed_chunk_begins_a_new_pass_anew,
                s4_a_changed_hash_is_a_new_chunk,
                s4_a_recently_synced_chunk_is_skipped,
                s4_an_ended_sync_keeps_its_figures,
            }
            recovery {
                s1_what_ran_out_stays_visible_until_it_is_claimed,
                s1_reading_needs_no_sweeper,
                l7_a_lease_is_told_once,
                l7_a_claim_tells_what_it_takes,
                l7_recovery_is_bounded,
                l6_the_last_attempt_of_a_chunk_that_ran_out_ends_it,
                l6_a_claim_passes_over_what_crashed_out,
                l6_a_sync_heals_itself_for_ever,
                l6_a_sync_with_a_crash_limit_ends,
                l6_progress_resets_the_crashes_of_a_sync,
                l6_an_expiry_before_a_chunk_was_done_never_counts_after_it,
                i19_an_old_sync_is_removed_with_its_stale_chunks,
                i19_the_last_sync_of_a_matrix_is_kept,
            }
            reads {
                s1_every_state_is_derived_at_the_instant_of_reading,
                x_lists_are_paged,
                x_an_unknown_id_is_nothing,
                y_progress_tells_the_pace,
                l8_events_are_the_latest_and_in_order,
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __stamp_syncs {
    ($harness:ty; $($module:ident { $($scenario:ident,)* })*) => {
        $(
            mod $module {
                #[allow(unused_imports)]
                use super::*;
                $(
                    #[tokio::test(flavor = "multi_thread")]
                    async fn $scenario() {
                        $crate::conformance::sync::$module::$scenario::<$harness>().await;
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
            include_str!("claims.rs"),
            include_str!("fence.rs"),
            include_str!("passes.rs"),
            include_str!("plans.rs"),
            include_str!("reads.rs"),
            include_str!("recovery.rs"),
        ];
        for file in files {
            let scenarios = file.split("pub async fn ").skip(1).filter_map(|rest| rest.split_once('<'));
            for (name, _) in scenarios {
                assert!(list.contains(&format!(" {name},\n")), "{name} is not stamped");
            }
        }
    }
}
