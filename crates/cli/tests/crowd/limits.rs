//! W over two processes (B7, B8, B9): no claim ever commits above it, whoever is killed, and no slot is lost.

use crate::servers::Servers;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tenure_testing::TestDatabase;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio_postgres::NoTls;

const JOBS: usize = 60;
const CLAIMERS: usize = 64;

/// Raises in any transaction that lets a job run above the W in force. Whoever changes W and whoever claims lock the same
/// row first, so what the trigger reads is what binds the claim.
const WATCH: &str = "
    create function public.watch() returns trigger language plpgsql as $$
    begin
        if (select count(*) from tenure.job where queue = 'w' and running)
           > (select max_running from tenure.queue where name = 'w') then
            raise exception 'W EXCEEDED';
        end if;
        return null;
    end $$;
    create trigger watch after update of running on tenure.job
        for each row when (new.running and not old.running) execute function public.watch()";

struct Crowd {
    servers: Arc<Servers>,
    /// How often each job's completion was accepted as the first.
    accepted: Mutex<BTreeMap<String, usize>>,
    completed: watch::Sender<usize>,
    over: AtomicBool,
    zombies: AtomicUsize,
    wrong: Mutex<Vec<String>>,
}

impl Crowd {
    async fn claimer(self: Arc<Self>, n: usize) {
        let worker = format!("c{n}");
        for round in n.. {
            if self.over.load(Ordering::SeqCst) {
                return;
            }
            // Every seventh is left to die.
            let dies = round % 7 == 0;
            // The others have time to finish, but a grant whose answer was lost must come back within the test.
            let lease_ms = if dies { 100 } else { 2_000 };
            let claim = json!({ "worker": worker, "max": 1 + n % 3, "lease_ms": lease_ms, "wait_ms": 200 });
            let jobs = match self.servers.try_ask(round, "POST /v1/queues/w/claim", &claim).await {
                Ok((200, answer)) => answer["jobs"].as_array().cloned().unwrap_or_default(),
                Ok((503, _)) | Err(_) => continue,
                Ok((status, answer)) => return self.wrong.lock().await.push(format!("{status} {answer}")),
            };
            for job in jobs {
                if dies {
                    // Longer than the lease, which began before the answer came.
                    tokio::time::sleep(Duration::from_millis(150)).await;
                    self.rise(round, &worker, &job).await;
                } else {
                    self.complete(&worker, &job).await;
                }
            }
        }
    }

    /// A heartbeat after the lease has run out.
    async fn rise(&self, round: usize, worker: &str, job: &Value) {
        let path = format!("POST /v1/jobs/{}/heartbeat", job["id"].as_str().unwrap());
        let beat = json!({ "worker": worker, "token": job["token"] });
        match self.servers.try_ask(round, &path, &beat).await {
            Ok((409, _)) => drop(self.zombies.fetch_add(1, Ordering::SeqCst)),
            Ok((503, _)) | Err(_) => {}
            Ok((status, answer)) => self.wrong.lock().await.push(format!("a zombie was told {status} {answer}")),
        }
    }

    /// Asks until it is answered, as a worker should: the first answer may have been lost.
    async fn complete(&self, worker: &str, job: &Value) {
        let id = job["id"].as_str().unwrap();
        let path = format!("POST /v1/jobs/{id}/complete");
        let (status, answer) = self.servers.ask(&path, json!({ "worker": worker, "token": job["token"] })).await;
        match (status, answer["already"].as_bool()) {
            (200, Some(already)) => {
                let mut accepted = self.accepted.lock().await;
                *accepted.entry(id.to_owned()).or_default() += usize::from(!already);
                self.completed.send_replace(accepted.len());
            }
            // Too late: the lease had run out.
            (409, _) => {}
            _ => self.wrong.lock().await.push(format!("{status} {answer}")),
        }
    }

