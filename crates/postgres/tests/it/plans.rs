//! What each verb reads, at a size where it matters: by the server's own counters, a verb never walks through a table of
//! jobs, history, events, keys or receipts, and what it reads has a bound that does not grow with them. A dropped index
//! fails here by name of the verb.

use crate::support::{connect, database};
use tenure_core::queue::{Act, Action, Beat, Claim, Ending, Filter, JobId, NewJob, Operation, Status};
use tenure_postgres::PostgresStore;
use tenure_store::{QueueStore, Upkeep};
use tenure_testing::TestDatabase;
use tokio_postgres::Client;

/// 200,000 finished and 55,000 waiting jobs, 5,000 of them parked behind one tenant at its limit and 5,000 in one lane that stopped, with events, keys
/// and receipts to match, and 20,000 newer jobs of another queue. Written as the verbs would have left them.
const LOAD: &str = "
    insert into tenure.finished (id, token, created_at, run_at, claimed_at, finished_at, priority, attempt,
                                 attempts_max, queue, kind, payload, status, owner, outcome, verb)
    select n, n, t, t, t, t + interval '1 second', 0, 1, 5,
           case when n % 4 = 0 then 'other-' || n % 50 else 'q' end, 'k' || n % 5, '{}',
           case when n % 200 = 0 then 'failed' else 'completed' end, 'w',
           case when n % 200 = 0 then 'failed' else 'completed' end,
           case when n % 200 = 0 then 'fail' else 'complete' end
      from generate_series(1, 200000) n, lateral (select now() - (n % 100000) * interval '1 second') as at(t);
    insert into tenure.job (id, created_at, run_at, priority, attempts_max, place, queue, kind, payload, limit_key,
                            ordering_key)
    select n, now() - interval '1 hour', case when n % 25 = 0 and n < 245000 then now() + interval '1 day' else now() end,
           n % 3, 5, case when n >= 245000 then 3 when n % 25 = 0 then 2 else 0 end, 'q', 'k' || n % 5, '{}',
           case when n between 245000 and 249999 then 'tenant' end,
           case when n >= 250000 then 'lane' end
      from generate_series(200001, 255000) n;
    -- The newest of all, so that a list or a count by id alone would have to wade through them.
    insert into tenure.job (id, created_at, run_at, priority, attempts_max, place, queue, kind, payload)
    select n, now(), now(), 0, 5, 0, 'above', 'k' || n % 5, '{}' from generate_series(255001, 275000) n;
    insert into tenure.event (at, job, what) select now(), n, 'expired' from generate_series(1, 100000) n;
    insert into tenure.dedup (queue, key, job, until, body)
    select 'q', 'key-' || n, n, now() + interval '1 day', '\\x00' from generate_series(150001, 250000) n;
    insert into tenure.receipt (job, token, at, owner, status, cancelled)
    select -n, n, now(), 'w', 'queued', false from generate_series(1, 50000) n;
    insert into tenure.note (job, progress) select n, '1' from generate_series(200001, 220000) n;
    insert into tenure.queue (name, created_at) select 'other-' || n, now() from generate_series(0, 49) n
    union all select 'above', now()
        on conflict do nothing;
    insert into tenure.queue (name, created_at, max_running_per_key, lane_on_failure) values ('q', now(), 1, 'block');
    insert into tenure.gate (queue, lane, key, blocked_by) values ('q', true, 'lane', 200);
    insert into tenure.gate (queue, lane, key, running, state) values ('q', false, 'tenant', 1, 'full');
    select setval('tenure.job_id', 275000);
    analyze";

/// 8,000 jobs of one customer, who is a tenant and a lane at once, in a store with 5,000 queues; and as many jobs of another
/// queue that all come due at one instant.
const CUSTOMER: &str = "
    insert into tenure.queue (name, created_at) select 'queue-' || n, now() from generate_series(1, 5000) n;
    insert into tenure.job (created_at, run_at, priority, attempts_max, place, queue, kind, payload, limit_key, ordering_key)
    select now(), now(), 0, 5, 3, 'queue-1', 'k', '{}', 'customer', 'customer' from generate_series(1, 8000);
    insert into tenure.touch (queue, lane, key) values ('queue-1', true, 'customer');
    insert into tenure.job (created_at, run_at, priority, attempts_max, place, queue, kind, payload)
    select now(), now() - interval '1 second', 0, 5, 2, 'queue-2', 'k', '{}' from generate_series(1, 8000);
    analyze";

