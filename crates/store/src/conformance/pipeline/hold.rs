//! Leases of units: fencing, recovery, retries, records.

use super::tools::{Grip, at_once, chain, done, fail, now};
use crate::conformance::Harness;
use crate::conformance::queue::tools::{LEASE_MS, World};
use std::collections::BTreeSet;
use tenure_core::pipeline::{
    Act, Artifact, Beat, Beaten, Claim, Outcome, Reason, Record, Recovered, Refusal, RunStatus, Sealed, Stage, Status,
    Verb, What,
};
use tenure_core::retry::Retry;
use tenure_core::{LostReason, Token};

scenarios! {
    __pipeline_hold = pipeline::hold;
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

/// A claim hands over the unit with its lease, and nobody else gets it.
pub async fn l1_a_claim_hands_over_the_unit_and_its_lease<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    let unit = world.grab_all(Claim::new("p", "a", "w").lease_ms(5_000)).await.remove(0);
    assert_eq!((unit.run, unit.stage.as_str(), unit.segment.as_deref(), unit.join), (run, "a", None, false));
    assert_eq!((unit.attempt, unit.attempts_max, unit.lease_expires_at), (1, 5, world.now.plus_ms(5_000)));
    assert_eq!((unit.version, unit.input.as_str(), unit.record.clone()), (1, "1", None));
    let shown = world.stage(run, "a").await;
    let lease = shown.lease.expect("it runs");
    assert_eq!((shown.status, lease.owner.as_str(), lease.token), (Status::Running, "w", unit.token));
    world.none_of("a").await;
}

/// Sixteen claimers at once: each unit goes to one of them.
pub async fn l1_sixteen_claimers_never_share_a_unit<H: Harness>() {
    let world = World::<H>::open().await;
    world.apply(chain()).await;
    for _ in 0..30 {
        world.begin().await;
    }
    world.advance().await;
    let claims: Vec<_> = (0..16)
        .map(|n| {
            let store = world.store.clone();
            tokio::spawn(async move {
                let claim = Claim::new("p", "a", format!("w{n}")).max(3);
                store.claim_units(claim).await.unwrap().unwrap().units
            })
        })
        .collect();
    let mut runs = BTreeSet::new();
    let mut count = 0;
    for claim in claims {
        for unit in claim.await.unwrap() {
            count += 1;
            assert!(runs.insert(unit.run), "run {} was handed out twice", unit.run);
        }
    }
    assert_eq!(count + world.grab_all(Claim::new("p", "a", "rest").max(100)).await.len(), 30);
}

/// Each claim of a unit has a larger token than the one before, also over a new epoch.
pub async fn l2_tokens_grow_with_every_claim<H: Harness>() {
    let world = World::<H>::open().await;
    world.begun(chain()).await;
    let mut last = Token(0);
    for turn in 0..4 {
        if turn == 2 {
            let raised = world.store.new_epoch().await.unwrap();
            assert!(raised.base > last);
            last = raised.base;
        }
        let grip = world.grab("a", "w").await;
        assert!(grip.token > last);
        last = grip.token;
        assert_eq!(world.end(&grip, Act::Release).await, now(Status::Ready));
    }
}

/// After recovery and another claim, nothing of the old holder's is accepted and nothing changes.
pub async fn l3_every_write_of_a_stale_holder_is_refused<H: Harness>() {
    let mut world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    let stale = world.grab("a", "w").await;
    world.pass_ms(LEASE_MS).await;
    let held = world.grab("a", "w").await;
    let before = world.stage(run, "a").await;
    let lost = Err(Refusal::Lost(LostReason::Superseded));
    assert_eq!(world.pulse(stale.beat()).await, Err(LostReason::Superseded));
    for act in [done("9"), at_once(), Act::Release, super::tools::split(&["s"])] {
        assert_eq!(world.end(&stale, act).await, lost);
    }
    assert_eq!(world.stage(run, "a").await, before);
    assert_eq!(world.end(&held, done("1")).await, now(Status::Done));
}

/// A token nobody was given, another owner's, another unit's: unknown.
pub async fn l3_a_token_never_granted_is_unknown<H: Harness>() {
    let world = World::<H>::open().await;
    world.begun(chain()).await;
    let grip = world.grab("a", "w").await;
    let mut others =
        vec![Grip { token: Token(1 << 50), ..grip.clone() }, Grip { owner: "v".to_owned(), ..grip.clone() }];
    let mut elsewhere = grip.clone();
    elsewhere.key.stage = "b".to_owned();
    others.push(elsewhere);
    let mut nowhere = grip.clone();
    nowhere.key.run.0 += 100;
    others.push(nowhere);
    for other in others {
        assert_eq!(world.end(&other, done("1")).await, Err(Refusal::Lost(LostReason::Unknown)), "{other:?}");
        assert_eq!(world.pulse(other.beat()).await, Err(LostReason::Unknown), "{other:?}");
    }
    assert_eq!(world.end(&grip, done("1")).await, now(Status::Done));
}