    fn start(self: &Arc<Self>, n: usize) -> JoinHandle<()> {
        tokio::spawn(self.clone().claimer(n))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b7_two_servers_never_exceed_w_whichever_process_is_killed() {
    for w in [1, 2, 7] {
        crowd_under(w).await;
    }
}

async fn crowd_under(w: usize) {
    let database = TestDatabase::create().await.unwrap();
    let servers = Servers::start(database.url()).await;
    let (hand, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let set = async |w: usize| assert_eq!(servers.ask("PUT /v1/queues/w", json!({ "max_running": w })).await.0, 200);
    set(w).await;
    hand.batch_execute(WATCH).await.unwrap();
    let job = |n: usize| json!({ "kind": "k", "payload": n, "attempts_max": 1_000, "key": format!("{n}") });
    let jobs: Vec<Value> = (0..JOBS).map(job).collect();
    assert_eq!(servers.ask("POST /v1/queues/w/jobs", json!({ "jobs": jobs })).await.0, 201);

    let (completed, mut progress) = watch::channel(0);
    let crowd = Arc::new(Crowd {
        servers: servers.clone(),
        accepted: Mutex::default(),
        completed,
        over: AtomicBool::new(false),
        zombies: AtomicUsize::new(0),
        wrong: Mutex::default(),
    });
    // One zombie before all others, whatever chance brings later.
    let claim = json!({ "worker": "first", "lease_ms": 100 });
    let (_, claims) = servers.ask("POST /v1/queues/w/claim", claim).await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    crowd.rise(0, "first", &claims["jobs"][0]).await;
    let mut claimers: Vec<JoinHandle<()>> = (0..CLAIMERS).map(|n| crowd.start(n)).collect();
    // By progress, not by time: a slow machine is killed as often as a quick one.
    for (step, limit) in [w + 3, 1, w + 8, 1, w].into_iter().enumerate() {
        progress.wait_for(|completed| *completed >= (step + 1) * JOBS / 8).await.unwrap();
        servers.kill(step).await;
        for n in (step..CLAIMERS).step_by(9) {
            // Its connection breaks wherever it stands, as that of a killed process.
            claimers[n].abort();
            claimers[n] = crowd.start(n + CLAIMERS);
        }
        set(limit).await;
    }
    // A completion whose client was killed is nobody's to count: the store says when all is done.
    let left = "select count(*) from tenure.job where queue = 'w'";
    while hand.query_one(left, &[]).await.unwrap().get::<_, i64>(0) > 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(crowd.wrong.lock().await.is_empty(), "W = {w}: {:?}", crowd.wrong.lock().await);
    }
    crowd.over.store(true, Ordering::SeqCst);
    for claimer in claimers {
        let _ = claimer.await;
    }
    let wrong = crowd.wrong.lock().await;
    assert!(wrong.is_empty() && !servers.said().contains("EXCEEDED"), "W = {w}: {wrong:?} {}", servers.said());
    let done = "select count(*) from tenure.finished where status = 'completed' and queue = 'w'";
    assert_eq!(hand.query_one(done, &[]).await.unwrap().get::<_, i64>(0), JOBS as i64);
    let accepted = crowd.accepted.lock().await;
    assert!(accepted.values().all(|count| *count <= 1), "W = {w}: completed twice: {accepted:?}");
    assert!(crowd.zombies.load(Ordering::SeqCst) > 0, "W = {w}: no zombie was met");

    // B8: every slot is back. Exactly W of ten are handed out.
    let jobs: Vec<Value> = (0..10).map(|n| job(JOBS + n)).collect();
    assert_eq!(servers.ask("POST /v1/queues/w/jobs", json!({ "jobs": jobs })).await.0, 201);
    let (_, claims) = servers.ask("POST /v1/queues/w/claim", json!({ "worker": "last", "max": 10 })).await;
    assert_eq!(claims["jobs"].as_array().unwrap().len(), w, "W = {w}");
}
