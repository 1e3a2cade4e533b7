//! Attempts: what counts, what is given back, and when a failed one runs again (L6, Q4, Q6).

use super::Harness;
use super::tools::{Grip, LEASE_MS, World, complete, fail, now, plain, snooze};
use tenure_core::bounds::ATTEMPTS_KEPT;
use tenure_core::queue::{Act, Claim, Outcome, Reason, Start, Status, What};
use tenure_core::retry::Backoff;
use tenure_core::retry::Retry;
use tenure_core::{LostReason, Time, Token};

scenarios! {
    __queue_attempts = queue::attempts;
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

fn start(token: Token, count: u32) -> Start {
    Start { owner: "a".to_owned(), token, count }
}

/// Each claim is an attempt, counted when it begins.
pub async fn l6_a_claim_counts_an_attempt<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.enqueue(plain()).await;
    assert_eq!(w.job(id).await.attempt, 0);
    for attempt in 1..=3 {
        let claimed = w.claim(Claim::new("q", "a")).await.remove(0);
        assert_eq!((claimed.attempt, w.job(id).await.attempt), (attempt, attempt));
        w.finish(&Grip::of(&claimed, "a"), fail(Retry::In { delay_ms: 0 })).await.expect("held");
    }
}

/// Released work is queued with its attempt given back.
pub async fn l6_release_gives_the_attempt_back<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    assert_eq!(w.finish(&grip, Act::Release).await, now(Status::Queued));
    let job = w.job(grip.id).await;
    assert_eq!((job.status, job.attempt, job.lease, job.token), (Status::Queued, 0, None, Some(grip.token)));
    assert_eq!(job.attempts.len(), 1);
    assert_eq!(job.attempts[0].outcome, Some(Outcome::Released));
}

/// Snoozed work too.
pub async fn l6_snooze_gives_the_attempt_back<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    assert_eq!(w.finish(&grip, snooze(60_000)).await, now(Status::Queued));
    let job = w.job(grip.id).await;
    assert_eq!((job.attempt, job.attempts[0].outcome), (0, Some(Outcome::Snoozed)));
}

/// However often a job is put off, it has its attempts left; only the last claims are remembered.
pub async fn l6_endless_snoozing_spends_no_attempt<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.enqueue(plain().attempts_max(1)).await;
    for _ in 0..ATTEMPTS_KEPT + 5 {
        let grip = w.take("a").await;
        w.finish(&grip, snooze(0)).await.expect("held");
    }
    let last = w.take("a").await;
    assert_eq!(w.finish(&last, complete()).await, now(Status::Completed));
    let job = w.job(id).await;
    assert_eq!((job.attempt, job.attempts.len()), (1, ATTEMPTS_KEPT));
    assert_eq!(job.attempts.last().map(|attempt| attempt.token), Some(last.token));
}

/// Released work can be claimed at once, at its old place.
pub async fn q4_a_released_job_is_claimable_at_once<H: Harness>() {
    let mut w = World::<H>::open().await;
    let first = w.held_by("a").await;
    w.pass_ms(10).await;
    w.fill(1).await;
    w.finish(&first, Act::Release).await.expect("held");
    assert_eq!(w.take("b").await.id, first.id);
}

/// Snoozed work waits exactly as long as it was asked to.
pub async fn q4_a_snoozed_job_waits_exactly<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.pass_ms(4).await;
    w.finish(&grip, snooze(2_500)).await.expect("held");
    let due = w.now.plus_ms(2_500);
    assert_eq!(w.job(grip.id).await.run_at, due);
    w.set(Time(due.0 - 1)).await;
    assert_eq!(w.claimed_ids(Claim::new("q", "a")).await, []);
    w.set(due).await;
    assert_eq!(w.claimed_ids(Claim::new("q", "a")).await, [grip.id]);
}

/// One second, then twice as long each time.
pub async fn q6_the_wait_doubles_from_a_second<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(plain().attempts_max(20)).await;
    for wait_ms in [1_000, 2_000, 4_000, 8_000] {
        let grip = w.take("a").await;
        assert_eq!(w.finish(&grip, fail(Retry::Policy { chance: 0.0 })).await, now(Status::Queued));
        assert_eq!(w.job(id).await.run_at, w.now.plus_ms(wait_ms));
        w.pass_ms(wait_ms).await;
    }
}

/// The wait stops growing at an hour.
pub async fn q6_the_wait_ends_at_an_hour<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(plain().attempts_max(20)).await;
    for _ in 0..14 {
        let grip = w.take("a").await;
        w.finish(&grip, fail(Retry::Policy { chance: 0.0 })).await.expect("held");
        assert!(w.job(id).await.run_at <= w.now.plus_ms(3_600_000));
        w.pass_ms(3_600_000).await;
    }
    assert_eq!(w.job(id).await.run_at, w.now);
}

