//! Why is it not running? Each code, from what the store says of the job's situation.

use super::Harness;
use super::tools::{LEASE_MS, World, at_most, at_most_each, complete, fail, in_lane, of_tenant, plain};
use tenure_core::Time;
use tenure_core::queue::worker::LATELY_MS;
use tenure_core::queue::{Act, Change, Claim, JobId, LaneOnFailure, NewJob, Rate, Situation, explain};
use tenure_core::retry::Retry;

scenarios! {
    __queue_explain = queue::explain;
    y_a_finished_job_is_explained,
    y_a_held_job_is_explained,
    y_an_expired_job_is_explained,
    y_a_job_not_due_is_explained,
    y_a_paused_job_is_explained,
    y_a_job_at_capacity_is_explained,
    y_the_engines_capacity_is_counted_over_queues,
    y_a_tenants_job_is_explained,
    y_a_job_behind_in_its_lane_is_explained,
    y_a_retried_job_is_behind_the_running_one,
    y_a_job_of_a_blocked_lane_is_explained,
    y_every_reason_is_told,
    y_a_job_of_a_spent_rate_is_explained,
    y_a_tenants_spent_rate_is_explained,
    y_a_queue_without_a_worker_is_explained,
    y_a_kind_without_a_worker_is_explained,
    y_a_missing_worker_is_told_where_it_matters,
    y_a_due_job_waits_for_a_worker,
    y_a_situation_carries_the_whole_job,
}

async fn situation<H: Harness>(w: &World<H>, id: JobId) -> Situation {
    w.store.situation(id).await.expect("situation").expect("the job is on record")
}

/// A worker looks for work of queue `q`, which there is, and finds nothing.
async fn watched<H: Harness>(w: &World<H>) {
    w.change(Change::default()).await;
    w.idle(Claim::new("q", "ann")).await;
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
    watched(&w).await;
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
        let summary = explain(&of, w.now).summary;
        assert!(summary.ends_with("is at its limit of 2 running jobs, held by ann, zoe"), "{summary}");
    }
}

/// The engine's slots are counted over all queues.
pub async fn y_the_engines_capacity_is_counted_over_queues<H: Harness>() {
    let w = World::<H>::open().await;
    w.set_limit(Some(1)).await;
    w.enqueue(NewJob::new("r", "k", "{}")).await;
    w.claim(Claim::new("r", "a")).await;
    watched(&w).await;
    let id = w.fill(1).await[0];
    assert_eq!(w.why(id).await, ["at_capacity"]);
    let of = situation(&w, id).await;
    assert_eq!((of.engine_running, of.holders.len(), of.engine_holders.as_slice()), (1, 0, &["a".to_owned()][..]));
    let summary = explain(&of, w.now).summary;
    assert_eq!(summary, "the engine is at its limit of 1 running jobs, held by a");
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
    watched(&w).await;
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
    assert_eq!(w.why(ids[2]).await, ["lane_blocked", "behind_in_lane"]);
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

/// A queue whose rate is spent says so, and when the next slot opens.
pub async fn y_a_job_of_a_spent_rate_is_explained<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = w.fill(3).await;
    let rate = Rate { max: 2, period_ms: 10_000 };
    w.change(Change { rate_limit: Some(Some(rate)), ..Change::default() }).await;
    w.take("a").await;
    assert_eq!(w.why(ids[2]).await, ["waiting_for_a_worker"]);
    w.take("a").await;
    assert_eq!(w.why(ids[2]).await, ["rate_limited"]);
    let of = situation(&w, ids[2]).await;
    assert_eq!((of.spent_until, of.key_spent_until), (Some(rate.period_end(w.now)), None));
    // Every clock starts at a tenth of a second past the full minute.
    let summary = explain(&of, w.now).summary;
    assert_eq!(summary, "the queue q has spent its rate of 2 claims each 10.0 s; more in 9.9 s");
    w.set(Time(rate.period_end(w.now).0 - 1)).await;
    assert_eq!(w.why(ids[2]).await, ["rate_limited"]);
    w.set(rate.period_end(w.now)).await;
    assert_eq!(w.why(ids[2]).await, ["waiting_for_a_worker"]);
}

