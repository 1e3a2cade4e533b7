//! Fenced writes: only the holder of the current lease writes, everyone else is told why not (L3, L4, L8, L12, Q3).

use super::Harness;
use super::tools::{Grip, LEASE_MS, START, World, already, complete, every_act, fail, now, plain, snooze};
use tenure_core::queue::{Act, Beat, Claim, Ending, JobId, NewJob, Status, Verb, What};
use tenure_core::retry::Retry;
use tenure_core::{LostReason, Time, Token};

scenarios! {
    __queue_fence = queue::fence;
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

/// Never granted by any store: the last number a token can be.
const NO_TOKEN: Token = Token((1 << 53) - 1);

/// The worker died and was started again under its own name, and has the job again: its former self is stopped (A2).
pub async fn l3_an_older_token_of_the_same_owner_is_superseded<H: Harness>() {
    let mut w = World::<H>::open().await;
    let before = w.held_by("a").await;
    w.pass_ms(LEASE_MS).await;
    let after = w.take("a").await;
    w.assert_every_write_refused(&before, LostReason::Superseded).await;
    assert_eq!(w.finish(&after, complete()).await, now(Status::Completed));
}

/// The job runs at someone else.
pub async fn l3_an_older_token_of_another_owner_is_superseded<H: Harness>() {
    let mut w = World::<H>::open().await;
    let stale = w.held_by("a").await;
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    w.take("b").await;
    w.assert_every_write_refused(&stale, LostReason::Superseded).await;
}

/// The job was finished by its next holder: the stale one is still told of that claim, and the result stays.
pub async fn l3_a_stale_writer_cannot_undo_the_next_holders_ending<H: Harness>() {
    let mut w = World::<H>::open().await;
    let stale = w.held_by("a").await;
    w.pass_ms(LEASE_MS).await;
    let next = w.take("b").await;
    w.finish(&next, Act::Complete { result: Some("42".into()) }).await.expect("held");
    w.assert_every_write_refused(&stale, LostReason::Superseded).await;
    assert_eq!(w.job(stale.id).await.result.as_deref(), Some("42"));
}

/// The current owner under a token nobody was ever given.
pub async fn l3_a_token_never_granted_is_unknown<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.assert_every_write_refused(&grip.under(NO_TOKEN), LostReason::Unknown).await;
    w.assert_every_write_refused(&grip.under(Token(0)), LostReason::Unknown).await;
}

/// A token is a fencing number, not a secret: with the right one, another owner still writes nothing.
pub async fn l3_the_right_token_in_other_hands_is_unknown<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.assert_every_write_refused(&grip.by("b"), LostReason::Unknown).await;
}

/// An owner's token for one job opens no other.
pub async fn l3_the_token_of_another_job_is_unknown<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(2).await;
    let jobs = w.claim(Claim::new("q", "a").max(2)).await;
    w.assert_every_write_refused(&Grip::of(&jobs[0], "a").under(jobs[1].token), LostReason::Unknown).await;
}

/// A job that was never claimed has no holder.
pub async fn l3_a_job_never_claimed_is_unknown<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.fill(1).await[0];
    let grip = Grip { id, owner: "a".into(), token: NO_TOKEN };
    w.assert_every_write_refused(&grip, LostReason::Unknown).await;
}

/// Never "not found": an id that is not on record is a lost lease too, and leaves no trace.
pub async fn x_an_id_not_on_record_is_unknown<H: Harness>() {
    let w = World::<H>::open().await;
    let held = w.held_by("a").await;
    let grip = Grip { id: JobId(held.id.0 + 1_000), ..held };
    assert_eq!(w.beat(grip.beat()).await, Err(LostReason::Unknown));
    for act in every_act() {
        assert_eq!(w.finish(&grip, act).await, Err(LostReason::Unknown));
    }
    assert_eq!(w.store.job(grip.id).await.expect("job"), None);
    assert_eq!(w.events(grip.id).await, []);
}

/// Nobody has swept, nobody has claimed, and the lease is lost all the same (A3).
pub async fn l4_an_expired_lease_is_lost_before_any_sweep<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.pass_ms(LEASE_MS + 1).await;
    w.assert_every_write_refused(&grip, LostReason::Expired).await;
    assert_eq!(w.job(grip.id).await.status, Status::Running, "a refused write does not sweep");
}

