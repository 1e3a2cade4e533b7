//! Why is it not running? Each code, from what the store says of the job's situation.

use super::Harness;
use super::tools::{LEASE_MS, World, at_most, at_most_each, complete, fail, in_lane, of_tenant, plain};
use tenure_core::queue::{Change, Claim, JobId, LaneOnFailure, NewJob, Retry, Situation, explain};

async fn situation<H: Harness>(w: &World<H>, id: JobId) -> Situation {
    w.store.situation(id).await.expect("situation").expect("the job is on record")
}

/// A job that ended says how and when.
pub async fn y_a_finished_job_is_explained<H: Harness>() {
    let mut w = World::<H>::open().await;
    for (act, summary) in
        [(complete(), "it is completed 2.0 s ago"), (fail(Retry::Never), "it failed 2.0 s ago (failed): it broke")]
    {
        let grip = w.held_by("a").await;
        w.finish(&grip, act).await.expect("held");
        w.pass_ms(2_000).await;
        assert_eq!(w.why(grip.id).await, ["finished"]);
        assert_eq!(explain(&situation(&w, grip.id).await, w.now).summary, summary);
    }
}

/// A running job says who holds it, and for how long still.
pub async fn y_a_held_job_is_explained<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("worker-7").await;
    w.pass_ms(1_500).await;
    assert_eq!(w.why(grip.id).await, ["held"]);
    let summary = explain(&situation(&w, grip.id).await, w.now).summary;
    assert_eq!(summary, "it is running: held by worker-7 since 1.5 s, the lease has 28.5 s left");
}

/// A job whose lease ran out and that nobody has returned yet.
pub async fn y_an_expired_job_is_explained<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.pass_ms(LEASE_MS).await;
    assert_eq!(w.why(grip.id).await, ["lease_expired"]);
    w.recover(10).await;
    assert_eq!(w.why(grip.id).await, ["waiting_for_a_worker"]);
}

/// A job that is scheduled or backs off.
pub async fn y_a_job_not_due_is_explained<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(plain().run_at(w.now.plus_ms(2_000))).await;
    assert_eq!(w.why(id).await, ["not_due"]);
    w.pass_ms(2_000).await;
    let grip = w.take("a").await;
    w.finish(&grip, fail(Retry::In { delay_ms: 500 })).await.expect("held");
    let summary = explain(&situation(&w, id).await, w.now).summary;
    assert_eq!(summary, "it is not due for another 500 ms, after attempt 1 of 5");
}

/// A job of a paused queue.
pub async fn y_a_paused_job_is_explained<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.fill(1).await[0];
    w.change(Change { paused: Some(true), ..Change::default() }).await;
    assert_eq!(w.why(id).await, ["paused"]);
}

/// A job that waits for the engine's W, or the queue's, is told who holds the slots.
pub async fn y_a_job_at_capacity_is_explained<H: Harness>() {
    for engine in [true, false] {
        let w = World::<H>::open().await;
        let ids = w.fill(3).await;
        if engine {
            w.set_limit(Some(2)).await;
        } else {
            w.change(at_most(2)).await;
        }
        w.take("zoe").await;
        assert_eq!(w.why(ids[2]).await, ["waiting_for_a_worker"]);
        w.take("ann").await;
        assert_eq!(w.why(ids[2]).await, ["at_capacity"]);
        let of = situation(&w, ids[2]).await;
        assert_eq!((of.running, of.holders.as_slice()), (2, &["ann".to_owned(), "zoe".to_owned()][..]));
        assert_eq!(of.engine_max, engine.then_some(2));
        assert!(!engine || of.engine_running == 2);
    }
}

/// The engine's slots are counted over all queues.
pub async fn y_the_engines_capacity_is_counted_over_queues<H: Harness>() {
    let w = World::<H>::open().await;
    w.set_limit(Some(1)).await;
    w.enqueue(NewJob::new("r", "k", "{}")).await;
    w.claim(Claim::new("r", "a")).await;
    let id = w.fill(1).await[0];
    assert_eq!(w.why(id).await, ["at_capacity"]);
    assert_eq!(situation(&w, id).await.engine_running, 1);
}

