//! Retention: what is removed, when, and what is still answered afterwards (I19, L12).

use super::Harness;
use super::tools::{Grip, START, World, already, complete, fail, in_lane, kept_for, now, plain, snooze};
use tenure_core::bounds::{ATTEMPTS_KEPT, RECEIPT_MS};
use tenure_core::queue::{
    Act, Beat, Change, Claim, Filter, Idle, JobId, LaneOnFailure, NewJob, RETENTION_MS_DEFAULT, Refusal, Status,
};
use tenure_core::retry::Retry;
use tenure_core::{LostReason, Time};

scenarios! {
    __queue_retention = queue::retention;
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

/// A new job of queue `q`, taken and completed by `a`.
async fn completed<H: Harness>(w: &World<H>) -> Grip {
    let grip = w.held_by("a").await;
    assert_eq!(w.finish(&grip, complete()).await, now(Status::Completed));
    grip
}

/// Prunes until nothing is left to remove.
async fn pruned<H: Harness>(w: &World<H>) -> u32 {
    let mut jobs = 0;
    for _ in 0..100 {
        let step = w.prune(100).await;
        jobs += step.jobs;
        if step == Default::default() {
            return jobs;
        }
    }
    panic!("pruning never ends");
}

/// An ended job is kept seven days by default, to the microsecond, counted from its end.
pub async fn i19_an_ended_job_is_kept_seven_days<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.fill(1).await;
    w.pass_ms(1_000).await;
    let grip = w.take("a").await;
    w.finish(&grip, complete()).await.expect("held");
    let over = w.now.plus_ms(RETENTION_MS_DEFAULT);
    w.set(Time(over.0 - 1)).await;
    assert_eq!(w.prune(100).await.jobs, 0);
    w.set(over).await;
    assert_eq!(w.prune(100).await.jobs, 1);
    assert!(w.gone(grip.id).await);
}

/// Only what has ended is removed, however old the rest is.
pub async fn i19_unended_jobs_are_never_removed<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.change(kept_for(1)).await;
    let running = w.held_by("a").await;
    let backing_off = w.held_by("a").await;
    w.finish(&backing_off, fail(Retry::In { delay_ms: 1_000 })).await.expect("held");
    let waiting = w.fill(1).await[0];
    w.pass_ms(10 * RETENTION_MS_DEFAULT).await;
    assert_eq!(w.prune(100).await.jobs, 0);
    for id in [running.id, backing_off.id, waiting] {
        assert!(!w.gone(id).await);
    }
}

/// One step removes at most so many, and steps end.
pub async fn i19_pruning_is_bounded<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.change(kept_for(5)).await;
    for _ in 0..5 {
        completed(&w).await;
    }
    w.pass_ms(5).await;
    let mut removed = Vec::new();
    for _ in 0..4 {
        removed.push(w.prune(2).await.jobs);
    }
    assert_eq!(removed, [2, 2, 1, 0]);
}

/// Each queue has its own retention, and a change of it binds what ended before.
pub async fn i19_each_queue_has_its_own_retention<H: Harness>() {
    let mut w = World::<H>::open().await;
    let kept = completed(&w).await;
    let other = w.enqueue(NewJob::new("r", "k", "{}")).await;
    let job = w.claim(Claim::new("r", "a")).await.remove(0);
    w.finish(&Grip::of(&job, "a"), complete()).await.expect("held");
    w.store.change("r", kept_for(10)).await.expect("change");
    w.pass_ms(10).await;
    assert_eq!(w.prune(100).await.jobs, 1);
    assert!(w.gone(other).await && !w.gone(kept.id).await);
    w.change(kept_for(0)).await;
    assert!(!w.gone(kept.id).await, "a change alone removes nothing");
    assert_eq!(w.prune(100).await.jobs, 1);
    assert!(w.gone(kept.id).await);
}

