//! Recovery: expired leases come back, once, with or without a sweeper, and leave a readable trace (L7, L8, Q5).

use super::Harness;
use super::tools::{Grip, LEASE_MS, START, World, complete, fail, now, plain, snooze};
use tenure_core::queue::{Act, Claim, Idle, JobId, NewJob, Outcome, Reason, Recovered, Status, What, timeline};
use tenure_core::retry::Retry;
use tenure_core::{LostReason, Time};

scenarios! {
    __queue_recovery = queue::recovery;
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

fn returned(leases: u32, requeued: u32, failed: u32) -> Recovered {
    Recovered { leases, requeued, failed }
}

/// `running → queued`, owner and expiry cleared, token kept, event written.
pub async fn q5_recovery_puts_expired_work_back<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.pass_ms(LEASE_MS).await;
    assert_eq!(w.recover(10).await, returned(1, 1, 0));
    let job = w.job(grip.id).await;
    assert_eq!((job.status, job.lease, job.token, job.attempt), (Status::Queued, None, Some(grip.token), 1));
    assert_eq!((job.run_at, job.finished_at), (START, None));
    let attempt = &job.attempts[0];
    assert_eq!((attempt.outcome, attempt.verb, attempt.ended_at), (Some(Outcome::Expired), None, Some(w.now)));
    assert_eq!(w.whats(grip.id).await, [What::Expired]);
}

/// A second sweep finds nothing.
pub async fn l7_recovery_is_idempotent<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    let before = (w.job(grip.id).await, w.events(grip.id).await);
    assert_eq!(w.recover(10).await, returned(0, 0, 0));
    assert_eq!((w.job(grip.id).await, w.events(grip.id).await), before);
}

/// At most so many leases in one step, the oldest deadline first.
pub async fn l7_recovery_is_bounded_and_takes_the_oldest_deadline_first<H: Harness>() {
    let mut w = World::<H>::open().await;
    let mut due: Vec<(u64, JobId)> = Vec::new();
    for lease_ms in [5_000, 1_000, 4_000, 2_000, 3_000] {
        let id = w.fill(1).await[0];
        assert_eq!(w.claimed_ids(Claim::new("q", "a").lease_ms(lease_ms)).await, [id]);
        due.push((lease_ms, id));
    }
    due.sort_unstable();
    w.pass_ms(10_000).await;
    for (returned_so_far, leases) in [(2, 2), (4, 2), (5, 1)] {
        assert_eq!(w.recover(2).await, returned(leases, leases, 0));
        for (i, (_, id)) in due.iter().enumerate() {
            let expected = if i < returned_so_far { Status::Queued } else { Status::Running };
            assert_eq!(w.job(*id).await.status, expected, "lease {i}");
        }
    }
}

/// A shared lease counts as one, however many jobs it holds.
pub async fn l7_a_shared_lease_comes_back_whole<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.fill(5).await;
    w.claim(Claim::new("q", "a").max(5).shared(2)).await;
    w.pass_ms(LEASE_MS).await;
    assert_eq!(w.recover(1).await, returned(1, 5, 0));
}

/// Of a shared lease, only what was not finished comes back.
pub async fn l7_finished_jobs_of_a_shared_lease_stay_finished<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = w.fill(3).await;
    let jobs = w.claim(Claim::new("q", "a").max(3).shared(3)).await;
    w.finish(&Grip::of(&jobs[1], "a"), complete()).await.expect("held");
    w.pass_ms(LEASE_MS).await;
    assert_eq!(w.recover(10).await, returned(1, 2, 0));
    assert_eq!(w.job(ids[1]).await.status, Status::Completed);
}

/// A job that was released and claimed again under another lease is not touched when the old one runs out.
pub async fn l7_an_old_shared_lease_takes_nothing_from_a_newer_claim<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.fill(2).await;
    let jobs = w.claim(Claim::new("q", "a").max(2).lease_ms(1_000).shared(2)).await;
    w.finish(&Grip::of(&jobs[0], "a"), Act::Release).await.expect("held");
    let newer = w.take("b").await;
    assert_eq!(newer.id, jobs[0].id);
    w.pass_ms(1_000).await;
    assert_eq!(w.recover(10).await, returned(1, 1, 0));
    assert_eq!(w.finish(&newer, complete()).await, now(Status::Completed));
}

/// No sweeper is needed: a claim returns what has run out before it looks.
pub async fn l7_a_claim_recovers_without_a_sweeper<H: Harness>() {
    let mut w = World::<H>::open().await;
    let stale = w.held_by("a").await;
    w.pass_ms(LEASE_MS).await;
    let claimed = w.claim(Claim::new("q", "b")).await.remove(0);
    assert_eq!((claimed.id, claimed.attempt), (stale.id, 2));
    assert!(claimed.token > stale.token);
    assert_eq!(w.whats(stale.id).await, [What::Expired]);
}