/// After recovery and before the next claim, the reason is still that it ran out.
pub async fn l4_an_expired_lease_is_lost_after_recovery<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    w.assert_every_write_refused(&grip, LostReason::Expired).await;
}

/// The crash limit ends the job; its last holder is told that its lease ran out.
pub async fn l4_the_last_holder_of_a_crashed_out_job_is_expired<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.enqueue(plain().attempts_max(1)).await;
    let grip = w.take("a").await;
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    assert_eq!(w.job(grip.id).await.status, Status::Failed);
    w.assert_every_write_refused(&grip, LostReason::Expired).await;
}

/// `expires_at > now`: the last instant is already lost.
pub async fn l4_the_instant_of_expiry_is_lost<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.set(START.plus_ms(LEASE_MS)).await;
    assert_eq!(w.beat(grip.beat()).await.map(drop), Err(LostReason::Expired));
}

/// … and the one before is held.
pub async fn l4_the_microsecond_before_expiry_is_held<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.set(Time(START.plus_ms(LEASE_MS).0 - 1)).await;
    assert_eq!(w.finish(&grip, complete()).await, now(Status::Completed));
}

/// Finished work is not running: another verb and a heartbeat are told so.
pub async fn l12_another_verb_under_an_ended_token_is_finished<H: Harness>() {
    let w = World::<H>::open().await;
    for accepted in every_act() {
        let id = w.enqueue(plain().priority(1)).await;
        let grip = w.take("a").await;
        assert_eq!(grip.id, id);
        w.finish(&grip, accepted.clone()).await.expect("held");
        let before = w.job(id).await;
        for other in every_act().into_iter().filter(|act| act.verb() != accepted.verb()) {
            let (first, then) = (accepted.verb(), other.verb());
            assert_eq!(w.finish(&grip, other).await, Err(LostReason::Finished), "{first}, then {then}");
        }
        assert_eq!(w.beat(grip.beat()).await.map(drop), Err(LostReason::Finished));
        assert_eq!(w.job(id).await, before);
        // Out of the way of the next round: what was put back may be due.
        let _ = w.claim(Claim::new("q", "b").max(10)).await;
    }
}

/// A reply was lost and the same ending is sent again: the same answer, marked, and nothing else happens (A4).
pub async fn l12_an_ending_sent_again_is_answered_as_the_first_time<H: Harness>() {
    let w = World::<H>::open().await;
    for act in every_act() {
        let id = w.enqueue(plain().priority(1)).await;
        let grip = w.take("a").await;
        assert_eq!(grip.id, id);
        let first = w.finish(&grip, act.clone()).await.expect("held");
        let (job, events) = (w.job(id).await, w.events(id).await);
        assert_eq!(w.finish(&grip, act.clone()).await, already(first.status), "{}", act.verb());
        assert_eq!((w.job(id).await, w.events(id).await), (job, events), "a replay changed something");
        let _ = w.claim(Claim::new("q", "b").max(10)).await;
    }
}

/// Only unit, owner, token and verb are compared: a replay with another body is the same ending.
pub async fn l12_a_replay_is_told_by_its_verb_alone<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.finish(&grip, Act::Complete { result: Some("1".into()) }).await.expect("held");
    assert_eq!(w.finish(&grip, Act::Complete { result: Some("2".into()) }).await, already(Status::Completed));
    assert_eq!(w.job(grip.id).await.result.as_deref(), Some("1"));
}

/// The receipt answers whatever happened since: the job ran again and was completed by another.
pub async fn l12_an_ending_is_already_after_the_job_moved_on<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.enqueue(plain().attempts_max(9)).await;
    let mut receipts: Vec<(Grip, Act, Status)> = Vec::new();
    for act in [Act::Release, snooze(10), fail(Retry::In { delay_ms: 10 }), complete()] {
        w.pass_ms(10).await;
        let grip = w.take("a").await;
        let status = w.finish(&grip, act.clone()).await.expect("held").status;
        receipts.push((grip, act, status));
    }
    w.pass_ms(3_000_000).await;
    for (grip, act, status) in receipts {
        assert_eq!(w.finish(&grip, act).await, already(status));
    }
}

/// A lease that has since run out does not hide that its ending was accepted in time.
pub async fn l12_receipts_come_before_the_lease<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.finish(&grip, complete()).await.expect("held");
    w.pass_ms(LEASE_MS * 2).await;
    w.recover(10).await;
    assert_eq!(w.finish(&grip, complete()).await, already(Status::Completed));
}

