//! Everything at once (C9): eight callers draw verbs from a seed, on two handles, over the same few queues, tenants and
//! lanes. No deadlock and no serialization failure reaches a caller, and the server counts next to none.

use crate::support::{connect, database};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tenure_core::queue::{Act, Action, Beat, Change, Claim, ClaimedJob, Ending, JobId, LaneOnFailure, NewJob};
use tenure_core::queue::{Operation, Rate};
use tenure_core::retry::Retry;
use tenure_postgres::PostgresStore;
use tenure_store::conformance::{Chance, Seed};
use tenure_store::{QueueStore, Upkeep};

const CALLERS: u64 = 8;
const CALLS: u32 = 400;

const QUEUES: [&str; 3] = ["a", "b", "c"];

/// One of the callers, and what it holds.
struct Caller {
    store: Arc<PostgresStore>,
    name: String,
    chance: Chance,
    held: Vec<ClaimedJob>,
    /// The last id that anyone was given.
    last_id: Arc<AtomicI64>,
}

impl Caller {
    async fn call(&mut self) {
        match self.chance.below(100) {
            0..25 => self.enqueue().await,
            25..50 => self.claim().await,
            50..60 => self.heartbeat().await,
            60..82 => self.finish().await,
            82..90 => self.operate().await,
            90..93 => drop(self.store.recover(50).await.unwrap()),
            93..95 => drop(self.store.prune(50).await.unwrap()),
            _ => self.change().await,
        }
    }

    async fn enqueue(&mut self) {
        let chance = &mut self.chance;
        let jobs = (0..1 + chance.below(20)).map(|n| {
            let mut job = NewJob::new(chance.pick(&QUEUES), "k", "1").priority(chance.below(3) as i32).attempts_max(3);
            if chance.one_in(3) {
                job = job.limit_key(format!("t{}", chance.below(4)));
            }
            if chance.one_in(3) {
                job = job.ordering_key(format!("l{}", chance.below(6)));
            }
            // The same body, and no key twice in a call: never a conflict.
            if n == 0 || chance.one_in(4) { job.key(format!("k{n}-{}", chance.below(5))) } else { job }
        });
        let enqueued = self.store.enqueue(jobs.collect()).await.unwrap().unwrap();
        self.last_id.fetch_max(enqueued.iter().map(|job| job.id.0).max().unwrap_or(0), Ordering::Relaxed);
    }

    async fn claim(&mut self) {
        let mut claim = Claim::new(self.chance.pick(&QUEUES), &self.name).max(1 + self.chance.below(15) as u32);
        claim.queues.push(self.chance.pick(&QUEUES).to_owned());
        // Some leases run out while they are held, and come back from two sides.
        let claim = claim.lease_ms(if self.chance.one_in(4) { 100 } else { 30_000 });
        let claim = if self.chance.one_in(2) { claim.shared(2) } else { claim };
        self.held.extend(self.store.claim(claim).await.unwrap().jobs);
    }

    async fn heartbeat(&mut self) {
        // From the newest to the oldest: an order of its own.
        let beats: Vec<Beat> =
            self.held.iter().rev().map(|job| Beat::new(job.id, &self.name, job.token).checkpoint("1")).collect();
        if !beats.is_empty() {
            self.store.heartbeat(beats).await.unwrap();
        }
    }

    async fn finish(&mut self) {
        let count = self.chance.below(20).min(self.held.len());
        let mut endings = Vec::new();
        for _ in 0..count {
            let job = self.held.swap_remove(self.chance.below(self.held.len()));
            let act = match self.chance.below(6) {
                0 => Act::Fail { error: "no".into(), retry: Retry::In { delay_ms: 0 } },
                1 => Act::Fail { error: "no".into(), retry: Retry::Never },
                2 => Act::Release,
                3 => Act::Snooze { delay_ms: 1 },
                _ => Act::Complete { result: None },
            };
            endings.push(Ending { job: job.id, owner: self.name.clone(), token: job.token, act });
        }
        if !endings.is_empty() {
            self.store.finish(endings).await.unwrap();
        }
    }

    /// Many at once, in any order.
    async fn operate(&mut self) {
        let last = self.last_id.load(Ordering::Relaxed).max(1);
        let operations = (0..1 + self.chance.below(10)).map(|_| {
            let action = match self.chance.below(3) {
                0 => Action::Retry,
                force => Action::Cancel { reason: None, force: force == 1 },
            };
            // Mostly among the newest, where the others are.
            let back = self.chance.below(60) as i64;
            Operation { job: JobId((last - back).max(1)), action }
        });
        let operations = operations.collect();
        self.store.operate(operations).await.unwrap();
    }

    async fn change(&mut self) {
        let limit = self.chance.pick(&[None, Some(3), Some(20)]);
        let change = match self.chance.below(6) {
            0 => Change { max_running: Some(limit), ..Change::default() },
            1 => Change { max_running_per_key: Some(limit), ..Change::default() },
            2 => Change { retention_ms: Some(Some(0)), ..Change::default() },
            3 => {
                let mode = if self.chance.one_in(2) { LaneOnFailure::Block } else { LaneOnFailure::Continue };
                Change { lane_on_failure: Some(Some(mode)), ..Change::default() }
            }
            4 => {
                let rate = limit.map(|max| Rate { max, period_ms: 100 });
                Change { rate_limit_per_key: Some(rate), ..Change::default() }
            }
            _ => return self.store.set_limit(limit.map(|max| max * 4)).await.unwrap(),
        };
        let queue = self.chance.pick(&QUEUES);
        self.store.change(queue, change).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c9_eight_callers_of_every_verb_never_meet_a_deadlock() {
    let seed = Seed::or(1);
    let database = database().await;
    let open = async || Arc::new(PostgresStore::open(database.url()).await.unwrap());
    let handles = [open().await, open().await];
    let last_id = Arc::new(AtomicI64::new(0));
    let callers: Vec<_> = (0..CALLERS)
        .map(|n| {
            let store = handles[(n % 2) as usize].clone();
            let (name, last_id) = (format!("w{n}"), last_id.clone());
            let mut caller = Caller { store, name, chance: seed.chance(n), held: Vec::new(), last_id };
            tokio::spawn(async move {
                for _ in 0..CALLS {
                    caller.call().await;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    assert!(last_id.load(Ordering::Relaxed) > 1_000, "there was something to fight over");
    // The sessions report what they counted when they end, and no later than the next second.
    drop(handles);
    let hand = connect(database.url()).await;
    while !hand
        .query("select from pg_stat_activity where datname = current_database() and application_name = 'tenure'", &[])
        .await
        .unwrap()
        .is_empty()
    {}
    let counted = "select deadlocks, xact_commit from pg_stat_database where datname = current_database()";
    let row = hand.query_one(counted, &[]).await.unwrap();
    let (deadlocks, commits): (i64, i64) = (row.get(0), row.get(1));
    assert!(commits > i64::from(CALLS), "{commits} commits were counted");
    // Without one order of locks there are about ten. One that nobody thought of is tried again, and nobody's harm.
    assert!(deadlocks <= 1, "{deadlocks} deadlocks in {commits} commits");
}
