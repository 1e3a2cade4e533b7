//! Limits: at most W run, for the engine, a queue, a tenant; only a committed transition frees a slot (Q8, I6).

use super::Harness;
use super::tools::{
    Grip, LEASE_MS, World, at_most, at_most_each, complete, every_act, fail, now, of_tenant, plain, snooze,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tenure_core::LostReason;
use tenure_core::queue::{Act, Change, Claim, Idle, NewJob, Settings, Status, What};
use tenure_core::retry::Retry;

scenarios! {
    __queue_limits = queue::limits;
    q8_a_queue_runs_at_most_w,
    q8_the_engine_runs_at_most_w_over_all_queues,
    q8_one_claim_over_queues_stops_at_the_engines_w,
    q8_each_tenant_runs_at_most_its_own_w,
    q8_tenants_of_two_queues_are_apart,
    q8_prefetched_jobs_count,
    q8_the_smallest_limit_binds,
    y_a_full_queue_is_at_capacity_though_nothing_waits,
    y_a_full_engine_is_at_capacity_though_nothing_waits,
    y_a_tenants_limit_alone_is_at_capacity,
    q8_a_tenant_at_its_limit_hides_nobody,
    q8_a_tenants_other_kinds_hide_nothing,
    q8_kinds_and_tenants_are_one_order,
    q8_a_full_queue_does_not_close_the_others,
    q8_every_ending_frees_its_slot,
    q8_a_forced_cancel_frees_its_slot,
    q8_time_alone_frees_no_slot,
    q8_a_claim_returns_what_ran_out_and_then_counts,
    q8_a_crashed_out_job_frees_its_slot,
    q8_an_engine_limit_makes_a_claim_return_every_queues_leases,
    q8_lowering_stops_claims_until_fewer_run,
    q8_lowering_the_engine_or_a_tenant_stops_claims_too,
    q8_raising_binds_the_next_claim,
    q8_a_zombie_heartbeat_takes_no_slot_back,
    q8_a_renewed_lease_keeps_its_slot,
    x_a_change_touches_only_what_it_names,
    x_the_engines_limit_is_kept,
    q8_a_freed_slot_wakes_who_waits,
    q8_a_raised_limit_wakes_who_waits,
    i6_sixteen_claimers_never_exceed_a_limit,
}

fn all(owner: &str) -> Claim {
    Claim::new("q", owner).max(100)
}

/// A queue's W binds one claim and all claims together.
pub async fn q8_a_queue_runs_at_most_w<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.fill(5).await;
    w.change(at_most(2)).await;
    assert_eq!(w.claimed_ids(all("a")).await, ids[..2]);
    assert_eq!(w.idle(all("b")).await, Idle::AtCapacity);
    assert_eq!(w.running("q").await, 2);
}

/// The engine's W is one number over all queues.
pub async fn q8_the_engine_runs_at_most_w_over_all_queues<H: Harness>() {
    let w = World::<H>::open().await;
    let job = |queue| NewJob::new(queue, "k", "{}");
    let ids = w.enqueue_all(vec![job("q"), job("q"), job("r"), job("r")]).await;
    w.set_limit(Some(3)).await;
    assert_eq!(w.claimed_ids(all("a")).await, ids[..2]);
    assert_eq!(w.claimed_ids(Claim::new("r", "a").max(100)).await, [ids[2]]);
    assert_eq!(w.idle(Claim::new("r", "a")).await, Idle::AtCapacity);
    assert_eq!(w.running("q").await + w.running("r").await, 3);
}

/// One claim over several queues stops at the engine's W too.
pub async fn q8_one_claim_over_queues_stops_at_the_engines_w<H: Harness>() {
    let w = World::<H>::open().await;
    let job = |queue, priority| NewJob::new(queue, "k", "{}").priority(priority);
    let ids = w.enqueue_all(vec![job("q", 1), job("r", 3), job("q", 2), job("r", 0)]).await;
    w.set_limit(Some(2)).await;
    assert_eq!(w.claimed_ids(all("a").also("r")).await, [ids[1], ids[2]]);
}