/// A removed job is absent everywhere: read, listed, counted, explained, retried; its events are gone with it.
pub async fn i19_a_removed_job_is_absent_everywhere<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.change(kept_for(10)).await;
    let grip = w.held_by("a").await;
    w.finish(&grip, fail(Retry::Never)).await.expect("held");
    assert_eq!(w.events(grip.id).await.len(), 1);
    w.pass_ms(10).await;
    assert_eq!(pruned(&w).await, 1);
    assert!(w.gone(grip.id).await);
    assert_eq!(w.events(grip.id).await, []);
    assert_eq!(w.store.jobs(Filter::default(), None, 10).await.expect("jobs").items, []);
    let counts = w.store.queue("q").await.expect("queue").expect("queues stay").counts;
    assert_eq!(counts, Default::default());
    assert_eq!(w.store.situation(grip.id).await.expect("situation"), None);
    assert_eq!(w.retry(grip.id).await, Err(Refusal::Absent));
    assert_eq!(w.cancel(grip.id).await, Err(Refusal::Absent));
}

/// With no retention, an ended job is not kept for a moment: completed, failed, cancelled or crashed out.
pub async fn i19_with_no_retention_an_ended_job_is_not_kept<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.change(kept_for(0)).await;
    let mut ids: Vec<JobId> = Vec::new();
    for act in [complete(), fail(Retry::Never)] {
        let grip = w.held_by("a").await;
        w.finish(&grip, act).await.expect("held");
        ids.push(grip.id);
    }
    let queued = w.fill(1).await[0];
    assert_eq!(w.cancel(queued).await, Ok(Status::Failed));
    let forced = w.held_by("a").await;
    assert_eq!(w.force(forced.id).await, Ok(Status::Failed));
    let crashed = w.enqueue(plain().attempts_max(1)).await;
    w.take("a").await;
    w.pass_ms(60_000).await;
    assert_eq!(w.recover(10).await.failed, 1);
    ids.extend([queued, forced.id, crashed]);
    for id in ids {
        assert!(w.gone(id).await, "{id}");
        assert_eq!(w.events(id).await, []);
    }
    let kept = w.held_by("a").await;
    w.finish(&kept, fail(Retry::In { delay_ms: 0 })).await.expect("held");
    assert!(!w.gone(kept.id).await, "what waits again is kept");
}

/// Replies get lost whatever the retention: an ending of a removed job is answered again for an hour (L12).
pub async fn l12_an_ending_of_a_removed_job_is_answered_for_an_hour<H: Harness>() {
    for (retention_ms, act, status) in [
        (0, complete(), Status::Completed),
        (0, fail(Retry::Never), Status::Failed),
        (10, complete(), Status::Completed),
    ] {
        let mut w = World::<H>::open().await;
        w.change(kept_for(retention_ms)).await;
        let grip = w.held_by("a").await;
        assert_eq!(w.finish(&grip, act.clone()).await, now(status));
        w.set(START.plus_ms(retention_ms)).await;
        pruned(&w).await;
        assert!(w.gone(grip.id).await);
        w.set(Time(START.plus_ms(RECEIPT_MS).0 - 1)).await;
        pruned(&w).await;
        assert_eq!(w.finish(&grip, act.clone()).await, already(status));
        assert_eq!(w.finish(&grip, Act::Release).await, Err(LostReason::Finished), "another verb");
        assert_eq!(w.beat(grip.beat()).await.map(drop), Err(LostReason::Finished));
        assert_eq!(w.finish(&grip.by("b"), act.clone()).await, Err(LostReason::Unknown), "other hands");
        w.set(START.plus_ms(RECEIPT_MS)).await;
        pruned(&w).await;
        assert_eq!(w.finish(&grip, act).await, Err(LostReason::Unknown));
        assert_eq!(w.events(grip.id).await, [], "refusals of a removed job leave nothing behind");
    }
}

/// The earlier endings of a removed job are answered too, and its lost leases keep their reason.
pub async fn l12_every_claim_of_a_removed_job_is_remembered<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.change(kept_for(0)).await;
    w.fill(1).await;
    let released = w.take("a").await;
    w.finish(&released, Act::Release).await.expect("held");
    let retried = w.take("a").await;
    w.finish(&retried, fail(Retry::In { delay_ms: 0 })).await.expect("held");
    let expired = w.take("a").await;
    w.pass_ms(30_000).await;
    let last = w.take("b").await;
    w.force(last.id).await.expect("running");
    assert!(w.gone(last.id).await);
    assert_eq!(w.finish(&released, Act::Release).await, already(Status::Queued));
    assert_eq!(w.finish(&retried, fail(Retry::Never)).await, already(Status::Queued));
    assert_eq!(w.finish(&retried, complete()).await, Err(LostReason::Finished));
    assert_eq!(w.finish(&expired, complete()).await, Err(LostReason::Superseded));
    assert_eq!(w.finish(&last, complete()).await, Err(LostReason::Cancelled));
    assert_eq!(w.beat(last.beat()).await.map(drop), Err(LostReason::Cancelled));
}

