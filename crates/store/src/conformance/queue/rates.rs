//! Pauses and rates: when a queue hands out nothing although work waits (Q2), and which answer comes first.

use super::Harness;
use super::tools::{Grip, LEASE_MS, START, World, at_most, at_most_each, complete, now, of_tenant, plain};
use tenure_core::Time;
use tenure_core::queue::{Act, Change, Claim, Idle, NewJob, Rate, Status};

scenarios! {
    __queue_rates = queue::rates;
    q2_a_paused_queue_hands_out_nothing,
    q2_a_pause_leaves_holders_and_enqueues_alone,
    l7_a_pause_does_not_stop_recovery,
    q2_a_paused_queue_does_not_close_the_others,
    q2_an_empty_paused_queue_is_paused,
    q2_a_rate_binds_each_period_of_the_clock,
    q2_a_claim_hints_when_a_spent_rate_is_whole_again,
    q2_a_paused_queue_hints_at_nothing,
    q2_a_full_queue_hints_at_the_end_of_a_lease_and_not_at_work_that_is_due,
    q2_a_full_engine_hints_at_the_end_of_any_lease,
    q2_a_spent_queue_hints_at_the_end_of_its_period_and_not_at_work_that_is_due,
    q2_work_held_back_hints_at_the_end_of_the_lease_that_holds_it,
    q2_a_rate_taken_away_and_set_again_is_still_spent,
    q2_an_unused_rate_is_not_saved,
    q2_a_released_job_has_spent_its_rate,
    q2_every_job_of_a_shared_claim_spends_the_rate,
    q2_a_rate_changes_live,
    q2_a_tenants_rate_is_its_own,
    q2_a_tenants_spent_rate_hides_nobody,
    q2_rates_of_two_queues_are_apart,
    q2_the_first_reason_that_applies_is_told,
    q2_reasons_of_several_queues_have_one_order,
    q2_a_tenants_limit_is_told_before_its_rate,
}

fn all(owner: &str) -> Claim {
    Claim::new("q", owner).max(100)
}

fn paused(paused: bool) -> Change {
    Change { paused: Some(paused), ..Change::default() }
}

fn rate(max: u32, period_ms: u64) -> Change {
    Change { rate_limit: Some(Some(Rate { max, period_ms })), ..Change::default() }
}

fn rate_each(max: u32, period_ms: u64) -> Change {
    Change { rate_limit_per_key: Some(Some(Rate { max, period_ms })), ..Change::default() }
}

/// When the period that `at` lies in is over: periods are counted from 1970 on.
fn period_end(at: Time, period_ms: u64) -> Time {
    let micros = period_ms as i64 * 1_000;
    Time((at.0.div_euclid(micros) + 1) * micros)
}

/// A paused queue hands out nothing, and resumes where it was.
pub async fn q2_a_paused_queue_hands_out_nothing<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.fill(2).await;
    assert!(w.change(paused(true)).await.settings.paused);
    assert_eq!(w.idle(all("a")).await, Idle::Paused);
    assert!(!w.change(paused(false)).await.settings.paused);
    assert_eq!(w.claimed_ids(all("a")).await, ids);
}

/// A pause takes nothing from those who hold work, and takes new work in.
pub async fn q2_a_pause_leaves_holders_and_enqueues_alone<H: Harness>() {
    let w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.change(paused(true)).await;
    w.beat(grip.beat()).await.expect("held");
    let id = w.fill(1).await[0];
    assert_eq!(w.finish(&grip, complete()).await, now(Status::Completed));
    assert_eq!(w.job(id).await.status, Status::Queued);
    assert_eq!(w.idle(all("a")).await, Idle::Paused);
}

/// A claim on a paused queue still returns what ran out, and recovery goes on.
pub async fn l7_a_pause_does_not_stop_recovery<H: Harness>() {
    let mut w = World::<H>::open().await;
    let by_claim = w.held_by("a").await;
    w.change(paused(true)).await;
    w.pass_ms(LEASE_MS).await;
    assert_eq!(w.idle(all("b")).await, Idle::Paused);
    assert_eq!(w.job(by_claim.id).await.status, Status::Queued);
}

/// A paused queue does not close the others of a claim.
pub async fn q2_a_paused_queue_does_not_close_the_others<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(1).await;
    let other = w.enqueue(NewJob::new("r", "k", "{}")).await;
    w.change(paused(true)).await;
    assert_eq!(w.claimed_ids(all("a").also("r")).await, [other]);
    assert_eq!(w.idle(all("a").also("r")).await, Idle::Paused);
}