/// Each tenant has the same W; jobs without a tenant have none.
pub async fn q8_each_tenant_runs_at_most_its_own_w<H: Harness>() {
    let w = World::<H>::open().await;
    let jobs = vec![of_tenant("t"), of_tenant("t"), of_tenant("u"), plain(), plain(), of_tenant("t")];
    let ids = w.enqueue_all(jobs).await;
    w.change(at_most_each(1)).await;
    assert_eq!(w.claimed_ids(all("a")).await, [ids[0], ids[2], ids[3], ids[4]]);
    w.change(at_most_each(2)).await;
    assert_eq!(w.claimed_ids(all("a")).await, [ids[1]]);
}

/// Tenants of the same name in two queues are two tenants.
pub async fn q8_tenants_of_two_queues_are_apart<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.enqueue_all(vec![of_tenant("t"), NewJob::new("r", "k", "{}").limit_key("t")]).await;
    for queue in ["q", "r"] {
        w.store.change(queue, at_most_each(1)).await.expect("change");
    }
    assert_eq!(w.claimed_ids(all("a").also("r")).await, ids);
}

/// Prefetched jobs are running, and count.
pub async fn q8_prefetched_jobs_count<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.fill(5).await;
    w.change(at_most(3)).await;
    assert_eq!(w.claimed_ids(all("a").shared(0)).await, ids[..3]);
    assert_eq!(w.idle(all("b").shared(0)).await, Idle::AtCapacity);
}

/// The smallest of the limits that apply is the one that binds.
pub async fn q8_the_smallest_limit_binds<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.enqueue_all(vec![of_tenant("t"), of_tenant("t"), of_tenant("u"), plain(), plain()]).await;
    w.change(Change { max_running: Some(Some(3)), ..at_most_each(1) }).await;
    w.set_limit(Some(2)).await;
    assert_eq!(w.claimed_ids(all("a")).await, [ids[0], ids[2]]);
    w.set_limit(Some(9)).await;
    assert_eq!(w.claimed_ids(all("a")).await, [ids[3]]);
    w.change(at_most(9)).await;
    assert_eq!(w.claimed_ids(all("a")).await, [ids[4]]);
    assert_eq!(w.idle(all("a")).await, Idle::AtCapacity);
}

/// Full is full, whether or not anything waits.
pub async fn y_a_full_queue_is_at_capacity_though_nothing_waits<H: Harness>() {
    let w = World::<H>::open().await;
    w.change(at_most(1)).await;
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
    let grip = w.held_by("a").await;
    assert_eq!(w.idle(all("a")).await, Idle::AtCapacity);
    w.finish(&grip, complete()).await.expect("held");
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
}

/// The same for the engine, whichever queue is asked.
pub async fn y_a_full_engine_is_at_capacity_though_nothing_waits<H: Harness>() {
    let w = World::<H>::open().await;
    w.set_limit(Some(1)).await;
    w.enqueue(NewJob::new("r", "k", "{}")).await;
    let grip = w.held_by("a").await;
    w.finish(&grip, complete()).await.expect("held");
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
    w.claim(Claim::new("r", "a")).await;
    assert_eq!(w.idle(all("a")).await, Idle::AtCapacity);
}

/// Work waits, the queue has room, and only its tenants have none.
pub async fn y_a_tenants_limit_alone_is_at_capacity<H: Harness>() {
    let mut w = World::<H>::open().await;
    let later = of_tenant("u").run_at(w.now.plus_ms(1_000));
    let ids = w.enqueue_all(vec![of_tenant("t"), of_tenant("t"), of_tenant("u"), later]).await;
    w.change(Change { max_running: Some(Some(50)), ..at_most_each(1) }).await;
    assert_eq!(w.claim(all("a")).await.len(), 2);
    assert_eq!(w.idle(all("a")).await, Idle::AtCapacity);
    w.cancel(ids[1]).await.expect("queued");
    assert_eq!(w.idle(all("a")).await, Idle::Empty, "what is not due is not held back by a limit");
    w.pass_ms(1_000).await;
    assert_eq!(w.idle(all("a")).await, Idle::AtCapacity);
}