/// A job keeps its last hundred claims; what leaves that list is answered for its hour all the same.
pub async fn l12_an_ending_beyond_the_last_hundred_is_answered<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.fill(1).await[0];
    let mut grips = Vec::new();
    for _ in 0..ATTEMPTS_KEPT + 3 {
        let grip = w.take("a").await;
        w.finish(&grip, snooze(0)).await.expect("held");
        grips.push(grip);
    }
    let job = w.job(id).await;
    assert_eq!(job.attempts.len(), ATTEMPTS_KEPT);
    assert!(job.attempts.iter().all(|attempt| attempt.token != grips[0].token), "the first is no longer listed");
    for grip in [&grips[0], &grips[2], &grips[3], &grips[ATTEMPTS_KEPT]] {
        assert_eq!(w.finish(grip, snooze(0)).await, already(Status::Queued));
        assert_eq!(w.finish(grip, complete()).await, Err(LostReason::Finished));
    }
}

/// … and no longer than its hour, once it was pruned.
pub async fn l12_beyond_the_last_hundred_and_the_hour_is_unknown<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.fill(1).await;
    let first = w.take("a").await;
    w.finish(&first, snooze(0)).await.expect("held");
    for _ in 0..ATTEMPTS_KEPT {
        let grip = w.take("a").await;
        w.finish(&grip, snooze(0)).await.expect("held");
    }
    assert_eq!(w.finish(&first, snooze(0)).await, already(Status::Queued));
    w.pass_ms(RECEIPT_MS).await;
    pruned(&w).await;
    assert_eq!(w.finish(&first, snooze(0)).await, Err(LostReason::Unknown));
}

/// The job a lane stopped for stays until the lane goes on, whatever the retention (B14).
pub async fn i19_the_job_a_lane_stopped_for_is_kept<H: Harness>() {
    for retention_ms in [0, 10] {
        let mut w = World::<H>::open().await;
        let block = Some(Some(LaneOnFailure::Block));
        w.change(Change { lane_on_failure: block, ..kept_for(retention_ms) }).await;
        let ids = w.enqueue_all(vec![in_lane("l"), in_lane("l")]).await;
        let head = w.take("a").await;
        w.finish(&head, fail(Retry::Never)).await.expect("held");
        w.pass_ms(1_000).await;
        assert_eq!(pruned(&w).await, 0);
        assert_eq!(w.job(ids[0]).await.status, Status::Failed);
        assert_eq!(w.idle(Claim::new("q", "a")).await, Idle::Empty);
        w.change(Change { lane_on_failure: Some(None), ..Change::default() }).await;
        assert_eq!(pruned(&w).await, 1);
        assert!(w.gone(ids[0]).await);
        assert_eq!(w.take("a").await.id, ids[1]);
    }
}

/// Removing some jobs of a shared lease leaves the lease to the others.
pub async fn i19_a_shared_lease_outlives_its_removed_jobs<H: Harness>() {
    let w = World::<H>::open().await;
    w.change(kept_for(0)).await;
    let ids = w.fill(3).await;
    let jobs = w.claim(Claim::new("q", "a").max(3).shared(1)).await;
    assert_eq!(w.finish(&Grip::of(&jobs[0], "a"), complete()).await, now(Status::Completed));
    assert!(w.gone(ids[0]).await);
    w.beat(Beat::shared("a", jobs[0].token)).await.expect("two are left under it");
    w.beat(Grip::of(&jobs[1], "a").beat()).await.expect("held");
    assert_eq!(w.finish(&Grip::of(&jobs[2], "a"), complete()).await, now(Status::Completed));
}

/// Ids and tokens are never used again, whatever was removed (L2, B15).
pub async fn l2_what_was_removed_gives_no_number_back<H: Harness>() {
    let w = World::<H>::open().await;
    w.change(kept_for(0)).await;
    let mut last: Option<Grip> = None;
    for _ in 0..3 {
        let grip = completed(&w).await;
        if let Some(last) = last {
            assert!(grip.id > last.id && grip.token > last.token);
        }
        pruned(&w).await;
        last = Some(grip);
    }
}