/// A tenant whose rate is spent says so; another tenant's job and one without a tenant do not.
pub async fn y_a_tenants_spent_rate_is_explained<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.enqueue_all(vec![of_tenant("t"), of_tenant("t"), of_tenant("u"), plain()]).await;
    let rate = Rate { max: 1, period_ms: 60_000 };
    w.change(Change { rate_limit_per_key: Some(Some(rate)), ..Change::default() }).await;
    w.take("a").await;
    assert_eq!(w.why(ids[1]).await, ["rate_limited"]);
    let of = situation(&w, ids[1]).await;
    assert_eq!((of.spent_until, of.key_spent_until), (None, Some(rate.period_end(w.now))));
    let summary = explain(&of, w.now).summary;
    assert_eq!(summary, "`t` has spent its rate of 1 claim each 1 min 0 s; more in 59.9 s");
    for id in [ids[2], ids[3]] {
        assert_eq!(w.why(id).await, ["waiting_for_a_worker"]);
    }
}

/// Nobody has claimed from the queue: never, or not for five minutes.
pub async fn y_a_queue_without_a_worker_is_explained<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.fill(1).await[0];
    assert_eq!(w.why(id).await, ["no_worker_lately"]);
    let summary = explain(&situation(&w, id).await, w.now).summary;
    let nobody = "no worker has claimed from the queue q in the last 5 minutes, nor in the last day: is one running?";
    assert_eq!(summary, nobody);
    w.claim(Claim::new("r", "ann")).await;
    assert_eq!(w.why(id).await, ["no_worker_lately"]);
    w.finish(&w.take("ann").await, Act::Release).await.expect("held");
    assert_eq!(w.why(id).await, ["waiting_for_a_worker"]);
    w.set(Time(w.now.plus_ms(LATELY_MS).0 - 1)).await;
    assert_eq!(w.why(id).await, ["waiting_for_a_worker"]);
    w.set(Time(w.now.0 + 1)).await;
    assert_eq!(w.why(id).await, ["no_worker_lately"]);
    let summary = explain(&situation(&w, id).await, w.now).summary;
    let gone = "no worker has claimed from the queue q in the last 5 minutes; ann was the last, 5 min 0 s ago";
    assert_eq!(summary, gone);
}

/// Workers look in the queue, but none of them for this kind.
pub async fn y_a_kind_without_a_worker_is_explained<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.fill(1).await[0];
    w.claim(Claim::new("q", "bob").kinds(["mail", "fax"])).await;
    w.claim(Claim::new("q", "ann").kinds(["sms"])).await;
    assert_eq!(w.why(id).await, ["no_worker_lately"]);
    let summary = explain(&situation(&w, id).await, w.now).summary;
    let others = "no worker has claimed kind k of the queue q in the last 5 minutes; \
                  ann looks only for sms; bob looks only for fax, mail";
    assert_eq!(summary, others);
    w.finish(&w.take("cleo").await, Act::Release).await.expect("held");
    assert_eq!(w.why(id).await, ["waiting_for_a_worker"]);
}

/// Where nobody is at work the missing worker is told first, and otherwise last; of a job that is not due, not at all.
pub async fn y_a_missing_worker_is_told_where_it_matters<H: Harness>() {
    let mut w = World::<H>::open().await;
    let later = plain().run_at(w.now.plus_ms(86_400_000));
    let ids = w.enqueue_all(vec![in_lane("l"), in_lane("l"), later]).await;
    assert_eq!(w.why(ids[1]).await, ["no_worker_lately", "behind_in_lane"]);
    w.claim(Claim::new("q", "ann").lease_ms(3_600_000)).await;
    w.pass_ms(LATELY_MS).await;
    assert_eq!(w.why(ids[1]).await, ["behind_in_lane", "no_worker_lately"]);
    assert_eq!(w.why(ids[2]).await, ["not_due"]);
}

/// Nothing stands in the way, and someone looks.
pub async fn y_a_due_job_waits_for_a_worker<H: Harness>() {
    let w = World::<H>::open().await;
    watched(&w).await;
    let ids = w.fill(2).await;
    assert_eq!(w.why(ids[0]).await, ["waiting_for_a_worker"]);
    let summary = explain(&situation(&w, ids[0]).await, w.now).summary;
    assert_eq!(summary, "it is due and nothing holds it back; the queue q is watched by ann");
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