/// A tenant at its limit with the best ranks hides nobody, and the order among the others is kept.
pub async fn q8_a_tenant_at_its_limit_hides_nobody<H: Harness>() {
    let w = World::<H>::open().await;
    let mut jobs: Vec<NewJob> = (0..400).map(|_| of_tenant("busy").priority(9)).collect();
    jobs.extend([of_tenant("t"), plain().priority(2), of_tenant("u").priority(1), of_tenant("t").priority(3)]);
    let ids = w.enqueue_all(jobs).await;
    w.change(at_most_each(1)).await;
    let (busy, others) = (ids[0], &ids[400..]);
    assert_eq!(w.claimed_ids(Claim::new("q", "a")).await, [busy]);
    for expected in [others[3], others[1], others[2]] {
        assert_eq!(w.claimed_ids(Claim::new("q", "a")).await, [expected]);
    }
    assert_eq!(w.idle(all("a")).await, Idle::AtCapacity, "what is left belongs to tenants at their limit");
}

/// Of a tenant's jobs, a claim takes the first of a kind it knows.
pub async fn q8_a_tenants_other_kinds_hide_nothing<H: Harness>() {
    let w = World::<H>::open().await;
    let job = |kind| NewJob::new("q", kind, "{}").limit_key("t");
    let ids = w.enqueue_all(vec![job("x"), job("x"), job("y"), job("z"), job("y")]).await;
    w.change(at_most_each(2)).await;
    assert_eq!(w.claimed_ids(all("a").kinds(["y"])).await, [ids[2], ids[4]]);
    assert_eq!(w.idle(all("a").kinds(["x"])).await, Idle::AtCapacity);
    assert_eq!(w.idle(all("a").kinds(["y"])).await, Idle::Empty, "no job of that kind waits");
    assert_eq!(w.idle(all("a").kinds(["other"])).await, Idle::Empty);
}

/// Kinds and tenants at once: both lists are obeyed, in the order of Q2.
pub async fn q8_kinds_and_tenants_are_one_order<H: Harness>() {
    let w = World::<H>::open().await;
    let job = |kind, tenant, priority| NewJob::new("q", kind, "{}").limit_key(tenant).priority(priority);
    let jobs = vec![job("x", "t", 5), job("y", "t", 4), job("y", "u", 3), job("x", "u", 2), job("y", "v", 9)];
    let ids = w.enqueue_all(jobs).await;
    w.change(at_most_each(1)).await;
    assert_eq!(w.claimed_ids(all("a").kinds(["x", "z"])).await, [ids[0], ids[3]]);
    assert_eq!(w.claimed_ids(all("a").kinds(["y"])).await, [ids[4]]);
}

/// A claim over several queues takes from those that have room.
pub async fn q8_a_full_queue_does_not_close_the_others<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(2).await;
    let other = w.enqueue(NewJob::new("r", "k", "{}").priority(-5)).await;
    w.change(at_most(1)).await;
    w.take("a").await;
    assert_eq!(w.claimed_ids(all("a").also("r")).await, [other]);
    assert_eq!(w.idle(all("a").also("r")).await, Idle::AtCapacity);
}

/// Every way to end a claim frees its slots, and its tenant's.
pub async fn q8_every_ending_frees_its_slot<H: Harness>() {
    let acts = every_act().into_iter().chain([fail(Retry::Never), snooze(60_000)]);
    for act in acts {
        let w = World::<H>::open().await;
        w.change(Change { max_running: Some(Some(1)), ..at_most_each(1) }).await;
        w.set_limit(Some(1)).await;
        let ids = w.enqueue_all(vec![of_tenant("t").priority(1), of_tenant("t")]).await;
        let grip = w.take("a").await;
        assert_eq!(w.idle(all("b")).await, Idle::AtCapacity);
        let released = act == Act::Release;
        w.finish(&grip, act).await.expect("held");
        assert_eq!(w.claimed_ids(all("b")).await, [if released { ids[0] } else { ids[1] }]);
    }
}

