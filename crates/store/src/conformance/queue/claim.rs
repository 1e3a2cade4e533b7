//! Claims: who gets what, in which order, under which token (Q2, L1, L2).

use super::Harness;
use super::tools::{Grip, LEASE_MS, START, World, complete, fail, now, plain, snooze};
use std::collections::{BTreeMap, BTreeSet};
use tenure_core::queue::{Act, Claim, Idle, JobId, NewJob, Status};
use tenure_core::retry::Retry;
use tenure_core::{Time, Token};

scenarios! {
    __queue_claim = queue::claim;
    q2_claims_come_by_priority_then_age_then_id,
    q2_one_at_a_time_is_the_same_order,
    q2_several_queues_are_one_order,
    q2_a_queue_named_twice_is_claimed_once,
    q2_only_the_named_kinds_are_claimed,
    q2_an_unknown_kind_is_empty,
    q2_work_is_due_from_its_run_at_on,
    q2_a_scheduled_job_keeps_its_age,
    q2_a_run_at_in_the_past_is_due_at_once,
    x_the_last_instant_is_kept,
    q2_a_claim_takes_at_most_max,
    x_an_unknown_queue_is_empty,
    q2_an_empty_claim_hints_when_work_is_due,
    l1_a_claim_hands_over_the_job_and_its_lease,
    l1_a_held_job_is_not_claimed_again,
    x_a_payload_comes_back_byte_for_byte,
    x_the_largest_payload_is_kept,
    x_a_bulk_enqueue_keeps_its_order,
    l2_a_jobs_tokens_grow_however_its_claims_end,
    l2_tokens_never_repeat_over_jobs,
    l2_a_new_epoch_outranks_every_earlier_token,
    l2_a_new_epoch_takes_no_lease_away,
    l1_each_claimed_job_has_its_own_lease,
    l6_a_shared_claim_is_one_lease_for_each_queue,
    l1_two_handles_are_one_store,
    l2_tokens_grow_across_handles,
    i1_many_claimers_of_one_job_have_one_winner,
    i1_sixteen_claimers_never_share_a_job,
}

/// Priority first, then age, then id among jobs of one instant.
pub async fn q2_claims_come_by_priority_then_age_then_id<H: Harness>() {
    let mut w = World::<H>::open().await;
    let old = w.enqueue_all(vec![plain(), plain().priority(-1), plain().priority(7)]).await;
    w.pass_ms(1).await;
    let new = w.enqueue_all(vec![plain(), plain().priority(7), plain().priority(i32::MAX)]).await;
    let claimed = w.claimed_ids(Claim::new("q", "a").max(10)).await;
    assert_eq!(claimed, [new[2], old[2], new[1], old[0], new[0], old[1]]);
}

/// The same order, when each claim takes one job.
pub async fn q2_one_at_a_time_is_the_same_order<H: Harness>() {
    let w = World::<H>::open().await;
    let ids =
        w.enqueue_all(vec![plain().priority(1), plain().priority(3), plain().priority(2), plain().priority(3)]).await;
    let mut claimed = Vec::new();
    for _ in 0..4 {
        claimed.push(w.take("a").await.id);
    }
    assert_eq!(claimed, [ids[1], ids[3], ids[2], ids[0]]);
}

/// A claim over several queues takes from all of them as if they were one.
pub async fn q2_several_queues_are_one_order<H: Harness>() {
    let w = World::<H>::open().await;
    let job = |queue, priority| NewJob::new(queue, "k", "{}").priority(priority);
    let jobs = vec![job("q", 1), job("r", 5), job("q", 3), job("s", 9), job("r", 3)];
    let ids = w.enqueue_all(jobs).await;
    assert_eq!(w.claimed_ids(Claim::new("r", "a").also("q").max(3)).await, [ids[1], ids[2], ids[4]]);
}

/// A queue named twice in one claim is one queue.
pub async fn q2_a_queue_named_twice_is_claimed_once<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.fill(2).await;
    assert_eq!(w.claimed_ids(Claim::new("q", "a").also("q").max(5)).await, ids);
}