/// A claim applies the crash limit too, instead of starting the job once more.
pub async fn l7_a_claim_ends_a_crashed_out_job<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.enqueue(plain().attempts_max(1)).await;
    let grip = w.take("a").await;
    w.pass_ms(LEASE_MS).await;
    let claims = w.store.claim(Claim::new("q", "b")).await.expect("claim");
    assert_eq!((claims.jobs.len(), claims.idle), (0, Some(Idle::Empty)));
    assert_eq!(w.job(grip.id).await.reason, Some(Reason::CrashLimit));
}

/// Recovered work is claimable at once, at its old place in the order.
pub async fn l7_recovered_work_keeps_its_place<H: Harness>() {
    let mut w = World::<H>::open().await;
    let old = w.held_by("a").await;
    w.pass_ms(10).await;
    let new = w.fill(1).await[0];
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    assert_eq!(w.claimed_ids(Claim::new("q", "b").max(2)).await, [old.id, new]);
}

/// Not a microsecond too early: a live lease is left alone.
pub async fn l7_a_live_lease_is_left_alone<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.set(Time(START.plus_ms(LEASE_MS).0 - 1)).await;
    assert_eq!(w.recover(10).await, returned(0, 0, 0));
    w.set(START.plus_ms(LEASE_MS)).await;
    assert_eq!(w.recover(10).await, returned(1, 1, 0));
    assert_eq!(w.job(grip.id).await.status, Status::Queued);
}

/// The deadline that counts is the renewed one.
pub async fn l7_a_renewed_lease_is_left_alone<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.pass_ms(LEASE_MS - 1).await;
    w.beat(grip.beat()).await.expect("held");
    w.pass_ms(LEASE_MS - 1).await;
    assert_eq!(w.recover(10).await, returned(0, 0, 0));
    w.pass_ms(1).await;
    assert_eq!(w.recover(10).await, returned(1, 1, 0));
}

/// The crash limit is reported apart from what was put back.
pub async fn l7_recovery_reports_what_it_ended<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.enqueue_all(vec![plain().attempts_max(1), plain(), plain().attempts_max(1)]).await;
    w.claim(Claim::new("q", "a").max(3)).await;
    w.pass_ms(LEASE_MS).await;
    assert_eq!(w.recover(10).await, returned(3, 1, 2));
}

/// Eight sweepers on two handles at once return each lease once.
pub async fn l7_many_sweepers_return_each_lease_once<H: Harness>() {
    const LEASES: u32 = 40;
    let mut w = World::<H>::open().await;
    let ids = w.fill(LEASES as usize).await;
    w.claim(Claim::new("q", "a").max(LEASES)).await;
    w.pass_ms(LEASE_MS).await;
    let handles = [w.store.clone(), w.harness.another().await];
    let sweepers: Vec<_> = (0..8)
        .map(|i| {
            let store = handles[i % 2].clone();
            tokio::spawn(async move {
                let mut total = 0;
                // A sweeper skips what another is busy with, so "none" may only mean "not now".
                for _ in 0..12 {
                    total += store.recover(7).await.expect("recover").requeued;
                }
                total
            })
        })
        .collect();
    let mut total = 0;
    for sweeper in sweepers {
        total += sweeper.await.expect("no panic");
    }
    total += w.recover(LEASES).await.requeued;
    assert_eq!(total, LEASES);
    for id in ids {
        assert_eq!(w.whats(id).await, [What::Expired]);
    }
}

/// Sixteen claimers find one expired job: one gets it, and its expiry is written once.
pub async fn l7_many_claimers_return_an_expired_job_once<H: Harness>() {
    let mut w = World::<H>::open().await;
    let stale = w.held_by("a").await;
    w.pass_ms(LEASE_MS).await;
    let handles = [w.store.clone(), w.harness.another().await];
    let claimers: Vec<_> = (0..16)
        .map(|i| {
            let store = handles[i % 2].clone();
            tokio::spawn(async move { store.claim(Claim::new("q", "a")).await.expect("claim").jobs })
        })
        .collect();
    let mut winners = Vec::new();
    for claimer in claimers {
        winners.extend(claimer.await.expect("no panic"));
    }
    // All of them may have skipped a row another was busy returning; then it is still there to be claimed.
    winners.extend(w.claim(Claim::new("q", "a")).await);
    assert_eq!(winners.iter().map(|job| (job.id, job.attempt)).collect::<Vec<_>>(), [(stale.id, 2)]);
    assert_eq!(w.whats(stale.id).await, [What::Expired]);
}

