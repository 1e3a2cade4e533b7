//! Operators: cancel, force, retry (L9, L11), and what holders and replays are told afterwards (L12).

use super::Harness;
use super::tools::{Grip, LEASE_MS, World, already, cancel, complete, every_act, fail, now, plain, snooze};
use std::time::Duration;
use tenure_core::LostReason;
use tenure_core::queue::{
    Act, Action, Beat, Claim, Idle, JobId, Operation, Outcome, Reason, Refusal, Status, Verb, What,
};
use tenure_core::retry::Retry;

scenarios! {
    __queue_operator = queue::operator;
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

const NO_JOB: JobId = JobId(1 << 52);

/// A waiting job ends at once, due or not, and is never claimed.
pub async fn l11_cancelling_a_waiting_job_ends_it_at_once<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = w.enqueue_all(vec![plain(), plain().run_at(w.now.plus_ms(1_000))]).await;
    for id in &ids {
        assert_eq!(w.cancel(*id).await, Ok(Status::Failed));
        let job = w.job(*id).await;
        assert_eq!((job.status, job.reason, job.finished_at), (Status::Failed, Some(Reason::Cancelled), Some(w.now)));
        assert_eq!((job.attempt, job.cancel_requested), (0, false));
        let event = w.events(*id).await.remove(0);
        assert_eq!((event.what, event.reason, event.at), (What::Cancelled, Some(Reason::Cancelled), w.now));
        assert_eq!((event.error.as_deref(), event.owner, event.token), (Some("not needed"), None, None));
    }
    w.pass_ms(1_000).await;
    assert_eq!(w.idle(Claim::new("q", "a")).await, Idle::Empty);
    let counts = w.store.queue("q").await.expect("queue").expect("used").counts;
    assert_eq!((counts.queued, counts.failed), (0, 2));
}

/// A running job goes on until its holder hears of it; nothing is taken from it.
pub async fn l11_cancelling_a_running_job_asks_its_holder<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    assert_eq!(w.beat(grip.beat()).await.expect("held").cancel_requested, []);
    assert_eq!(w.cancel(grip.id).await, Ok(Status::Running));
    let job = w.job(grip.id).await;
    assert_eq!((job.status, job.cancel_requested, job.reason), (Status::Running, true, None));
    assert_eq!(w.beat(grip.beat()).await.expect("held").cancel_requested, [grip.id]);
    assert_eq!(w.beat(grip.beat()).await.expect("held").cancel_requested, [grip.id], "until it ends");
    let event = w.events(grip.id).await.remove(0);
    assert_eq!((event.what, event.owner.as_deref(), event.token), (What::CancelRequested, Some("a"), Some(grip.token)));
    assert_eq!(event.error.as_deref(), Some("not needed"));
}

/// Of a shared lease only the job that is meant is named: in its own heartbeat, and in that of the whole lease.
pub async fn l11_a_shared_lease_is_told_which_job<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.fill(3).await;
    let jobs = w.claim(Claim::new("q", "a").max(3).shared(3)).await;
    w.cancel(ids[2]).await.expect("running");
    w.cancel(ids[1]).await.expect("running");
    let of = |i: usize| Grip::of(&jobs[i], "a");
    assert_eq!(w.beat(of(0).beat()).await.expect("held").cancel_requested, []);
    assert_eq!(w.beat(of(1).beat()).await.expect("held").cancel_requested, ids[1..2]);
    let whole = Beat::shared("a", jobs[0].token);
    assert_eq!(w.beat(whole.clone()).await.expect("held").cancel_requested, ids[1..]);
    w.finish(&of(1), Act::Release).await.expect("held");
    assert_eq!(w.beat(whole).await.expect("held").cancel_requested, ids[2..]);
    assert_eq!(w.finish(&of(0), Act::Release).await, now(Status::Queued), "its neighbours are untouched");
}

/// After a cancel, giving the job back in any way ends it; the replay is answered alike.
pub async fn l11_what_would_put_a_cancelled_job_back_ends_it<H: Harness>() {
    let w = World::<H>::open().await;
    let backs = [Act::Release, snooze(5), fail(Retry::In { delay_ms: 0 }), fail(Retry::Policy { chance: 0.0 })];
    for act in backs {
        let grip = w.held_by("a").await;
        w.cancel(grip.id).await.expect("running");
        let verb = act.verb();
        assert_eq!(w.finish(&grip, act.clone()).await, now(Status::Failed), "{verb}");
        let job = w.job(grip.id).await;
        assert_eq!((job.status, job.reason), (Status::Failed, Some(Reason::Cancelled)), "{verb}");
        assert_eq!((job.finished_at, job.cancel_requested, job.lease), (Some(w.now), false, None));
        let attempt = job.attempts.last().expect("one attempt");
        assert_eq!((attempt.outcome, attempt.verb), (Some(Outcome::Cancelled), Some(verb)));
        assert_eq!(w.whats(grip.id).await, [What::CancelRequested, What::Cancelled]);
        assert_eq!(w.finish(&grip, act).await, already(Status::Failed), "{verb}");
        let other = if verb == Verb::Release { complete() } else { Act::Release };
        assert_eq!(w.finish(&grip, other).await, Err(LostReason::Finished));
    }
    assert_eq!(w.idle(Claim::new("q", "b")).await, Idle::Empty);
}