/// The last instant of a lease is lost, swept or not.
pub async fn l4_the_instant_of_expiry_is_lost<H: Harness>() {
    let mut world = World::<H>::open().await;
    world.begun(chain()).await;
    let grip = world.grab("a", "w").await;
    world.pass_ms(LEASE_MS).await;
    for _ in 0..2 {
        assert_eq!(world.pulse(grip.beat()).await, Err(LostReason::Expired));
        assert_eq!(world.end(&grip, done("1")).await, Err(Refusal::Lost(LostReason::Expired)));
        world.sweep().await;
    }
}

/// A unit given back has all its attempts.
pub async fn l6_release_gives_the_attempt_back<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    for _ in 0..7 {
        let grip = world.grab("a", "w").await;
        assert_eq!(world.end(&grip, Act::Release).await, now(Status::Ready));
    }
    assert_eq!(world.stage(run, "a").await.attempt, 0);
}

/// With its attempts spent, the next expiry ends the unit as `ERROR(crash_limit)`.
pub async fn l6_the_last_expiry_is_the_crash_limit<H: Harness>() {
    let mut world = World::<H>::open().await;
    let mut definition = chain();
    definition.stages[0].attempts_max = 2;
    let run = world.begun(definition).await;
    for expected in [Recovered { returned: 1, failed: 0 }, Recovered { returned: 0, failed: 1 }] {
        world.grab("a", "w").await;
        world.pass_ms(LEASE_MS).await;
        assert_eq!(world.sweep().await, expected);
    }
    let unit = world.stage(run, "a").await;
    assert_eq!((unit.status, unit.reason), (Status::Error, Some(Reason::CrashLimit)));
    assert_eq!(world.told_whats(run).await, [What::Expired, What::Expired, What::Failed]);
    world.advance().await;
    assert_eq!(world.run_status(run).await, RunStatus::Error);
}

/// Recovery returns what ran out, clears the lease and writes a sentence; again, it finds nothing.
pub async fn l7_recovery_returns_what_ran_out_and_says_so<H: Harness>() {
    let mut world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    let grip = world.grab("a", "w").await;
    world.pass_ms(LEASE_MS - 1).await;
    assert_eq!(world.sweep().await, Recovered::default());
    world.pass_ms(1).await;
    assert_eq!(world.sweep().await, Recovered { returned: 1, failed: 0 });
    assert_eq!(world.sweep().await, Recovered::default());
    let unit = world.stage(run, "a").await;
    assert_eq!((unit.status, unit.lease, unit.attempt, unit.token), (Status::Ready, None, 1, Some(grip.token)));
    let told = world.told(run).await;
    let sentence = format!("the lease of w on a (token {}) ran out during attempt 1; it is READY again", grip.token);
    assert_eq!(told.iter().map(|event| event.message()).collect::<Vec<_>>(), [sentence]);
    let history = world.store.run_history(run, 10).await.unwrap();
    assert_eq!(history.attempts[0].outcome, Outcome::Expired);
}

/// A claim returns what ran out first.
pub async fn l7_a_claim_recovers_without_a_sweeper<H: Harness>() {
    let mut world = World::<H>::open().await;
    world.begun(chain()).await;
    let first = world.grab("a", "w").await;
    world.pass_ms(LEASE_MS).await;
    let second = world.grab("a", "v").await;
    assert_eq!(second.key, first.key);
}

/// Repeated refusals for one reason are one event that counts.
pub async fn l8_refusals_are_counted_in_one_event<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    let grip = world.grab("a", "w").await;
    world.end(&grip, done("1")).await.unwrap();
    for _ in 0..5 {
        world.end(&grip, Act::Release).await.unwrap_err();
    }
    let told = world.told(run).await;
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].count, told[0].verb, told[0].lost), (5, Some(Verb::Release), Some(LostReason::Finished)));
}