/// So does a forced cancel.
pub async fn q8_a_forced_cancel_frees_its_slot<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.fill(2).await;
    w.change(at_most(1)).await;
    w.take("a").await;
    w.cancel(ids[0]).await.expect("running");
    assert_eq!(w.idle(all("b")).await, Idle::AtCapacity, "asking frees nothing");
    w.force(ids[0]).await.expect("running");
    assert_eq!(w.claimed_ids(all("b")).await, [ids[1]]);
}

/// Time frees nothing: until someone returns it, an expired job is running and counted.
pub async fn q8_time_alone_frees_no_slot<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.change(at_most(1)).await;
    let grip = w.held_by("a").await;
    w.pass_ms(LEASE_MS * 10).await;
    assert_eq!(w.running("q").await, 1);
    assert_eq!(w.recover(10).await.requeued, 1);
    assert_eq!(w.running("q").await, 0);
    assert_eq!(w.claimed_ids(all("b")).await, [grip.id]);
}

/// A claim returns what ran out first and counts then, so that a dead worker's slots are not lost (B8).
pub async fn q8_a_claim_returns_what_ran_out_and_then_counts<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.change(at_most(2)).await;
    let old = w.fill(2).await;
    assert_eq!(w.claimed_ids(all("a")).await, old);
    let urgent = w.enqueue(plain().priority(1)).await;
    assert_eq!(w.idle(all("b")).await, Idle::AtCapacity);
    w.pass_ms(LEASE_MS).await;
    assert_eq!(w.claimed_ids(all("b")).await, [urgent, old[0]]);
    assert_eq!((w.running("q").await, w.job(old[1]).await.status), (2, Status::Queued));
    assert_eq!(w.idle(all("b")).await, Idle::AtCapacity);
}

/// A crashed-out job frees its slot for the next in the very claim that ends it.
pub async fn q8_a_crashed_out_job_frees_its_slot<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.change(Change { max_running: Some(Some(1)), ..at_most_each(1) }).await;
    let ids = w.enqueue_all(vec![of_tenant("t").attempts_max(1), of_tenant("t")]).await;
    w.take("a").await;
    w.pass_ms(LEASE_MS).await;
    assert_eq!(w.claimed_ids(all("b")).await, [ids[1]]);
}

/// With a limit on the engine, a claim returns what ran out in every queue, since any of it holds a slot.
pub async fn q8_an_engine_limit_makes_a_claim_return_every_queues_leases<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.set_limit(Some(1)).await;
    let dead = w.held_by("a").await;
    let other = w.enqueue(NewJob::new("r", "k", "{}")).await;
    assert_eq!(w.idle(Claim::new("r", "b")).await, Idle::AtCapacity);
    w.pass_ms(LEASE_MS).await;
    assert_eq!(w.claimed_ids(Claim::new("r", "b")).await, [other]);
    assert_eq!(w.job(dead.id).await.status, Status::Queued);
    assert_eq!(w.whats(dead.id).await, [What::Expired]);
}

/// Lowering takes nothing away; it stops new claims until fewer run (B9).
pub async fn q8_lowering_stops_claims_until_fewer_run<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(5).await;
    w.change(at_most(3)).await;
    let grips: Vec<Grip> = w.claim(all("a")).await.iter().map(|job| Grip::of(job, "a")).collect();
    w.change(at_most(1)).await;
    for grip in &grips {
        w.beat(grip.beat()).await.expect("still held");
    }
    for (left, grip) in [2, 1, 0].into_iter().zip(&grips) {
        assert_eq!(w.finish(grip, complete()).await, now(Status::Completed));
        assert_eq!(w.claim(all("b")).await.len(), usize::from(left == 0), "{left} were running");
    }
}

/// The engine's limit and each tenant's are lowered alike.
pub async fn q8_lowering_the_engine_or_a_tenant_stops_claims_too<H: Harness>() {
    for engine in [true, false] {
        let w = World::<H>::open().await;
        w.enqueue_all((0..4).map(|_| of_tenant("t")).collect()).await;
        let grips: Vec<Grip> = w.claim(all("a").max(2)).await.iter().map(|job| Grip::of(job, "a")).collect();
        if engine {
            w.set_limit(Some(1)).await;
        } else {
            w.change(at_most_each(1)).await;
        }
        assert_eq!(w.idle(all("b")).await, Idle::AtCapacity);
        w.finish(&grips[0], complete()).await.expect("held");
        assert_eq!(w.idle(all("b")).await, Idle::AtCapacity);
        w.finish(&grips[1], complete()).await.expect("held");
        assert_eq!(w.claim(all("b")).await.len(), 1);
    }
}

