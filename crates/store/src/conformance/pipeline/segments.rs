//! Stages that are split (P6).

use super::tools::{Grip, at_once, cut, done, fail, now, split};
use crate::conformance::Harness;
use crate::conformance::queue::tools::World;
use tenure_core::pipeline::{Act, Claim, NewSegment, Reason, Refusal, RunStatus, SegmentCounts, Status, What};
use tenure_core::retry::Retry;

scenarios! {
    __pipeline_segments = pipeline::segments;
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

/// A split makes the segments `READY`, ends the lease and returns the stage to `NEW`.
pub async fn p6_a_split_makes_segments_and_ends_the_lease<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.begun(cut()).await;
    world.pass("fetch").await;
    let grip = world.grab("encode", "w").await;
    assert_eq!(world.end(&grip, split(&["s1", "s0"])).await, now(Status::New));
    assert!(world.end(&grip, split(&["s1", "s0"])).await.unwrap().already);
    let stage = world.stage_info(run, "encode").await;
    assert_eq!((stage.unit.status, stage.unit.lease, stage.unit.split), (Status::New, None, true));
    assert_eq!(stage.segments, SegmentCounts { all: 2, ready: 2, ..SegmentCounts::default() });
    let units = world.grab_all(Claim::new("p", "encode", "w").max(9)).await;
    let told: Vec<_> = units.iter().map(|unit| (unit.segment.as_deref().unwrap(), unit.input.as_str())).collect();
    assert_eq!(told, [("s1", "\"s1\""), ("s0", "\"s0\"")]);
    assert!(units.iter().all(|unit| !unit.join && unit.attempt == 1));
}

/// Only a stage declared `segmented` can be split, once, and no segment; a refused split changes nothing.
pub async fn p6_only_a_segmented_stage_is_split_and_once<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.begun(cut()).await;
    let fetch = world.grab("fetch", "w").await;
    assert_eq!(world.end(&fetch, split(&["s"])).await, Err(Refusal::NotSegmented));
    assert_eq!(world.end(&fetch, done("1")).await, now(Status::Done));
    world.advance().await;
    let encode = world.grab("encode", "w").await;
    world.end(&encode, split(&["s"])).await.unwrap();
    let segment = world.grab("encode", "w").await;
    assert_eq!(world.end(&segment, split(&["t"])).await, Err(Refusal::NotSegmented));
    world.end(&segment, done("1")).await.unwrap();
    world.advance().await;
    let join = world.grab("encode", "w").await;
    assert_eq!(world.end(&join, split(&["u"])).await, Err(Refusal::AlreadySplit));
    assert_eq!(world.end(&join, done("1")).await, now(Status::Done));
    assert_eq!(world.stage_info(run, "encode").await.segments.all, 1);
}

/// The stage is `READY` as its join only when all segments are `DONE`, and it is joined once.
pub async fn p6_the_join_waits_for_every_segment<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.split_into(&["s0", "s1", "s2"]).await;
    for n in 0..3u64 {
        assert_eq!(world.stage(run, "encode").await.status, Status::New);
        assert_eq!(world.stage_info(run, "encode").await.segments.done, n);
        world.pass("encode").await;
    }
    assert_eq!(world.standing(run).await, "fetch:DONE encode:READY out:NEW");
    let join = world.grab_all(Claim::new("p", "encode", "w")).await.remove(0);
    assert_eq!((join.join, join.segment.clone(), join.input.as_str()), (true, None, "\"fetch\""));
    world.end(&Grip::of(&join, "w"), done("\"joined\"")).await.unwrap();
    world.advance().await;
    world.none_of("encode").await;
    world.pass("out").await;
    assert_eq!(world.run_status(run).await, RunStatus::Done);
}

/// A failed segment is tried again alone.
pub async fn p6_only_the_failed_segment_is_redone<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.split_into(&["s0", "s1"]).await;
    let (first, second) = (world.grab("encode", "w").await, world.grab("encode", "w").await);
    world.end(&first, at_once()).await.unwrap();
    world.end(&second, done("2")).await.unwrap();
    world.advance().await;
    assert_eq!(world.segment(run, "encode", "s1").await.output.as_deref(), Some("2"));
    let units = world.grab_all(Claim::new("p", "encode", "w").max(9)).await;
    assert_eq!(units.len(), 1);
    assert_eq!((units[0].segment.as_deref(), units[0].attempt), (Some("s0"), 2));
}