/// A worker never gets a kind it does not know, however high its priority.
pub async fn q2_only_the_named_kinds_are_claimed<H: Harness>() {
    let w = World::<H>::open().await;
    let job = |kind, priority| NewJob::new("q", kind, "{}").priority(priority);
    let ids = w.enqueue_all(vec![job("x", 9), job("y", 1), job("z", 2), job("y", 3)]).await;
    assert_eq!(w.claimed_ids(Claim::new("q", "a").max(5).kinds(["z", "y"])).await, [ids[3], ids[2], ids[1]]);
}

/// A claim that knows none of the waiting kinds is empty.
pub async fn q2_an_unknown_kind_is_empty<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(1).await;
    let claims = w.store.claim(Claim::new("q", "a").kinds(["other"])).await.expect("claim");
    assert_eq!((claims.jobs.len(), claims.idle), (0, Some(Idle::Empty)));
}

/// Not a microsecond before `run_at`, and from that instant on.
pub async fn q2_work_is_due_from_its_run_at_on<H: Harness>() {
    let mut w = World::<H>::open().await;
    let run_at = START.plus_ms(5_000);
    let id = w.enqueue(plain().run_at(run_at)).await;
    w.set(Time(run_at.0 - 1)).await;
    assert_eq!(w.claimed_ids(Claim::new("q", "a")).await, []);
    w.set(run_at).await;
    assert_eq!(w.claimed_ids(Claim::new("q", "a")).await, [id]);
}

/// The order is by age, not by `run_at`: a job enqueued first stays first, once it is due.
pub async fn q2_a_scheduled_job_keeps_its_age<H: Harness>() {
    let mut w = World::<H>::open().await;
    let early = w.enqueue(plain().run_at(START.plus_ms(50))).await;
    w.pass_ms(10).await;
    let late = w.enqueue(plain()).await;
    w.pass_ms(40).await;
    assert_eq!(w.claimed_ids(Claim::new("q", "a").max(2)).await, [early, late]);
}

/// A `run_at` that has passed is due at once and is shown as it was sent.
pub async fn q2_a_run_at_in_the_past_is_due_at_once<H: Harness>() {
    let w = World::<H>::open().await;
    let first = w.enqueue(plain()).await;
    let past = w.enqueue(plain().run_at(Time::MIN)).await;
    let jobs = w.claim(Claim::new("q", "a").max(2)).await;
    assert_eq!(jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [first, past]);
    assert_eq!((jobs[0].run_at, jobs[1].run_at), (START, Time::MIN));
}

/// The last instant a caller can name is kept, and the job waits.
pub async fn x_the_last_instant_is_kept<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.enqueue(plain().run_at(Time::MAX)).await;
    assert_eq!(w.claimed_ids(Claim::new("q", "a")).await, []);
    assert_eq!(w.job(id).await.run_at, Time::MAX);
}

/// At most `max`, in order, and the rest stay.
pub async fn q2_a_claim_takes_at_most_max<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.fill(5).await;
    assert_eq!(w.claimed_ids(Claim::new("q", "a").max(3)).await, ids[..3]);
    assert_eq!(w.claimed_ids(Claim::new("q", "a").max(1_000)).await, ids[3..]);
}

/// Claiming from a queue nobody ever used answers `empty`, and does not create it.
pub async fn x_an_unknown_queue_is_empty<H: Harness>() {
    let w = World::<H>::open().await;
    let claims = w.store.claim(Claim::new("nowhere", "a")).await.expect("claim");
    assert_eq!((claims.jobs.len(), claims.idle), (0, Some(Idle::Empty)));
    assert_eq!(w.store.queue("nowhere").await.expect("queue"), None);
}

/// An empty claim hints when a scheduled job falls due.
pub async fn q2_an_empty_claim_hints_when_work_is_due<H: Harness>() {
    let w = World::<H>::open().await;
    w.enqueue(plain().run_at(START.plus_ms(1_500))).await;
    let claims = w.store.claim(Claim::new("q", "a")).await.expect("claim");
    assert_eq!(claims.again_in_ms, Some(1_500));
}

