//! Lanes: jobs of one ordering key run one at a time, in id order, whatever becomes of the head (Q9, I15).

use super::Harness;
use super::tools::{Grip, LEASE_MS, World, at_most_each, complete, fail, in_lane, now, of_tenant, plain, snooze};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tenure_core::queue::{Act, Change, Claim, Idle, JobId, LaneOnFailure, NewJob, Reason, Status};
use tenure_core::retry::Retry;

scenarios! {
    __queue_lanes = queue::lanes;
    q9_a_lane_runs_one_at_a_time_in_id_order,
    q9_a_claim_takes_the_head_of_each_lane,
    q9_a_shared_claim_takes_one_of_a_lane,
    q9_priority_does_not_reorder_a_lane,
    q9_heads_compete_by_priority_and_age,
    q9_a_head_that_backs_off_holds_its_lane,
    q9_a_scheduled_head_holds_its_lane,
    q9_the_next_of_a_lane_waits_for_its_own_time_too,
    q9_a_snoozed_head_holds_its_lane,
    q9_an_expired_head_keeps_its_place,
    q9_a_released_head_keeps_its_place,
    q9_a_lane_goes_on_after_any_ending,
    q9_a_final_failure_blocks_a_lane_that_says_so,
    q9_only_a_final_failure_blocks,
    y_a_cancelled_job_does_not_block,
    q9_a_failure_of_the_holders_own_blocks_after_a_cancel,
    q9_retrying_the_blocking_job_resumes_its_lane,
    q9_cancelling_the_retried_job_resumes_its_lane,
    q9_setting_continue_resumes_every_lane,
    q9_unsetting_block_resumes_and_other_changes_do_not,
    q9_block_binds_failures_from_then_on,
    q9_a_blocked_lane_takes_jobs_and_runs_none,
    q9_retrying_another_job_leaves_the_lane_blocked,
    q9_a_retried_older_job_waits_for_the_running_one,
    q9_a_retried_older_job_comes_before_the_waiting_head,
    q9_cancelling_in_the_middle_keeps_the_order,
    q9_lanes_of_two_queues_are_apart,
    q9_a_head_waits_for_its_tenant,
    q9_a_tenants_limit_takes_heads_in_order,
    q9_a_head_of_another_kind_holds_its_lane,
    i15_many_claimers_keep_every_lane_in_order,
}

fn all(owner: &str) -> Claim {
    Claim::new("q", owner).max(100)
}

fn on_failure(lane_on_failure: LaneOnFailure) -> Change {
    Change { lane_on_failure: Some(Some(lane_on_failure)), ..Change::default() }
}

async fn lane<H: Harness>(w: &World<H>, count: usize) -> Vec<JobId> {
    w.enqueue_all((0..count).map(|_| in_lane("l")).collect()).await
}

/// A lane whose head failed for good, and that stops for it.
async fn blocked<H: Harness>(w: &World<H>) -> Vec<JobId> {
    w.change(on_failure(LaneOnFailure::Block)).await;
    let ids = lane(w, 3).await;
    let head = w.take("a").await;
    w.finish(&head, fail(Retry::Never)).await.expect("held");
    assert_eq!(w.claimed_ids(all("a")).await, []);
    ids
}

/// One after the other, each when the one before has ended.
pub async fn q9_a_lane_runs_one_at_a_time_in_id_order<H: Harness>() {
    let w = World::<H>::open().await;
    for id in lane(&w, 4).await {
        let claimed = w.claim(all("a")).await;
        assert_eq!(claimed.iter().map(|job| job.id).collect::<Vec<_>>(), [id]);
        assert_eq!(w.idle(all("b")).await, Idle::Empty);
        w.finish(&Grip::of(&claimed[0], "a"), complete()).await.expect("held");
    }
}

/// One claim takes the head of each lane, and all that is in none.
pub async fn q9_a_claim_takes_the_head_of_each_lane<H: Harness>() {
    let w = World::<H>::open().await;
    let jobs = vec![in_lane("l"), in_lane("m"), in_lane("l"), plain(), in_lane("m"), plain()];
    let ids = w.enqueue_all(jobs).await;
    assert_eq!(w.claimed_ids(all("a")).await, [ids[0], ids[1], ids[3], ids[5]]);
}

