//! One transaction stays open, a user's or a verb's, and everybody else goes on (L10): only that job, its tenant and its lane
//! wait for it; heartbeats never do.
//!
//! Each test holds one transaction open and asks for something else, which must answer meanwhile. That nothing was lost
//! on the way is seen after it has ended.

use crate::support::{Postgres, blocked, connect};
use std::sync::Arc;
use std::time::Duration;
use tenure_core::queue::{
    Act, Action, Beat, Change, Claim, ClaimedJob, Ending, Idle, JobId, LaneOnFailure, NewJob, Operation, Rate, Status,
};
use tenure_core::retry::Retry;
use tenure_core::{LostReason, Time};
use tenure_postgres::PostgresStore;
use tenure_store::conformance::Harness;
use tenure_store::{QueueStore, Store};
use tokio::task::JoinHandle;
use tokio_postgres::Client;

const START: Time = Time(1_800_000_000_000_000);
const LEASE_MS: u64 = 10_000;
/// Far longer than anything takes that waits for nobody, on however crowded a machine.
const MEANWHILE: Duration = Duration::from_secs(20);

struct Open {
    postgres: Postgres,
    store: Arc<dyn Store>,
    /// The connection whose transaction stays open.
    user: Client,
}

impl Open {
    async fn new() -> Open {
        let postgres = Postgres::open(START).await;
        let store = postgres.store();
        let user = connect(postgres.database.url()).await;
        // A copy of a template is another database: who draws tokens by hand finds it known.
        user.query("select tenure.check_epoch()", &[]).await.unwrap();
        Open { postgres, store, user }
    }

    async fn set(&self, change: Change) {
        self.store.change("q", change).await.unwrap();
    }

    async fn enqueue(&self, jobs: Vec<NewJob>) -> Vec<JobId> {
        let added = self.store.enqueue(jobs).await.unwrap().unwrap();
        added.iter().map(|job| job.id).collect()
    }

    async fn claim(&self, claim: Claim) -> Vec<ClaimedJob> {
        meanwhile("a claim", self.store.claim(claim)).await.unwrap().jobs
    }

    /// The next job, which must be there.
    async fn next(&self, queue: &str) -> ClaimedJob {
        let claim = Claim::new(queue, "w").lease_ms(LEASE_MS);
        self.claim(claim).await.pop().expect("there is a job to claim")
    }

    /// A verb for plain SQL in the transaction that stays open.
    async fn user_calls(&self, verb: &str, job: &ClaimedJob) {
        let call = format!("select tenure.{verb}($1, 'w', $2)");
        self.user.query(&call, &[&job.id.0, &job.token.0]).await.unwrap();
    }

    async fn begin(&self) {
        self.user.batch_execute("begin").await.unwrap();
    }

    async fn commit(&self) {
        self.user.batch_execute("commit").await.unwrap();
    }

    async fn rollback(&self) {
        self.user.batch_execute("rollback").await.unwrap();
    }

    async fn pass(&self, ms: u64) {
        self.postgres.set_clock(START.plus_ms(ms)).await;
    }

    async fn complete(&self, job: &ClaimedJob) -> Result<Status, LostReason> {
        let answers = meanwhile("a complete", self.store.finish(vec![ending(job, Act::Complete { result: None })]));
        answers.await.unwrap().remove(0).map(|ended| ended.status)
    }

    /// The same, begun and not waited for.
    fn finishing(&self, job: &ClaimedJob, act: Act) -> JoinHandle<Result<Status, LostReason>> {
        let (store, ending) = (self.store.clone(), ending(job, act));
        tokio::spawn(async move { store.finish(vec![ending]).await.unwrap().remove(0).map(|ended| ended.status) })
    }

    fn operating(&self, job: JobId, action: Action) -> JoinHandle<Result<Status, tenure_core::queue::Refusal>> {
        let store = self.store.clone();
        tokio::spawn(async move { store.operate(vec![Operation { job, action }]).await.unwrap().remove(0) })
    }

    async fn status(&self, job: JobId) -> Status {
        self.store.job(job).await.unwrap().unwrap().status
    }

    /// Returns once a session waits for a lock, or after a moment that is long for one that does not.
    async fn somebody_waits(&self) {
        self.so_many_wait(1).await;
    }

    async fn so_many_wait(&self, sessions: usize) {
        let hand = connect(self.postgres.database.url()).await;
        let waiting = "select 1 from pg_stat_activity
                        where datname = current_database() and wait_event_type = 'Lock'";
        for _ in 0..200 {
            if hand.query(waiting, &[]).await.unwrap().len() >= sessions {
                return;
            }
        }
    }
}