/// The reply to a claim, and the job as others see it, tell of the same lease.
pub async fn l1_a_claim_hands_over_the_job_and_its_lease<H: Harness>() {
    let mut w = World::<H>::open().await;
    let run_at = START.plus_ms(3);
    let new = NewJob::new("q", "mail", r#"{"to":1}"#).priority(-4).run_at(run_at).attempts_max(9).timeout_ms(7_700);
    let new = new.ordering_key("user-7").limit_key("acme");
    let id = w.enqueue(new).await;
    w.pass_ms(20).await;
    let claims = w.store.claim(Claim::new("q", "a").lease_ms(1_000)).await.expect("claim");
    assert_eq!((claims.idle, claims.again_in_ms), (None, None));
    let claimed = &claims.jobs[0];
    assert_eq!((claimed.id, claimed.queue.as_str(), claimed.kind.as_str()), (id, "q", "mail"));
    assert_eq!((claimed.payload.as_str(), claimed.priority), (r#"{"to":1}"#, -4));
    assert_eq!((claimed.attempt, claimed.attempts_max, claimed.timeout_ms), (1, 9, Some(7_700)));
    assert_eq!((claimed.created_at, claimed.run_at), (START, run_at));
    assert_eq!((claimed.ordering_key.as_deref(), claimed.limit_key.as_deref()), (Some("user-7"), Some("acme")));
    assert_eq!((claimed.lease_expires_at, &claimed.checkpoint), (w.now.plus_ms(1_000), &None));
    let job = w.job(id).await;
    let lease = job.lease.clone().expect("a running job shows its lease");
    assert_eq!((job.status, job.token), (Status::Running, Some(claimed.token)));
    assert_eq!((lease.owner.as_str(), lease.token), ("a", claimed.token));
    assert_eq!((lease.granted_at, lease.expires_at), (w.now, claimed.lease_expires_at));
    assert_eq!(job.updated_at(), w.now);
}

/// What is held is nobody else's.
pub async fn l1_a_held_job_is_not_claimed_again<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.set(Time(START.plus_ms(LEASE_MS).0 - 1)).await;
    assert_eq!(w.claimed_ids(Claim::new("q", "a")).await, []);
    assert_eq!(w.finish(&grip, complete()).await, now(Status::Completed));
}

/// A payload is kept as text: spaces, order, escapes and number spellings survive.
pub async fn x_a_payload_comes_back_byte_for_byte<H: Harness>() {
    let w = World::<H>::open().await;
    let payloads = [
        "null",
        " \t\r\n{ \"b\" : 1.0 ,\n\"a\":[ ] }  ",
        r#"{"z":1e3,"y":-0.0,"x":12345678901234567890123,"\u0041":"\ud83d\ude00\/"}"#,
        "\"grüße, 世界 🦀 \u{200d} e\u{301} ' \\\" -- $1 ? %s\"",
    ];
    let ids = w.enqueue_all(payloads.iter().map(|payload| NewJob::new("q", "k", *payload)).collect()).await;
    let claimed = w.claim(Claim::new("q", "a").max(9)).await;
    assert_eq!(claimed.iter().map(|job| job.payload.as_str()).collect::<Vec<_>>(), payloads);
    for (id, payload) in ids.into_iter().zip(payloads) {
        assert_eq!(w.job(id).await.payload, payload);
    }
}

/// A mebibyte is within bounds.
pub async fn x_the_largest_payload_is_kept<H: Harness>() {
    let w = World::<H>::open().await;
    let payload = format!("\"{}\"", "é".repeat((tenure_core::bounds::BODY_BYTES_MAX - 2) / 2));
    w.enqueue(NewJob::new("q", "k", payload.clone())).await;
    assert_eq!(w.claim(Claim::new("q", "a")).await[0].payload, payload);
}

/// Ids of one call grow in its order, over all queues it names.
pub async fn x_a_bulk_enqueue_keeps_its_order<H: Harness>() {
    let w = World::<H>::open().await;
    let job = |i: usize| NewJob::new(["r", "q", "s"][i % 3], "k", i.to_string()).priority(i as i32 % 5);
    let enqueued = w.send((0..300).map(job).collect()).await.expect("no keys");
    assert!(enqueued.is_sorted_by(|a, b| a.id < b.id), "ids grow");
    assert!(enqueued.iter().all(|enqueued| enqueued.status == Status::Queued && !enqueued.deduplicated));
    for i in [0, 1, 2, 150, 299] {
        assert_eq!(w.job(enqueued[i].id).await.payload, i.to_string());
    }
}

/// Each claim of a job has a larger token than the one before, however the one before ended.
pub async fn l2_a_jobs_tokens_grow_however_its_claims_end<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.enqueue(plain().attempts_max(10)).await;
    let mut tokens = Vec::new();
    for act in [Some(Act::Release), Some(snooze(0)), Some(fail(Retry::In { delay_ms: 0 })), None, Some(complete())] {
        let grip = w.take("a").await;
        tokens.push(grip.token);
        match act {
            Some(act) => drop(w.finish(&grip, act).await.expect("held")),
            None => {
                w.pass_ms(LEASE_MS).await;
                w.recover(10).await;
                assert_eq!(w.job(grip.id).await.token, Some(grip.token), "recovery keeps the token");
            }
        }
    }
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}

/// Later claims have larger tokens, whatever the job: a token is never drawn twice.
pub async fn l2_tokens_never_repeat_over_jobs<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(6).await;
    let mut tokens: Vec<Token> = Vec::new();
    for max in [1, 3, 2] {
        tokens.extend(w.claim(Claim::new("q", "a").max(max)).await.iter().map(|job| job.token));
    }
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}

