//! The suite every backend must pass: what the contracts say, written once and stamped per backend.
//!
//! Two halves. The *scenarios* are claims, one act each, named with the rule they show. The *walk* draws operations
//! from a seed, applies each to the store and to [`tenure_core::queue::Queues`] at the same instant, compares every
//! answer, and judges the answers by checkers of its own, so that a mistake core and a backend share is still found.
//!
//! Nothing here sleeps: the harness moves the store's clock.
//!
//! ```text
//! struct Memory { .. }
//! impl Harness for Memory { .. }
//! tenure_store::conformance!(Memory);
//!
//! #[tokio::test(flavor = "multi_thread")]
//! async fn the_walk_agrees_with_core() {
//!     tenure_store::conformance::walks::<Memory>(0..150, 1_500).await;
//! }
//! ```

pub mod attempts;
pub mod claim;
pub mod fence;
pub mod lists;
pub mod recovery;
mod tools;
mod walk;

use crate::Store;
use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::Time;

pub use walk::{Failure, Met, Report, walk, walks};

/// How the suite opens a backend and moves its clock.
#[async_trait]
pub trait Harness: Sized + Send + Sync + 'static {
    /// A new, empty store on a clock that stands still at `start`.
    async fn open(start: Time) -> Self;

    /// The store.
    fn store(&self) -> Arc<dyn Store>;

    /// Sets the store's clock, for every handle of it; it stands still again at `now`.
    async fn set_clock(&self, now: Time);

    /// A second handle on the same store, as another process would have. Memory returns the same.
    async fn another(&self) -> Arc<dyn Store>;
}

