//! What an operator does to runs.

use super::tools::{Grip, at_once, chain, done, fail, now, split};
use crate::conformance::Harness;
use crate::conformance::queue::tools::{LEASE_MS, World};
use tenure_core::LostReason;
use tenure_core::pipeline::{
    Act, Artifact, Beat, Claim, Reason, Record, Refusal, RunAction, RunId, RunRefusal, RunStatus, Status, What,
};
use tenure_core::retry::Retry;

scenarios! {
    __pipeline_operator = pipeline::operator;
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

/// A cancel ends the run and every unit of it now; holders are told.
pub async fn s6_a_cancel_is_immediate_and_told_to_holders<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.split_into(&["s0", "s1"]).await;
    let held = world.grab("encode", "w").await;
    assert_eq!(world.cancel_run(run).await, Ok(RunStatus::Error));
    assert_eq!(world.standing(run).await, "fetch:DONE encode:ERROR out:ERROR");
    for unit in ["s0", "s1"] {
        let unit = world.segment(run, "encode", unit).await;
        assert_eq!((unit.status, unit.reason, unit.lease), (Status::Error, Some(Reason::Cancelled), None));
    }
    assert_eq!(world.pulse(held.beat()).await, Err(LostReason::Cancelled));
    assert_eq!(world.end(&held, done("1")).await, Err(Refusal::Lost(LostReason::Cancelled)));
    world.none_of("encode").await;
    assert_eq!(world.advance().await, tenure_core::pipeline::Advanced::default());
    let told = world.told(run).await;
    assert_eq!((told[0].what, told[0].error.as_deref()), (What::Cancelled, Some("not needed")));
    assert_eq!(told[1].message(), format!("the lease of w on encode/s0 (token {}) ended with the run", held.token));
}

/// Cancelling what has ended is `terminal`; retrying what runs is `not_terminal`.
pub async fn y_what_has_ended_cannot_be_cancelled_nor_what_runs_retried<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    let from = RunAction::RetryFrom { stage: "a".to_owned() };
    for action in [RunAction::Retry, from.clone(), RunAction::Repair { units: vec![("a".to_owned(), None)] }] {
        assert_eq!(world.act(run, action).await, Err(RunRefusal::NotTerminal));
    }
    for stage in ["a", "b", "c"] {
        world.pass(stage).await;
    }
    assert_eq!(world.cancel_run(run).await, Err(RunRefusal::Terminal));
    assert_eq!(world.act(run, RunAction::Pause).await, Err(RunRefusal::Terminal));
    assert_eq!(world.act(run, RunAction::Retry).await, Err(RunRefusal::NothingToRetry));
    let nowhere = RunAction::RetryFrom { stage: "z".to_owned() };
    assert_eq!(world.act(run, nowhere).await, Err(RunRefusal::NoSuchUnit));
    assert_eq!(world.act(RunId(99), RunAction::Retry).await, Err(RunRefusal::Absent));
    assert_eq!(world.run_status(run).await, RunStatus::Done);
}

/// A retry begins what failed anew, with all its attempts, and is an event.
pub async fn l9_a_retry_begins_failed_stages_anew<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    world.pass("a").await;
    let grip = world.grab("b", "w").await;
    world.end(&grip, fail(Retry::Never)).await.unwrap();
    world.advance().await;
    assert_eq!(world.act(run, RunAction::Retry).await, Ok(RunStatus::Running));
    assert_eq!(world.standing(run).await, "a:DONE b:READY c:NEW");
    let unit = world.grab_all(Claim::new("p", "b", "w")).await.remove(0);
    assert_eq!(unit.attempt, 1);
    assert!(unit.token > grip.token);
    assert_eq!(world.end(&Grip::of(&unit, "w"), done("1")).await, now(Status::Done));
    world.advance().await;
    world.pass("c").await;
    assert_eq!(world.run_status(run).await, RunStatus::Done);
    assert_eq!(world.told_whats(run).await, [What::Failed, What::RetriedByOperator]);
}

/// A retry of a split stage puts its spent segments back, and no other.
pub async fn p2_a_retry_of_a_split_stage_redoes_its_spent_segments_alone<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.split_into(&["s0", "s1"]).await;
    let (first, second) = (world.grab("encode", "w").await, world.grab("encode", "w").await);
    world.end(&first, done("1")).await.unwrap();
    world.end(&second, fail(Retry::Never)).await.unwrap();
    world.advance().await;
    assert_eq!(world.act(run, RunAction::Retry).await, Ok(RunStatus::Running));
    assert_eq!(world.standing(run).await, "fetch:DONE encode:NEW out:NEW");
    let units = world.grab_all(Claim::new("p", "encode", "w").max(9)).await;
    assert_eq!(units.iter().map(|unit| unit.segment.as_deref()).collect::<Vec<_>>(), [Some("s1")]);
    world.end(&Grip::of(&units[0], "w"), done("2")).await.unwrap();
    world.advance().await;
    assert!(world.grab_all(Claim::new("p", "encode", "w")).await[0].join);
}