async fn meanwhile<T>(what: &str, future: impl Future<Output = T>) -> T {
    let Ok(answer) = tokio::time::timeout(MEANWHILE, future).await else {
        panic!("{what} waited for the open transaction")
    };
    answer
}

fn ending(job: &ClaimedJob, act: Act) -> Ending {
    Ending { job: job.id, owner: "w".into(), token: job.token, act }
}

fn job() -> NewJob {
    NewJob::new("q", "k", "1")
}

fn jobs(n: usize, of: impl Fn(NewJob) -> NewJob) -> Vec<NewJob> {
    (0..n).map(|_| of(job())).collect()
}

fn per_key(max: u32) -> Change {
    Change { max_running_per_key: Some(Some(max)), ..Change::default() }
}

fn on_failure(lanes: LaneOnFailure) -> Change {
    Change { lane_on_failure: Some(Some(lanes)), ..Change::default() }
}

fn cancel(force: bool) -> Action {
    Action::Cancel { reason: None, force }
}

/// A claim of the queue `q` by SQL, for a transaction that stays open.
fn claim_sql(max: u32) -> String {
    format!(
        "select id, token from tenure.claim(array['q'], null, 'w', {max}, 60000, false, 1, array[null]::integer[],
             array[null]::timestamptz[], array[null]::bigint[]) where id is not null"
    )
}

const COMPLETE: &str =
    "select * from tenure.finish(array[$1]::bigint[], array['w'], array[$2]::bigint[], array['complete'],
    array[null]::text[], array[null]::text[], array[null]::bigint[], array[null]::double precision[])";

