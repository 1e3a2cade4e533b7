//! Unknown outcomes (A4): the connection is cut before a request arrives, or after its commit and before its reply. The
//! caller hears `unknown_outcome`, asks again, and there is one row and one effect.

use crate::support::Durable;
use tenure_core::queue::{Act, Beat, Claim, ClaimedJob, Ending, JobId, NewJob, Status};
use tenure_core::retry::Retry;
use tenure_postgres::PostgresStore;
use tenure_store::{QueueStore, Result, StoreError, Upkeep};
use tenure_testing::{FaultProxy, Pooler};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    BeforeTheRequest,
    AfterTheCommit,
}

const CUTS: [Cut; 2] = [Cut::BeforeTheRequest, Cut::AfterTheCommit];

/// A durable server on TCP, a proxy before it, and a store whose every connection leads through the proxy.
struct Cuttable {
    durable: Durable,
    proxy: FaultProxy,
    store: PostgresStore,
}

impl Cuttable {
    async fn start() -> Cuttable {
        let durable = Durable::start().await;
        let proxy = FaultProxy::in_front_of(&durable.tcp_url()).await.unwrap();
        let store = PostgresStore::open(proxy.url()).await.unwrap();
        Cuttable { durable, proxy, store }
    }

    /// Cuts the call that sends `text`, and checks that its caller is told the truth: nobody knows.
    async fn cut<T: std::fmt::Debug>(&self, cut: Cut, text: &str, call: impl Future<Output = Result<T>>) {
        match cut {
            Cut::BeforeTheRequest => self.proxy.cut_before(text),
            Cut::AfterTheCommit => self.proxy.cut_after(text),
        }
        unknown(call.await.unwrap_err());
        self.proxy.struck().await;
    }

    async fn claimed(&self, queue: &str) -> ClaimedJob {
        self.durable.store.enqueue(vec![NewJob::new(queue, "k", "1").attempts_max(9)]).await.unwrap().unwrap();
        self.store.claim(Claim::new(queue, "w")).await.unwrap().jobs.remove(0)
    }
}

fn unknown(error: StoreError) {
    assert_eq!(error.code(), "unknown_outcome", "{error}");
}

fn ending(job: &ClaimedJob, act: &Act) -> Vec<Ending> {
    vec![Ending { job: job.id, owner: "w".into(), token: job.token, act: act.clone() }]
}