/// Walks, and rows and entries read, of the tables that grow.
const COUNTED: &str = "
    select coalesce(sum(t.seq_scan) filter (where t.relname not in ('queue', 'gate', 'touch')), 0)::bigint,
           coalesce(sum(t.seq_tup_read + coalesce(t.idx_tup_fetch, 0)), 0)::bigint
             + (select coalesce(sum(i.idx_tup_read), 0)::bigint from pg_stat_user_indexes i
                 where i.schemaname = 'tenure'
                   and i.relname in ('job', 'finished', 'event', 'dedup', 'receipt', 'note', 'queue', 'gate', 'touch')),
           -- A table of a few rows is read whole.
           coalesce(string_agg(t.relname, ', ') filter (where t.seq_scan > 0), '')
      from pg_stat_user_tables t
     where t.schemaname = 'tenure'
       and t.relname in ('job', 'finished', 'event', 'dedup', 'receipt', 'note', 'queue', 'gate', 'touch')";

/// Enough for a server to have settled on a plan for good.
const CALLS: i64 = 8;

/// Three counts of at most 10,001 rows each, and the index entry of each.
const COUNTS: i64 = 65_000;

struct Loaded {
    database: TestDatabase,
    hand: Client,
    misses: Vec<String>,
}

impl Loaded {
    /// The verb, called again and again on a store of its own, reads at most `bound` rows and index entries a call.
    async fn reads(&mut self, verb: &str, bound: i64, call: impl AsyncFn(&PostgresStore)) {
        let url = format!("{}?listen_url=none", self.database.url());
        let store = PostgresStore::open(&url).await.unwrap();
        self.hand.batch_execute("select pg_stat_reset()").await.unwrap();
        for _ in 0..CALLS {
            call(&store).await;
        }
        // Sessions report what they counted when they end.
        drop(store);
        let sessions =
            "select from pg_stat_activity where datname = current_database() and application_name = 'tenure'";
        while !self.hand.query(sessions, &[]).await.unwrap().is_empty() {}
        let row = self.hand.query_one(COUNTED, &[]).await.unwrap();
        let (walks, read, walked): (i64, i64, String) = (row.get(0), row.get(1), row.get(2));
        println!("{verb}: {} read a call, {walks} walks {walked}", read / CALLS);
        if walks > 0 {
            self.misses.push(format!("{verb} walked through {walked}"));
        }
        if read > bound * CALLS {
            let most = "select indexrelname || ' ' || idx_tup_read from pg_stat_user_indexes
                         where schemaname = 'tenure' order by idx_tup_read desc limit 1";
            let most: String = self.hand.query_one(most, &[]).await.unwrap().get(0);
            self.misses.push(format!("{verb} read {} a call, more than {bound}, most of {most}", read / CALLS));
        }
    }
}