/// Chance moves the wait by a fifth at most, to the millisecond.
pub async fn q6_chance_moves_the_wait_by_a_fifth<H: Harness>() {
    let w = World::<H>::open().await;
    for (chance, wait_ms) in [(-1.0, 800), (1.0, 1_200), (0.5, 1_100), (-0.333, 933), (0.123_456_789, 1_024)] {
        let grip = w.held_by("a").await;
        w.finish(&grip, fail(Retry::Policy { chance })).await.expect("held");
        assert_eq!(w.job(grip.id).await.run_at, w.now.plus_ms(wait_ms), "chance {chance}");
    }
}

/// A job's own backoff is kept and used.
pub async fn q6_a_job_can_have_its_own_backoff<H: Harness>() {
    let mut w = World::<H>::open().await;
    let backoff = Backoff { initial_ms: 250, factor: 1.5, max_ms: 700, jitter: 0.1 };
    let id = w.enqueue(plain().backoff(backoff).attempts_max(9)).await;
    assert_eq!(w.job(id).await.backoff, Some(backoff));
    for (chance, wait_ms) in [(0.0, 250), (1.0, 412), (-1.0, 506), (0.0, 700), (1.0, 770)] {
        let grip = w.take("a").await;
        w.finish(&grip, fail(Retry::Policy { chance })).await.expect("held");
        assert_eq!(w.job(id).await.run_at, w.now.plus_ms(wait_ms));
        w.pass_ms(wait_ms).await;
    }
}

/// The handler's own wait is exact; zero is now.
pub async fn q6_a_named_wait_is_exact<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(plain()).await;
    for delay_ms in [0, 1, 86_400_000] {
        let grip = w.take("a").await;
        w.finish(&grip, fail(Retry::In { delay_ms })).await.expect("held");
        assert_eq!(w.job(id).await.run_at, w.now.plus_ms(delay_ms));
        w.pass_ms(delay_ms).await;
    }
}

/// A handler that says so ends the job, whatever attempts are left.
pub async fn q6_never_is_final<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    assert_eq!(w.finish(&grip, fail(Retry::Never)).await, now(Status::Failed));
    let job = w.job(grip.id).await;
    assert_eq!((job.status, job.reason, job.attempt), (Status::Failed, Some(Reason::Failed), 1));
    assert_eq!((job.finished_at, job.error.as_deref()), (Some(w.now), Some("it broke")));
}

/// The last attempt is not retried, whatever wait was asked for.
pub async fn q6_the_last_attempt_fails_for_good<H: Harness>() {
    let w = World::<H>::open().await;
    for retry in [Retry::Policy { chance: 0.0 }, Retry::In { delay_ms: 0 }] {
        w.enqueue(plain().attempts_max(2)).await;
        let grip = w.take("a").await;
        assert_eq!(w.finish(&grip, fail(Retry::In { delay_ms: 0 })).await, now(Status::Queued));
        let grip = w.take("a").await;
        assert_eq!(w.finish(&grip, fail(retry)).await, now(Status::Failed));
        let job = w.job(grip.id).await;
        assert_eq!((job.reason, job.attempt), (Some(Reason::AttemptsSpent), 2));
    }
}

/// A handler may find its job no longer wanted: that is final, and not an operator's cancel.
pub async fn q6_a_handlers_own_cancel_is_final<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    assert_eq!(w.finish(&grip, fail(Retry::Cancel)).await, now(Status::Failed));
    let job = w.job(grip.id).await;
    assert_eq!((job.status, job.reason, job.attempt), (Status::Failed, Some(Reason::Cancelled), 1));
    assert_eq!(job.attempts[0].outcome, Some(Outcome::Failed));
    assert_eq!(w.whats(grip.id).await, [What::Failed]);
    assert!(w.events(grip.id).await[0].message().contains("no longer wanted"));
}

/// An attempt that its worker stopped for taking too long comes back by the backoff; the last one ends the job.
pub async fn q6_a_worker_can_say_that_an_attempt_took_too_long<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(plain().attempts_max(2)).await;
    let grip = w.take("a").await;
    assert_eq!(w.finish(&grip, fail(Retry::TimedOut { chance: 0.0 })).await, now(Status::Queued));
    assert_eq!(w.job(id).await.run_at, w.now.plus_ms(1_000));
    w.pass_ms(1_000).await;
    let grip = w.take("a").await;
    assert_eq!(w.finish(&grip, fail(Retry::TimedOut { chance: 0.0 })).await, now(Status::Failed));
    let job = w.job(id).await;
    assert_eq!((job.reason, job.attempt), (Some(Reason::Timeout), 2));
    assert_eq!(w.whats(id).await, [What::Retried, What::Failed]);
}