#[tokio::test(flavor = "multi_thread")]
async fn a4_an_enqueue_cut_off_and_sent_again_under_its_key_is_one_job() {
    let cuttable = Cuttable::start().await;
    for cut in CUTS {
        let queue = format!("{cut:?}");
        let job = || vec![NewJob::new(&queue, "k", "[1]").key("once")];
        cuttable.cut(cut, "tenure.enqueue_all", cuttable.store.enqueue(job())).await;
        let there = cuttable.durable.store.queue(&queue).await.unwrap().map_or(0, |info| info.counts.queued);
        assert_eq!(there, u64::from(cut == Cut::AfterTheCommit));

        let again = cuttable.store.enqueue(job()).await.unwrap().unwrap()[0];
        assert_eq!(again.deduplicated, cut == Cut::AfterTheCommit, "{cut:?}");
        assert_eq!(cuttable.store.enqueue(job()).await.unwrap().unwrap()[0].id, again.id);
        assert_eq!(cuttable.durable.store.queue(&queue).await.unwrap().unwrap().counts.queued, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a4_a_claim_cut_off_leaves_its_job_queued_or_under_a_lease_that_runs_out() {
    let cuttable = Cuttable::start().await;
    for cut in CUTS {
        let queue = format!("{cut:?}");
        let id = cuttable.store.enqueue(vec![NewJob::new(&queue, "k", "1")]).await.unwrap().unwrap()[0].id;
        let claim = Claim::new(&queue, "w").lease_ms(100);
        cuttable.cut(cut, "tenure.claim(", cuttable.store.claim(claim.clone())).await;
        let attempts = u32::from(cut == Cut::AfterTheCommit);
        assert_eq!(cuttable.durable.store.job(id).await.unwrap().unwrap().attempt, attempts);

        // Nobody knows the token of a lost grant: the lease must run out, by the store's own clock.
        let job = loop {
            if let Some(job) = cuttable.store.claim(claim.clone()).await.unwrap().jobs.pop() {
                break job;
            }
        };
        assert_eq!((job.id, job.attempt), (id, attempts + 1), "{cut:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a4_an_ending_cut_off_and_sent_again_counts_once() {
    let cuttable = Cuttable::start().await;
    let acts = [
        (Act::Complete { result: Some("7".into()) }, Status::Completed),
        (Act::Fail { error: "no".into(), retry: Retry::Never }, Status::Failed),
        (Act::Fail { error: "no".into(), retry: Retry::In { delay_ms: 60_000 } }, Status::Queued),
        (Act::Snooze { delay_ms: 60_000 }, Status::Queued),
        (Act::Release, Status::Queued),
    ];
    for (n, (act, status)) in acts.iter().enumerate() {
        for cut in CUTS {
            let job = cuttable.claimed(&format!("q{n}-{cut:?}")).await;
            cuttable.cut(cut, "tenure.finish(", cuttable.store.finish(ending(&job, act))).await;
            let done = cut == Cut::AfterTheCommit;
            let seen = cuttable.durable.store.job(job.id).await.unwrap().unwrap();
            assert_eq!(seen.status, if done { *status } else { Status::Running }, "{act:?} {cut:?}");

            let again = cuttable.store.finish(ending(&job, act)).await.unwrap()[0].unwrap();
            assert_eq!((again.status, again.already), (*status, done), "{act:?} {cut:?}");
            let once_more = cuttable.store.finish(ending(&job, act)).await.unwrap()[0].unwrap();
            assert_eq!((once_more.status, once_more.already), (*status, true), "{act:?} {cut:?}");
            let end = cuttable.durable.store.job(job.id).await.unwrap().unwrap();
            assert_eq!(end.attempts.len(), 1, "{act:?} {cut:?}: one attempt was made, and ended once");
            let given_back = matches!(act, Act::Snooze { .. } | Act::Release);
            assert_eq!(end.attempt, u32::from(!given_back), "{act:?} {cut:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c8_opening_is_tried_again_when_its_connection_is_cut() {
    let cuttable = Cuttable::start().await;
    for text in ["pg_namespace", "to_regclass", "tenure.installed"] {
        cuttable.proxy.cut_before(text);
        let opened = PostgresStore::open(&format!("{}?listen_url=none", cuttable.proxy.url())).await;
        cuttable.proxy.struck().await;
        opened.unwrap_or_else(|error| panic!("{text}: {error}")).now().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a4_a_heartbeat_cut_off_is_sent_again_and_its_checkpoint_kept() {
    let cuttable = Cuttable::start().await;
    for cut in CUTS {
        let job = cuttable.claimed(&format!("{cut:?}")).await;
        let beat = || vec![Beat::new(job.id, "w", job.token).checkpoint("3")];
        cuttable.cut(cut, "tenure.heartbeat(", cuttable.store.heartbeat(beat())).await;
        assert!(cuttable.store.heartbeat(beat()).await.unwrap()[0].is_ok());
        assert_eq!(checkpoint(&cuttable.durable.store, job.id).await.as_deref(), Some("3"));
    }
}

async fn checkpoint(store: &PostgresStore, id: JobId) -> Option<String> {
    store.job(id).await.unwrap().unwrap().checkpoint
}

#[tokio::test(flavor = "multi_thread")]
async fn a4_a_cut_between_pooler_and_server_is_unknown_too() {
    let durable = Durable::start().await;
    let proxy = FaultProxy::in_front_of(&durable.tcp_url()).await.unwrap();
    let address = proxy.url().to_owned();
    let pooler = tokio::task::spawn_blocking(move || Pooler::start(&address).unwrap()).await.unwrap();
    let store = PostgresStore::open(&format!("{}?listen_url=none", pooler.url("work"))).await.unwrap();
    let job = || vec![NewJob::new("q", "k", "[1]").key("once")];
    // The pooler answers in the server's place, and does not know either.
    proxy.cut_after("tenure.enqueue_all");
    unknown(store.enqueue(job()).await.unwrap_err());
    proxy.struck().await;
    let again = loop {
        // It waits a moment before it connects anew, and refuses meanwhile.
        match store.enqueue(job()).await {
            Ok(answer) => break answer.unwrap()[0],
            Err(error) => assert!(matches!(error, StoreError::Unavailable { .. }), "{error}"),
        }
    };
    assert!(again.deduplicated);
    assert_eq!(durable.store.queue("q").await.unwrap().unwrap().counts.queued, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn c4_in_a_black_hole_every_call_ends_with_an_error_and_afterwards_all_is_well() {
    let durable = Durable::start().await;
    let proxy = FaultProxy::in_front_of(&durable.tcp_url()).await.unwrap();
    let store = PostgresStore::open(&format!("{}?timeout_ms=700", proxy.url())).await.unwrap();
    // A full pool of connections, all of which the hole will swallow.
    let reads = || async { tokio::join!(store.now(), store.now(), store.now(), store.now()) };
    reads().await.0.unwrap();

    proxy.blackhole();
    let job = || vec![NewJob::new("q", "k", "[1]").key("once")];
    unknown(store.enqueue(job()).await.unwrap_err());
    let (one, two, three, four) = reads().await;
    for read in [one, two, three, four] {
        let error = read.unwrap_err();
        assert_eq!(error.code(), "unavailable", "{error}");
    }

    proxy.heal();
    // Nothing has to be opened anew by hand; what is still on its way into the hole may fail.
    while store.now().await.is_err() {}
    let again = store.enqueue(job()).await.unwrap().unwrap()[0];
    assert!(!again.deduplicated, "the hole let nothing through");
    assert_eq!(durable.store.queue("q").await.unwrap().unwrap().counts.queued, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a4_a_request_that_arrives_after_its_caller_gave_up_counts_once() {
    let durable = Durable::start().await;
    let proxy = FaultProxy::in_front_of(&durable.tcp_url()).await.unwrap();
    let store = PostgresStore::open(&format!("{}?timeout_ms=700", proxy.url())).await.unwrap();
    let jobs = (0..2).map(|n| NewJob::new("q", "k", n.to_string())).collect();
    store.enqueue(jobs).await.unwrap().unwrap();
    let job = store.claim(Claim::new("q", "w")).await.unwrap().jobs.remove(0);
    let complete = Act::Complete { result: None };
    proxy.delay(std::time::Duration::from_millis(1_500));
    unknown(store.finish(ending(&job, &complete)).await.unwrap_err());
    proxy.heal();
    // Asked again while the first one is still on its way, which comes to nothing then.
    let again = durable.store.finish(ending(&job, &complete)).await.unwrap()[0].unwrap();
    assert_eq!(again.status, Status::Completed);
    let seen = durable.store.job(job.id).await.unwrap().unwrap();
    assert_eq!((seen.status, seen.attempts.len()), (Status::Completed, 1));
    assert_eq!(durable.store.queue("q").await.unwrap().unwrap().counts.completed, 1);
}