fn filter(queue: Option<&str>, status: Option<Status>, kind: Option<&str>) -> Filter {
    Filter { queue: queue.map(str::to_owned), status, kind: kind.map(str::to_owned) }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_verb_reads_a_bounded_part_of_a_large_store() {
    let database = database().await;
    let hand = connect(database.url()).await;
    hand.batch_execute(LOAD).await.unwrap();
    let mut loaded = Loaded { database, hand, misses: Vec::new() };

    loaded
        .reads("enqueue", 100, async |store| {
            store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
        })
        .await;
    loaded
        .reads("enqueue with a key", 100, async |store| {
            store.enqueue(vec![NewJob::new("q", "k", "1").key("new")]).await.unwrap().unwrap();
        })
        .await;
    loaded
        .reads("enqueue behind a tenant and a lane", 100, async |store| {
            let jobs =
                vec![NewJob::new("q", "k", "1").limit_key("tenant"), NewJob::new("q", "k", "1").ordering_key("lane")];
            store.enqueue(jobs).await.unwrap().unwrap();
        })
        .await;
    loaded
        .reads("claim", 2_000, async |store| {
            assert_eq!(store.claim(Claim::new("q", "w").max(10)).await.unwrap().jobs.len(), 10);
        })
        .await;
    loaded
        .reads("claim of nothing", 100, async |store| {
            assert!(store.claim(Claim::new("other-4", "w").max(10)).await.unwrap().jobs.is_empty());
        })
        .await;
    loaded
        .reads("claim, heartbeat and complete", 3_000, async |store| {
            let jobs = store.claim(Claim::new("q", "w").max(10)).await.unwrap().jobs;
            let beats = jobs.iter().map(|job| Beat::new(job.id, "w", job.token).progress("1")).collect();
            assert!(store.heartbeat(beats).await.unwrap().iter().all(Result::is_ok));
            let act = Act::Complete { result: None };
            let ending = |job: &tenure_core::queue::ClaimedJob| Ending {
                job: job.id,
                owner: "w".into(),
                token: job.token,
                act: act.clone(),
            };
            assert!(store.finish(jobs.iter().map(ending).collect()).await.unwrap().iter().all(Result::is_ok));
        })
        .await;
    loaded
        .reads("a finish that is refused", 100, async |store| {
            let act = Act::Complete { result: None };
            let ending = Ending { job: JobId(77), owner: "x".into(), token: tenure_core::Token(1), act };
            assert!(store.finish(vec![ending]).await.unwrap()[0].is_err());
        })
        .await;
    loaded.reads("recover", 100, async |store| assert_eq!(store.recover(100).await.unwrap().leases, 0)).await;
    loaded.reads("prune", 1_000, async |store| assert_eq!(store.prune(100).await.unwrap().jobs, 0)).await;
    loaded.reads("job", 20, async |store| assert!(store.job(JobId(77)).await.unwrap().is_some())).await;
    loaded.reads("events", 20, async |store| drop(store.events(JobId(77)).await.unwrap())).await;
    loaded
        .reads("explain of a parked job", COUNTS, async |store| {
            assert!(store.situation(JobId(249_000)).await.unwrap().is_some());
        })
        .await;
    loaded
        .reads("explain of a job in a lane", COUNTS, async |store| {
            assert!(store.situation(JobId(254_000)).await.unwrap().is_some());
        })
        .await;
    loaded
        .reads("cancel and retry", 200, async |store| {
            let cancel = Action::Cancel { reason: None, force: false };
            for action in [cancel, Action::Retry] {
                let operation = Operation { job: JobId(240_001), action };
                assert!(store.operate(vec![operation]).await.unwrap()[0].is_ok());
            }
        })
        .await;
    loaded.reads("queue", COUNTS, async |store| drop(store.queue("q").await.unwrap())).await;
    for (name, filter, bound) in [
        ("list", filter(None, None, None), 1_000),
        ("list of a queue", filter(Some("q"), None, None), 1_000),
        ("list of a small queue", filter(Some("other-8"), None, None), 1_000),
        ("list of queued", filter(None, Some(Status::Queued), None), 1_000),
        ("list of running", filter(None, Some(Status::Running), None), 1_000),
        ("list of completed", filter(None, Some(Status::Completed), None), 1_000),
        ("list of failed", filter(None, Some(Status::Failed), None), 1_000),
        ("list of a kind", filter(None, None, Some("k3")), 3_000),
        ("list of a queue, queued", filter(Some("q"), Some(Status::Queued), None), 1_000),
        ("list of a queue, running", filter(Some("q"), Some(Status::Running), None), 1_000),
        ("list of a queue, completed", filter(Some("q"), Some(Status::Completed), None), 1_000),
        ("list of a queue, failed", filter(Some("q"), Some(Status::Failed), None), 1_000),
        ("list of a queue's kind", filter(Some("q"), None, Some("k3")), 6_000),
    ] {
        loaded.reads(name, bound, async |store| drop(store.jobs(filter.clone(), None, 100).await.unwrap())).await;
    }
    loaded
        .reads("list, far back", 1_000, async |store| {
            drop(store.jobs(filter(Some("q"), None, None), Some(JobId(5_000)), 100).await.unwrap());
        })
        .await;
    assert!(loaded.misses.is_empty(), "{}", loaded.misses.join("\n"));

    // And the counters do tell: without an index, the verbs that need it are caught.
    for (index, verb) in [("event_job", "events"), ("job_queue", "queue"), ("finished_failed", "list of failed")] {
        loaded.hand.batch_execute(&format!("drop index tenure.{index}")).await.unwrap();
        loaded
            .reads(verb, 1_000, async |store| match verb {
                "events" => drop(store.events(JobId(77)).await.unwrap()),
                "queue" => drop(store.queue("other-8").await.unwrap()),
                _ => drop(store.jobs(filter(None, Some(Status::Failed), None), None, 100).await.unwrap()),
            })
            .await;
        assert!(loaded.misses.pop().is_some_and(|miss| miss.starts_with(verb)), "{index} was not missed");
        loaded.misses.clear();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_behind_one_key_or_in_other_queues_costs_nothing() {
    let database = database().await;
    let hand = connect(database.url()).await;
    hand.batch_execute(CUSTOMER).await.unwrap();
    let mut loaded = Loaded { database, hand, misses: Vec::new() };
    // The gate's own dead versions are among what is read, until the server has cleaned up.
    let ending = |job: &tenure_core::queue::ClaimedJob| Ending {
        job: job.id,
        owner: "w".into(),
        token: job.token,
        act: Act::Complete { result: None },
    };
    loaded
        .reads("claim and complete in a long lane of a tenant", 2_000, async |store| {
            let jobs = store.claim(Claim::new("queue-1", "w")).await.unwrap().jobs;
            assert!(store.finish(jobs.iter().map(ending).collect()).await.unwrap()[0].is_ok());
        })
        .await;
    loaded
        .reads("enqueue behind a long lane of a tenant, and claim", 2_000, async |store| {
            let job = NewJob::new("queue-1", "k", "1").limit_key("customer").ordering_key("customer");
            store.enqueue(vec![job]).await.unwrap().unwrap();
            let jobs = store.claim(Claim::new("queue-1", "w")).await.unwrap().jobs;
            assert!(store.finish(jobs.iter().map(ending).collect()).await.unwrap()[0].is_ok());
        })
        .await;
    // As many for each of two hundred jobs as for one.
    let first: i64 = loaded.hand.query_one("select min(id) from tenure.job", &[]).await.unwrap().get(0);
    let next = std::sync::atomic::AtomicI64::new(first + 1_000);
    loaded
        .reads("bulk cancel of what waits in a long lane of a tenant", 200 * 40, async |store| {
            let from = next.fetch_add(200, std::sync::atomic::Ordering::SeqCst);
            let cancel = |id| Operation { job: JobId(id), action: Action::Cancel { reason: None, force: false } };
            let answers = store.operate((from..from + 200).map(cancel).collect()).await.unwrap();
            assert!(answers.iter().all(Result::is_ok));
        })
        .await;
    // What is due is let stand a thousand at a time, not all by the first who comes.
    loaded
        .reads("claim where thousands have come due at once", 12_000, async |store| {
            assert_eq!(store.claim(Claim::new("queue-2", "w")).await.unwrap().jobs.len(), 1);
        })
        .await;
    loaded.reads("prune", 7_000, async |store| assert_eq!(store.prune(100).await.unwrap().jobs, 0)).await;
    assert!(loaded.misses.is_empty(), "{}", loaded.misses.join("\n"));
}

/// A store whose tables the server has not counted yet, as every new one: a plan that it takes for dear is compiled first,
/// which costs a hundred times what the statement does.
#[tokio::test(flavor = "multi_thread")]
async fn no_statement_on_a_new_store_is_taken_for_dear_enough_to_be_compiled() {
    let database = database().await;
    let hand = connect(database.url()).await;
    hand.batch_execute("set plan_cache_mode = force_generic_plan").await.unwrap();
    let above: f64 = hand.query_one("show jit_above_cost", &[]).await.unwrap().get::<_, String>(0).parse().unwrap();
    let mut dear = Vec::new();
    for face in ["queue", "schedule", "domain", "sync", "pipeline"] {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("queries").join(face);
        for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
            let query = std::fs::read_to_string(&file).unwrap();
            let parameters = hand.prepare(&query).await.unwrap().params().len();
            hand.batch_execute(&format!("prepare q as {query}")).await.unwrap();
            let nulls =
                if parameters == 0 { String::new() } else { format!("({})", vec!["null"; parameters].join(", ")) };
            let plan = hand.query(&format!("explain execute q{nulls}"), &[]).await.unwrap();
            let top: String = plan[0].get(0);
            let cost: f64 = top.split_once("..").unwrap().1.split_once(' ').unwrap().0.parse().unwrap();
            if cost > above {
                dear.push(format!("{} costs {cost}", file.display()));
            }
            hand.batch_execute("deallocate q").await.unwrap();
        }
    }
    assert!(dear.is_empty(), "{}", dear.join("\n"));
}