/// Raising a limit, or taking it away, binds the next claim.
pub async fn q8_raising_binds_the_next_claim<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.fill(9).await;
    w.change(at_most(1)).await;
    w.set_limit(Some(4)).await;
    assert_eq!(w.claimed_ids(all("a")).await, ids[..1]);
    w.change(at_most(3)).await;
    assert_eq!(w.claimed_ids(all("a")).await, ids[1..3]);
    w.change(Change { max_running: Some(None), ..Change::default() }).await;
    assert_eq!(w.claimed_ids(all("a")).await, ids[3..4]);
    w.set_limit(None).await;
    assert_eq!(w.claimed_ids(all("a")).await, ids[4..]);
}

/// A holder that comes back after its lease ran out renews nothing, so W holds (A3).
pub async fn q8_a_zombie_heartbeat_takes_no_slot_back<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.change(at_most(1)).await;
    let zombie = w.held_by("a").await;
    w.pass_ms(LEASE_MS).await;
    assert_eq!(w.beat(zombie.beat()).await.map(drop), Err(LostReason::Expired));
    let next = w.take("b").await;
    assert_eq!(w.beat(zombie.beat()).await.map(drop), Err(LostReason::Superseded));
    assert_eq!((w.running("q").await, next.id), (1, zombie.id));
    assert_eq!(w.idle(all("c")).await, Idle::AtCapacity);
}

/// A renewed lease keeps its slot for as long as it is renewed.
pub async fn q8_a_renewed_lease_keeps_its_slot<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.fill(2).await;
    w.change(at_most(1)).await;
    let grip = w.take("a").await;
    for _ in 0..4 {
        w.pass_ms(LEASE_MS - 1).await;
        w.beat(grip.beat()).await.expect("held");
        assert_eq!(w.idle(all("b")).await, Idle::AtCapacity);
    }
}

/// A change touches what it names, creates a queue that is not there, and is seen by every handle.
pub async fn x_a_change_touches_only_what_it_names<H: Harness>() {
    let w = World::<H>::open().await;
    let created = w.change(at_most(7)).await;
    assert_eq!(created.settings, Settings { max_running: Some(7), ..Settings::default() });
    assert_eq!((created.name.as_str(), created.created_at, created.oldest_queued_at), ("q", w.now, None));
    w.change(at_most_each(3)).await;
    let paused = w.change(Change { paused: Some(true), ..Change::default() }).await.settings;
    let expected = Settings { paused: true, max_running: Some(7), max_running_per_key: Some(3), ..Settings::default() };
    assert_eq!(paused, expected);
    let unset = Change { max_running: Some(None), paused: Some(false), ..Change::default() };
    let settings = w.change(unset).await.settings;
    assert_eq!(settings, Settings { max_running_per_key: Some(3), ..Settings::default() });
    let other = w.harness.another().await;
    assert_eq!(other.queue("q").await.expect("queue").expect("created").settings, settings);
    assert_eq!(w.change(Change::default()).await.settings, settings, "an empty change changes nothing");
}

/// The engine's limit is kept, and unset again.
pub async fn x_the_engines_limit_is_kept<H: Harness>() {
    let w = World::<H>::open().await;
    let other = w.harness.another().await;
    assert_eq!(w.store.limit().await.expect("limit"), None);
    for limit in [Some(1), Some(1_000_000), None] {
        w.set_limit(limit).await;
        assert_eq!(w.store.limit().await.expect("limit"), limit);
        assert_eq!(other.limit().await.expect("limit"), limit);
    }
}

