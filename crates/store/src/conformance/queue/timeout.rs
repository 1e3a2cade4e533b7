//! Timeouts: a lease over one job never outlives the job's own `timeout_ms` (Q6).

use super::Harness;
use super::tools::{Grip, LEASE_MS, START, World, complete, now, plain};
use tenure_core::queue::{Beat, Claim, Idle, Outcome, Reason, Status, What};
use tenure_core::{LostReason, Time};

scenarios! {
    __queue_timeout = queue::timeout;
    q6_a_lease_is_never_renewed_beyond_the_timeout,
    q6_a_timeout_shorter_than_the_lease_ends_it,
    q6_an_attempt_that_takes_too_long_counts,
    q6_the_last_timeout_is_final,
    q6_a_silent_worker_is_not_a_timeout,
    q6_a_silent_worker_is_not_a_timeout_however_late_it_is_swept,
    q6_a_job_that_ends_in_time_is_untouched,
    q6_a_shared_lease_outlives_a_timeout,
}

/// However it is renewed, the lease ends `timeout_ms` after its claim.
pub async fn q6_a_lease_is_never_renewed_beyond_the_timeout<H: Harness>() {
    let mut w = World::<H>::open().await;
    let timeout_ms = LEASE_MS + 10_000;
    w.enqueue(plain().timeout_ms(timeout_ms)).await;
    let claimed = w.claim(Claim::new("q", "a")).await.remove(0);
    assert_eq!((claimed.timeout_ms, claimed.lease_expires_at), (Some(timeout_ms), START.plus_ms(LEASE_MS)));
    let (grip, end) = (Grip::of(&claimed, "a"), START.plus_ms(timeout_ms));
    for _ in 0..3 {
        w.pass_ms(10_100).await;
        let until = w.beat(grip.beat()).await.expect("held").lease_expires_at;
        assert_eq!(until, w.now.plus_ms(LEASE_MS).min(end));
    }
    w.set(Time(end.0 - 1)).await;
    assert_eq!(w.beat(grip.beat()).await.expect("held").lease_expires_at, end);
    w.set(end).await;
    assert_eq!(w.beat(grip.beat()).await.map(drop), Err(LostReason::Expired));
    assert_eq!(w.finish(&grip, complete()).await, Err(LostReason::Expired));
}

/// A timeout shorter than the lease ends it from the start.
pub async fn q6_a_timeout_shorter_than_the_lease_ends_it<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = w.enqueue_all(vec![plain().timeout_ms(1), plain()]).await;
    let jobs = w.claim(Claim::new("q", "a").max(2)).await;
    let ends: Vec<_> = jobs.iter().map(|job| (job.id, job.lease_expires_at)).collect();
    assert_eq!(ends, [(ids[0], START.plus_ms(1)), (ids[1], START.plus_ms(LEASE_MS))]);
    w.pass_ms(1).await;
    assert_eq!(w.recover(10).await.requeued, 1);
}

/// An attempt that took too long is counted and says so; the job comes back at once while it has attempts.
pub async fn q6_an_attempt_that_takes_too_long_counts<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(plain().timeout_ms(2_000).attempts_max(2)).await;
    w.take("a").await;
    w.pass_ms(2_000).await;
    assert_eq!(w.recover(10).await.requeued, 1);
    let job = w.job(id).await;
    assert_eq!((job.status, job.attempt, job.run_at), (Status::Queued, 1, START));
    let attempt = &job.attempts[0];
    assert_eq!((attempt.outcome, attempt.verb), (Some(Outcome::Expired), None));
    assert_eq!(attempt.error.as_deref(), Some("took longer than 2000 ms"));
    assert_eq!(w.whats(id).await, [What::Expired]);
    let next = w.claim(Claim::new("q", "b")).await.remove(0);
    assert_eq!((next.attempt, next.lease_expires_at), (2, w.now.plus_ms(2_000)), "each attempt has its own time");
}

/// The last attempt that takes too long ends the job with reason `timeout`; by a sweep or by a claim.
pub async fn q6_the_last_timeout_is_final<H: Harness>() {
    for swept in [true, false] {
        let mut w = World::<H>::open().await;
        let id = w.enqueue(plain().timeout_ms(2_000).attempts_max(1)).await;
        let grip = w.take("a").await;
        w.pass_ms(2_000).await;
        if swept {
            assert_eq!(w.recover(10).await.failed, 1);
        } else {
            assert_eq!(w.idle(Claim::new("q", "b")).await, Idle::Empty);
        }
        let job = w.job(id).await;
        assert_eq!((job.status, job.reason), (Status::Failed, Some(Reason::Timeout)));
        assert_eq!(job.error.as_deref(), Some("took longer than 2000 ms"));
        let events = w.events(id).await;
        assert_eq!(events.iter().map(|event| event.what).collect::<Vec<_>>(), [What::Expired, What::Failed]);
        assert_eq!((events[1].reason, events[1].attempt), (Some(Reason::Timeout), Some(1)));
        w.assert_every_write_refused(&grip, LostReason::Expired).await;
    }
}

/// A worker that falls silent before its job's time is over has crashed: `crash_limit`, not `timeout`.
pub async fn q6_a_silent_worker_is_not_a_timeout<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(plain().timeout_ms(LEASE_MS * 2).attempts_max(1)).await;
    w.take("a").await;
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    let job = w.job(id).await;
    assert_eq!((job.reason, job.error), (Some(Reason::CrashLimit), None));
}

/// … however late anyone notices.
pub async fn q6_a_silent_worker_is_not_a_timeout_however_late_it_is_swept<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(plain().timeout_ms(LEASE_MS * 2).attempts_max(1)).await;
    w.take("a").await;
    w.pass_ms(LEASE_MS * 3).await;
    w.recover(10).await;
    let job = w.job(id).await;
    assert_eq!((job.reason, job.error), (Some(Reason::CrashLimit), None));
}

/// A job that ends in time has nothing to do with its timeout.
pub async fn q6_a_job_that_ends_in_time_is_untouched<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.enqueue(plain().timeout_ms(2_000)).await;
    let grip = w.take("a").await;
    w.set(Time(START.plus_ms(2_000).0 - 1)).await;
    assert_eq!(w.finish(&grip, complete()).await, now(Status::Completed));
    w.pass_ms(10_000).await;
    assert_eq!(w.recover(10).await.leases, 0);
}

/// A lease over several jobs is not cut short by the timeout of one: there the worker itself watches it.
pub async fn q6_a_shared_lease_outlives_a_timeout<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.enqueue_all(vec![plain().timeout_ms(1_000), plain()]).await;
    let jobs = w.claim(Claim::new("q", "a").max(2).shared(2)).await;
    assert!(jobs.iter().all(|job| job.lease_expires_at == START.plus_ms(LEASE_MS)));
    w.pass_ms(1_000).await;
    assert_eq!(w.recover(10).await.leases, 0);
    assert_eq!(w.finish(&Grip::of(&jobs[0], "a"), complete()).await, now(Status::Completed));
    assert!(w.beat(Beat::shared("a", jobs[1].token)).await.is_ok());
}