/// A retry from a stage does it again from the beginning, and what follows from it; the rest stays.
pub async fn l9_a_retry_from_a_stage_redoes_what_follows<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.split_into(&["s0"]).await;
    for stage in ["encode", "encode", "out"] {
        world.pass(stage).await;
    }
    assert_eq!(world.run_status(run).await, RunStatus::Done);
    let from = RunAction::RetryFrom { stage: "encode".to_owned() };
    assert_eq!(world.act(run, from).await, Ok(RunStatus::Running));
    assert_eq!(world.standing(run).await, "fetch:DONE encode:READY out:NEW");
    let unit = world.grab_all(Claim::new("p", "encode", "w")).await.remove(0);
    assert_eq!((unit.segment.as_deref(), unit.join, unit.record.clone()), (None, false, None));
    assert_eq!(world.stage_info(run, "encode").await.segments.all, 0);
}

/// A late write to a segment that a retry dropped is told what became of its claim, not of the segment: `superseded` only
/// if somebody has claimed that segment since; and it leaves an event.
pub async fn l3_a_late_write_to_a_dropped_segment_is_told_the_truth<H: Harness>() {
    let mut world = World::<H>::open().await;
    let run = world.split_into(&["s0", "s1", "s2"]).await;
    let (first, second) = (world.grab("encode", "w").await, world.grab("encode", "w").await);
    world.pass_ms(LEASE_MS).await;
    world.sweep().await;
    let third = world.grab("encode", "v").await;
    assert_eq!(third.key, first.key, "the oldest segment is claimed again, the second is not");
    world.end(&third, fail(Retry::Never)).await.unwrap();
    world.advance().await;
    let from = RunAction::RetryFrom { stage: "encode".to_owned() };
    assert_eq!(world.act(run, from).await, Ok(RunStatus::Running));
    let told = async |expected: LostReason| {
        assert_eq!(world.end(&first, done("1")).await, Err(Refusal::Lost(LostReason::Superseded)));
        assert_eq!(world.pulse(second.beat()).await, Err(expected));
        assert_eq!(world.end(&second, done("1")).await, Err(Refusal::Lost(expected)));
        assert_eq!(world.end(&third, done("1")).await, Err(Refusal::Lost(LostReason::Finished)));
        assert!(world.end(&third, fail(Retry::Never)).await.unwrap().already);
    };
    told(LostReason::Expired).await;
    // Made anew under the same name, but in nobody's hands yet.
    let again = world.grab("encode", "w").await;
    world.end(&again, split(&["s0", "s1"])).await.unwrap();
    told(LostReason::Expired).await;
    let claimed = [world.grab("encode", "w").await, world.grab("encode", "w").await];
    assert_eq!(claimed[1].key, second.key);
    told(LostReason::Superseded).await;
    let events = world.told(run).await;
    let refused = events.iter().filter(|event| event.what == What::Refused);
    let refused: Vec<_> = refused.map(|event| (event.unit(), event.token, event.lost, event.count)).collect();
    let of = |grip: &Grip, lost, count| {
        (format!("encode/{}", grip.key.segment.as_ref().unwrap()), Some(grip.token), Some(lost), count)
    };
    let expected = [
        of(&first, LostReason::Superseded, 3),
        of(&second, LostReason::Expired, 4),
        of(&third, LostReason::Finished, 3),
        of(&second, LostReason::Superseded, 2),
    ];
    assert_eq!(refused, expected);
}

/// A write to a segment that never was leaves an event with its stage.
pub async fn l8_a_write_to_no_segment_of_a_stage_is_told_with_the_stage<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.split_into(&["s0"]).await;
    let mut grip = world.grab("encode", "w").await;
    grip.key.segment = Some("s9".to_owned());
    assert_eq!(world.end(&grip, done("1")).await, Err(Refusal::Lost(LostReason::Unknown)));
    let told = world.told(run).await;
    assert_eq!(
        told.iter().map(|event| (event.what, event.unit())).collect::<Vec<_>>(),
        [(What::Refused, "encode/s9".to_owned())]
    );
}