/// Under one lease for all, too: a prefetched job of a lane is its running one.
pub async fn q9_a_shared_claim_takes_one_of_a_lane<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.enqueue_all(vec![in_lane("l"), in_lane("l"), in_lane("m")]).await;
    assert_eq!(w.claimed_ids(all("a").shared(1)).await, [ids[0], ids[2]]);
    assert_eq!(w.idle(all("b").shared(0)).await, Idle::Empty);
}

/// Priority does not reorder a lane (B10).
pub async fn q9_priority_does_not_reorder_a_lane<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.enqueue_all(vec![in_lane("l").priority(-5), in_lane("l").priority(9), in_lane("l")]).await;
    for id in ids {
        let head = w.take("a").await;
        assert_eq!(head.id, id);
        w.finish(&head, complete()).await.expect("held");
    }
}

/// Among each other, and with jobs of no lane, heads compete by Q2.
pub async fn q9_heads_compete_by_priority_and_age<H: Harness>() {
    let mut w = World::<H>::open().await;
    let jobs = vec![in_lane("l").priority(1), in_lane("l").priority(99), plain().priority(3), in_lane("m").priority(5)];
    let ids = w.enqueue_all(jobs).await;
    w.pass_ms(1).await;
    let young = w.enqueue(plain().priority(1)).await;
    let mut order = Vec::new();
    for _ in 0..5 {
        let grip = w.take("a").await;
        w.finish(&grip, complete()).await.expect("held");
        order.push(grip.id);
    }
    assert_eq!(order, [ids[3], ids[2], ids[0], ids[1], young]);
}

/// A head that waits for its retry holds its lane.
pub async fn q9_a_head_that_backs_off_holds_its_lane<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = lane(&w, 2).await;
    let head = w.take("a").await;
    w.finish(&head, fail(Retry::Policy { chance: 0.0 })).await.expect("held");
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
    w.pass_ms(1_000).await;
    assert_eq!(w.claimed_ids(all("a")).await, ids[..1]);
}

/// A head that is not due yet holds its lane; other lanes and jobs go on.
pub async fn q9_a_scheduled_head_holds_its_lane<H: Harness>() {
    let mut w = World::<H>::open().await;
    let later = in_lane("l").run_at(w.now.plus_ms(500));
    let ids = w.enqueue_all(vec![later, in_lane("l"), in_lane("m"), plain()]).await;
    assert_eq!(w.claimed_ids(all("a")).await, ids[2..]);
    w.pass_ms(499).await;
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
    w.pass_ms(1).await;
    assert_eq!(w.claimed_ids(all("a")).await, ids[..1]);
}

/// A job behind its head is due when its turn comes, and not before its own time.
pub async fn q9_the_next_of_a_lane_waits_for_its_own_time_too<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = w.enqueue_all(vec![in_lane("l"), in_lane("l").run_at(w.now.plus_ms(500))]).await;
    let head = w.take("a").await;
    w.finish(&head, complete()).await.expect("held");
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
    w.pass_ms(500).await;
    assert_eq!(w.claimed_ids(all("a")).await, ids[1..]);
}

/// A head that its holder put off holds its lane.
pub async fn q9_a_snoozed_head_holds_its_lane<H: Harness>() {
    let mut w = World::<H>::open().await;
    let ids = lane(&w, 2).await;
    let head = w.take("a").await;
    w.finish(&head, snooze(2_000)).await.expect("held");
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
    w.pass_ms(2_000).await;
    assert_eq!(w.claimed_ids(all("a")).await, ids[..1]);
}