/// A receipt belongs to its owner.
pub async fn l12_a_replay_from_other_hands_is_unknown<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.finish(&grip, complete()).await.expect("held");
    w.assert_every_write_refused(&grip.by("b"), LostReason::Unknown).await;
}

/// A refused ending leaves no receipt: sent again, it is refused again.
pub async fn l12_a_refused_ending_is_never_already<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.pass_ms(LEASE_MS).await;
    for _ in 0..2 {
        assert_eq!(w.finish(&grip, complete()).await, Err(LostReason::Expired));
    }
}

/// Refusals of one token for one reason are one event that counts, with the first time, the last, and the latest writer.
pub async fn l8_refusals_are_counted_in_one_event<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    for i in 0..4 {
        w.pass_ms(1).await;
        let _ = w.finish(&grip.by(&format!("b{i}")), complete()).await;
    }
    let events = w.events(grip.id).await;
    assert_eq!(events.len(), 1);
    let event = &events[0];
    assert_eq!((event.what, event.count, event.lost), (What::Refused, 4, Some(LostReason::Unknown)));
    assert_eq!((event.at, event.owner.as_deref(), event.token), (w.now, Some("b3"), Some(grip.token)));
    assert_eq!((event.verb, event.first_at), (Some(Verb::Complete), Some(START.plus_ms(1))));
}

/// Each token that is refused has an event of its own: a second stale holder does not erase the first.
pub async fn l8_the_refusals_of_each_token_are_their_own_event<H: Harness>() {
    let mut w = World::<H>::open().await;
    let first = w.held_by("a").await;
    w.pass_ms(LEASE_MS).await;
    let second = w.take("b").await;
    w.pass_ms(LEASE_MS).await;
    w.take("c").await;
    for grip in [&first, &second, &first] {
        w.pass_ms(10).await;
        assert_eq!(w.finish(grip, complete()).await, Err(LostReason::Superseded));
    }
    let events = w.events(first.id).await;
    let refused = events.iter().filter(|event| event.what == What::Refused);
    let told: Vec<_> =
        refused.map(|event| (event.token, event.owner.as_deref(), event.count, event.first_at)).collect();
    let began = Time(w.now.0 - 20_000);
    assert_eq!(told, [(Some(first.token), Some("a"), 2, Some(began)), (Some(second.token), Some("b"), 1, None)]);
}

/// Refusals are bounded: of a job the hundred are kept whose last came latest.
pub async fn l8_a_job_keeps_the_refusals_of_the_last_hundred_tokens<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    let nth = |n: i64| Token(grip.token.0 + 1_000 + n);
    for n in (0..100).chain([0, 100, 101]) {
        w.pass_ms(1).await;
        assert_eq!(w.finish(&grip.under(nth(n)), complete()).await, Err(LostReason::Unknown));
    }
    let kept: Vec<_> = w.events(grip.id).await.iter().filter_map(|event| event.token).collect();
    let expected: Vec<_> = [0].into_iter().chain(3..102).map(nth).collect();
    assert_eq!(kept, expected, "the first came again, so the second and third went");
}

/// Each reason has an event of its own, and a refused heartbeat names no verb.
pub async fn l8_each_reason_of_refusal_is_its_own_event<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    let _ = w.finish(&grip.by("b"), Act::Release).await;
    w.pass_ms(LEASE_MS).await;
    let _ = w.beat(grip.beat()).await;
    let told: Vec<_> = w.events(grip.id).await.iter().map(|event| (event.lost, event.verb, event.count)).collect();
    assert_eq!(told, [(Some(LostReason::Unknown), Some(Verb::Release), 1), (Some(LostReason::Expired), None, 1)]);
}

/// To `now` plus what was granted at the claim, not from the old deadline.
pub async fn q3_a_heartbeat_extends_from_now_by_the_granted_time<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.fill(1).await;
    let grip = Grip::of(&w.claim(Claim::new("q", "a").lease_ms(7_000)).await[0], "a");
    w.pass_ms(3_000).await;
    let beaten = w.beat(grip.beat()).await.expect("held");
    assert_eq!(beaten.lease_expires_at, w.now.plus_ms(7_000));
    assert!(beaten.cancel_requested.is_empty());
    let lease = w.job(grip.id).await.lease.expect("it runs");
    assert_eq!((lease.expires_at, lease.granted_at), (w.now.plus_ms(7_000), START));
}

