//! Why does a run not go on? One sentence for each stage that is not `DONE`.

use super::unit::{Run, RunStatus, StageInfo, Status};
use crate::explain::{Explanation, Why};
use crate::lease::live;
use crate::time::Time;

/// What each stage waits for, the most telling first.
#[must_use]
pub fn explain(run: &Run, stages: &[StageInfo], now: Time) -> Explanation {
    let mut reasons = Vec::new();
    match run.status {
        RunStatus::Done => reasons.push(why("finished", "every stage is DONE".to_owned())),
        RunStatus::Error => reasons.push(why("finished", "the run ended as ERROR".to_owned())),
        RunStatus::Running if run.paused => {
            reasons.push(why("paused", "the run is paused: none of its stages is handed out".to_owned()));
        }
        RunStatus::Running => {}
    }
    let mut told: Vec<(u8, Why)> = stages.iter().filter_map(|stage| of_stage(stage, stages, now)).collect();
    told.sort_by_key(|(rank, _)| *rank);
    reasons.extend(told.into_iter().map(|(_, why)| why));
    if reasons.is_empty() {
        let message = "every stage is DONE; the orchestrator has yet to settle the run".to_owned();
        reasons.push(why("waiting_for_the_orchestrator", message));
    }
    Explanation::of(reasons)
}

fn of_stage(stage: &StageInfo, all: &[StageInfo], now: Time) -> Option<(u8, Why)> {
    let unit = &stage.unit;
    let name = &unit.stage;
    let counts = stage.segments;
    Some(match unit.status {
        Status::Done => return None,
        Status::Error => match (unit.reason, unit.retry_at) {
            (Some(reason), _) => {
                let error = unit.error.as_deref().map_or(String::new(), |error| format!(" ({})", head(error)));
                (0, why("failed", format!("{name} failed for good: {}{error}", reason.sentence())))
            }
            (None, Some(at)) if at > now => {
                let message = format!("{name} failed and is tried again in {} ms", at.ms_since(now));
                (2, why("waits_to_be_retried", message))
            }
            (None, _) => (4, why("waiting_for_the_orchestrator", format!("{name} is due to be tried again"))),
        },
        Status::Running => match &unit.lease {
            Some(lease) if !live(lease.expires_at, now) => (
                1,
                why("lease_expired", format!("the lease of {} on {name} ran out; it will be returned", lease.owner)),
            ),
            lease => {
                let owner = lease.as_ref().map_or("someone", |lease| lease.owner.as_str());
                (3, why("held", format!("{name} is held by {owner}, attempt {}", unit.attempt)))
            }
        },
        Status::Ready => (2, why("waiting_for_a_worker", format!("{name} is READY and waits for a worker"))),
        Status::New if unit.split => {
            let left = counts.all - counts.done;
            let message = format!(
                "{name} waits for {left} of its {} segments ({} READY, {} RUNNING, {} ERROR)",
                counts.all, counts.ready, counts.running, counts.error
            );
            (3, why("waits_for_segments", message))
        }
        Status::New => {
            let missing: Vec<String> = unit
                .needs
                .iter()
                .filter_map(|need| all.iter().find(|other| other.unit.stage == *need))
                .filter(|need| need.unit.status != Status::Done)
                .map(|need| format!("{} ({})", need.unit.stage, need.unit.status))
                .collect();
            if missing.is_empty() {
                (4, why("waiting_for_the_orchestrator", format!("{name} can be made READY")))
            } else {
                (5, why("waits_for_prerequisite", format!("{name} waits for {}", missing.join(", "))))
            }
        }
    })
}

fn why(code: &'static str, message: String) -> Why {
    Why { code, message }
}

fn head(text: &str) -> String {
    text.chars().take(200).collect()
}
