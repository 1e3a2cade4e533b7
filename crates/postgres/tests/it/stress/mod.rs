//! A stress of the queue: many clients, all verbs, transactions of their own, terminated connections; every state that
//! was ever committed is judged, what callers were told is compared with it, and at the end everything must run dry.
//!
//! What each participant does follows from one seed, which is printed; how their steps interleave is up to the machine, so
//! a seed that failed will fail again soon rather than at once. `cargo xtask soak` runs it for as long as one likes.
//!
//! Judged without looking at how the store counts and finds work: see [`judge`]. [`planted`] shows that each kind of fault
//! is found.

mod client;
mod drain;
mod judge;
mod ledger;
mod plan;
mod planted;
mod trouble;

use client::{Client, Common};
use judge::Judge;
use plan::{BLOCK, End, Engine, FIXED, LIVE, Plan, QUEUES};
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tenure_core::queue::Status;
use tenure_postgres::PostgresStore;
use tenure_store::QueueStore;
use tenure_store::conformance::Chance;
use tenure_testing::{PostgresServer, ServerOptions};
use tokio_postgres::{Client as Sql, NoTls};

#[tokio::test(flavor = "multi_thread")]
async fn the_queue_keeps_its_contract_under_stress() {
    let server = Server::start().await;
    let report = server.run(&Plan::new(1, Duration::from_secs(15)), "").await;
    assert!(report.faults.is_empty(), "{report}");
}

/// The length, the number of clients and the seed can be chosen: `cargo xtask soak` does.
#[tokio::test(flavor = "multi_thread")]
async fn the_queue_keeps_its_contract_under_a_stress_of_any_seed() {
    let chosen = |name: &str| std::env::var(format!("TENURE_STRESS_{name}")).ok().map(|n| n.parse().expect(name));
    let seconds = chosen("SECONDS");
    let seed = chosen("SEED").unwrap_or_else(|| RandomState::new().hash_one(0) % 1_000_000);
    let mut plan = Plan::new(seed, Duration::from_secs(seconds.unwrap_or(15)));
    plan.clients = chosen("CLIENTS").unwrap_or(plan.clients);
    plan.progress = seconds.map(|_| Duration::from_secs(10));
    let server = Server::start().await;
    let report = server.run(&plan, "").await;
    println!("{report}");
    assert!(report.faults.is_empty(), "{report}");
}

impl Plan {
    fn command(&self) -> String {
        let Plan { seed, clients, lasts, .. } = self;
        format!("cargo xtask soak --seconds {} --clients {clients} --seed {seed}", lasts.as_secs())
    }
}

/// What a run did and found.
struct Report {
    again: String,
    drawn: String,
    counts: Vec<(String, u64)>,
    kinds: Vec<(&'static str, u64)>,
    faults: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.drawn)?;
        for (what, n) in &self.counts {
            writeln!(f, "{n:>9} {what}")?;
        }
        for fault in &self.faults {
            writeln!(f, "{fault}")?;
        }
        let kinds: Vec<String> = self.kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
        let found = if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") };
        write!(f, "found: {found}\nagain: {}", self.again)
    }
}

/// A server whose log can be decoded, and which finds a deadlock soon.
struct Server(PostgresServer);

impl Server {
    async fn start() -> Server {
        let options = ServerOptions::fast()
            .setting("wal_level", "logical")
            .setting("max_replication_slots", "64")
            .setting("deadlock_timeout", "100ms")
            .setting("log_line_prefix", "%m [%p] %d ");
        let start = move || PostgresServer::start(options);
        Server(tokio::task::spawn_blocking(start).await.expect("no panic").expect("a server of one's own"))
    }