/// Stamps every scenario as a `#[tokio::test]` for a [`Harness`], in a module for each file of the suite. The crate
/// that stamps needs `tokio` (`macros`, `rt-multi-thread`) among its dev-dependencies.
#[macro_export]
macro_rules! conformance {
    ($harness:ty) => {
        $crate::__stamp! { $harness;
            claim {
                q2_claims_come_by_priority_then_age_then_id,
                q2_one_at_a_time_is_the_same_order,
                q2_several_queues_are_one_order,
                q2_a_queue_named_twice_is_claimed_once,
                q2_only_the_named_kinds_are_claimed,
                q2_an_unknown_kind_is_empty,
                q2_work_is_due_from_its_run_at_on,
                q2_a_scheduled_job_keeps_its_age,
                q2_a_run_at_in_the_past_is_due_at_once,
                x_the_last_instant_is_kept,
                q2_a_claim_takes_at_most_max,
                x_an_unknown_queue_is_empty,
                q2_an_empty_claim_hints_when_work_is_due,
                l1_a_claim_hands_over_the_job_and_its_lease,
                l1_a_held_job_is_not_claimed_again,
                x_a_payload_comes_back_byte_for_byte,
                x_the_largest_payload_is_kept,
                x_a_bulk_enqueue_keeps_its_order,
                l2_a_jobs_tokens_grow_however_its_claims_end,
                l2_tokens_never_repeat_over_jobs,
                l2_a_new_epoch_outranks_every_earlier_token,
                l2_a_new_epoch_takes_no_lease_away,
                l1_each_claimed_job_has_its_own_lease,
                l6_a_shared_claim_is_one_lease_for_each_queue,
                l1_two_handles_are_one_store,
                l2_tokens_grow_across_handles,
                i1_many_claimers_of_one_job_have_one_winner,
                i1_sixteen_claimers_never_share_a_job,
            }
            fence {
                l3_an_older_token_of_the_same_owner_is_superseded,
                l3_an_older_token_of_another_owner_is_superseded,
                l3_a_stale_writer_cannot_undo_the_next_holders_ending,
                l3_a_token_never_granted_is_unknown,
                l3_the_right_token_in_other_hands_is_unknown,
                l3_the_token_of_another_job_is_unknown,
                l3_a_job_never_claimed_is_unknown,
                x_an_id_not_on_record_is_unknown,
                l4_an_expired_lease_is_lost_before_any_sweep,
                l4_an_expired_lease_is_lost_after_recovery,
                l4_the_last_holder_of_a_crashed_out_job_is_expired,
                l4_the_instant_of_expiry_is_lost,
                l4_the_microsecond_before_expiry_is_held,
                l12_another_verb_under_an_ended_token_is_finished,
                l12_an_ending_sent_again_is_answered_as_the_first_time,
                l12_a_replay_is_told_by_its_verb_alone,
                l12_an_ending_is_already_after_the_job_moved_on,
                l12_receipts_come_before_the_lease,
                l12_a_replay_from_other_hands_is_unknown,
                l12_a_refused_ending_is_never_already,
                l8_refusals_are_counted_in_one_event,
                l8_each_reason_of_refusal_is_its_own_event,
                q3_a_heartbeat_extends_from_now_by_the_granted_time,
                q3_heartbeats_keep_a_lease_far_beyond_its_length,
                q3_a_heartbeat_never_shortens_a_lease,
                q3_the_pulse_of_a_lease_is_kept,
                q3_progress_is_shown_until_replaced,
                q3_a_checkpoint_is_handed_to_the_next_attempt,
                q3_each_beat_of_a_call_is_answered_on_its_own,
                q4_each_ending_of_a_call_is_answered_on_its_own,
                q3_a_shared_lease_is_renewed_for_all_its_jobs,
                l3_a_shared_beat_is_fenced,
                i22_an_ending_leaves_its_neighbours_alone,
                l9_a_finished_job_stays_finished,
                q4_a_result_is_kept,
                l8_an_error_is_kept_whole_with_its_attempt,
            }
            attempts {
                l6_a_claim_counts_an_attempt,
                l6_release_gives_the_attempt_back,
                l6_snooze_gives_the_attempt_back,
                l6_endless_snoozing_spends_no_attempt,
                q4_a_released_job_is_claimable_at_once,
                q4_a_snoozed_job_waits_exactly,
                q6_the_wait_doubles_from_a_second,
                q6_the_wait_ends_at_an_hour,
                q6_chance_moves_the_wait_by_a_fifth,
                q6_a_job_can_have_its_own_backoff,
                q6_a_named_wait_is_exact,
                q6_never_is_final,
                q6_the_last_attempt_fails_for_good,
                l8_each_attempts_error_is_kept,
                l6_a_poison_job_starts_exactly_attempts_max_times,
                l6_with_a_lease_each_the_claim_is_the_start,
                l6_prefetched_neighbours_lose_no_attempt,
                l6_a_neighbour_never_reaches_the_crash_limit,
                l6_a_started_mark_counts_what_it_names,
                l6_a_started_mark_only_grows,
                l3_a_started_mark_is_fenced,
                l6_an_ended_job_keeps_its_place_in_the_grant,
            }
            recovery {
                q5_recovery_puts_expired_work_back,
                l7_recovery_is_idempotent,
                l7_recovery_is_bounded_and_takes_the_oldest_deadline_first,
                l7_a_shared_lease_comes_back_whole,
                l7_finished_jobs_of_a_shared_lease_stay_finished,
                l7_an_old_shared_lease_takes_nothing_from_a_newer_claim,
                l7_a_claim_recovers_without_a_sweeper,
                l7_a_claim_ends_a_crashed_out_job,
                l7_recovered_work_keeps_its_place,
                l7_a_live_lease_is_left_alone,
                l7_a_renewed_lease_is_left_alone,
                l7_recovery_reports_what_it_ended,
                l7_many_sweepers_return_each_lease_once,
                l7_many_claimers_return_an_expired_job_once,
                l8_an_expiry_is_told_in_one_sentence,
                l8_an_uncounted_expiry_names_no_attempt,
                l8_the_crash_limit_is_told_with_its_expiry,
                l8_a_retry_and_the_last_failure_are_told,
                l8_a_smooth_life_stores_no_event,
                l8_the_timeline_tells_a_hard_life,
                l7_recovery_covers_every_queue,
            }
            lists {
                x_jobs_are_listed_newest_first_in_pages,
                x_a_filter_is_the_and_of_its_fields,
                x_a_listed_job_is_the_whole_job,
                q1_an_unswept_job_is_shown_as_running,
                q1_each_state_is_counted,
                q1_counts_follow_recovery,
                x_the_oldest_waiting_job_is_told,
                x_a_queue_of_held_work_has_no_oldest,
                x_queues_are_listed_by_name_in_pages,
                x_a_listed_queue_is_the_whole_queue,
                x_what_was_never_there_reads_as_absent,
                l5_the_stores_clock_is_the_harnesss,
                q2_an_enqueue_wakes_who_waits,
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __stamp {
    ($harness:ty; $($module:ident { $($scenario:ident,)* })*) => {
        $(
            mod $module {
                #[allow(unused_imports)]
                use super::*;
                $(
                    #[tokio::test(flavor = "multi_thread")]
                    async fn $scenario() {
                        $crate::conformance::$module::$scenario::<$harness>().await;
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
            include_str!("claim.rs"),
            include_str!("fence.rs"),
            include_str!("attempts.rs"),
            include_str!("recovery.rs"),
            include_str!("lists.rs"),
        ];
        for file in files {
            let scenarios = file.split("pub async fn ").skip(1).filter_map(|rest| rest.split_once('<'));
            for (name, _) in scenarios {
                assert!(list.contains(&format!(" {name},\n")), "{name} is not stamped");
            }
        }
    }
}