/// A lease kept by heartbeats lives as long as they come (A11).
pub async fn q3_heartbeats_keep_a_lease_far_beyond_its_length<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    for _ in 0..20 {
        w.pass_ms(LEASE_MS - 1).await;
        w.beat(grip.beat()).await.expect("held");
        assert_eq!(w.recover(10).await.leases, 0);
    }
    assert_eq!(w.finish(&grip, complete()).await, now(Status::Completed));
}

/// A clock that stepped back never shortens a lease (A6).
pub async fn q3_a_heartbeat_never_shortens_a_lease<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.set(Time(START.0 - 10_000_000)).await;
    let beaten = w.beat(grip.beat()).await.expect("held");
    assert_eq!(beaten.lease_expires_at, START.plus_ms(LEASE_MS));
}

/// How a lease was kept is shown while it runs, and stays with its attempt.
pub async fn q3_the_pulse_of_a_lease_is_kept<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    for ms in [5_000, 9_000, 1_000] {
        w.pass_ms(ms).await;
        w.beat(grip.beat()).await.expect("held");
    }
    let pulse = w.job(grip.id).await.lease.expect("it runs").pulse;
    assert_eq!((pulse.beats, pulse.last_beat_at, pulse.longest_gap_ms), (3, Some(w.now), 9_000));
    w.finish(&grip, complete()).await.expect("held");
    assert_eq!(w.job(grip.id).await.attempts[0].pulse, pulse);
}