#[tokio::test(flavor = "multi_thread")]
async fn q8_a_waiting_job_that_an_operator_looked_at_is_claimable_once_its_tenant_is_free() {
    let open = Open::new().await;
    open.set(per_key(1)).await;
    let ids = open.enqueue(jobs(3, |job| job.limit_key("t"))).await;
    let first = open.next("q").await;
    assert!(open.claim(Claim::new("q", "w")).await.is_empty());
    open.begin().await;
    let cancel_third = "select * from tenure.operate_all(array[$1]::bigint[], array['cancel'], array[null]::text[])";
    open.user.query(cancel_third, &[&ids[2].0]).await.unwrap();
    let ending = open.finishing(&first, Act::Complete { result: None });
    open.somebody_waits().await;
    let retried = open.operating(ids[1], Action::Retry);
    open.so_many_wait(2).await;
    open.commit().await;
    assert_eq!(ending.await.unwrap(), Ok(Status::Completed));
    assert!(retried.await.unwrap().is_err(), "it waits, so it cannot be retried");
    assert_eq!(open.next("q").await.id, ids[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn q8_a_bulk_cancel_that_is_rolled_back_leaves_no_job_behind() {
    let open = Open::new().await;
    open.set(per_key(1)).await;
    let ids = open.enqueue(jobs(2, |job| job.limit_key("t"))).await;
    let first = open.next("q").await;
    assert!(open.claim(Claim::new("q", "w")).await.is_empty());
    open.begin().await;
    let both = "select * from tenure.operate_all(array[$1]::bigint[], array['cancel'], array[null]::text[])";
    open.user.query(both, &[&ids[1].0]).await.unwrap();
    assert_eq!(open.complete(&first).await, Ok(Status::Completed));
    open.rollback().await;
    assert_eq!(open.next("q").await.id, ids[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn q9_a_failure_committed_after_lanes_were_set_to_continue_stops_none() {
    let open = Open::new().await;
    open.set(on_failure(LaneOnFailure::Block)).await;
    let ids = open.enqueue(jobs(2, |job| job.ordering_key("lane"))).await;
    let first = open.next("q").await;
    open.begin().await;
    let fail = "select tenure.fail($1, 'w', $2, 'no', false)";
    open.user.query(fail, &[&first.id.0, &first.token.0]).await.unwrap();
    meanwhile("a setting", open.set(on_failure(LaneOnFailure::Continue))).await;
    open.commit().await;
    assert_eq!(open.status(ids[0]).await, Status::Failed);
    assert_eq!(open.next("q").await.id, ids[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn q9_jobs_of_an_open_transaction_come_after_what_has_begun_and_before_larger_ids() {
    let open = Open::new().await;
    open.begin().await;
    let late = "select tenure.enqueue('q', 'k', '1'::text, '{\"ordering_key\": \"lane\"}')";
    let late = JobId(open.user.query_one(late, &[]).await.unwrap().get(0));
    let ids = open.enqueue(jobs(2, |job| job.ordering_key("lane"))).await;
    assert!(late < ids[0], "its id was drawn first");
    // Nobody waits for what may never be there.
    let first = meanwhile("a claim", open.next("q")).await;
    assert_eq!(first.id, ids[0]);
    open.commit().await;
    assert!(open.claim(Claim::new("q", "w")).await.is_empty(), "one at a time");
    assert_eq!(open.complete(&first).await, Ok(Status::Completed));
    let second = open.next("q").await;
    assert_eq!(second.id, late);
    assert_eq!(open.complete(&second).await, Ok(Status::Completed));
    assert_eq!(open.next("q").await.id, ids[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn q9_a_failure_before_lanes_are_set_to_block_stops_none() {
    let open = Open::new().await;
    let ids = open.enqueue(jobs(2, |job| job.ordering_key("lane"))).await;
    let first = open.next("q").await;
    open.begin().await;
    let fail = "select tenure.fail($1, 'w', $2, 'no', false)";
    open.user.query(fail, &[&first.id.0, &first.token.0]).await.unwrap();
    meanwhile("a setting", open.set(on_failure(LaneOnFailure::Block))).await;
    open.commit().await;
    assert_eq!(open.next("q").await.id, ids[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn q8_a_rate_taken_away_beside_a_claim_lets_go_what_that_claim_held_back() {
    let open = Open::new().await;
    let rate = Rate { max: 1, period_ms: 86_400_000 };
    open.set(Change { rate_limit_per_key: Some(Some(rate)), ..Change::default() }).await;
    let ids = open.enqueue(jobs(2, |job| job.limit_key("t"))).await;
    let first = open.next("q").await;
    assert_eq!(open.complete(&first).await, Ok(Status::Completed));
    open.begin().await;
    assert!(open.user.query(&claim_sql(1), &[]).await.unwrap().is_empty(), "the rate of the day is spent");
    let store = open.store.clone();
    let changed = tokio::spawn(async move {
        store.change("q", Change { rate_limit_per_key: Some(None), ..Change::default() }).await.unwrap();
    });
    open.somebody_waits().await;
    open.commit().await;
    changed.await.unwrap();
    assert_eq!(open.next("q").await.id, ids[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn q8_a_limit_set_beside_a_claim_counts_what_that_claim_takes() {
    for engine in [false, true] {
        let open = Open::new().await;
        open.enqueue(jobs(40, |job| job)).await;
        open.begin().await;
        assert_eq!(open.user.query(&claim_sql(10), &[]).await.unwrap().len(), 10);
        let store = open.store.clone();
        let limited = tokio::spawn(async move {
            if engine {
                store.set_limit(Some(15)).await.unwrap();
            } else {
                store.change("q", Change { max_running: Some(Some(15)), ..Change::default() }).await.unwrap();
            }
            // Begun after the limit was set: it counts all that run.
            store.claim(Claim::new("q", "w").max(10).lease_ms(LEASE_MS)).await.unwrap().jobs.len()
        });
        open.somebody_waits().await;
        open.commit().await;
        assert_eq!(limited.await.unwrap(), 5, "of the engine: {engine}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn q8_claims_that_meet_new_tenants_at_once_make_each_once() {
    let open = Open::new().await;
    open.enqueue((0..200).map(|n| job().limit_key(format!("t{}", n / 2))).collect()).await;
    let claimers: Vec<_> = (0..16)
        .map(|n| {
            let store = open.store.clone();
            tokio::spawn(async move {
                let mut taken = 0;
                loop {
                    let claims = store.claim(Claim::new("q", format!("w{n}")).max(1 + n % 3)).await.unwrap();
                    taken += claims.jobs.len();
                    if claims.jobs.is_empty() && claims.again_in_ms.is_none_or(|ms| ms > 1_000) {
                        return taken;
                    }
                }
            })
        })
        .collect();
    let mut taken = 0;
    for claimer in claimers {
        taken += claimer.await.unwrap();
    }
    assert_eq!(taken, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn l11_a_retry_that_meets_a_cancel_under_way_ends_the_job_as_cancelled() {
    let open = Open::new().await;
    let id = open.enqueue(jobs(1, |job| job)).await[0];
    let held = open.next("q").await;
    open.begin().await;
    let cancel = "select * from tenure.operate_all(array[$1]::bigint[], array['cancel'], array[null]::text[])";
    open.user.query(cancel, &[&id.0]).await.unwrap();
    let hand = connect(open.postgres.database.url()).await;
    let own = tokio::spawn(async move {
        let fail = "select tenure.fail($1, 'w', $2, 'no', true, 0::bigint)";
        hand.query_one(fail, &[&held.id.0, &held.token.0]).await.unwrap().get::<_, String>(0)
    });
    open.somebody_waits().await;
    open.commit().await;
    assert_eq!(own.await.unwrap(), "failed");
    let job = open.store.job(id).await.unwrap().unwrap();
    assert_eq!((job.status, job.reason), (Status::Failed, Some(tenure_core::queue::Reason::Cancelled)));

    // The same through the store, whose two looks at the job meet the cancel in between.
    let id = open.enqueue(jobs(1, |job| job)).await[0];
    let held = open.next("q").await;
    open.begin().await;
    open.user.query(cancel, &[&id.0]).await.unwrap();
    let retry = Act::Fail { error: "no".into(), retry: Retry::In { delay_ms: 0 } };
    let failing = open.finishing(&held, retry);
    open.somebody_waits().await;
    open.commit().await;
    assert_eq!(failing.await.unwrap(), Ok(Status::Failed));
}

#[tokio::test(flavor = "multi_thread")]
async fn l11_a_cancel_that_waited_for_a_retry_and_a_claim_ends_the_job_under_its_new_holder_by_the_rules() {
    let open = Open::new().await;
    open.set(Change { max_running: Some(Some(1)), ..Change::default() }).await;
    let id = open.enqueue(jobs(1, |job| job)).await[0];
    let held = open.next("q").await;
    let never = Act::Fail { error: "no".into(), retry: Retry::Never };
    assert_eq!(open.finishing(&held, never).await.unwrap(), Ok(Status::Failed));
    // Many others before it, so that there is time for a claim between the retry and the turn of this one.
    let others = open.enqueue(jobs(1_500, |job| job)).await;
    open.begin().await;
    let retry = "select * from tenure.operate_all(array[$1]::bigint[], array['retry'], array[null]::text[])";
    open.user.query(retry, &[&id.0]).await.unwrap();
    let store = open.store.clone();
    let operations = others.into_iter().chain([id]).map(|job| Operation { job, action: cancel(false) }).collect();
    let cancelling = tokio::spawn(async move { store.operate(operations).await.unwrap() });
    open.somebody_waits().await;
    open.user.batch_execute("commit; begin").await.unwrap();
    let theirs = open.user.query(&claim_sql(1), &[]).await.unwrap();
    open.somebody_waits().await;
    open.commit().await;
    cancelling.await.unwrap();
    // Whichever came first: the slot is free again, and a holder is told that it was cancelled.
    if let Some(row) = theirs.first() {
        let act = Act::Complete { result: None };
        let ending = Ending { job: id, owner: "w".into(), token: tenure_core::Token(row.get("token")), act };
        let answer = open.store.finish(vec![ending]).await.unwrap().remove(0);
        assert!(matches!(answer, Ok(_) | Err(LostReason::Cancelled)), "{answer:?}");
    }
    let next = open.enqueue(jobs(1, |job| job)).await[0];
    assert_eq!(open.next("q").await.id, next);
}

#[tokio::test(flavor = "multi_thread")]
async fn l4_a_completion_that_waited_for_its_job_past_the_deadline_is_refused() {
    let open = Open::new().await;
    open.enqueue(jobs(1, |job| job)).await;
    let held = open.next("q").await;
    open.begin().await;
    open.user_calls("held", &held).await;
    let completing = open.finishing(&held, Act::Complete { result: None });
    open.somebody_waits().await;
    open.pass(LEASE_MS).await;
    open.rollback().await;
    assert_eq!(completing.await.unwrap(), Err(LostReason::Expired));
}

#[tokio::test(flavor = "multi_thread")]
async fn y_nothing_is_left_under_a_shared_lease_whose_last_job_ended_in_a_users_transaction() {
    let open = Open::new().await;
    open.enqueue(jobs(1, |job| job)).await;
    let held = open.claim(Claim::new("q", "w").shared(1)).await.remove(0);
    open.begin().await;
    open.user_calls("complete", &held).await;
    open.commit().await;
    let beat = Beat { job: None, ..Beat::new(held.id, "w", held.token) };
    assert_eq!(open.store.heartbeat(vec![beat]).await.unwrap().remove(0), Err(LostReason::Unknown));
    let start = tenure_core::queue::Start { token: held.token, owner: "w".into(), count: 1 };
    assert_eq!(open.store.start(start).await.unwrap(), Err(LostReason::Unknown));
}

#[tokio::test(flavor = "multi_thread")]
async fn q2_a_claim_under_way_hides_no_job_that_it_does_not_take() {
    // One of two was given back before, so that they wait in different places.
    let open = Open::new().await;
    open.enqueue(jobs(2, |job| job)).await;
    let first = open.next("q").await;
    assert_eq!(open.finishing(&first, Act::Release).await.unwrap(), Ok(Status::Queued));
    open.begin().await;
    assert_eq!(open.user.query(&claim_sql(1), &[]).await.unwrap().len(), 1);
    assert_eq!(open.claim(Claim::new("q", "w")).await.len(), 1);
    open.rollback().await;

    // And several of one tenant, of which a claim takes one: the next claim waits for it, and is not told "empty".
    let open = Open::new().await;
    open.enqueue(jobs(10, |job| job.limit_key("t"))).await;
    open.begin().await;
    assert_eq!(open.user.query(&claim_sql(1), &[]).await.unwrap().len(), 1);
    let store = open.store.clone();
    let claiming = tokio::spawn(async move { store.claim(Claim::new("q", "w")).await.unwrap() });
    open.somebody_waits().await;
    open.commit().await;
    let claims = claiming.await.unwrap();
    assert!(claims.jobs.len() == 1 || claims.again_in_ms.is_some_and(|ms| ms < 1_000), "{claims:?}");
    assert_eq!(open.claim(Claim::new("q", "w")).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_cancel_of_a_job_that_a_user_holds_stops_no_heartbeat() {
    for force in [false, true] {
        let open = Open::new().await;
        open.enqueue(jobs(2, |job| job)).await;
        let (one, other) = (open.next("q").await, open.next("q").await);
        open.begin().await;
        open.user_calls("held", &one).await;
        let cancelling = open.operating(one.id, cancel(force));
        open.somebody_waits().await;
        let beats = [&one, &other].map(|job| Beat::new(job.id, "w", job.token)).to_vec();
        let beaten = meanwhile("a heartbeat", open.store.heartbeat(beats)).await.unwrap();
        assert!(beaten.iter().all(Result::is_ok), "{beaten:?}");
        open.commit().await;
        cancelling.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn l11_a_job_that_a_user_holds_can_be_asked_to_end_meanwhile() {
    let open = Open::new().await;
    open.enqueue(jobs(1, |job| job)).await;
    let held = open.next("q").await;
    open.begin().await;
    open.user_calls("held", &held).await;
    assert_eq!(meanwhile("a cancel", open.operating(held.id, cancel(false))).await.unwrap(), Ok(Status::Running));
    let beaten = open.store.heartbeat(vec![Beat::new(held.id, "w", held.token)]).await.unwrap().remove(0).unwrap();
    assert_eq!(beaten.cancel_requested, [held.id]);
    open.commit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_complete_in_a_users_transaction_stops_no_other_complete_of_its_tenant_and_no_heartbeat() {
    let open = Open::new().await;
    open.enqueue(jobs(2, |job| job.limit_key("t"))).await;
    open.enqueue(jobs(2, |job| job)).await;
    let one = open.next("q").await;
    let shared = open.claim(Claim::new("q", "w").max(3).lease_ms(LEASE_MS).shared(3)).await;
    assert_eq!(shared.len(), 3);
    open.begin().await;
    open.user_calls("complete", &one).await;
    assert_eq!(open.complete(&shared[0]).await, Ok(Status::Completed), "of the same tenant");
    let beat = Beat { job: None, ..Beat::new(shared[0].id, "w", shared[0].token) };
    assert!(meanwhile("a heartbeat", open.store.heartbeat(vec![beat])).await.unwrap()[0].is_ok());
    assert_eq!(open.complete(&shared[1]).await, Ok(Status::Completed));
    open.commit().await;
    assert_eq!(open.complete(&shared[2]).await, Ok(Status::Completed));
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_lease_that_ran_out_in_a_users_tenant_stops_no_claim_and_no_sweep() {
    let open = Open::new().await;
    open.set(Change { max_running: Some(Some(100)), ..Change::default() }).await;
    open.enqueue(jobs(2, |job| job.limit_key("t"))).await;
    let other = open.enqueue(vec![NewJob::new("other", "k", "1")]).await[0];
    let long = Claim::new("q", "w").lease_ms(10 * LEASE_MS);
    let one = open.claim(long).await.remove(0);
    let lost = open.next("q").await;
    open.next("other").await;
    let free = open.enqueue(jobs(3, |job| job)).await;
    open.begin().await;
    open.user_calls("complete", &one).await;
    open.pass(LEASE_MS).await;
    // The claim returns what ran out, in the same tenant, and goes on; lost comes first, for it is older.
    let ids: Vec<JobId> = open.claim(Claim::new("q", "w").max(3)).await.iter().map(|job| job.id).collect();
    assert_eq!(ids, [lost.id, free[0], free[1]]);
    assert_eq!(meanwhile("a sweep", open.store.recover(100)).await.unwrap().requeued, 1);
    assert_eq!(open.next("other").await.id, other);
    open.commit().await;
    assert_eq!(open.status(one.id).await, Status::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn l7_a_sweep_returns_the_neighbours_of_a_job_that_a_user_holds() {
    let open = Open::new().await;
    let ids = open.enqueue(jobs(3, |job| job)).await;
    let shared = open.claim(Claim::new("q", "w").max(3).lease_ms(LEASE_MS).shared(3)).await;
    open.begin().await;
    open.user_calls("held", &shared[1]).await;
    open.pass(LEASE_MS).await;
    assert_eq!(meanwhile("a sweep", open.store.recover(100)).await.unwrap().requeued, 2);
    assert_eq!(open.status(ids[1]).await, Status::Running);
    let taken: Vec<JobId> = open.claim(Claim::new("q", "w").max(3)).await.iter().map(|job| job.id).collect();
    assert_eq!(taken, [ids[0], ids[2]]);
    open.rollback().await;
    assert_eq!(open.next("q").await.id, ids[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn q8_a_tenant_that_a_user_works_in_hides_nobody() {
    let open = Open::new().await;
    open.set(per_key(1)).await;
    open.enqueue(jobs(1, |job| job.limit_key("t"))).await;
    let one = open.next("q").await;
    open.begin().await;
    open.user_calls("complete", &one).await;
    // Each by itself, and so with a signal of its own.
    for _ in 0..120 {
        open.enqueue(jobs(1, |job| job.limit_key("t"))).await;
    }
    // A lane whose next job is committed just after the one before it has ended.
    let lane = open.enqueue(jobs(1, |job| job.ordering_key("lane"))).await[0];
    let in_lane = open.next("q").await;
    assert_eq!(in_lane.id, lane);
    let hand = connect(open.postgres.database.url()).await;
    hand.batch_execute("begin").await.unwrap();
    let enqueue = r#"select tenure.enqueue('q', 'k', '1'::text, '{"ordering_key":"lane"}')"#;
    let second: i64 = hand.query_one(enqueue, &[]).await.unwrap().get(0);
    assert_eq!(open.complete(&in_lane).await, Ok(Status::Completed));
    hand.batch_execute("commit").await.unwrap();
    assert_eq!(open.next("q").await.id, JobId(second));
    let free = open.enqueue(jobs(1, |job| job.limit_key("small"))).await[0];
    assert_eq!(open.next("q").await.id, free);
    assert_eq!(open.store.claim(Claim::new("q", "w")).await.unwrap().idle, Some(Idle::AtCapacity));
    open.commit().await;
    assert_eq!(open.next("q").await.limit_key.as_deref(), Some("t"));
}

#[tokio::test(flavor = "multi_thread")]
async fn q8_without_limits_jobs_behind_a_users_tenant_are_claimed_all_the_same() {
    let open = Open::new().await;
    open.enqueue(jobs(1, |job| job.limit_key("t"))).await;
    let one = open.next("q").await;
    open.begin().await;
    open.user_calls("complete", &one).await;
    open.enqueue(jobs(150, |job| job.limit_key("t"))).await;
    open.enqueue(jobs(5, |job| job)).await;
    for _ in 0..155 {
        open.next("q").await;
    }
    open.commit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_the_first_enqueue_into_a_queue_in_a_users_transaction_stops_nobody() {
    let open = Open::new().await;
    let enqueue = |queue: &str| format!("select tenure.enqueue('{queue}', 'k', '1'::text)");
    let hand = connect(open.postgres.database.url()).await;
    open.begin().await;
    hand.batch_execute("begin").await.unwrap();
    open.user.query(&enqueue("new"), &[]).await.unwrap();
    meanwhile("an enqueue by SQL", hand.query(&enqueue("new"), &[])).await.unwrap();
    // Crosswise, in two transactions: neither can end before the other.
    open.user.query(&enqueue("one"), &[]).await.unwrap();
    hand.query(&enqueue("two"), &[]).await.unwrap();
    meanwhile("an enqueue by SQL", open.user.query(&enqueue("two"), &[])).await.unwrap();
    meanwhile("an enqueue by SQL", hand.query(&enqueue("one"), &[])).await.unwrap();
    let ours = meanwhile("an enqueue", open.store.enqueue(vec![NewJob::new("new", "k", "1")])).await;
    assert_eq!(open.next("new").await.id, ours.unwrap().unwrap()[0].id);
    meanwhile("a setting", open.store.change("two", per_key(3))).await.unwrap();
    open.commit().await;
    hand.batch_execute("rollback").await.unwrap();
    assert_eq!(open.claim(Claim::new("new", "w").max(10)).await.len(), 1);
    let known: Vec<String> =
        open.store.queues(None, 10).await.unwrap().items.into_iter().map(|queue| queue.name).collect();
    assert_eq!(known, ["new", "one", "two"], "a queue is known by its jobs, whoever enqueued them");
    assert_eq!(open.store.queue("one").await.unwrap().unwrap().counts.queued, 1);
    assert!(open.store.situation(open.next("one").await.id).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn q8_with_every_signal_lost_whatever_can_run_is_claimable_within_a_minute() {
    let open = Open::new().await;
    open.set(per_key(2)).await;
    let mut all = Vec::new();
    for n in 0..60u32 {
        let mut new = job();
        if n % 3 != 0 {
            new = new.limit_key(format!("t{}", n % 4));
        }
        if n % 2 == 0 {
            new = new.ordering_key(format!("l{}", n % 5));
        }
        all.push(new.priority(n as i32 % 3));
    }
    open.enqueue(all).await;
    let lose = "delete from tenure.touch";
    open.user.batch_execute(lose).await.unwrap();
    let (mut now, mut ended, mut idle_since) = (0, 0, 0);
    while ended < 60 {
        let taken = open.claim(Claim::new("q", "w").max(7).lease_ms(10 * LEASE_MS)).await;
        open.user.batch_execute(lose).await.unwrap();
        for job in &taken {
            assert_eq!(open.complete(job).await, Ok(Status::Completed));
            open.user.batch_execute(lose).await.unwrap();
        }
        ended += taken.len();
        if taken.is_empty() {
            assert!(now - idle_since < 60_000, "{ended} of 60 ended, and nothing more within a minute");
            now += 5_000;
            open.pass(now).await;
        } else {
            idle_since = now;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_completion_by_sql_that_is_held_open_lets_a_sweep_and_other_queues_go_on() {
    let open = Open::new().await;
    open.enqueue(jobs(2, |job| job.ordering_key("lane").limit_key("t"))).await;
    let one = open.next("q").await;
    open.begin().await;
    open.user.query(COMPLETE, &[&one.id.0, &one.token.0]).await.unwrap();
    assert!(open.claim(Claim::new("q", "w")).await.is_empty(), "its lane waits for the commit");
    assert_eq!(meanwhile("a sweep", open.store.recover(100)).await.unwrap().leases, 0);
    let free = open.enqueue(jobs(1, |job| job)).await[0];
    assert_eq!(open.next("q").await.id, free);
    open.commit().await;
    assert_eq!(open.next("q").await.ordering_key.as_deref(), Some("lane"));
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_endings_of_one_call_are_carried_out_beside_one_that_a_user_holds() {
    let open = Open::new().await;
    let ids = open.enqueue(jobs(5, |job| job)).await;
    let held = open.claim(Claim::new("q", "w").max(5).lease_ms(LEASE_MS)).await;
    open.begin().await;
    open.user_calls("held", &held[2]).await;
    let (store, endings) = (open.store.clone(), held.iter().map(|job| ending(job, Act::Complete { result: None })));
    let endings: Vec<Ending> = endings.collect();
    let again = endings.clone();
    let finishing = tokio::spawn(async move { store.finish(endings).await });
    for id in [ids[0], ids[1], ids[3], ids[4]] {
        meanwhile("another ending", async { while open.status(id).await != Status::Completed {} }).await;
    }
    assert_eq!(open.status(ids[2]).await, Status::Running);
    open.rollback().await;
    // The first call may have given up by then; sent again, everything is answered.
    if finishing.await.unwrap().is_err() {
        assert!(open.store.finish(again).await.unwrap().iter().all(Result::is_ok));
    }
    assert_eq!(open.status(ids[2]).await, Status::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_bulk_cancel_passes_over_a_job_that_a_user_ended() {
    let open = Open::new().await;
    let ids = open.enqueue(jobs(4, |job| job)).await;
    let one = open.next("q").await;
    open.begin().await;
    open.user_calls("complete", &one).await;
    let operations = ids.iter().map(|id| Operation { job: *id, action: cancel(false) }).collect();
    let answers = meanwhile("a bulk cancel", open.store.operate(operations)).await.unwrap();
    assert_eq!(answers[0], Err(tenure_core::queue::Refusal::Busy));
    assert!(answers[1..].iter().all(|answer| *answer == Ok(Status::Failed)));
    open.commit().await;
    assert_eq!(open.status(ids[0]).await, Status::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn q8_thousands_of_new_keys_cost_a_claim_its_share_and_are_met_in_their_order() {
    let open = Open::new().await;
    let later = START.plus_ms(3_600_000);
    open.enqueue((0..3_000).map(|n| job().ordering_key(format!("later-{n}")).run_at(later)).collect()).await;
    open.enqueue((0..3_000).map(|n| job().ordering_key(format!("now-{n}"))).collect()).await;
    let urgent = open.enqueue(vec![job().ordering_key("urgent").priority(9)]).await[0];
    assert_eq!(open.claim(Claim::new("q", "w").lease_ms(3_600_000)).await[0].id, urgent);
    let touches = "select count(*) from tenure.touch";
    let before: i64 = open.user.query_one(touches, &[]).await.unwrap().get(0);
    assert!((1_000..3_000).contains(&before), "one claim settles a bounded part, of what is due alone: {before}");
    for walk in 1..=6 {
        open.pass(walk * 10_000).await;
        open.store.recover(10).await.unwrap();
    }
    let after: i64 = open.user.query_one(touches, &[]).await.unwrap().get(0);
    assert!(after <= before, "the walk touches what is due, once: {before} became {after}");
    let taken = open.claim(Claim::new("q", "w").max(1_000)).await;
    let lanes: Vec<_> = taken.iter().map(|job| job.ordering_key.clone().unwrap()).collect();
    assert_eq!(lanes, (0..lanes.len()).map(|n| format!("now-{n}")).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_job_given_back_beside_held_waits_for_nobody_and_goes_to_nobody() {
    let open = Open::new().await;
    open.enqueue(vec![NewJob::new("q", "k", "1")]).await;
    let held = open.next("q").await;
    open.begin().await;
    open.user_calls("held", &held).await;
    // Were this to wait for the user, the user's next line would wait for this.
    let given_back = meanwhile("a release", open.finishing(&held, Act::Release)).await.unwrap();
    assert_eq!(given_back, Ok(Status::Queued));
    assert_eq!(open.claim(Claim::new("q", "v")).await, [], "nobody has it while the fence stands");
    let late = open.user.query("select tenure.complete($1, 'w', $2)", &[&held.id.0, &held.token.0]).await.unwrap_err();
    assert_eq!(late.as_db_error().unwrap().detail(), Some("finished"), "{late:?}");
    open.rollback().await;
    assert_eq!(open.claim(Claim::new("q", "v")).await.len(), 1);
}

/// As many callers as one likes may want a key that an open transaction has: half of the connections are for the others.
#[tokio::test(flavor = "multi_thread")]
async fn l10_callers_who_wait_for_a_key_leave_connections_to_the_others() {
    let open = Open::new().await;
    let url = format!("{}?connections_max=4&timeout_ms=20000&listen_url=none", open.postgres.database.url());
    let store = Arc::new(PostgresStore::open(&url).await.unwrap());
    open.begin().await;
    let enqueue = r#"select tenure.enqueue('keyed', 'k', '1'::text, '{"key":"hot"}')"#;
    open.user.query(enqueue, &[]).await.unwrap();
    let keyed = || vec![NewJob::new("keyed", "k", "1").key("hot")];
    let waiting: Vec<_> = (0..6)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.enqueue(keyed()).await })
        })
        .collect();
    let hand = connect(open.postgres.database.url()).await;
    blocked(&hand).await;
    for _ in 0..3 {
        meanwhile("an enqueue", store.enqueue(vec![NewJob::new("q", "k", "1")])).await.unwrap().unwrap();
        assert_eq!(meanwhile("a claim", store.claim(Claim::new("q", "w"))).await.unwrap().jobs.len(), 1);
        meanwhile("a list", store.queues(None, 10)).await.unwrap();
    }
    assert!(waiting.iter().any(|call| !call.is_finished()), "the key is still taken");
    // Nobody waits for it for long: whoever has is told to ask again.
    for call in waiting {
        let refused = call.await.unwrap().unwrap_err();
        assert_eq!(refused.code(), "unavailable", "{refused}");
    }
    open.rollback().await;
    assert!(!store.enqueue(keyed()).await.unwrap().unwrap()[0].deduplicated);
}