/// A head whose lease ran out keeps its place: the same claim that returns it takes it, and not the next (B10).
pub async fn q9_an_expired_head_keeps_its_place<H: Harness>() {
    for swept in [false, true] {
        let mut w = World::<H>::open().await;
        let ids = w.enqueue_all(vec![in_lane("l"), in_lane("l").priority(9)]).await;
        w.take("a").await;
        w.pass_ms(LEASE_MS).await;
        if swept {
            w.recover(10).await;
        }
        assert_eq!(w.claimed_ids(all("b")).await, ids[..1]);
    }
}

/// A released head keeps its place.
pub async fn q9_a_released_head_keeps_its_place<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.enqueue_all(vec![in_lane("l"), in_lane("l").priority(9)]).await;
    let head = w.take("a").await;
    w.finish(&head, Act::Release).await.expect("held");
    assert_eq!(w.claimed_ids(all("b")).await, ids[..1]);
}

/// By default a lane goes on however its head ended.
pub async fn q9_a_lane_goes_on_after_any_ending<H: Harness>() {
    let mut w = World::<H>::open().await;
    let jobs = (0..6).map(|_| in_lane("l").attempts_max(1));
    let ids = w.enqueue_all(jobs.collect()).await;
    for act in [complete(), fail(Retry::Never), fail(Retry::In { delay_ms: 0 })] {
        let head = w.take("a").await;
        w.finish(&head, act).await.expect("held");
    }
    w.take("a").await;
    w.pass_ms(LEASE_MS).await;
    assert_eq!(w.take("a").await.id, ids[4], "the crash limit ended the one before");
    w.force(ids[4]).await.expect("running");
    assert_eq!(w.take("a").await.id, ids[5]);
}

/// A queue that says so stops a lane at a final failure, however it came about.
pub async fn q9_a_final_failure_blocks_a_lane_that_says_so<H: Harness>() {
    for reason in [Reason::Failed, Reason::AttemptsSpent, Reason::CrashLimit, Reason::Timeout] {
        let mut w = World::<H>::open().await;
        w.change(on_failure(LaneOnFailure::Block)).await;
        let head = in_lane("l").attempts_max(1);
        let head = if reason == Reason::Timeout { head.timeout_ms(LEASE_MS) } else { head };
        let ids = w.enqueue_all(vec![head, in_lane("l"), in_lane("m"), plain()]).await;
        let grip = w.take("a").await;
        match reason {
            Reason::Failed => drop(w.finish(&grip, fail(Retry::Never)).await.expect("held")),
            Reason::AttemptsSpent => drop(w.finish(&grip, fail(Retry::In { delay_ms: 0 })).await.expect("held")),
            _ => w.pass_ms(LEASE_MS).await,
        }
        assert_eq!(w.claimed_ids(all("a")).await, ids[2..], "{reason} stops its own lane and nothing else");
        assert_eq!(w.job(ids[0]).await.reason, Some(reason));
        assert_eq!(w.idle(all("a")).await, Idle::Empty);
    }
}

/// Completing blocks nothing, and neither does a failure that is tried again.
pub async fn q9_only_a_final_failure_blocks<H: Harness>() {
    let w = World::<H>::open().await;
    w.change(on_failure(LaneOnFailure::Block)).await;
    let ids = lane(&w, 2).await;
    for act in [fail(Retry::In { delay_ms: 0 }), snooze(0), Act::Release, complete()] {
        let head = w.take("a").await;
        assert_eq!(head.id, ids[0]);
        w.finish(&head, act).await.expect("held");
    }
    assert_eq!(w.take("a").await.id, ids[1]);
}

/// A cancelled job never blocks: waiting, asked to stop, or forced.
pub async fn y_a_cancelled_job_does_not_block<H: Harness>() {
    let w = World::<H>::open().await;
    w.change(on_failure(LaneOnFailure::Block)).await;
    let ids = lane(&w, 4).await;
    w.cancel(ids[0]).await.expect("queued");
    let asked = w.take("a").await;
    assert_eq!(asked.id, ids[1]);
    w.cancel(asked.id).await.expect("running");
    w.finish(&asked, Act::Release).await.expect("held");
    assert_eq!(w.take("a").await.id, ids[2]);
    w.force(ids[2]).await.expect("running");
    assert_eq!(w.take("a").await.id, ids[3]);
}