fn with_artifact(path: &str) -> Act {
    let artifacts = vec![Artifact { path: path.to_owned(), size: 3, blake3: "ab".repeat(32) }];
    let record = Record { token: tenure_core::Token(0), artifacts, sealed: None };
    Act::Complete { output: None, record: Some(record) }
}

/// A repair puts exactly the named units back; what follows waits, and keeps what it recorded.
pub async fn p7_a_repair_redoes_exactly_what_is_named<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    for stage in ["a", "b", "c"] {
        let grip = world.grab(stage, "w").await;
        world.end(&grip, with_artifact(&format!("1/{stage}/v1/x"))).await.unwrap();
        world.advance().await;
    }
    let repair = RunAction::Repair { units: vec![("b".to_owned(), None)] };
    assert_eq!(world.act(run, repair).await, Ok(RunStatus::Running));
    assert_eq!(world.standing(run).await, "a:DONE b:READY c:NEW");
    assert!(world.stage(run, "c").await.record.is_some());
    assert_eq!(world.told(run).await[0].unit(), "b");
    world.pass("b").await;
    world.pass("c").await;
    assert_eq!(world.run_status(run).await, RunStatus::Done);
}

/// A repaired segment is done again alone, and its stage is joined again.
pub async fn p7_a_repaired_segment_is_joined_again<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.split_into(&["s0", "s1"]).await;
    for stage in ["encode", "encode", "encode", "out"] {
        world.pass(stage).await;
    }
    let wrong = RunAction::Repair { units: vec![("encode".to_owned(), Some("s7".to_owned()))] };
    assert_eq!(world.act(run, wrong).await, Err(RunRefusal::NoSuchUnit));
    let repair = RunAction::Repair { units: vec![("encode".to_owned(), Some("s1".to_owned()))] };
    assert_eq!(world.act(run, repair).await, Ok(RunStatus::Running));
    assert_eq!(world.standing(run).await, "fetch:DONE encode:NEW out:NEW");
    let units = world.grab_all(Claim::new("p", "encode", "w").max(9)).await;
    assert_eq!(units.iter().map(|unit| unit.segment.as_deref()).collect::<Vec<_>>(), [Some("s1")]);
    world.end(&Grip::of(&units[0], "w"), done("2")).await.unwrap();
    world.advance().await;
    assert!(world.grab_all(Claim::new("p", "encode", "w")).await[0].join);
}

/// A paused run hands out nothing, whatever becomes `READY` meanwhile; its holders go on.
pub async fn x_a_paused_run_hands_out_nothing<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    let held = world.grab("a", "w").await;
    assert_eq!(world.act(run, RunAction::Pause).await, Ok(RunStatus::Running));
    world.end(&held, Act::Release).await.unwrap();
    world.none_of("a").await;
    world.act(run, RunAction::Resume).await.unwrap();
    let held = world.grab("a", "w").await;
    world.act(run, RunAction::Pause).await.unwrap();
    assert_eq!(world.end(&held, done("1")).await, now(Status::Done));
    world.advance().await;
    assert_eq!(world.standing(run).await, "a:DONE b:READY c:NEW");
    world.none_of("b").await;
    world.act(run, RunAction::Resume).await.unwrap();
    world.pass("b").await;
    assert_eq!(world.told_whats(run).await, [What::Paused, What::Resumed, What::Paused, What::Resumed]);
}

/// A cancelled run goes on where it was.
pub async fn l9_a_cancelled_run_can_be_retried<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    world.pass("a").await;
    let grip = world.grab("b", "w").await;
    world.end(&grip, at_once()).await.unwrap();
    world.cancel_run(run).await.unwrap();
    assert_eq!(world.act(run, RunAction::Retry).await, Ok(RunStatus::Running));
    assert_eq!(world.standing(run).await, "a:DONE b:READY c:NEW");
    world.pass("b").await;
    world.pass("c").await;
    assert_eq!(world.run_status(run).await, RunStatus::Done);
}

/// The progress and the error of an attempt go with what is begun anew.
pub async fn l9_what_is_begun_anew_says_nothing_of_before<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    let grip = world.grab("a", "w").await;
    let beat = Beat { progress: Some("50".to_owned()), ..grip.beat() };
    world.store.beat_units(vec![beat]).await.unwrap().remove(0).unwrap();
    world.end(&grip, fail(Retry::Never)).await.unwrap();
    world.advance().await;
    let said = async || {
        let unit = world.stage_info(run, "a").await.unit;
        (unit.progress.is_some(), unit.error.is_some())
    };
    assert_eq!(said().await, (true, true));
    assert_eq!(world.act(run, RunAction::Retry).await, Ok(RunStatus::Running));
    assert_eq!(said().await, (false, false));
}