/// An empty queue that is paused says so.
pub async fn q2_an_empty_paused_queue_is_paused<H: Harness>() {
    let w = World::<H>::open().await;
    w.change(paused(true)).await;
    assert_eq!(w.idle(all("a")).await, Idle::Paused);
}

/// So many claims in each period, which ends by the clock and not by the first claim.
pub async fn q2_a_rate_binds_each_period_of_the_clock<H: Harness>() {
    for period_ms in [1_000, 7_000, 86_400_000] {
        let mut w = World::<H>::open().await;
        let ids = w.fill(9).await;
        w.change(rate(2, period_ms)).await;
        assert_eq!(w.claimed_ids(all("a")).await, ids[..2]);
        assert_eq!(w.idle(all("a")).await, Idle::RateLimited);
        let end = period_end(START, period_ms);
        w.set(Time(end.0 - 1)).await;
        w.recover(100).await;
        assert_eq!(w.idle(Claim::new("q", "a")).await, Idle::RateLimited, "{period_ms}");
        w.set(end).await;
        assert_eq!(w.claim(all("a")).await.len(), 2, "{period_ms}");
        assert_eq!(w.idle(all("a")).await, Idle::RateLimited);
    }
}

/// Two periods may meet in one burst: what was left unused is not carried over.
pub async fn q2_an_unused_rate_is_not_saved<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.fill(9).await;
    w.change(rate(2, 1_000)).await;
    w.pass_ms(10_000).await;
    assert_eq!(w.claim(all("a")).await.len(), 2);
}

/// What counts is a claim handed out, however it ends: giving a job back does not give the rate back.
pub async fn q2_a_released_job_has_spent_its_rate<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.fill(2).await;
    w.change(rate(2, 60_000)).await;
    let grip = w.take("a").await;
    w.finish(&grip, Act::Release).await.expect("held");
    assert_eq!(w.claimed_ids(all("a")).await, ids[..1]);
    assert_eq!(w.idle(all("a")).await, Idle::RateLimited);
}

/// Each job of a shared claim counts.
pub async fn q2_every_job_of_a_shared_claim_spends_the_rate<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(5).await;
    w.change(rate(3, 60_000)).await;
    assert_eq!(w.claim(all("a").shared(1)).await.len(), 3);
}

/// A rate changed within its period binds at once, with what was spent so far.
pub async fn q2_a_rate_changes_live<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(9).await;
    w.change(rate(2, 60_000)).await;
    assert_eq!(w.claim(all("a")).await.len(), 2);
    w.change(rate(3, 60_000)).await;
    assert_eq!(w.claim(all("a")).await.len(), 1);
    w.change(rate(1, 60_000)).await;
    assert_eq!(w.idle(all("a")).await, Idle::RateLimited);
    w.change(Change { rate_limit: Some(None), ..Change::default() }).await;
    assert_eq!(w.claim(all("a")).await.len(), 6);
}

/// A tenant's rate is its own; others and jobs of no tenant go on, in order.
pub async fn q2_a_tenants_rate_is_its_own<H: Harness>() {
    let mut w = World::<H>::open().await;
    let jobs = vec![of_tenant("t"), of_tenant("t"), of_tenant("u"), plain(), plain(), of_tenant("u")];
    let ids = w.enqueue_all(jobs).await;
    w.change(rate_each(1, 1_000)).await;
    assert_eq!(w.claimed_ids(all("a")).await, [ids[0], ids[2], ids[3], ids[4]]);
    assert_eq!(w.idle(all("a")).await, Idle::RateLimited);
    w.set(period_end(START, 1_000)).await;
    assert_eq!(w.claimed_ids(all("a")).await, [ids[1], ids[5]]);
    assert_eq!(w.idle(all("a")).await, Idle::Empty, "nothing waits that a tenant's rate could hold back");
}

/// A tenant's rate is counted for each queue apart.
pub async fn q2_rates_of_two_queues_are_apart<H: Harness>() {
    let w = World::<H>::open().await;
    let job = |queue| NewJob::new(queue, "k", "{}").limit_key("t");
    let ids = w.enqueue_all(vec![job("q"), job("r"), job("q"), job("r")]).await;
    for queue in ["q", "r"] {
        w.store.change(queue, rate_each(1, 60_000)).await.expect("change");
    }
    assert_eq!(w.claimed_ids(all("a").also("r")).await, ids[..2]);
}