/// A raised epoch outranks every earlier token, and stays below 2^53: it moves the counter to where the clock is.
pub async fn l2_a_new_epoch_outranks_every_earlier_token<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(2).await;
    let before = w.take("a").await.token;
    let epoch = w.store.epoch().await.expect("epoch");
    let raised = w.store.new_epoch().await.expect("new_epoch");
    assert_eq!((raised.count, w.store.epoch().await.expect("epoch")), (epoch.count + 1, raised));
    // 123 ms since 2026, 4096 tokens for each.
    assert!(raised.base > before && raised.base.0 >= 123 << 12, "{raised:?}");
    let after = w.take("a").await.token;
    assert!(after > raised.base && after.0 < 1 << 53);
}

/// A lease from before the epoch was raised is still held.
pub async fn l2_a_new_epoch_takes_no_lease_away<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.store.new_epoch().await.expect("new_epoch");
    assert_eq!(w.finish(&grip, complete()).await, now(Status::Completed));
}

/// Without sharing, each job of a claim has a lease of its own.
pub async fn l1_each_claimed_job_has_its_own_lease<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(4).await;
    let tokens: BTreeSet<Token> = w.claim(Claim::new("q", "a").max(4)).await.iter().map(|job| job.token).collect();
    assert_eq!(tokens.len(), 4);
}

/// A shared claim has one lease for each queue it took from.
pub async fn l6_a_shared_claim_is_one_lease_for_each_queue<H: Harness>() {
    let w = World::<H>::open().await;
    let jobs = ["q", "r", "q", "r", "q"].map(|queue| NewJob::new(queue, "k", "{}"));
    w.enqueue_all(jobs.to_vec()).await;
    let mut tokens: BTreeMap<String, BTreeSet<Token>> = BTreeMap::new();
    for job in w.claim(Claim::new("q", "a").also("r").max(5).shared(1)).await {
        tokens.entry(job.queue).or_default().insert(job.token);
    }
    assert_eq!(tokens.values().map(BTreeSet::len).collect::<Vec<_>>(), [1, 1]);
    assert_ne!(tokens["q"], tokens["r"]);
}

/// Another process is just another caller: it sees what was enqueued, and cannot take what is held.
pub async fn l1_two_handles_are_one_store<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.fill(2).await;
    let other = w.harness.another().await;
    let theirs = other.claim(Claim::new("q", "a")).await.expect("claim").jobs;
    assert_eq!(theirs[0].id, ids[0]);
    assert_eq!(w.claimed_ids(Claim::new("q", "a").max(5)).await, [ids[1]]);
    let ended = w.finish(&Grip::of(&theirs[0], "a"), complete()).await;
    assert_eq!(ended, now(Status::Completed));
    assert_eq!(other.job(ids[0]).await.expect("job").expect("kept").status, Status::Completed);
}