/// Completing and failing for good stay the holder's own, whatever was asked.
pub async fn l11_completing_and_failing_for_good_are_the_holders_own<H: Harness>() {
    let w = World::<H>::open().await;
    let own = [(complete(), Status::Completed, None), (fail(Retry::Never), Status::Failed, Some(Reason::Failed))];
    for (act, status, reason) in own {
        let grip = w.held_by("a").await;
        w.cancel(grip.id).await.expect("running");
        assert_eq!(w.finish(&grip, act.clone()).await, now(status));
        let job = w.job(grip.id).await;
        assert_eq!((job.status, job.reason, job.cancel_requested), (status, reason, false));
        assert_eq!(w.finish(&grip, act).await, already(status));
    }
}

/// The last attempt that fails is a final failure, and the holder's own.
pub async fn l11_the_last_attempt_that_fails_is_the_holders_own<H: Harness>() {
    let w = World::<H>::open().await;
    w.enqueue(plain().attempts_max(1)).await;
    let grip = w.take("a").await;
    w.cancel(grip.id).await.expect("running");
    assert_eq!(w.finish(&grip, fail(Retry::In { delay_ms: 0 })).await, now(Status::Failed));
    assert_eq!(w.job(grip.id).await.reason, Some(Reason::AttemptsSpent));
}

/// A lease that runs out after a cancel ends the job: by a sweep, by a claim, started or not.
pub async fn l11_an_expiry_after_a_cancel_ends_the_job<H: Harness>() {
    for (swept, started) in [(true, 1), (true, 0), (false, 1), (false, 0)] {
        let mut w = World::<H>::open().await;
        w.fill(1).await;
        let job = w.claim(Claim::new("q", "a").shared(started)).await.remove(0);
        w.cancel(job.id).await.expect("running");
        w.pass_ms(LEASE_MS).await;
        if swept {
            let recovered = w.recover(10).await;
            assert_eq!((recovered.leases, recovered.requeued, recovered.failed), (1, 0, 1));
        } else {
            assert_eq!(w.idle(Claim::new("q", "b")).await, Idle::Empty);
        }
        assert_eq!(w.job(job.id).await.reason, Some(Reason::Cancelled));
        assert_eq!(w.whats(job.id).await, [What::CancelRequested, What::Expired, What::Cancelled]);
        w.assert_every_write_refused(&Grip::of(&job, "a"), LostReason::Expired).await;
    }
}

/// A cancel that arrives after the lease ran out and before anyone noticed still counts.
pub async fn l11_a_cancel_of_an_unswept_job_counts<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.pass_ms(LEASE_MS * 2).await;
    assert_eq!(w.cancel(grip.id).await, Ok(Status::Running));
    w.recover(10).await;
    assert_eq!(w.job(grip.id).await.reason, Some(Reason::Cancelled));
}

/// Force ends the job now; its holder is told on every write.
pub async fn l11_force_ends_a_running_job_now<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.cancel(grip.id).await.expect("running");
    assert_eq!(w.force(grip.id).await, Ok(Status::Failed));
    let job = w.job(grip.id).await;
    assert_eq!((job.status, job.reason, job.lease), (Status::Failed, Some(Reason::Cancelled), None));
    assert_eq!((job.attempts[0].outcome, job.attempts[0].verb), (Some(Outcome::Cancelled), None));
    assert_eq!(w.whats(grip.id).await, [What::CancelRequested, What::Cancelled]);
    w.assert_every_write_refused(&grip, LostReason::Cancelled).await;
    assert_eq!(w.running("q").await, 0);
}

