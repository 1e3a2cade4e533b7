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

pub mod actors;
pub mod attempts;
pub mod bytes;
pub mod claim;
pub mod dedup;
pub mod domain;
pub mod explain;
pub mod fence;
pub mod lanes;
pub mod limits;
pub mod lists;
pub mod operator;
pub mod pipeline;
pub mod rates;
pub mod recovery;
pub mod retention;
pub mod schedule;
pub mod sync;
pub mod timeout;
mod tools;
mod walk;
pub mod workers;

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
                l8_the_refusals_of_each_token_are_their_own_event,
                l8_a_job_keeps_the_refusals_of_the_last_hundred_tokens,
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
                q6_a_handlers_own_cancel_is_final,
                q6_a_worker_can_say_that_an_attempt_took_too_long,
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
            limits {
                q8_a_queue_runs_at_most_w,
                q8_the_engine_runs_at_most_w_over_all_queues,
                q8_one_claim_over_queues_stops_at_the_engines_w,
                q8_each_tenant_runs_at_most_its_own_w,
                q8_tenants_of_two_queues_are_apart,
                q8_prefetched_jobs_count,
                q8_the_smallest_limit_binds,
                y_a_full_queue_is_at_capacity_though_nothing_waits,
                y_a_full_engine_is_at_capacity_though_nothing_waits,
                y_a_tenants_limit_alone_is_at_capacity,
                q8_a_tenant_at_its_limit_hides_nobody,
                q8_a_tenants_other_kinds_hide_nothing,
                q8_kinds_and_tenants_are_one_order,
                q8_a_full_queue_does_not_close_the_others,
                q8_every_ending_frees_its_slot,
                q8_a_forced_cancel_frees_its_slot,
                q8_time_alone_frees_no_slot,
                q8_a_claim_returns_what_ran_out_and_then_counts,
                q8_a_crashed_out_job_frees_its_slot,
                q8_an_engine_limit_makes_a_claim_return_every_queues_leases,
                q8_lowering_stops_claims_until_fewer_run,
                q8_lowering_the_engine_or_a_tenant_stops_claims_too,
                q8_raising_binds_the_next_claim,
                q8_a_zombie_heartbeat_takes_no_slot_back,
                q8_a_renewed_lease_keeps_its_slot,
                x_a_change_touches_only_what_it_names,
                x_the_engines_limit_is_kept,
                q8_a_freed_slot_wakes_who_waits,
                q8_a_raised_limit_wakes_who_waits,
                i6_sixteen_claimers_never_exceed_a_limit,
            }
            lanes {
                q9_a_lane_runs_one_at_a_time_in_id_order,
                q9_a_claim_takes_the_head_of_each_lane,
                q9_a_shared_claim_takes_one_of_a_lane,
                q9_priority_does_not_reorder_a_lane,
                q9_heads_compete_by_priority_and_age,
                q9_a_head_that_backs_off_holds_its_lane,
                q9_a_scheduled_head_holds_its_lane,
                q9_the_next_of_a_lane_waits_for_its_own_time_too,
                q9_a_snoozed_head_holds_its_lane,
                q9_an_expired_head_keeps_its_place,
                q9_a_released_head_keeps_its_place,
                q9_a_lane_goes_on_after_any_ending,
                q9_a_final_failure_blocks_a_lane_that_says_so,
                q9_only_a_final_failure_blocks,
                y_a_cancelled_job_does_not_block,
                q9_a_failure_of_the_holders_own_blocks_after_a_cancel,
                q9_retrying_the_blocking_job_resumes_its_lane,
                q9_cancelling_the_retried_job_resumes_its_lane,
                q9_setting_continue_resumes_every_lane,
                q9_unsetting_block_resumes_and_other_changes_do_not,
                q9_block_binds_failures_from_then_on,
                q9_a_blocked_lane_takes_jobs_and_runs_none,
                q9_retrying_another_job_leaves_the_lane_blocked,
                q9_a_retried_older_job_waits_for_the_running_one,
                q9_a_retried_older_job_comes_before_the_waiting_head,
                q9_cancelling_in_the_middle_keeps_the_order,
                q9_lanes_of_two_queues_are_apart,
                q9_a_head_waits_for_its_tenant,
                q9_a_tenants_limit_takes_heads_in_order,
                q9_a_head_of_another_kind_holds_its_lane,
                i15_many_claimers_keep_every_lane_in_order,
            }
            dedup {
                q7_the_same_key_and_body_is_the_same_job,
                q7_a_failed_job_is_remembered_too,
                q7_only_kind_and_payload_make_the_body,
                q7_bodies_are_compared_as_values,
                q7_large_numbers_are_compared_exactly,
                q7_another_payload_is_a_conflict,
                q7_another_kind_is_a_conflict,
                q7_a_conflict_refuses_the_whole_call,
                q7_the_same_key_twice_in_one_call_is_one_job,
                q7_two_bodies_in_one_call_are_a_conflict,
                q7_a_key_belongs_to_its_queue,
                q7_keys_differ_by_every_byte,
                q7_after_its_window_the_key_of_an_ended_job_is_free,
                q7_the_window_is_a_day_by_default,
                q7_the_key_of_an_unended_job_outlives_its_window,
                q7_a_key_outlives_its_jobs_row,
                q7_a_retried_job_is_still_the_answer,
                i9_many_enqueues_of_one_key_make_one_job,
                i9_many_bodies_under_one_key_have_one_winner,
            }
            rates {
                q2_a_paused_queue_hands_out_nothing,
                q2_a_pause_leaves_holders_and_enqueues_alone,
                l7_a_pause_does_not_stop_recovery,
                q2_a_paused_queue_does_not_close_the_others,
                q2_an_empty_paused_queue_is_paused,
                q2_a_rate_binds_each_period_of_the_clock,
                q2_a_claim_hints_when_a_spent_rate_is_whole_again,
                q2_a_paused_queue_hints_at_nothing,
                q2_a_full_queue_hints_at_the_end_of_a_lease_and_not_at_work_that_is_due,
                q2_a_full_engine_hints_at_the_end_of_any_lease,
                q2_a_spent_queue_hints_at_the_end_of_its_period_and_not_at_work_that_is_due,
                q2_work_held_back_hints_at_the_end_of_the_lease_that_holds_it,
                q2_a_rate_taken_away_and_set_again_is_still_spent,
                q2_an_unused_rate_is_not_saved,
                q2_a_released_job_has_spent_its_rate,
                q2_every_job_of_a_shared_claim_spends_the_rate,
                q2_a_rate_changes_live,
                q2_a_tenants_rate_is_its_own,
                q2_a_tenants_spent_rate_hides_nobody,
                q2_rates_of_two_queues_are_apart,
                q2_the_first_reason_that_applies_is_told,
                q2_reasons_of_several_queues_have_one_order,
                q2_a_tenants_limit_is_told_before_its_rate,
            }
            operator {
                l11_cancelling_a_waiting_job_ends_it_at_once,
                l11_cancelling_a_running_job_asks_its_holder,
                l11_a_shared_lease_is_told_which_job,
                l11_what_would_put_a_cancelled_job_back_ends_it,
                l11_completing_and_failing_for_good_are_the_holders_own,
                l11_the_last_attempt_that_fails_is_the_holders_own,
                l11_an_expiry_after_a_cancel_ends_the_job,
                l11_a_cancel_of_an_unswept_job_counts,
                l11_force_ends_a_running_job_now,
                l11_force_leaves_the_neighbours_of_a_lease,
                l11_force_of_a_waiting_job_is_a_cancel,
                l11_a_retried_job_is_not_cancelled_any_more,
                y_refused_actions_change_nothing,
                l11_each_action_of_a_call_is_answered_on_its_own,
                l9_an_operators_retry_begins_anew,
                l9_a_completed_job_can_be_retried,
                l9_a_retried_job_is_as_old_as_it_was,
                l9_a_crashed_out_job_has_all_its_attempts_again,
                l12_receipts_outlive_an_operators_retry,
                l3_a_forced_cancel_is_told_after_a_retry,
                l9_a_retry_wakes_who_waits,
                i5_an_ending_and_a_forced_cancel_have_one_winner,
            }
            retention {
                i19_an_ended_job_is_kept_seven_days,
                i19_unended_jobs_are_never_removed,
                i19_pruning_is_bounded,
                i19_each_queue_has_its_own_retention,
                i19_a_removed_job_is_absent_everywhere,
                i19_with_no_retention_an_ended_job_is_not_kept,
                l12_an_ending_of_a_removed_job_is_answered_for_an_hour,
                l12_every_claim_of_a_removed_job_is_remembered,
                l12_an_ending_beyond_the_last_hundred_is_answered,
                l12_beyond_the_last_hundred_and_the_hour_is_unknown,
                i19_the_job_a_lane_stopped_for_is_kept,
                i19_a_shared_lease_outlives_its_removed_jobs,
                l2_what_was_removed_gives_no_number_back,
            }
            schedule {
                t4_a_schedule_is_kept_as_it_was_put,
                t1_a_due_slot_becomes_a_job,
                t1_a_firing_sent_again_is_refused,
                t1_many_schedulers_fire_a_slot_once,
                t4_a_firing_under_an_older_definition_is_refused,
                t4_a_schedule_put_again_is_another_one,
                t2_nothing_fires_before_its_time,
                a6_a_clock_that_steps_back_fires_nothing_twice,
                a6_a_change_never_goes_back_over_a_fired_slot,
                t3_slots_are_caught_up_in_their_order,
                t3_dropped_slots_are_counted,
                t1_slots_only_go_onward,
                t4_a_resting_schedule_fires_nothing,
                t4_the_same_slots_keep_their_cursor,
                t4_the_same_definition_again_changes_nothing,
                t4_a_change_is_made_over_what_was_seen,
                t4_many_creators_have_one_winner,
                t4_a_removed_schedule_leaves_its_jobs,
                t2_due_schedules_come_the_longest_first,
                t2_a_schedule_can_come_to_its_end,
                x_schedules_are_listed_by_name_in_pages,
                x_the_last_firings_are_kept,
                q2_a_firing_wakes_who_waits,
                t1_two_handles_see_the_same_schedules,
            }
            timeout {
                q6_a_lease_is_never_renewed_beyond_the_timeout,
                q6_a_timeout_shorter_than_the_lease_ends_it,
                q6_an_attempt_that_takes_too_long_counts,
                q6_the_last_timeout_is_final,
                q6_a_silent_worker_is_not_a_timeout,
                q6_a_silent_worker_is_not_a_timeout_however_late_it_is_swept,
                q6_a_job_that_ends_in_time_is_untouched,
                q6_a_shared_lease_outlives_a_timeout,
            }
            explain {
                y_a_finished_job_is_explained,
                y_a_held_job_is_explained,
                y_an_expired_job_is_explained,
                y_a_job_not_due_is_explained,
                y_a_paused_job_is_explained,
                y_a_job_at_capacity_is_explained,
                y_the_engines_capacity_is_counted_over_queues,
                y_a_tenants_job_is_explained,
                y_a_job_behind_in_its_lane_is_explained,
                y_a_retried_job_is_behind_the_running_one,
                y_a_job_of_a_blocked_lane_is_explained,
                y_every_reason_is_told,
                y_a_job_of_a_spent_rate_is_explained,
                y_a_tenants_spent_rate_is_explained,
                y_a_queue_without_a_worker_is_explained,
                y_a_kind_without_a_worker_is_explained,
                y_a_missing_worker_is_told_where_it_matters,
                y_a_due_job_waits_for_a_worker,
                y_a_situation_carries_the_whole_job,
            }
            bytes {
                q2_a_claim_takes_what_fits,
                q2_a_checkpoint_counts_in_a_claim,
                q2_a_claim_from_several_queues_takes_what_fits,
                q8_a_claim_that_is_full_counts_only_what_it_took,
                x_a_page_of_jobs_ends_where_the_next_does_not_fit,
            }
            workers {
                y_every_claim_is_a_sighting,
                y_a_worker_is_seen_in_each_of_its_queues,
                y_a_sighting_tells_the_kinds,
                i19_sightings_of_a_queue_are_bounded,
                y_many_kinds_are_cut,
                y_a_sighting_is_rewritten_once_a_minute,
                y_two_handles_keep_one_sighting,
                y_a_worker_tells_what_it_holds,
                x_workers_are_listed_by_name_in_pages,
                i19_a_worker_not_seen_for_a_day_is_forgotten,
                l7_recovery_needs_no_sighting,
            }
            actors {
                l8_an_act_on_a_job_names_its_actor,
                l8_a_handle_that_was_not_told_acts_for_an_unnamed_program,
                l8_a_change_of_a_queue_tells_what_was_and_what_is,
                l8_a_change_of_the_engine_names_its_actor,
                l8_a_change_of_a_schedule_names_its_actor,
                l8_an_act_on_a_domain_names_its_actor,
                l8_an_act_on_a_sync_names_its_actor,
                l8_an_act_on_a_run_names_its_actor,
                l8_a_repair_names_its_actor,
                l8_the_last_hundred_changes_are_kept,
                i19_changes_past_their_days_are_forgotten,
                l8_work_is_no_change,
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
            include_str!("limits.rs"),
            include_str!("lanes.rs"),
            include_str!("dedup.rs"),
            include_str!("rates.rs"),
            include_str!("operator.rs"),
            include_str!("retention.rs"),
            include_str!("schedule/scenarios.rs"),
            include_str!("timeout.rs"),
            include_str!("explain.rs"),
            include_str!("workers.rs"),
            include_str!("actors.rs"),
        ];
        for file in files {
            let scenarios = file.split("pub async fn ").skip(1).filter_map(|rest| rest.split_once('<'));
            for (name, _) in scenarios {
                assert!(list.contains(&format!(" {name},\n")), "{name} is not stamped");
            }
        }
    }
}