/// Each attempt keeps its own error, owner and times.
pub async fn l8_each_attempts_error_is_kept<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(plain()).await;
    let mut expected = Vec::new();
    for (owner, error) in [("a", "first"), ("b", "second")] {
        let grip = w.take(owner).await;
        let claimed_at = w.now;
        w.pass_ms(5).await;
        let act = Act::Fail { error: error.into(), retry: Retry::In { delay_ms: 0 } };
        w.finish(&grip, act).await.expect("held");
        expected.push((owner.to_owned(), grip.token, claimed_at, Some(w.now), Some(error.to_owned())));
    }
    let job = w.job(id).await;
    let kept: Vec<_> =
        job.attempts.into_iter().map(|a| (a.owner, a.token, a.claimed_at, a.ended_at, a.error)).collect();
    assert_eq!(kept, expected);
    assert_eq!(job.error.as_deref(), Some("second"));
}

/// A poison job that takes every worker down is started `attempts_max` times, and then ends (B6).
pub async fn l6_a_poison_job_starts_exactly_attempts_max_times<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(plain().attempts_max(3)).await;
    let mut starts = 0;
    for _ in 0..10 {
        starts += w.claim(Claim::new("q", "a")).await.len();
        w.pass_ms(LEASE_MS).await;
    }
    assert_eq!(starts, 3);
    let job = w.job(id).await;
    assert_eq!((job.status, job.reason, job.attempt), (Status::Failed, Some(Reason::CrashLimit), 3));
    assert_eq!((job.lease, job.attempts.len()), (None, 3));
}

/// With a lease for each job, the claim is the start, for all of them.
pub async fn l6_with_a_lease_each_the_claim_is_the_start<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = w.fill(2).await;
    w.claim(Claim::new("q", "a").max(2)).await;
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    assert_eq!((w.job(ids[0]).await.attempt, w.job(ids[1]).await.attempt), (1, 1));
}

/// Of a shared grant only the started jobs lose their attempt when it runs out; the neighbours get theirs back.
pub async fn l6_prefetched_neighbours_lose_no_attempt<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = w.fill(3).await;
    w.claim(Claim::new("q", "a").max(3).shared(1)).await;
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    let mut attempts = Vec::new();
    for id in ids {
        attempts.push(w.job(id).await.attempt);
    }
    assert_eq!(attempts, [1, 0, 0]);
}

/// A neighbour on its last attempt outlives any number of crashes that were not its own.
pub async fn l6_a_neighbour_never_reaches_the_crash_limit<H: Harness>() {
    let mut w = World::<H>::open().await;
    let poison = w.enqueue(plain().attempts_max(3).priority(1)).await;
    let neighbour = w.enqueue(plain().attempts_max(1)).await;
    for _ in 0..3 {
        assert_eq!(w.claimed_ids(Claim::new("q", "a").max(2).shared(1)).await, [poison, neighbour]);
        w.pass_ms(LEASE_MS).await;
    }
    w.recover(10).await;
    assert_eq!(w.job(poison).await.reason, Some(Reason::CrashLimit));
    let job = w.job(neighbour).await;
    assert_eq!((job.status, job.attempt), (Status::Queued, 0));
}

/// The mark is committed before the handler runs, so that a job which kills its worker at once is counted.
pub async fn l6_a_started_mark_counts_what_it_names<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = w.fill(4).await;
    let token = w.claim(Claim::new("q", "a").max(4).shared(0)).await[0].token;
    w.store.start(start(token, 2)).await.expect("start").expect("held");
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    let mut attempts = Vec::new();
    for id in ids {
        attempts.push(w.job(id).await.attempt);
    }
    assert_eq!(attempts, [1, 1, 0, 0]);
}

/// A mark is never taken back, and never names more than was claimed.
pub async fn l6_a_started_mark_only_grows<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = w.fill(2).await;
    let token = w.claim(Claim::new("q", "a").max(2).shared(0)).await[0].token;
    for count in [1, 0, 999] {
        w.store.start(start(token, count)).await.expect("start").expect("held");
    }
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    assert_eq!((w.job(ids[0]).await.attempt, w.job(ids[1]).await.attempt), (1, 1));
}

/// The mark is fenced like every other write.
pub async fn l3_a_started_mark_is_fenced<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = w.fill(1).await;
    let token = w.claim(Claim::new("q", "a").shared(0)).await[0].token;
    let stranger = Start { owner: "b".into(), ..start(token, 1) };
    assert_eq!(w.store.start(stranger).await.expect("start"), Err(LostReason::Unknown));
    w.pass_ms(LEASE_MS).await;
    assert_eq!(w.store.start(start(token, 1)).await.expect("start"), Err(LostReason::Expired));
    w.recover(10).await;
    assert_eq!(w.job(ids[0]).await.attempt, 0, "a refused mark counts nothing");
}

/// Jobs of a shared grant that ended keep their places in its order: the mark still names those that follow.
pub async fn l6_an_ended_job_keeps_its_place_in_the_grant<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = w.fill(3).await;
    let jobs = w.claim(Claim::new("q", "a").max(3).shared(1)).await;
    w.finish(&Grip::of(&jobs[0], "a"), complete()).await.expect("held");
    w.store.start(start(jobs[0].token, 2)).await.expect("start").expect("held");
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    assert_eq!((w.job(ids[1]).await.attempt, w.job(ids[2]).await.attempt), (1, 0));
}