/// The holder's own final failure blocks, though cancelling had been asked for.
pub async fn q9_a_failure_of_the_holders_own_blocks_after_a_cancel<H: Harness>() {
    let w = World::<H>::open().await;
    w.change(on_failure(LaneOnFailure::Block)).await;
    lane(&w, 2).await;
    let head = w.take("a").await;
    w.cancel(head.id).await.expect("running");
    w.finish(&head, fail(Retry::Never)).await.expect("held");
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
}

/// Retrying the job that a lane stopped for lets the lane go on, with that job first.
pub async fn q9_retrying_the_blocking_job_resumes_its_lane<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = blocked(&w).await;
    w.retry(ids[0]).await.expect("failed");
    for id in ids {
        let head = w.take("a").await;
        assert_eq!(head.id, id);
        assert_eq!(w.idle(all("b")).await, Idle::Empty);
        w.finish(&head, complete()).await.expect("held");
    }
}

/// A retried job that is then cancelled where it waits lets the next run.
pub async fn q9_cancelling_the_retried_job_resumes_its_lane<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = blocked(&w).await;
    w.retry(ids[0]).await.expect("failed");
    w.cancel(ids[0]).await.expect("queued");
    assert_eq!(w.claimed_ids(all("a")).await, ids[1..2]);
}

/// Setting the queue to continue lets every stopped lane go on.
pub async fn q9_setting_continue_resumes_every_lane<H: Harness>() {
    let w = World::<H>::open().await;
    w.change(on_failure(LaneOnFailure::Block)).await;
    let jobs = vec![in_lane("l"), in_lane("m"), in_lane("l"), in_lane("m")];
    let ids = w.enqueue_all(jobs).await;
    for job in w.claim(all("a")).await {
        w.finish(&Grip::of(&job, "a"), fail(Retry::Never)).await.expect("held");
    }
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
    w.change(on_failure(LaneOnFailure::Continue)).await;
    assert_eq!(w.claimed_ids(all("a")).await, ids[2..]);
}

/// Going back to the default is going on, too; other changes leave a stopped lane stopped.
pub async fn q9_unsetting_block_resumes_and_other_changes_do_not<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = blocked(&w).await;
    w.change(Change { paused: Some(false), max_running: Some(Some(9)), ..Change::default() }).await;
    w.change(on_failure(LaneOnFailure::Block)).await;
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
    w.change(Change { lane_on_failure: Some(None), ..Change::default() }).await;
    assert_eq!(w.claimed_ids(all("a")).await, ids[1..2]);
}

/// What failed before the queue was set to block stops nothing; a resumed lane stops again at the next failure.
pub async fn q9_block_binds_failures_from_then_on<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = lane(&w, 3).await;
    let head = w.take("a").await;
    w.finish(&head, fail(Retry::Never)).await.expect("held");
    w.change(on_failure(LaneOnFailure::Block)).await;
    let head = w.take("a").await;
    assert_eq!(head.id, ids[1]);
    w.finish(&head, fail(Retry::Never)).await.expect("held");
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
}

/// A stopped lane takes new jobs, and runs none.
pub async fn q9_a_blocked_lane_takes_jobs_and_runs_none<H: Harness>() {
    let w = World::<H>::open().await;
    blocked(&w).await;
    let late = w.enqueue(in_lane("l").priority(9)).await;
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
    assert_eq!(w.job(late).await.status, Status::Queued);
}

/// Another ended job of a stopped lane can be retried, and waits with the others.
pub async fn q9_retrying_another_job_leaves_the_lane_blocked<H: Harness>() {
    let w = World::<H>::open().await;
    let done = w.enqueue(in_lane("l")).await;
    let head = w.take("a").await;
    w.finish(&head, complete()).await.expect("held");
    let ids = blocked(&w).await;
    w.retry(done).await.expect("completed");
    assert_eq!(w.idle(all("a")).await, Idle::Empty);
    w.retry(ids[0]).await.expect("failed");
    assert_eq!(w.take("a").await.id, done, "ids order the lane");
}