/// Force takes one job out of a shared lease and leaves the others.
pub async fn l11_force_leaves_the_neighbours_of_a_lease<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = w.fill(2).await;
    let jobs = w.claim(Claim::new("q", "a").max(2).shared(2)).await;
    w.force(ids[0]).await.expect("running");
    let of = |i: usize| Grip::of(&jobs[i], "a");
    w.assert_every_write_refused(&of(0), LostReason::Cancelled).await;
    w.pass_ms(LEASE_MS - 1).await;
    assert!(w.beat(Beat::shared("a", jobs[0].token)).await.is_ok());
    w.pass_ms(LEASE_MS - 1).await;
    assert_eq!(w.finish(&of(1), complete()).await, now(Status::Completed));
    assert_eq!(w.beat(Beat::shared("a", jobs[0].token)).await.map(drop), Err(LostReason::Unknown));
}

/// Forcing a job that waits is cancelling it.
pub async fn l11_force_of_a_waiting_job_is_a_cancel<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.fill(1).await[0];
    assert_eq!(w.force(id).await, Ok(Status::Failed));
    assert_eq!(w.job(id).await.reason, Some(Reason::Cancelled));
    assert_eq!(w.whats(id).await, [What::Cancelled]);
}

/// A job that was put back is not cancelled by a cancel of before; a new cancel needs a new word.
pub async fn l11_a_retried_job_is_not_cancelled_any_more<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.cancel(grip.id).await.expect("running");
    w.finish(&grip, Act::Release).await.expect("held");
    w.retry(grip.id).await.expect("cancelled");
    let again = w.take("b").await;
    assert_eq!(w.beat(again.beat()).await.expect("held").cancel_requested, []);
    assert_eq!(w.finish(&again, Act::Release).await, now(Status::Queued));
}

/// What has ended cannot be cancelled, and what has not cannot be retried; nothing changes.
pub async fn y_refused_actions_change_nothing<H: Harness>() {
    let w = World::<H>::open().await;
    let done = w.held_by("a").await;
    w.finish(&done, complete()).await.expect("held");
    let failed = w.held_by("a").await;
    w.finish(&failed, fail(Retry::Never)).await.expect("held");
    let running = w.held_by("a").await;
    let waiting = w.fill(1).await[0];
    let refused = [
        (done.id, cancel("late"), Refusal::Terminal),
        (done.id, Action::Cancel { reason: None, force: true }, Refusal::Terminal),
        (failed.id, cancel("late"), Refusal::Terminal),
        (running.id, Action::Retry, Refusal::NotTerminal),
        (waiting, Action::Retry, Refusal::NotTerminal),
    ];
    for (id, action, refusal) in refused {
        let before = (w.job(id).await, w.events(id).await);
        assert_eq!(w.operate(id, action.clone()).await, Err(refusal), "{action:?}");
        assert_eq!((w.job(id).await, w.events(id).await), before);
    }
    for action in [cancel("who"), Action::Retry] {
        assert_eq!(w.operate(NO_JOB, action).await, Err(Refusal::Absent));
    }
}

/// Each action of a call is answered on its own, in order, and sees what the one before did.
pub async fn l11_each_action_of_a_call_is_answered_on_its_own<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.fill(1).await[0];
    let actions =
        [(id, cancel("a")), (NO_JOB, Action::Retry), (id, cancel("b")), (id, Action::Retry), (id, Action::Retry)];
    let operations = actions.map(|(job, action)| Operation { job, action }).to_vec();
    let answers = w.store.operate(operations).await.expect("operate");
    let expected = [
        Ok(Status::Failed),
        Err(Refusal::Absent),
        Err(Refusal::Terminal),
        Ok(Status::Queued),
        Err(Refusal::NotTerminal),
    ];
    assert_eq!(answers, expected);
    assert_eq!(w.whats(id).await, [What::Cancelled, What::RetriedByOperator]);
}

/// An operator's retry puts an ended job back with its attempts anew, by event; its token keeps growing.
pub async fn l9_an_operators_retry_begins_anew<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(plain().attempts_max(1)).await;
    let first = w.take("a").await;
    w.finish(&first, fail(Retry::In { delay_ms: 0 })).await.expect("held");
    w.pass_ms(5).await;
    assert_eq!(w.retry(id).await, Ok(Status::Queued));
    let job = w.job(id).await;
    assert_eq!((job.status, job.reason, job.attempt), (Status::Queued, None, 0));
    assert_eq!((job.run_at, job.finished_at, job.token), (w.now, None, Some(first.token)));
    assert_eq!((job.attempts.len(), job.error.as_deref()), (1, Some("it broke")), "what happened is kept");
    assert_eq!(w.whats(id).await, [What::Failed, What::RetriedByOperator]);
    let claimed = w.claim(Claim::new("q", "a")).await.remove(0);
    assert_eq!((claimed.id, claimed.attempt), (id, 1));
    assert!(claimed.token > first.token);
    w.finish(&Grip::of(&claimed, "a"), complete()).await.expect("held");
    assert_eq!(w.job(id).await.status, Status::Completed);
}