/// Progress is shown, and stays until it is replaced.
pub async fn q3_progress_is_shown_until_replaced<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.beat(grip.beat().progress(r#"{ "done": 1 }"#)).await.expect("held");
    w.beat(grip.beat()).await.expect("held");
    assert_eq!(w.job(grip.id).await.progress.as_deref(), Some(r#"{ "done": 1 }"#));
    w.beat(grip.beat().progress("2")).await.expect("held");
    assert_eq!(w.job(grip.id).await.progress.as_deref(), Some("2"));
}

/// What one attempt saved, the next begins with, whichever worker has it and however the first ended.
pub async fn q3_a_checkpoint_is_handed_to_the_next_attempt<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.beat(grip.beat().checkpoint(r#"{"page" : 7}"#)).await.expect("held");
    w.pass_ms(LEASE_MS).await;
    let next = w.claim(Claim::new("q", "b")).await.remove(0);
    assert_eq!(next.checkpoint.as_deref(), Some(r#"{"page" : 7}"#));
    w.finish(&Grip::of(&next, "b"), fail(Retry::In { delay_ms: 0 })).await.expect("held");
    assert_eq!(w.claim(Claim::new("q", "c")).await[0].checkpoint.as_deref(), Some(r#"{"page" : 7}"#));
}

/// One call, many beats: each answered on its own, in order, and a refused one stops none.
pub async fn q3_each_beat_of_a_call_is_answered_on_its_own<H: Harness>() {
    let w = World::<H>::open().await;
    let (a, b) = (w.held_by("a").await, w.held_by("b").await);
    let beats = vec![a.by("x").beat(), b.beat().progress("5"), a.under(NO_TOKEN).beat(), a.beat()];
    let answers = w.store.heartbeat(beats).await.expect("heartbeat");
    let lost = Some(LostReason::Unknown);
    assert_eq!(answers.iter().map(|answer| answer.clone().err()).collect::<Vec<_>>(), [lost, None, lost, None]);
    assert_eq!(w.job(b.id).await.progress.as_deref(), Some("5"));
}

/// One call, many endings: each answered on its own, in order; the same one twice is `already` the second time.
pub async fn q4_each_ending_of_a_call_is_answered_on_its_own<H: Harness>() {
    let w = World::<H>::open().await;
    let (a, b, c) = (w.held_by("a").await, w.held_by("b").await, w.held_by("c").await);
    let endings: Vec<Ending> = vec![
        b.ending(Act::Release),
        a.by("b").ending(complete()),
        a.ending(complete()),
        a.ending(complete()),
        a.ending(snooze(1)),
        c.ending(fail(Retry::Never)),
    ];
    let answers = w.store.finish(endings).await.expect("finish");
    let expected = [
        now(Status::Queued),
        Err(LostReason::Unknown),
        now(Status::Completed),
        already(Status::Completed),
        Err(LostReason::Finished),
        now(Status::Failed),
    ];
    assert_eq!(answers, expected);
}

/// One beat keeps every job under a shared lease, and a beat that names one of them does too.
pub async fn q3_a_shared_lease_is_renewed_for_all_its_jobs<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = w.fill(3).await;
    let token = w.claim(Claim::new("q", "a").max(3).shared(1)).await[0].token;
    w.pass_ms(10_000).await;
    w.beat(Beat::shared("a", token)).await.expect("held");
    for id in &ids {
        assert_eq!(w.job(*id).await.lease.expect("it runs").expires_at, w.now.plus_ms(LEASE_MS));
    }
    w.pass_ms(10_000).await;
    w.beat(Beat::new(ids[1], "a", token)).await.expect("held");
    assert_eq!(w.job(ids[2]).await.lease.expect("it runs").expires_at, w.now.plus_ms(LEASE_MS));
}

/// A shared lease is guarded like any other.
pub async fn l3_a_shared_beat_is_fenced<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.fill(2).await;
    let token = w.claim(Claim::new("q", "a").max(2).shared(2)).await[0].token;
    assert_eq!(w.beat(Beat::shared("b", token)).await.map(drop), Err(LostReason::Unknown));
    assert_eq!(w.beat(Beat::shared("a", NO_TOKEN)).await.map(drop), Err(LostReason::Unknown));
    w.pass_ms(LEASE_MS).await;
    assert_eq!(w.beat(Beat::shared("a", token)).await.map(drop), Err(LostReason::Expired));
}

/// Finishing one job of a shared lease leaves its neighbours held.
pub async fn i22_an_ending_leaves_its_neighbours_alone<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.fill(3).await;
    let jobs = w.claim(Claim::new("q", "a").max(3).shared(3)).await;
    let before = (w.job(ids[0]).await, w.job(ids[2]).await);
    w.finish(&Grip::of(&jobs[1], "a"), fail(Retry::Never)).await.expect("held");
    assert_eq!((w.job(ids[0]).await, w.job(ids[2]).await), before);
    assert_eq!(w.finish(&Grip::of(&jobs[2], "a"), complete()).await, now(Status::Completed));
}

/// Terminal stays terminal: no claim, no sweep and no write moves it again.
pub async fn l9_a_finished_job_stays_finished<H: Harness>() {
    let mut w = World::<H>::open().await;
    for act in [complete(), fail(Retry::Never)] {
        let grip = w.held_by("a").await;
        w.finish(&grip, act).await.expect("held");
        let job = w.job(grip.id).await;
        assert_eq!((job.finished_at, job.lease.clone()), (Some(w.now), None));
        w.pass_ms(LEASE_MS * 3).await;
        assert_eq!(w.recover(10).await.leases, 0);
        assert_eq!(w.claimed_ids(Claim::new("q", "b").max(10)).await, []);
        assert_eq!(w.job(grip.id).await, job);
    }
}

/// A result is kept byte for byte.
pub async fn q4_a_result_is_kept<H: Harness>() {
    let w = World::<H>::open().await;
    w.enqueue(NewJob::new("q", "k", "null")).await;
    let grip = w.take("a").await;
    let result = " {\"ü\": [1.50, null]} ";
    w.finish(&grip, Act::Complete { result: Some(result.into()) }).await.expect("held");
    let job = w.job(grip.id).await;
    assert_eq!((job.status, job.result.as_deref(), job.error), (Status::Completed, Some(result), None));
    assert_eq!(job.attempts[0].outcome.map(|outcome| outcome.as_str()), Some("completed"));
}

/// An error text of any letters is kept whole with its attempt; the event repeats only its beginning.
pub async fn l8_an_error_is_kept_whole_with_its_attempt<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    let error = "naïve 🦀 'quoted' \\ \"text\"\n".repeat(100);
    let act = Act::Fail { error: error.clone(), retry: Retry::Never };
    w.finish(&grip, act).await.expect("held");
    let job = w.job(grip.id).await;
    assert_eq!((job.error.as_ref(), job.attempts[0].error.as_ref()), (Some(&error), Some(&error)));
    let events = w.events(grip.id).await;
    assert_eq!(events[0].error.as_ref().map(|error| error.chars().count()), Some(200));
}