    /// One run, in a database of its own, in which `mistake` was planted.
    async fn run(&self, plan: &Plan, mistake: &str) -> Report {
        println!("again: {}", plan.command());
        let name = format!("stress_{:016x}", RandomState::new().hash_one(plan.seed));
        let hand = connect(&self.0.url("postgres")).await;
        hand.batch_execute(&format!("create database {name}")).await.expect("a database");
        let url = self.0.url(&name);
        PostgresStore::migrate(&url).await.expect("an empty database takes the schema");
        let sql = connect(&url).await;
        let common = Arc::new(Common::default());
        sql.batch_execute(include_str!("watch.sql")).await.expect("the watch can be set");
        let slot = "select pg_create_logical_replication_slot('stress_' || current_database(), 'test_decoding')";
        sql.execute(slot, &[]).await.expect("a log to decode");
        sql.batch_execute(mistake).await.expect("the mistake can be planted");
        let store = PostgresStore::open(&url).await.expect("a store");
        prepare(&store, &common, plan).await;

        let mut judge = Judge::new(common.ledger.clone());
        let (stop, early) = tokio::sync::watch::channel(false);
        let end = End::new(plan.lasts, early);
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..plan.clients {
            let client = Client::open(number, plan, &url, common.clone()).await;
            tasks.spawn(client.run(end.clone()));
        }
        let chance = |participant| Chance::of(plan.seed, participant);
        tasks.spawn(trouble::tune(store, chance(1_000), common.ledger.clone(), plan.engine, end.clone()));
        if plan.chaos {
            tasks.spawn(trouble::kill(connect(&url).await, chance(1_001), common.ledger.clone(), end.clone()));
        }

        let began = Instant::now();
        let mut told_at = Instant::now();
        let mut pace = end.clone();
        while !end.is_here() {
            pace.pause(300).await;
            read_log(&sql, &mut judge).await;
            for (queue, open) in QUEUES.iter().zip(&common.open) {
                open.store(judge.open(queue), Ordering::Relaxed);
            }
            if !plan.stop_at.is_empty() && common.ledger.found(plan.stop_at) {
                let _ = stop.send(true);
            }
            if plan.progress.is_some_and(|every| told_at.elapsed() >= every) {
                told_at = Instant::now();
                let (commits, open) = (judge.commits, QUEUES.map(|queue| judge.open(queue)).iter().sum::<usize>());
                let found = common.ledger.kinds();
                println!(
                    "{:>6.0} s, {commits} commits, {open} jobs open, found {found:?}",
                    began.elapsed().as_secs_f64()
                );
            }
        }
        while let Some(done) = tasks.join_next().await {
            done.expect("a participant ended well");
        }
        if plan.stop_at.is_empty() || !common.ledger.found(plan.stop_at) {
            drain::run(&url, plan, &common.ledger).await;
            read_log(&sql, &mut judge).await;
            self.compare(&sql, &judge).await;
        }
        self.deadlocks(&name, &common);
        common.ledger.count("commits judged", judge.commits);
        let counts = common.ledger.books().counts.clone();
        Report {
            again: plan.command(),
            drawn: format!("engine {:?}, {} lanes and tenants in each queue", plan.engine, plan.width),
            counts: counts.into_iter().collect(),
            kinds: common.ledger.kinds().into_iter().collect(),
            faults: common.ledger.faults(),
        }
    }

    async fn compare(&self, sql: &Sql, judge: &Judge) {
        let queued = sql.query("select id from tenure.job", &[]).await.expect("a list");
        let history = sql.query("select id, status from tenure.finished", &[]).await.expect("a list");
        let history = history.iter().map(|row| (row.get(0), Status::parse(row.get(1)).expect("a status")));
        judge.close(&queued.iter().map(|row| row.get(0)).collect(), &history.collect());
    }

    /// The store tries again what was caught in a deadlock, so only the server's log tells of each (L10). Not counted: two
    /// transactions of callers' own that both hold one job and then both end it. Each waits for the other's fence, which
    /// neither can give up; one of them has to go.
    fn deadlocks(&self, database: &str, common: &Common) {
        let log = std::fs::read(self.0.folder().join("server.log")).expect("the server's log");
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            if line.contains(database) && line.contains("deadlock detected") {
                let rest: Vec<&str> = lines[i..].iter().take(12).map(|line| line.trim()).collect();
                let own =
                    |line: &&&str| line.contains(": select tenure.complete(") || line.contains(": select tenure.fail(");
                if rest.iter().take(5).filter(own).count() == 2 {
                    common.ledger.count("callers who ended one job at once", 1);
                } else {
                    common.ledger.fault("deadlock", rest.join("\n    "));
                }
            }
        }
    }
}

/// Sets the queues up, and writes down what of it is judged.
async fn prepare(store: &PostgresStore, common: &Common, plan: &Plan) {
    let ledger = &common.ledger;
    for queue in QUEUES {
        let change = plan::settings(queue);
        store.change(queue, change).await.expect("a queue can be set up");
        if [FIXED, BLOCK, LIVE].contains(&queue) {
            let values = [
                ("max_running", change.max_running.flatten()),
                ("max_running_per_key", change.max_running_per_key.flatten()),
                ("open", Some(1)),
                ("goes on", Some(0)),
            ];
            for (name, value) in values {
                ledger.sets((queue, name), value);
                ledger.was_set((queue, name));
            }
        }
    }
    let max = if let Engine::Fixed(max) = plan.engine { Some(max) } else { None };
    trouble::limit(store, ledger, max).await.expect("a limit can be set");
}

/// Hands the judge what was committed since the last time.
async fn read_log(sql: &Sql, judge: &mut Judge) {
    let changes = "select data from pg_logical_slot_get_changes('stress_' || current_database(), null, null)
                    where data like 'message:%' or data like 'COMMIT%'";
    for row in sql.query(changes, &[]).await.expect("the log can be decoded") {
        judge.line(row.get(0));
    }
}

/// A connection that is never terminated.
async fn connect(url: &str) -> Sql {
    let mut config: tokio_postgres::Config = url.parse().expect("a URL");
    let (sql, connection) = config.application_name("stress").connect(NoTls).await.expect("the server is there");
    tokio::spawn(connection);
    sql
}
