//! A hundred lanes of a hundred jobs (I15) over two processes: failures, leases that run out, servers and workers killed.
//! In every lane the jobs run one at a time, in the order of their enqueueing.

use crate::servers::Servers;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tenure_testing::TestDatabase;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

const LANES: usize = 100;
const DEEP: usize = 100;
const WORKERS: usize = 12;

/// Raises in any transaction that lets a job run beside or before another of its lane.
const WATCH: &str = "
    create function public.watch() returns trigger language plpgsql as $$
    begin
        if exists (select from tenure.job j
                    where j.queue = new.queue and j.ordering_key = new.ordering_key and j.id <> new.id
                      and (j.running or j.id < new.id)) then
            raise exception 'OUT OF ORDER';
        end if;
        return null;
    end $$;
    create trigger watch after update of running on tenure.job
        for each row when (new.running and not old.running) execute function public.watch()";

/// Jobs that are not where they should be: not the n-th of their lane, not completed, or claimed before the one before
/// them had ended.
const MISPLACED: &str = "
    select count(*) from (
        select payload::integer as n, status, claimed_at,
               row_number() over lane - 1 as place, lag(finished_at) over lane as free_from
          from tenure.finished where queue = 'l' window lane as (partition by ordering_key order by id)) f
     where f.n <> f.place or f.status <> 'completed' or f.claimed_at < f.free_from";

struct Crowd {
    servers: Arc<Servers>,
    over: AtomicBool,
    wrong: Mutex<Vec<String>>,
    endings: watch::Sender<usize>,
}

impl Crowd {
    async fn worker(self: Arc<Self>, n: usize) {
        let worker = format!("w{n}");
        for round in n.. {
            if self.over.load(Ordering::SeqCst) {
                return;
            }
            // Every twentieth batch is left to its fate.
            let dies = round % 20 == 19;
            let lease_ms = if dies { 100 } else { 2_000 };
            let claim = json!({ "worker": worker, "max": 20, "lease_ms": lease_ms, "wait_ms": 100 });
            let jobs = match self.servers.try_ask(round, "POST /v1/queues/l/claim", &claim).await {
                Ok((200, answer)) => answer["jobs"].as_array().cloned().unwrap_or_default(),
                Ok((503, _)) | Err(_) => continue,
                Ok((status, answer)) => return self.wrong.lock().await.push(format!("{status} {answer}")),
            };
            if dies || jobs.is_empty() {
                continue;
            }
            let ending = |(i, job): (usize, &Value)| {
                let (id, token) = (&job["id"], &job["token"]);
                if (round + i).is_multiple_of(10) {
                    json!({ "id": id, "verb": "fail", "worker": worker, "token": token, "error": "no", "retry_in_ms": 0 })
                } else {
                    json!({ "id": id, "verb": "complete", "worker": worker, "token": token })
                }
            };
            let endings: Vec<Value> = jobs.iter().enumerate().map(ending).collect();
            // Until it is answered; some may have run out meanwhile, which is their own answer.
            let (status, answer) = self.servers.ask("POST /v1/finish", json!({ "endings": endings })).await;
            if status != 200 {
                self.wrong.lock().await.push(format!("{status} {answer}"));
            }
            self.endings.send_modify(|count| *count += jobs.len());
        }
    }

    fn start(self: &Arc<Self>, n: usize) -> JoinHandle<()> {
        tokio::spawn(self.clone().worker(n))
    }
}

async fn count(hand: &Client, sql: &str) -> i64 {
    hand.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn i15_a_hundred_lanes_of_a_hundred_keep_their_order_over_killed_processes() {
    let database = TestDatabase::create().await.unwrap();
    let servers = Servers::start(database.url()).await;
    let (hand, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    hand.batch_execute(WATCH).await.unwrap();
    let enqueue = async |half: usize| {
        for n in (0..DEEP).step_by(10) {
            let lanes = half * LANES / 2..(half + 1) * LANES / 2;
            let job = |(n, lane): (usize, usize)| json!({ "kind": "k", "payload": n, "ordering_key": format!("lane-{lane}"), "attempts_max": 1_000 });
            let jobs: Vec<Value> =
                (n..n + 10).flat_map(|n| lanes.clone().map(move |lane| (n, lane))).map(job).collect();
            assert_eq!(servers.ask("POST /v1/queues/l/jobs", json!({ "jobs": jobs })).await.0, 201);
        }
    };
    // Two at once, each lane from one of them.
    tokio::join!(enqueue(0), enqueue(1));

    let (endings, mut progress) = watch::channel(0);
    let crowd =
        Arc::new(Crowd { servers: servers.clone(), over: AtomicBool::new(false), wrong: Mutex::default(), endings });
    let mut workers: Vec<JoinHandle<()>> = (0..WORKERS).map(|n| crowd.start(n)).collect();
    for (step, worker) in workers.iter_mut().enumerate().take(6) {
        progress.wait_for(|count| *count >= (step + 1) * LANES * DEEP / 8).await.unwrap();
        servers.kill(step).await;
        worker.abort();
        *worker = crowd.start(step + WORKERS);
    }
    while count(&hand, "select count(*) from tenure.job where queue = 'l'").await > 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(crowd.wrong.lock().await.is_empty(), "{:?} {}", crowd.wrong.lock().await, servers.said());
    }
    crowd.over.store(true, Ordering::SeqCst);
    for worker in workers {
        let _ = worker.await;
    }
    let wrong = crowd.wrong.lock().await;
    assert!(wrong.is_empty() && !servers.said().contains("OUT OF ORDER"), "{wrong:?} {}", servers.said());
    assert_eq!(count(&hand, "select count(*) from tenure.finished where queue = 'l'").await, (LANES * DEEP) as i64);
    assert_eq!(count(&hand, MISPLACED).await, 0);
    assert!(count(&hand, "select count(*) from tenure.event where what = 'expired'").await > 0, "none was left to die");
    assert!(count(&hand, "select count(*) from tenure.event where what = 'retried'").await > 0, "none failed");
}