/// A job whose tenant is at its limit; another tenant's is not.
pub async fn y_a_tenants_job_is_explained<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.enqueue_all(vec![of_tenant("t"), of_tenant("t"), of_tenant("u")]).await;
    w.change(at_most_each(1)).await;
    w.take("a").await;
    assert_eq!(w.why(ids[1]).await, ["tenant_at_limit"]);
    assert_eq!(w.why(ids[2]).await, ["waiting_for_a_worker"]);
    assert_eq!(situation(&w, ids[1]).await.key_running, 1);
}

/// A job behind another of its lane, running or waiting, is told which.
pub async fn y_a_job_behind_in_its_lane_is_explained<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.enqueue_all(vec![in_lane("l"), in_lane("l"), in_lane("l"), in_lane("m")]).await;
    assert_eq!(w.why(ids[0]).await, ["waiting_for_a_worker"]);
    assert_eq!(w.why(ids[2]).await, ["behind_in_lane"]);
    assert_eq!(situation(&w, ids[2]).await.ahead.expect("a head").id, ids[0]);
    let head = w.take("a").await;
    assert_eq!(*situation(&w, ids[1]).await.ahead.expect("a head"), w.job(head.id).await);
    w.finish(&head, complete()).await.expect("held");
    assert_eq!(situation(&w, ids[2]).await.ahead.expect("a head").id, ids[1]);
    assert_eq!(w.why(ids[3]).await, ["waiting_for_a_worker"]);
}

/// An older job put back while a younger one runs is told of the younger.
pub async fn y_a_retried_job_is_behind_the_running_one<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.enqueue_all(vec![in_lane("l"), in_lane("l")]).await;
    w.cancel(ids[0]).await.expect("queued");
    w.take("a").await;
    w.retry(ids[0]).await.expect("cancelled");
    assert_eq!(w.why(ids[0]).await, ["behind_in_lane"]);
    assert_eq!(situation(&w, ids[0]).await.ahead.expect("it runs").id, ids[1]);
}

/// A job of a lane that stopped is told for which.
pub async fn y_a_job_of_a_blocked_lane_is_explained<H: Harness>() {
    let w = World::<H>::open().await;
    w.change(Change { lane_on_failure: Some(Some(LaneOnFailure::Block)), ..Change::default() }).await;
    let ids = w.enqueue_all(vec![in_lane("l"), in_lane("l"), in_lane("l")]).await;
    let head = w.take("a").await;
    w.finish(&head, fail(Retry::Never)).await.expect("held");
    assert_eq!(w.why(ids[1]).await, ["lane_blocked"]);
    assert_eq!(w.why(ids[2]).await, ["behind_in_lane", "lane_blocked"]);
    assert_eq!(situation(&w, ids[1]).await.lane_blocked_by, Some(ids[0]));
    w.retry(ids[0]).await.expect("failed");
    assert_eq!(w.why(ids[1]).await, ["behind_in_lane"]);
}

/// Everything that stands in the way is told, the most telling first.
pub async fn y_every_reason_is_told<H: Harness>() {
    let w = World::<H>::open().await;
    let later = of_tenant("t").ordering_key("l").run_at(w.now.plus_ms(500));
    let ids = w.enqueue_all(vec![of_tenant("t"), in_lane("l"), later]).await;
    w.claim(Claim::new("q", "a").max(2)).await;
    w.change(Change { paused: Some(true), max_running: Some(Some(1)), ..at_most_each(1) }).await;
    w.set_limit(Some(1)).await;
    let expected = ["not_due", "paused", "at_capacity", "at_capacity", "tenant_at_limit", "behind_in_lane"];
    assert_eq!(w.why(ids[2]).await, expected);
}

/// Nothing stands in the way: is there a worker at all?
pub async fn y_a_due_job_waits_for_a_worker<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.fill(2).await;
    assert_eq!(w.why(ids[0]).await, ["waiting_for_a_worker"]);
    assert!(explain(&situation(&w, ids[0]).await, w.now).summary.ends_with("is a worker running?"));
    w.take("worker-7").await;
    assert!(explain(&situation(&w, ids[1]).await, w.now).summary.ends_with("is being worked by worker-7"));
}

/// The situation carries the whole job and its queue's settings; of an id not on record there is none.
pub async fn y_a_situation_carries_the_whole_job<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.enqueue(in_lane("l").limit_key("t")).await;
    let settings = w.change(at_most(3)).await.settings;
    let of = situation(&w, id).await;
    assert_eq!((of.job, of.settings, of.ahead), (w.job(id).await, settings, None));
    assert_eq!(w.store.situation(JobId(id.0 + 1_000)).await.expect("situation"), None);
}