/// Every claim that was lost has an event of its own: the second stale holder does not erase the first. Repetitions are
/// counted, and say when it began and when it was last.
pub async fn l8_another_tokens_refusal_is_another_event<H: Harness>() {
    let mut world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    let mut stale = Vec::new();
    for owner in ["w", "v"] {
        stale.push(world.grab("a", owner).await);
        world.pass_ms(LEASE_MS).await;
    }
    world.grab("a", "u").await;
    let began = world.now;
    for grip in stale.iter().chain(&stale).chain(&stale[..1]) {
        assert_eq!(world.end(grip, done("1")).await, Err(Refusal::Lost(LostReason::Superseded)));
        world.pass_ms(1).await;
    }
    let told = world.told(run).await;
    let refused = told.iter().filter(|event| event.what == What::Refused);
    let refused: Vec<_> = refused.map(|event| (event.token, event.count, event.first_at, event.at)).collect();
    let at = |ms| began.plus_ms(ms);
    let expected = [(Some(stale[0].token), 3, Some(began), at(4)), (Some(stale[1].token), 2, Some(at(1)), at(3))];
    assert_eq!(refused, expected);
}

/// The same ending again is answered as the first time, also after the unit moved on.
pub async fn l12_an_ending_sent_again_is_answered_as_the_first_time<H: Harness>() {
    let world = World::<H>::open().await;
    world.begun(chain()).await;
    for act in [Act::Release, at_once(), done("1")] {
        let grip = world.grab("a", "w").await;
        let first = world.end(&grip, act.clone()).await.unwrap();
        let again = world.end(&grip, act.clone()).await.unwrap();
        assert_eq!((again.status, again.already), (first.status, true));
        world.advance().await;
        assert_eq!(world.end(&grip, act).await.unwrap(), again);
    }
}

/// Another verb under a token that has ended is refused as finished.
pub async fn l12_another_verb_under_an_ended_token_is_finished<H: Harness>() {
    let world = World::<H>::open().await;
    world.begun(chain()).await;
    let grip = world.grab("a", "w").await;
    world.end(&grip, done("1")).await.unwrap();
    assert_eq!(world.end(&grip, Act::Release).await, Err(Refusal::Lost(LostReason::Finished)));
    assert_eq!(world.pulse(grip.beat()).await, Err(LostReason::Finished));
}

/// A failed stage waits as `ERROR` until its backoff is over and the orchestrator releases it.
pub async fn p4_a_failed_stage_is_released_by_the_orchestrator_after_its_backoff<H: Harness>() {
    let mut world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    let grip = world.grab("a", "w").await;
    assert_eq!(world.end(&grip, fail(Retry::Policy { chance: 0.5 })).await, now(Status::Error));
    let unit = world.stage(run, "a").await;
    assert_eq!((unit.reason, unit.retry_at), (None, Some(world.now.plus_ms(1_000))));
    world.pass_ms(999).await;
    assert_eq!(world.advance().await.retried, 0);
    world.pass_ms(1).await;
    world.none_of("a").await;
    assert_eq!(world.advance().await.retried, 1);
    let unit = world.grab_all(Claim::new("p", "a", "w")).await.remove(0);
    assert_eq!(unit.attempt, 2);
    assert_eq!(world.told_whats(run).await, [What::Retried]);
    assert_eq!(world.run_status(run).await, RunStatus::Running);
}

/// With its attempts spent a stage stays `ERROR`.
pub async fn p4_with_attempts_spent_it_stays<H: Harness>() {
    let world = World::<H>::open().await;
    let mut definition = chain();
    definition.stages[0] = Stage::new("a").attempts_max(2);
    let run = world.begun(definition).await;
    for _ in 0..2 {
        let grip = world.grab("a", "w").await;
        world.end(&grip, at_once()).await.unwrap();
        world.advance().await;
    }
    let unit = world.stage(run, "a").await;
    assert_eq!((unit.status, unit.reason), (Status::Error, Some(Reason::AttemptsSpent)));
    assert_eq!((unit.error.as_deref(), world.run_status(run).await), (Some("it broke"), RunStatus::Error));
}

/// A handler may say that trying again is useless.
pub async fn p4_never_is_final<H: Harness>() {
    let world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    for (retry, reason) in [(Retry::Never, Reason::Failed), (Retry::Cancel, Reason::Cancelled)] {
        let grip = world.grab("a", "w").await;
        world.end(&grip, fail(retry)).await.unwrap();
        assert_eq!(world.stage(run, "a").await.reason, Some(reason));
        world.advance().await;
        world.act(run, tenure_core::pipeline::RunAction::Retry).await.unwrap();
        world.advance().await;
    }
}