/// A job that an operator retries waits for the one that runs, and then comes first.
pub async fn q9_a_retried_older_job_waits_for_the_running_one<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = lane(&w, 3).await;
    let oldest = w.take("a").await;
    w.finish(&oldest, fail(Retry::Never)).await.expect("held");
    let running = w.take("a").await;
    assert_eq!(running.id, ids[1]);
    w.retry(ids[0]).await.expect("failed");
    assert_eq!(w.idle(all("b")).await, Idle::Empty, "one at a time");
    w.finish(&running, Act::Release).await.expect("held");
    for id in ids {
        let head = w.take("b").await;
        assert_eq!(head.id, id);
        w.finish(&head, complete()).await.expect("held");
    }
}

/// … and takes the turn of a younger one that only waits.
pub async fn q9_a_retried_older_job_comes_before_the_waiting_head<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.enqueue_all(vec![in_lane("l"), in_lane("l").priority(9)]).await;
    w.cancel(ids[0]).await.expect("queued");
    w.retry(ids[0]).await.expect("cancelled");
    assert_eq!(w.claimed_ids(all("a")).await, ids[..1]);
}

/// Cancelling in the middle of a lane leaves the order of the others.
pub async fn q9_cancelling_in_the_middle_keeps_the_order<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = lane(&w, 4).await;
    let head = w.take("a").await;
    w.cancel(ids[2]).await.expect("queued");
    assert_eq!(w.idle(all("b")).await, Idle::Empty);
    w.finish(&head, complete()).await.expect("held");
    let head = w.take("a").await;
    w.finish(&head, complete()).await.expect("held");
    assert_eq!((head.id, w.take("a").await.id), (ids[1], ids[3]));
}

/// Lanes of the same name in two queues are two lanes.
pub async fn q9_lanes_of_two_queues_are_apart<H: Harness>() {
    let w = World::<H>::open().await;
    let other = |queue| NewJob::new(queue, "k", "{}").ordering_key("l");
    let ids = w.enqueue_all(vec![other("q"), other("r"), other("q"), other("r")]).await;
    assert_eq!(w.claimed_ids(all("a").also("r")).await, ids[..2]);
    w.change(on_failure(LaneOnFailure::Block)).await;
    let job = w.job(ids[1]).await;
    let grip = Grip { id: job.id, owner: "a".into(), token: job.token.expect("claimed") };
    assert_eq!(w.finish(&grip, fail(Retry::Never)).await, now(Status::Failed));
    assert_eq!(w.claimed_ids(all("a").also("r")).await, ids[3..], "only `q` says block");
}

/// A head whose tenant is at its limit holds its lane, and is told as `at_capacity`; the tenant holds no other lane.
pub async fn q9_a_head_waits_for_its_tenant<H: Harness>() {
    let w = World::<H>::open().await;
    w.change(at_most_each(1)).await;
    let job = |lane, tenant| of_tenant(tenant).ordering_key(lane);
    let ids = w.enqueue_all(vec![of_tenant("t"), job("l", "t"), job("l", "u"), job("m", "u")]).await;
    let busy = w.take("a").await;
    assert_eq!(w.claimed_ids(all("a")).await, [ids[3]]);
    assert_eq!(w.idle(all("a")).await, Idle::AtCapacity, "the head is due and its tenant is full");
    w.finish(&busy, complete()).await.expect("held");
    assert_eq!(w.claimed_ids(all("a")).await, [ids[1]]);
    assert_eq!(w.idle(all("a")).await, Idle::Empty, "the lane runs one at a time: no limit is in the way");
}

