//! Pipelines, for every backend: scenarios that are claims of one act each, and a walk against
//! [`Pipelines`](tenure_core::pipeline::Pipelines).

pub mod graph;
pub mod hold;
pub mod operator;
pub mod segments;
mod tools;
mod walk;

pub use walk::{PipelineFailure, PipelineMet, PipelineReport, pipeline_walk, pipeline_walks};

use crate::conformance::Harness;
use crate::{PipelineStore, Upkeep};
use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::{Epoch, Time};

/// What a walk over pipelines needs of a backend: no other face. Every [`Harness`] is one.
#[async_trait]
pub trait PipelineHarness: Sized + Send + Sync + 'static {
    /// A new, empty store on a clock that stands still at `start`.
    async fn open_pipelines(start: Time) -> Self;

    /// The store.
    fn pipelines(&self) -> Arc<dyn PipelineStore>;

    /// A second handle on the same store, as another process would have.
    async fn other_pipelines(&self) -> Arc<dyn PipelineStore>;

    /// Sets the store's clock; it stands still again at `now`.
    async fn move_clock(&self, now: Time);

    /// Raises the epoch of tokens.
    async fn raise_epoch(&self) -> Epoch;
}

#[async_trait]
impl<H: Harness> PipelineHarness for H {
    async fn open_pipelines(start: Time) -> H {
        H::open(start).await
    }

    fn pipelines(&self) -> Arc<dyn PipelineStore> {
        self.store()
    }

    async fn other_pipelines(&self) -> Arc<dyn PipelineStore> {
        self.another().await
    }

    async fn move_clock(&self, now: Time) {
        self.set_clock(now).await;
    }

    async fn raise_epoch(&self) -> Epoch {
        Upkeep::new_epoch(&*self.store()).await.expect("new_epoch")
    }
}

/// Stamps every scenario of pipelines as a `#[tokio::test]` for a [`Harness`](crate::conformance::Harness).
#[macro_export]
macro_rules! pipeline_conformance {
    ($harness:ty) => {
        $crate::__stamp_pipeline! { $harness;
            graph {
                y_the_same_version_and_graph_again_is_the_same,
                y_another_graph_under_the_same_version_is_refused,
                p1_a_run_begins_with_every_stage_new,
                x_a_run_of_an_unknown_pipeline_is_absent,
                q7_a_run_is_started_once_under_a_key,
                q7_many_starters_under_one_key_have_one_run,
                x_runs_go_on_under_their_version,
                p2_only_the_orchestrator_makes_a_stage_ready,
                p2_a_stage_waits_for_all_its_prerequisites,
                p1_a_run_is_done_when_all_its_stages_are,
                p4_independent_branches_finish_beside_a_failed_one,
                p5_an_advance_happens_once,
                p5_many_orchestrators_advance_each_stage_once,
                p5_a_step_of_the_orchestrator_is_bounded,
                p5_busy_older_runs_never_hold_up_a_younger_one,
                p5_an_orchestrator_without_retries_may_rest,
                p3_an_output_is_the_input_of_what_follows,
                y_a_claim_of_an_unknown_pipeline_or_stage_is_absent,
                x_units_are_claimed_by_priority_then_age,
                q2_a_claim_of_units_takes_what_fits,
                x_runs_are_listed_newest_first_in_pages,
                x_pipelines_are_listed_by_name,
                i19_a_settled_run_is_kept_seven_days,
            }
            hold {
                l1_a_claim_hands_over_the_unit_and_its_lease,
                l1_sixteen_claimers_never_share_a_unit,
                l2_tokens_grow_with_every_claim,
                l3_every_write_of_a_stale_holder_is_refused,
                l3_a_token_never_granted_is_unknown,
                l4_the_instant_of_expiry_is_lost,
                l6_release_gives_the_attempt_back,
                l6_the_last_expiry_is_the_crash_limit,
                l7_recovery_returns_what_ran_out_and_says_so,
                l7_a_claim_recovers_without_a_sweeper,
                l8_refusals_are_counted_in_one_event,
                l8_another_tokens_refusal_is_another_event,
                l12_an_ending_sent_again_is_answered_as_the_first_time,
                l12_another_verb_under_an_ended_token_is_finished,
                p4_a_failed_stage_is_released_by_the_orchestrator_after_its_backoff,
                p4_with_attempts_spent_it_stays,
                p4_never_is_final,
                q3_a_heartbeat_extends_the_lease_and_carries_progress,
                q3_many_heartbeats_are_answered_each_on_its_own,
                p7_a_record_is_fenced_and_handed_to_the_next_attempt,
                p7_only_what_the_completion_recorded_counts,
            }
            segments {
                p6_a_split_makes_segments_and_ends_the_lease,
                p6_only_a_segmented_stage_is_split_and_once,
                p6_the_join_waits_for_every_segment,
                p6_only_the_failed_segment_is_redone,
                p6_a_spent_segment_fails_its_stage,
                p6_running_segments_of_a_failed_stage_may_finish,
                y_ready_segments_of_a_failed_stage_are_not_claimable,
                p6_split_join_and_segments_have_attempts_of_their_own,
                p6_a_hundred_thousand_segments_in_one_split,
                x_segments_are_listed_in_the_order_of_the_split,
            }
            operator {
                s6_a_cancel_is_immediate_and_told_to_holders,
                y_what_has_ended_cannot_be_cancelled_nor_what_runs_retried,
                l9_a_retry_begins_failed_stages_anew,
                l9_what_is_begun_anew_says_nothing_of_before,
                p2_a_retry_of_a_split_stage_redoes_its_spent_segments_alone,
                l9_a_retry_from_a_stage_redoes_what_follows,
                l3_a_late_write_to_a_dropped_segment_is_told_the_truth,
                l8_a_write_to_no_segment_of_a_stage_is_told_with_the_stage,
                p7_a_repair_redoes_exactly_what_is_named,
                p7_a_repaired_segment_is_joined_again,
                x_a_paused_run_hands_out_nothing,
                l9_a_cancelled_run_can_be_retried,
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __stamp_pipeline {
    ($harness:ty; $($module:ident { $($scenario:ident,)* })*) => {
        mod pipeline {
            use super::*;
            $(
                mod $module {
                    use super::*;
                    $(
                        #[tokio::test(flavor = "multi_thread")]
                        async fn $scenario() {
                            $crate::conformance::pipeline::$module::$scenario::<$harness>().await;
                        }
                    )*
                }
            )*
        }
    };
}

#[cfg(test)]
mod tests {
    /// A scenario that is not on the list would be compiled and never run.
    #[test]
    fn every_scenario_is_on_the_list() {
        let list = include_str!("mod.rs");
        let files = [
            include_str!("graph.rs"),
            include_str!("hold.rs"),
            include_str!("segments.rs"),
            include_str!("operator.rs"),
        ];
        for file in files {
            let scenarios = file.split("pub async fn ").skip(1).filter_map(|rest| rest.split_once('<'));
            for (name, _) in scenarios {
                assert!(list.contains(&format!(" {name},\n")), "{name} is not stamped");
            }
        }
    }
}