/// An expiry is told with its owner, token and attempt, in one sentence.
pub async fn l8_an_expiry_is_told_in_one_sentence<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("worker-7").await;
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    let event = w.events(grip.id).await.remove(0);
    assert_eq!((event.at, event.job, event.token), (w.now, grip.id, Some(grip.token)));
    assert_eq!((event.owner.as_deref(), event.attempt, event.count), (Some("worker-7"), Some(1), 1));
    let sentence = format!("the lease of worker-7 (token {}) ran out during attempt 1", grip.token);
    assert_eq!(event.message(), sentence);
}

/// The expiry of work that was not started says that nothing was counted.
pub async fn l8_an_uncounted_expiry_names_no_attempt<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.fill(1).await[0];
    w.claim(Claim::new("q", "a").shared(0)).await;
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    let event = w.events(id).await.remove(0);
    assert_eq!((event.what, event.attempt), (What::Expired, None));
}

/// At the crash limit, the expiry and the failure are both told.
pub async fn l8_the_crash_limit_is_told_with_its_expiry<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(plain().attempts_max(1)).await;
    let grip = w.take("a").await;
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    let told: Vec<_> = w.events(id).await.iter().map(|e| (e.what, e.reason, e.attempt, e.token)).collect();
    let (attempt, token) = (Some(1), Some(grip.token));
    let failed = (What::Failed, Some(Reason::CrashLimit), attempt, token);
    assert_eq!(told, [(What::Expired, None, attempt, token), failed]);
}

/// A retry says what went wrong and when it is due again; the last failure says that it was the last.
pub async fn l8_a_retry_and_the_last_failure_are_told<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.enqueue(plain().attempts_max(2)).await;
    let first = w.take("a").await;
    w.finish(&first, fail(Retry::In { delay_ms: 0 })).await.expect("held");
    let last = w.take("b").await;
    w.finish(&last, fail(Retry::Policy { chance: 0.0 })).await.expect("held");
    let events = w.events(id).await;
    assert_eq!(events.len(), 2);
    let (retried, failed) = (&events[0], &events[1]);
    assert_eq!((retried.what, retried.attempt, retried.until), (What::Retried, Some(1), Some(w.now)));
    assert_eq!((retried.owner.as_deref(), retried.token), (Some("a"), Some(first.token)));
    assert_eq!((failed.what, failed.attempt, failed.reason), (What::Failed, Some(2), Some(Reason::AttemptsSpent)));
    assert_eq!((failed.owner.as_deref(), failed.error.as_deref()), (Some("b"), Some("it broke")));
}

/// What goes well is read off the job: no event is stored, and the timeline tells it all the same.
pub async fn l8_a_smooth_life_stores_no_event<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.fill(1).await[0];
    for act in [Act::Release, snooze(0), complete()] {
        w.pass_ms(1).await;
        let grip = w.take("a").await;
        w.pass_ms(1).await;
        w.finish(&grip, act).await.expect("held");
    }
    let stored = w.events(id).await;
    assert_eq!(stored, []);
    let told: Vec<What> = timeline(&w.job(id).await, stored).iter().map(|event| event.what).collect();
    let claimed = What::Claimed;
    assert_eq!(told, [What::Enqueued, claimed, What::Released, claimed, What::Snoozed, claimed, What::Completed]);
}

/// The timeline of a hard life, in order.
pub async fn l8_the_timeline_tells_a_hard_life<H: Harness>() {
    let mut w = World::<H>::open().await;
    let stale = w.held_by("a").await;
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    w.pass_ms(1).await;
    let next = w.take("b").await;
    w.pass_ms(1).await;
    assert_eq!(w.finish(&stale, complete()).await, Err(LostReason::Superseded));
    w.pass_ms(1).await;
    w.finish(&next, fail(Retry::In { delay_ms: 1 })).await.expect("held");
    w.pass_ms(1).await;
    let last = w.take("b").await;
    w.pass_ms(1).await;
    w.finish(&last, fail(Retry::Never)).await.expect("held");
    let events = timeline(&w.job(stale.id).await, w.events(stale.id).await);
    let told: Vec<What> = events.iter().map(|event| event.what).collect();
    let expected = [
        What::Enqueued,
        What::Claimed,
        What::Expired,
        What::Claimed,
        What::Refused,
        What::Retried,
        What::Claimed,
        What::Failed,
    ];
    assert_eq!(told, expected);
    assert!(events.is_sorted_by_key(|event| event.at));
}

/// Recovery knows no queues: one step returns leases of all of them.
pub async fn l7_recovery_covers_every_queue<H: Harness>() {
    let mut w = World::<H>::open().await;
    let queues = ["q", "r", "s"];
    w.enqueue_all(queues.map(|queue| NewJob::new(queue, "k", "{}")).to_vec()).await;
    for queue in queues {
        w.claim(Claim::new(queue, "a")).await;
    }
    w.pass_ms(LEASE_MS).await;
    assert_eq!(w.recover(10).await, returned(3, 3, 0));
}