/// Of one tenant in several lanes, the limit takes the heads by Q2 and never a job behind a head.
pub async fn q9_a_tenants_limit_takes_heads_in_order<H: Harness>() {
    let w = World::<H>::open().await;
    w.change(at_most_each(2)).await;
    let job = |lane, priority| of_tenant("t").ordering_key(lane).priority(priority);
    let ids = w.enqueue_all(vec![job("l", 0), job("l", 9), job("m", 5), job("n", 1), job("m", 9)]).await;
    let claimed = w.claim(all("a")).await;
    assert_eq!(claimed.iter().map(|job| job.id).collect::<Vec<_>>(), [ids[2], ids[3]]);
    w.finish(&Grip::of(&claimed[0], "a"), complete()).await.expect("held");
    assert_eq!(w.claimed_ids(all("a")).await, [ids[4]], "the next head of its lane, by priority");
}

/// A head of a kind the worker does not know holds its lane for that worker.
pub async fn q9_a_head_of_another_kind_holds_its_lane<H: Harness>() {
    let w = World::<H>::open().await;
    let job = |kind| NewJob::new("q", kind, "{}").ordering_key("l");
    let ids = w.enqueue_all(vec![job("x"), job("y")]).await;
    assert_eq!(w.idle(all("a").kinds(["y"])).await, Idle::Empty);
    assert_eq!(w.claimed_ids(all("a").kinds(["x"])).await, ids[..1]);
}

/// Twelve claimers on two handles, three lanes: within each lane the next is claimed only after the one before has
/// ended, in id order.
pub async fn i15_many_claimers_keep_every_lane_in_order<H: Harness>() {
    const JOBS: usize = 45;
    let w = World::<H>::open().await;
    let jobs = (0..JOBS).map(|i| NewJob::new("q", "k", (i % 3).to_string()).priority((i * 7 % 5) as i32));
    let jobs = jobs.map(|job| NewJob { ordering_key: Some(job.payload.clone()), ..job });
    let ids = w.enqueue_all(jobs.collect()).await;
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let handles = [w.store.clone(), w.harness.another().await];
    let claimers: Vec<_> = (0..12)
        .map(|i| {
            let (store, seen) = (handles[i % 2].clone(), seen.clone());
            tokio::spawn(async move {
                let claim = Claim::new("q", format!("w{i}")).max(1 + i as u32 % 3);
                let patience = Instant::now() + PATIENCE;
                while seen.lock().expect("no panic").done() < JOBS && Instant::now() < patience {
                    for job in store.claim(claim.clone()).await.expect("claim").jobs {
                        let lane: usize = job.payload.parse().expect("a job's payload is its lane");
                        let done = job.attempt > 1 || job.token.0 % 3 != 0;
                        seen.lock().expect("no panic").begins(lane, job.id);
                        tokio::task::yield_now().await;
                        seen.lock().expect("no panic").ends(lane, job.id, done);
                        let act = if done { complete() } else { fail(Retry::In { delay_ms: 0 }) };
                        let ended = store.finish(vec![Grip::of(&job, &claim.owner).ending(act)]).await;
                        ended.expect("finish")[0].expect("held");
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for claimer in claimers {
        claimer.await.expect("no panic");
    }
    let seen = seen.lock().expect("no panic");
    assert_eq!(seen.overlaps, [], "I15: beside a running one");
    for (lane, order) in seen.order.iter().enumerate() {
        let expected: Vec<JobId> = ids.iter().copied().skip(lane).step_by(3).collect();
        assert_eq!(*order, expected, "I15: lane {lane}");
    }
}

/// How long claimers that race may take together.
const PATIENCE: Duration = Duration::from_secs(60);

/// What claimers saw of three lanes. A job ends here before its ending is sent, so that an overlap can only mean that
/// the store ran two at once.
#[derive(Default)]
struct Seen {
    running: [Option<JobId>; 3],
    order: [Vec<JobId>; 3],
    overlaps: Vec<(JobId, JobId)>,
}

impl Seen {
    fn begins(&mut self, lane: usize, id: JobId) {
        self.overlaps.extend(self.running[lane].replace(id).map(|other| (other, id)));
    }

    fn ends(&mut self, lane: usize, id: JobId, done: bool) {
        self.running[lane] = None;
        self.order[lane].extend(done.then_some(id));
    }

    fn done(&self) -> usize {
        self.order.iter().map(Vec::len).sum()
    }
}