/// The first reason that applies: at capacity, rate limited, paused, empty.
pub async fn q2_the_first_reason_that_applies_is_told<H: Harness>() {
    let w = World::<H>::open().await;
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
    let grip = w.held_by("a").await;
    w.change(paused(true)).await;
    assert_eq!(w.idle(all("a")).await, Idle::Paused);
    w.change(Change { paused: Some(false), ..rate(1, 60_000) }).await;
    w.fill(1).await;
    let spent = w.take("a").await;
    w.change(paused(true)).await;
    assert_eq!(w.idle(all("a")).await, Idle::RateLimited);
    w.change(at_most(2)).await;
    assert_eq!(w.idle(all("a")).await, Idle::AtCapacity);
    w.finish(&spent, complete()).await.expect("held");
    assert_eq!(w.idle(all("a")).await, Idle::RateLimited);
    w.set_limit(Some(1)).await;
    assert_eq!(w.idle(all("a")).await, Idle::AtCapacity);
    w.finish(&grip, complete()).await.expect("held");
    w.change(Change { rate_limit: Some(None), ..Change::default() }).await;
    assert_eq!(w.idle(all("a")).await, Idle::Paused);
    w.change(paused(false)).await;
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
}

/// Over several queues the first reason that applies to any of them is told.
pub async fn q2_reasons_of_several_queues_have_one_order<H: Harness>() {
    let w = World::<H>::open().await;
    let both = || all("a").also("r").also("s");
    w.store.change("r", paused(true)).await.expect("change");
    assert_eq!(w.idle(both()).await, Idle::Paused);
    w.fill(1).await;
    w.change(rate(1, 60_000)).await;
    let grip = w.take("a").await;
    assert_eq!(w.idle(both()).await, Idle::RateLimited);
    w.enqueue(NewJob::new("s", "k", "{}")).await;
    w.store.change("s", at_most(1)).await.expect("change");
    w.claim(Claim::new("s", "a")).await;
    assert_eq!(w.idle(both()).await, Idle::AtCapacity);
    w.finish(&grip, complete()).await.expect("held");
    assert_eq!(w.idle(both()).await, Idle::AtCapacity);
}

/// A tenant that is at its limit and has spent its rate is at capacity.
pub async fn q2_a_tenants_limit_is_told_before_its_rate<H: Harness>() {
    let w = World::<H>::open().await;
    w.enqueue_all(vec![of_tenant("t"), of_tenant("t")]).await;
    w.change(Change { max_running_per_key: Some(Some(1)), ..rate_each(1, 60_000) }).await;
    let job = w.claim(all("a")).await.remove(0);
    assert_eq!(w.idle(all("a")).await, Idle::AtCapacity);
    w.finish(&Grip::of(&job, "a"), complete()).await.expect("held");
    assert_eq!(w.idle(all("a")).await, Idle::RateLimited);
    w.change(at_most_each(5)).await;
    assert_eq!(w.idle(all("a")).await, Idle::RateLimited);
}

/// Whatever waits behind a tenant's spent rate, in each period the others are claimed in their order.
pub async fn q2_a_tenants_spent_rate_hides_nobody<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.change(rate_each(1, 10_000)).await;
    let busy = w.enqueue_all((0..400).map(|_| of_tenant("busy")).collect()).await;
    for (period, busy) in busy.iter().take(4).enumerate() {
        let other = w.enqueue_all(vec![of_tenant(&format!("fresh-{period}"))]).await[0];
        for expected in [*busy, other] {
            assert_eq!(w.claimed_ids(Claim::new("q", "a").lease_ms(3_600_000)).await, [expected], "period {period}");
        }
        assert_eq!(w.idle(all("a")).await, Idle::RateLimited);
        w.pass_ms(10_000).await;
    }
}

/// A claim that a spent rate kept from work hints at the end of its period: the queue's, or the tenants'.
pub async fn q2_a_claim_hints_when_a_spent_rate_is_whole_again<H: Harness>() {
    for change in [rate(1, 10_000), rate_each(1, 10_000)] {
        let w = World::<H>::open().await;
        w.enqueue_all(vec![of_tenant("t"), of_tenant("t")]).await;
        w.change(change).await;
        w.claim(all("a").lease_ms(3_600_000)).await;
        let claims = w.store.claim(all("a")).await.expect("claim");
        let until = period_end(START, 10_000);
        assert_eq!(
            (claims.idle, claims.again_in_ms),
            (Some(Idle::RateLimited), Some((until.0 - START.0 + 999) as u64 / 1_000))
        );
    }
}