/// A heartbeat extends by the granted span from now, and carries progress.
pub async fn q3_a_heartbeat_extends_the_lease_and_carries_progress<H: Harness>() {
    let mut world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    let grip = world.grab("a", "w").await;
    for n in 1..=3u64 {
        world.pass_ms(LEASE_MS - 1).await;
        let mut beat = grip.beat();
        beat.progress = Some(n.to_string());
        assert_eq!(world.pulse(beat).await.unwrap().lease_expires_at, world.now.plus_ms(LEASE_MS));
    }
    let unit = world.stage(run, "a").await;
    let pulse = unit.lease.unwrap().pulse;
    assert_eq!((unit.progress.as_deref(), pulse.beats, pulse.longest_gap_ms), (Some("3"), 3, LEASE_MS - 1));
}

/// Heartbeats of many units in one call are answered in their order, also where one is refused or a unit comes twice.
pub async fn q3_many_heartbeats_are_answered_each_on_its_own<H: Harness>() {
    let mut world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    let others = [world.begin().await, world.begin().await];
    world.advance().await;
    let mut grips = Vec::new();
    for _ in 0..3 {
        grips.push(world.grab("a", "w").await);
    }
    world.end(&grips[1], done("1")).await.unwrap();
    world.pass_ms(5).await;
    let with = |grip: &Grip, n: u32| Beat { progress: Some(n.to_string()), ..grip.beat() };
    let unknown = Grip { owner: "v".to_owned(), ..grips[0].clone() };
    let beats = vec![
        with(&grips[2], 1),
        with(&grips[1], 2),
        with(&grips[0], 3),
        with(&unknown, 4),
        with(&grips[0], 5),
        Beat { record: Some(record(grips[2].token, "1/a/v1/x")), ..grips[2].beat() },
    ];
    let renewed = Ok(Beaten { lease_expires_at: world.now.plus_ms(LEASE_MS) });
    let (finished, nobody) = (Err(LostReason::Finished), Err(LostReason::Unknown));
    let answers = world.store.beat_units(beats).await.unwrap();
    assert_eq!(answers, [renewed, finished, renewed, nobody, renewed, renewed]);
    let first = world.stage(run, "a").await;
    assert_eq!((first.progress.as_deref(), first.lease.unwrap().pulse.beats), (Some("5"), 2));
    let last = world.stage(others[1], "a").await;
    assert_eq!((last.progress.as_deref(), last.record), (Some("1"), Some(record(grips[2].token, "1/a/v1/x"))));
    assert_eq!(world.store.beat_units(vec![]).await.unwrap(), []);
}

fn record(token: Token, path: &str) -> Record {
    let artifacts = vec![Artifact { path: path.to_owned(), size: 3, blake3: "ab".repeat(32) }];
    Record { token, artifacts, sealed: Some(Sealed { input: "cd".repeat(32), output: Some("[1]".to_owned()) }) }
}

/// What a holder recorded comes to the next attempt; a stale holder records nothing.
pub async fn p7_a_record_is_fenced_and_handed_to_the_next_attempt<H: Harness>() {
    let mut world = World::<H>::open().await;
    world.begun(chain()).await;
    let stale = world.grab("a", "w").await;
    let mut beat = stale.beat();
    beat.record = Some(record(stale.token, "1/a/v1/x"));
    world.pulse(beat.clone()).await.unwrap();
    world.pass_ms(LEASE_MS).await;
    beat.record = Some(record(stale.token, "1/a/v1/late"));
    assert_eq!(world.pulse(beat).await, Err(LostReason::Expired));
    let unit = world.grab_all(Claim::new("p", "a", "v")).await.remove(0);
    assert_eq!(unit.record, Some(record(stale.token, "1/a/v1/x")));
}

/// A completion keeps what it brings, or what was recorded under its own claim; never what an earlier one left.
pub async fn p7_only_what_the_completion_recorded_counts<H: Harness>() {
    let mut world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    let stale = world.grab("a", "w").await;
    let mut beat = stale.beat();
    beat.record = Some(record(stale.token, "1/a/v1/x"));
    world.pulse(beat).await.unwrap();
    world.pass_ms(LEASE_MS).await;
    let held = world.grab("a", "v").await;
    world.end(&held, done("1")).await.unwrap();
    assert_eq!(world.stage(run, "a").await.record, None);
    world.advance().await;
    let held = world.grab("b", "v").await;
    let brought = record(held.token, "1/b/v1/x");
    world.end(&held, Act::Complete { output: None, record: Some(brought.clone()) }).await.unwrap();
    assert_eq!(world.stage(run, "b").await.record, Some(brought));
    world.advance().await;
    let held = world.grab("c", "v").await;
    let mut beat = held.beat();
    beat.record = Some(record(held.token, "1/c/v1/x"));
    world.pulse(beat).await.unwrap();
    world.end(&held, done("1")).await.unwrap();
    assert_eq!(world.stage(run, "c").await.record, Some(record(held.token, "1/c/v1/x")));
}