/// Whoever waits for a slot hears when one may be free.
pub async fn q8_a_freed_slot_wakes_who_waits<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(2).await;
    w.change(at_most(1)).await;
    let grip = w.take("a").await;
    let mut listener = w.store.signals().listen(vec!["q".to_owned()]);
    w.finish(&grip, complete()).await.expect("held");
    let woken = tokio::time::timeout(Duration::from_secs(20), listener.woken()).await;
    assert!(woken.is_ok(), "no hint came");
}

/// … and when a limit was raised.
pub async fn q8_a_raised_limit_wakes_who_waits<H: Harness>() {
    let w = World::<H>::open().await;
    for engine in [true, false] {
        let mut listener = w.store.signals().listen(vec!["q".to_owned()]);
        if engine {
            w.set_limit(Some(9)).await;
        } else {
            w.change(at_most(9)).await;
        }
        let woken = tokio::time::timeout(Duration::from_secs(20), listener.woken()).await;
        assert!(woken.is_ok(), "no hint came");
    }
}

/// Sixteen claimers on two handles, each counting what it holds: the engine, the queue and the tenant all stay within
/// their limits, and every job is completed (B7).
pub async fn i6_sixteen_claimers_never_exceed_a_limit<H: Harness>() {
    const JOBS: usize = 60;
    let w = World::<H>::open().await;
    // A job's payload is its place among engine, queue and tenant: see `places`.
    let jobs =
        (0..JOBS).map(|i| NewJob::new(["q", "r"][i % 2], "k", (i % 6).to_string()).limit_key(["t", "u", "v"][i % 3]));
    w.enqueue_all(jobs.collect()).await;
    w.set_limit(Some(5)).await;
    for queue in ["q", "r"] {
        let change = Change { max_running: Some(Some(4)), ..at_most_each(2) };
        w.store.change(queue, change).await.expect("change");
    }
    let held: Arc<Held> = Arc::default();
    let handles = [w.store.clone(), w.harness.another().await];
    let claimers: Vec<_> = (0..16)
        .map(|i| {
            let (store, held) = (handles[i % 2].clone(), held.clone());
            tokio::spawn(async move {
                let claim = Claim::new("q", format!("w{i}")).also("r").max(1 + i as u32 % 3);
                let patience = Instant::now() + PATIENCE;
                while held.done.load(Ordering::SeqCst) < JOBS && Instant::now() < patience {
                    for job in store.claim(claim.clone()).await.expect("claim").jobs {
                        held.count(&job.payload).await;
                        let act = if job.token.0 % 4 == 0 { Act::Release } else { complete() };
                        let done = act != Act::Release;
                        let ended = store.finish(vec![Grip::of(&job, &claim.owner).ending(act)]).await;
                        ended.expect("finish")[0].expect("held");
                        held.done.fetch_add(usize::from(done), Ordering::SeqCst);
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for claimer in claimers {
        claimer.await.expect("no panic");
    }
    let most: Vec<usize> = held.most.iter().map(|most| most.load(Ordering::SeqCst)).collect();
    let limits = [5, 4, 4, 2, 2, 2, 2, 2, 2];
    assert!(most.iter().zip(limits).all(|(most, limit)| *most <= limit), "I6: {most:?} ran at once, of {limits:?}");
    assert_eq!(held.done.load(Ordering::SeqCst), JOBS, "every job was completed once");
}

/// How long claimers that race may take together.
const PATIENCE: Duration = Duration::from_secs(60);

/// What claimers hold: of the engine, of each queue, of each tenant of each queue. Counted after a claim is answered
/// and given back before its ending is sent, so that a count above a limit can only mean that the store exceeded it.
#[derive(Default)]
struct Held {
    now: [AtomicUsize; 9],
    most: [AtomicUsize; 9],
    done: AtomicUsize,
}

impl Held {
    async fn count(&self, payload: &str) {
        let place: usize = payload.parse().expect("a job's payload is its place");
        let places = [0, 1 + place % 2, 3 + place];
        for place in places {
            let held = self.now[place].fetch_add(1, Ordering::SeqCst) + 1;
            self.most[place].fetch_max(held, Ordering::SeqCst);
        }
        tokio::task::yield_now().await;
        for place in places {
            self.now[place].fetch_sub(1, Ordering::SeqCst);
        }
    }
}