/// What was spent of a rate in this period stays spent, though the rate was taken away in between.
pub async fn q2_a_rate_taken_away_and_set_again_is_still_spent<H: Harness>() {
    for (change, none) in [
        (rate(1, 10_000), Change { rate_limit: Some(None), ..Change::default() }),
        (rate_each(1, 10_000), Change { rate_limit_per_key: Some(None), ..Change::default() }),
    ] {
        let w = World::<H>::open().await;
        w.enqueue_all(vec![of_tenant("t"), of_tenant("t"), of_tenant("t")]).await;
        w.change(change).await;
        assert_eq!(w.claim(all("a")).await.len(), 1);
        w.change(none).await;
        assert_eq!(w.claim(all("a").max(1)).await.len(), 1);
        w.change(change).await;
        assert_eq!(w.idle(all("a")).await, Idle::RateLimited);
    }
}

/// The answer of a claim that finds nothing, and its hint.
async fn hint<H: Harness>(w: &World<H>) -> (Option<Idle>, Option<u64>) {
    let claims = w.store.claim(all("b")).await.expect("claim");
    assert_eq!(claims.jobs, []);
    (claims.idle, claims.again_in_ms)
}

/// A paused queue hints at nothing: neither work that falls due nor a lease that runs out opens it.
pub async fn q2_a_paused_queue_hints_at_nothing<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.held_by("a").await;
    w.enqueue(plain().run_at(START.plus_ms(500))).await;
    w.change(paused(true)).await;
    assert_eq!(hint(&w).await, (Some(Idle::Paused), None));
    w.pass_ms(1_000).await;
    assert_eq!(hint(&w).await, (Some(Idle::Paused), None), "what is due by now is no reason to ask again");
}

/// A queue without a free slot hints at the end of a lease; work that falls due meanwhile finds no slot.
pub async fn q2_a_full_queue_hints_at_the_end_of_a_lease_and_not_at_work_that_is_due<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.fill(1).await;
    w.claim(all("a").lease_ms(5_000)).await;
    w.change(at_most(1)).await;
    w.enqueue(plain().run_at(START.plus_ms(500))).await;
    assert_eq!(hint(&w).await, (Some(Idle::AtCapacity), Some(5_000)));
    w.pass_ms(1_000).await;
    assert_eq!(hint(&w).await, (Some(Idle::AtCapacity), Some(4_000)));
}

/// An engine without a free slot hints at the end of a lease of any queue.
pub async fn q2_a_full_engine_hints_at_the_end_of_any_lease<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.enqueue(NewJob::new("other", "kind", "1")).await;
    w.claim(Claim::new("other", "a").lease_ms(5_000)).await;
    w.set_limit(Some(1)).await;
    w.enqueue(plain().run_at(START.plus_ms(500))).await;
    assert_eq!(hint(&w).await, (Some(Idle::AtCapacity), Some(5_000)));
    w.pass_ms(1_000).await;
    assert_eq!(hint(&w).await, (Some(Idle::AtCapacity), Some(4_000)));
}

/// A queue whose rate is spent hints at the end of its period; work that falls due before finds it closed.
pub async fn q2_a_spent_queue_hints_at_the_end_of_its_period_and_not_at_work_that_is_due<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.change(rate(1, 10_000)).await;
    w.fill(1).await;
    w.claim(all("a").lease_ms(3_600_000)).await;
    w.enqueue(plain().run_at(START.plus_ms(5))).await;
    let until = |now: Time| (period_end(START, 10_000).0 - now.0 + 999) as u64 / 1_000;
    assert_eq!(hint(&w).await, (Some(Idle::RateLimited), Some(until(START))));
    w.pass_ms(10).await;
    assert_eq!(hint(&w).await, (Some(Idle::RateLimited), Some(until(START.plus_ms(10)))));
}

/// Work of a lane or a tenant that is due behind another's lease is no reason to ask before that ends.
pub async fn q2_work_held_back_hints_at_the_end_of_the_lease_that_holds_it<H: Harness>() {
    for (job, each) in [(plain().ordering_key("l"), None), (of_tenant("t"), Some(1))] {
        let mut w = World::<H>::open().await;
        w.change(Change { max_running_per_key: Some(each), ..Change::default() }).await;
        w.enqueue(job.clone()).await;
        w.claim(all("a").lease_ms(5_000)).await;
        w.enqueue(job.run_at(START.plus_ms(500))).await;
        w.pass_ms(1_000).await;
        assert_eq!(hint(&w).await.1, Some(4_000), "once it was looked at");
        assert_eq!(hint(&w).await.1, Some(4_000), "and again");
    }
}