/// Tokens grow across handles too.
pub async fn l2_tokens_grow_across_handles<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(6).await;
    let handles = [w.store.clone(), w.harness.another().await];
    let mut tokens = Vec::new();
    for i in 0..6 {
        let jobs = handles[i % 2].claim(Claim::new("q", "a")).await.expect("claim").jobs;
        tokens.push(jobs[0].token);
    }
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}

/// Sixteen at once ask for the only job: one gets it, fifteen are told `empty`.
pub async fn i1_many_claimers_of_one_job_have_one_winner<H: Harness>() {
    let w = World::<H>::open().await;
    let handles = [w.store.clone(), w.harness.another().await];
    for _ in 0..5 {
        let id = w.fill(1).await[0];
        let claimers: Vec<_> = (0..16)
            .map(|i| {
                let store = handles[i % 2].clone();
                tokio::spawn(async move { store.claim(Claim::new("q", format!("w{i}"))).await.expect("claim") })
            })
            .collect();
        let mut winners = Vec::new();
        for claimer in claimers {
            let claims = claimer.await.expect("no panic");
            assert_eq!(claims.idle, claims.jobs.is_empty().then_some(Idle::Empty));
            winners.extend(claims.jobs);
        }
        assert_eq!(winners.iter().map(|job| job.id).collect::<Vec<_>>(), [id]);
    }
}

/// Sixteen claimers that give some jobs back and complete the others: no job is ever in two hands, no pair of job and
/// token is seen twice, and every job is completed once.
pub async fn i1_sixteen_claimers_never_share_a_job<H: Harness>() {
    const JOBS: usize = 48;
    let w = World::<H>::open().await;
    w.fill(JOBS).await;
    let handles = [w.store.clone(), w.harness.another().await];
    let claimers: Vec<_> = (0..16)
        .map(|i| {
            let store = handles[i % 2].clone();
            // All carry the same name: only the token tells them apart (A2).
            tokio::spawn(async move {
                let mut seen: Vec<(JobId, Token, bool)> = Vec::new();
                loop {
                    let jobs = store.claim(Claim::new("q", "same").max(1 + i as u32 % 3)).await.expect("claim").jobs;
                    if jobs.is_empty() {
                        return seen;
                    }
                    for (n, job) in jobs.iter().enumerate() {
                        let done = (job.token.0 + n as i64) % 3 != 0;
                        let act = if done { complete() } else { Act::Release };
                        let answers = store.finish(vec![Grip::of(job, "same").ending(act)]).await.expect("finish");
                        assert!(answers[0].is_ok_and(|ended| !ended.already), "the lease was held: {answers:?}");
                        seen.push((job.id, job.token, done));
                    }
                }
            })
        })
        .collect();
    let mut seen = Vec::new();
    for claimer in claimers {
        seen.extend(claimer.await.expect("no panic"));
    }
    // A claimer may have left while others still held what they then released.
    while let Some(job) = w.claim(Claim::new("q", "same")).await.first() {
        w.finish(&Grip::of(job, "same"), complete()).await.expect("held");
        seen.push((job.id, job.token, true));
    }
    let pairs: BTreeSet<(JobId, Token)> = seen.iter().map(|(id, token, _)| (*id, *token)).collect();
    assert_eq!(pairs.len(), seen.len(), "a claim was granted twice");
    let tokens: BTreeSet<Token> = seen.iter().map(|(_, token, _)| *token).collect();
    assert_eq!(tokens.len(), seen.len(), "a token was drawn twice");
    assert_eq!(seen.iter().filter(|(_, _, done)| *done).count(), JOBS, "each job is completed once");
    let counts = w.store.queue("q").await.expect("queue").expect("used").counts;
    assert_eq!((counts.queued, counts.running, counts.completed), (0, 0, JOBS as u64));
}