/// A completed job can be retried too; its result is gone until it has another, its checkpoint stays.
pub async fn l9_a_completed_job_can_be_retried<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.beat(grip.beat().checkpoint("[7]").progress("1")).await.expect("held");
    w.finish(&grip, Act::Complete { result: Some("42".into()) }).await.expect("held");
    w.retry(grip.id).await.expect("completed");
    let counts = w.store.queue("q").await.expect("queue").expect("used").counts;
    assert_eq!((counts.queued, counts.completed), (1, 0));
    assert_eq!(w.job(grip.id).await.result, None);
    let claimed = w.claim(Claim::new("q", "b")).await.remove(0);
    assert_eq!((claimed.id, claimed.checkpoint.as_deref()), (grip.id, Some("[7]")));
}

/// A retried job takes its old place among jobs of its priority: it is as old as it was.
pub async fn l9_a_retried_job_is_as_old_as_it_was<H: Harness>() {
    let mut w = World::<H>::open().await;
    let old = w.held_by("a").await;
    w.finish(&old, fail(Retry::Never)).await.expect("held");
    w.pass_ms(5).await;
    w.fill(1).await;
    w.retry(old.id).await.expect("failed");
    assert_eq!(w.take("a").await.id, old.id);
}

/// A job that crashed out has all its attempts again.
pub async fn l9_a_crashed_out_job_has_all_its_attempts_again<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(plain().attempts_max(2)).await;
    for _ in 0..2 {
        for _ in 0..2 {
            assert_eq!(w.take("a").await.id, id);
            w.pass_ms(LEASE_MS).await;
        }
        assert_eq!(w.idle(Claim::new("q", "a")).await, Idle::Empty);
        assert_eq!(w.job(id).await.reason, Some(Reason::CrashLimit));
        w.retry(id).await.expect("failed");
    }
}

/// Every ending accepted before an operator's retry is answered again after it, and after the next claim.
pub async fn l12_receipts_outlive_an_operators_retry<H: Harness>() {
    for act in [complete(), fail(Retry::Never)] {
        let w = World::<H>::open().await;
        let grip = w.held_by("a").await;
        let ended = w.finish(&grip, act.clone()).await.expect("held");
        w.retry(grip.id).await.expect("ended");
        assert_eq!(w.finish(&grip, act.clone()).await, already(ended.status));
        let next = w.take("a").await;
        assert_eq!(w.finish(&grip, act.clone()).await, already(ended.status));
        assert_eq!(w.finish(&grip, Act::Release).await, Err(LostReason::Finished));
        w.finish(&next, complete()).await.expect("held");
        assert_eq!(w.finish(&grip, act).await, already(ended.status));
    }
}

/// After a forced cancel and a retry the old holder is still told of the cancel.
pub async fn l3_a_forced_cancel_is_told_after_a_retry<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.force(grip.id).await.expect("running");
    w.retry(grip.id).await.expect("cancelled");
    w.take("b").await;
    for act in every_act() {
        assert_eq!(w.finish(&grip, act).await, Err(LostReason::Cancelled));
    }
}

/// A retried job, like a new one, wakes whoever waits.
pub async fn l9_a_retry_wakes_who_waits<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.fill(1).await[0];
    w.cancel(id).await.expect("queued");
    let mut listener = w.store.signals().listen(vec!["q".to_owned()]);
    w.retry(id).await.expect("cancelled");
    let woken = tokio::time::timeout(Duration::from_secs(20), listener.woken()).await;
    assert!(woken.is_ok(), "no hint came");
}

/// A holder's ending and a forced cancel at once: one of them counts, and both are told which.
pub async fn i5_an_ending_and_a_forced_cancel_have_one_winner<H: Harness>() {
    let w = World::<H>::open().await;
    let other = w.harness.another().await;
    for _ in 0..8 {
        let grip = w.held_by("a").await;
        let (store, ending) = (w.store.clone(), grip.ending(complete()));
        let finish = tokio::spawn(async move { store.finish(vec![ending]).await.expect("finish")[0] });
        let operation = Operation { job: grip.id, action: Action::Cancel { reason: None, force: true } };
        let forced = other.operate(vec![operation]).await.expect("operate")[0];
        let ended = finish.await.expect("no panic");
        let job = w.job(grip.id).await;
        match ended {
            Ok(_) => assert_eq!((forced, job.status), (Err(Refusal::Terminal), Status::Completed)),
            Err(lost) => {
                assert_eq!((lost, forced, job.status), (LostReason::Cancelled, Ok(Status::Failed), Status::Failed));
            }
        }
    }
}