/// A segment with its attempts spent makes its stage finally `ERROR(segment_failed)`, at once.
pub async fn p6_a_spent_segment_fails_its_stage<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.split_into(&["s0"]).await;
    for _ in 0..2 {
        let grip = world.grab("encode", "w").await;
        world.end(&grip, at_once()).await.unwrap();
        world.advance().await;
    }
    let stage = world.stage(run, "encode").await;
    assert_eq!((stage.status, stage.reason), (Status::Error, Some(Reason::SegmentFailed)));
    assert_eq!(stage.error.as_deref(), Some("segment s0 failed for good (attempts_spent)"));
    assert_eq!(world.run_status(run).await, RunStatus::Error);
    assert_eq!(world.told_whats(run).await, [What::Retried, What::Failed, What::Failed]);
}

/// Segments that run while their stage fails may still finish; the run ends after them.
pub async fn p6_running_segments_of_a_failed_stage_may_finish<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.split_into(&["s0", "s1"]).await;
    let (first, second) = (world.grab("encode", "w").await, world.grab("encode", "w").await);
    world.end(&first, fail(Retry::Never)).await.unwrap();
    world.advance().await;
    assert_eq!(world.run_status(run).await, RunStatus::Running);
    assert_eq!(world.end(&second, done("2")).await, now(Status::Done));
    world.advance().await;
    assert_eq!(world.run_status(run).await, RunStatus::Error);
}

/// What is `READY` of a stage that has failed for good is not handed out.
pub async fn y_ready_segments_of_a_failed_stage_are_not_claimable<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.split_into(&["s0", "s1", "s2"]).await;
    let (first, second) = (world.grab("encode", "w").await, world.grab("encode", "w").await);
    world.end(&first, fail(Retry::Never)).await.unwrap();
    world.none_of("encode").await;
    // What comes back later is not handed out either.
    world.end(&second, Act::Release).await.unwrap();
    world.none_of("encode").await;
    world.advance().await;
    assert_eq!(world.run_status(run).await, RunStatus::Error);
    assert_eq!(world.segment(run, "encode", "s1").await.status, Status::Ready);
}

/// The split's attempts are not the join's, nor a segment's.
pub async fn p6_split_join_and_segments_have_attempts_of_their_own<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.begun(cut()).await;
    world.pass("fetch").await;
    let again = async |act: Act| {
        let grip = world.grab("encode", "w").await;
        world.end(&grip, at_once()).await.unwrap();
        world.advance().await;
        let unit = world.grab_all(Claim::new("p", "encode", "w")).await.remove(0);
        assert_eq!(unit.attempt, 2);
        world.end(&Grip::of(&unit, "w"), act).await.unwrap();
        world.advance().await;
    };
    again(split(&["s0"])).await;
    again(done("1")).await;
    again(done("2")).await;
    assert_eq!(world.stage(run, "encode").await.status, Status::Done);
}

/// One split makes a hundred thousand segments.
pub async fn p6_a_hundred_thousand_segments_in_one_split<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.begun(cut()).await;
    world.pass("fetch").await;
    let grip = world.grab("encode", "w").await;
    let segments = (0..100_000).map(|n| NewSegment { name: format!("s{n}"), input: None }).collect();
    let mut ending = grip.ending(Act::Split { segments });
    ending.check().unwrap();
    assert_eq!(world.store.finish_unit(ending).await.unwrap(), now(Status::New));
    assert_eq!(world.stage_info(run, "encode").await.segments.all, 100_000);
    let units = world.grab_all(Claim::new("p", "encode", "w").max(2)).await;
    assert_eq!(units.iter().map(|unit| unit.segment.clone().unwrap()).collect::<Vec<_>>(), ["s0", "s1"]);
    assert_eq!(units[0].input, "null");
    world.cancel_run(run).await.unwrap();
    assert_eq!(world.stage_info(run, "encode").await.segments.error, 100_000);
}

/// Segments are listed in the order of the split, in pages.
pub async fn x_segments_are_listed_in_the_order_of_the_split<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.split_into(&["z", "a", "m"]).await;
    let page = world.store.segments(run, "encode", None, 2).await.unwrap();
    let names = |page: &tenure_core::Page<tenure_core::pipeline::Unit>| {
        page.items.iter().map(|unit| unit.segment.clone().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((names(&page), page.more), (vec!["z".to_owned(), "a".to_owned()], true));
    let page = world.store.segments(run, "encode", Some(page.items[1].id), 2).await.unwrap();
    assert_eq!((names(&page), page.more), (vec!["m".to_owned()], false));
    assert!(world.store.segments(run, "zebra", None, 2).await.unwrap().items.is_empty());
}
