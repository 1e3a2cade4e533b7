//! Tokens never repeat (L2): not after one backup was restored twice, not after two promotions, and they never go down.

use crate::support::{Postgres, blocked, connect, database};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tenure_core::domain::{Acquire, Advance, Held};
use tenure_core::pipeline::{self, Definition, NewRun, Stage};
use tenure_core::queue::{Act, Change, Claim, Ending, NewJob};
use tenure_core::sync::{ChunkClaim, NewChunk, Plan, SyncClaim};
use tenure_core::{Time, Token};
use tenure_postgres::PostgresStore;
use tenure_store::conformance::Harness;
use tenure_store::{DomainStore, PipelineStore, QueueStore, SyncStore, Upkeep};
use tenure_testing::TestDatabase;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

/// Work for every face.
async fn fill(store: &PostgresStore) {
    store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    store.apply_pipeline(Definition::new("p").stage(Stage::new("a"))).await.unwrap().unwrap();
    store.start_run(NewRun::new("p", "1")).await.unwrap().unwrap();
    store.advance_runs(10).await.unwrap();
    store.plan_sync(Plan::new("m").chunks([NewChunk::new("c")])).await.unwrap().unwrap();
    acquire(store, 1).await;
}

async fn acquire(store: &PostgresStore, offset: u64) -> Token {
    store.domain_acquire(vec![Acquire::new("d", offset)]).await.unwrap()[0].unwrap().token().unwrap()
}

/// Claims all of it: the tokens of a job, a unit, a sync, a chunk, and a domain.
async fn claim_all(store: &PostgresStore) -> [Token; 5] {
    let sync = store.claim_sync(SyncClaim::new("w")).await.unwrap().unwrap();
    let held = Held::new("d", acquire(store, 1).await);
    store.domain_succeed(vec![held]).await.unwrap()[0].unwrap();
    [
        store.claim(Claim::new("q", "w")).await.unwrap().jobs[0].token,
        store.claim_units(pipeline::Claim::new("p", "a", "w")).await.unwrap().unwrap().units[0].token,
        sync.token,
        store.claim_chunk(ChunkClaim::new(sync.id, "w")).await.unwrap().unwrap().token,
        acquire(store, 2).await,
    ]
}

/// Each round claimed the same units: no token of one is another's of the same face, and all of a store's are one
/// counter's.
fn assert_disjoint(rounds: &[[Token; 5]]) {
    for face in 0..5 {
        let tokens: BTreeSet<Token> = rounds.iter().map(|round| round[face]).collect();
        assert_eq!(tokens.len(), rounds.len(), "face {face}: {rounds:?}");
    }
    let counted: BTreeSet<Token> = rounds.iter().flat_map(|round| round[..4].iter().copied()).collect();
    assert_eq!(counted.len(), 4 * rounds.len(), "{rounds:?}");
    assert!(counted.iter().all(|token| token.0 < 1 << 53), "{counted:?}");
}

fn dump(url: &str) -> String {
    let program = tenure_testing::programs().expect("PostgreSQL's programs are on this machine").join("pg_dump");
    let done = Command::new(program).args(["-n", "tenure", url]).output().expect("the program runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("a dump is text")
}

/// Puts a dump in the place of what is there.
fn restore(url: &str, dump: &str) {
    let program = tenure_testing::programs().expect("PostgreSQL's programs are on this machine").join("psql");
    let mut psql = Command::new(program);
    let psql = psql.args(["-qX", "-v", "ON_ERROR_STOP=1", url]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut psql = psql.spawn().expect("the program runs");
    let mut stdin = psql.stdin.take().expect("a pipe");
    stdin.write_all(b"set client_min_messages = warning; drop schema tenure cascade;\n").expect("psql reads");
    stdin.write_all(dump.as_bytes()).expect("psql reads");
    drop(stdin);
    assert!(psql.wait().expect("psql ends").success());
}

#[tokio::test(flavor = "multi_thread")]
async fn l2_one_dump_restored_twice_draws_no_token_twice() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    fill(&store).await;
    let dump = dump(database.url());
    let mut rounds = vec![claim_all(&store).await];
    for _ in 0..2 {
        restore(database.url(), &dump);
        rounds.push(claim_all(&PostgresStore::open(database.url()).await.unwrap()).await);
    }
    // Also under a process that was connected all the while.
    restore(database.url(), &dump);
    rounds.push(claim_all(&store).await);
    assert_disjoint(&rounds);
}

#[tokio::test(flavor = "multi_thread")]
async fn l2_two_standbys_of_one_primary_promoted_in_turn_draw_no_token_twice() {
    let primary = database().await;
    let store = PostgresStore::open(primary.url()).await.unwrap();
    fill(&store).await;
    drop(store);
    let admin = connect(&primary.url().replace(primary.name(), "postgres")).await;
    let mut rounds = Vec::new();
    for nth in 0..5 {
        // A standby has what the primary had, and goes on under another timeline. So has a copy of the database, in which
        // nothing but the name of the timeline is to be changed; and a copy is another database, also where that is the same.
        let name = format!("{}_standby_{nth}", primary.name());
        copy(&admin, primary.name(), &name).await;
        let url = primary.url().replace(primary.name(), &name);
        if nth < 3 {
            connect(&url).await.batch_execute("update tenure.epoch set timeline = '000000AA'").await.unwrap();
        }
        rounds.push(claim_all(&PostgresStore::open(&url).await.unwrap()).await);
        admin.batch_execute(&format!("drop database {name} with (force)")).await.unwrap();
    }
    assert_disjoint(&rounds);
}

#[tokio::test(flavor = "multi_thread")]
async fn l2_copies_of_a_store_that_never_drew_a_token_draw_none_twice() {
    let origin = TestDatabase::create().await.unwrap();
    let store = PostgresStore::open(origin.url()).await.unwrap();
    store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    drop(store);
    let admin = connect(&origin.url().replace(origin.name(), "postgres")).await;
    let first = async |url: &str| {
        let store = PostgresStore::open(url).await.unwrap();
        store.claim(Claim::new("q", "w")).await.unwrap().jobs[0].token
    };
    let mut tokens = BTreeSet::new();
    for nth in 0..3 {
        let name = format!("{}_copy_{nth}", origin.name());
        copy(&admin, origin.name(), &name).await;
        assert!(tokens.insert(first(&origin.url().replace(origin.name(), &name)).await), "{tokens:?}");
        admin.batch_execute(&format!("drop database {name} with (force)")).await.unwrap();
    }
    assert!(tokens.insert(first(origin.url()).await), "{tokens:?}");
}

/// Copies a database, once its last session, of a store that was let go of, has ended.
async fn copy(admin: &Client, from: &str, to: &str) {
    for _ in 0..1_000 {
        match admin.batch_execute(&format!("create database {to} template {from}")).await {
            Ok(()) => return,
            Err(error) => assert_eq!(error.code(), Some(&SqlState::OBJECT_IN_USE), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{from} stays in use");
}

#[tokio::test(flavor = "multi_thread")]
async fn l2_a_claim_that_waited_for_a_limit_while_the_epoch_was_raised_draws_the_larger_token() {
    let database = database().await;
    let store = Arc::new(PostgresStore::open(database.url()).await.unwrap());
    let rival = connect(database.url()).await;
    store.change("b", Change { max_running: Some(Some(5)), ..Change::default() }).await.unwrap();
    store.enqueue(vec![NewJob::new("a", "k", "1")]).await.unwrap().unwrap();
    rival.batch_execute("begin; select from tenure.queue where name = 'b' for update").await.unwrap();
    let waits = store.clone();
    let first = tokio::spawn(async move { waits.claim(Claim::new("a", "first").also("b")).await.unwrap() });
    blocked(&rival).await;
    store.new_epoch().await.unwrap();
    let second = store.claim(Claim::new("a", "second")).await.unwrap().jobs.remove(0);
    let ending = Ending { job: second.id, owner: "second".into(), token: second.token, act: Act::Release };
    store.finish(vec![ending]).await.unwrap()[0].unwrap();
    rival.batch_execute("rollback").await.unwrap();
    let first = first.await.unwrap().jobs.remove(0);
    assert_eq!(first.id, second.id);
    assert!(first.token > second.token, "{} after {}", first.token, second.token);
}

#[tokio::test(flavor = "multi_thread")]
async fn l2_an_acquire_that_waited_while_the_epoch_was_raised_draws_from_the_new_base() {
    let database = database().await;
    let store = Arc::new(PostgresStore::open(database.url()).await.unwrap());
    let rival = connect(database.url()).await;
    let held = acquire(&store, 1).await;
    store.domain_change("e", tenure_core::domain::Change::default()).await.unwrap();
    for fresh in [false, true] {
        rival.batch_execute("begin; select from tenure.domain for update").await.unwrap();
        let waits = store.clone();
        let next = tokio::spawn(async move {
            if fresh {
                let answers = waits.domain_acquire(vec![Acquire::new("e", 1)]).await.unwrap();
                return answers[0].unwrap().token().unwrap();
            }
            let advanced = waits.domain_advance(vec![Advance::new("d", held).next(2)]).await.unwrap();
            advanced[0].unwrap().next.unwrap().1.unwrap().token().unwrap()
        });
        blocked(&rival).await;
        let base = store.new_epoch().await.unwrap().base;
        rival.batch_execute("rollback").await.unwrap();
        let next = next.await.unwrap();
        assert!(next >= base, "{next} is before {base}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn l2_an_epoch_raised_while_others_draw_repeats_no_token() {
    let database = database().await;
    let store = Arc::new(PostgresStore::open(database.url()).await.unwrap());
    // A copy of a template is another database: who draws tokens by hand finds it known.
    connect(database.url()).await.query("select tenure.check_epoch()", &[]).await.unwrap();
    let draws: Vec<_> = (0..4)
        .map(|_| {
            let url = database.url().to_owned();
            tokio::spawn(async move {
                let hand = connect(&url).await;
                let mut drawn = Vec::new();
                for _ in 0..200 {
                    let row = hand.query_one("select tenure.draw_tokens(7)", &[]).await.unwrap();
                    drawn.extend(row.get::<_, Vec<i64>>(0));
                }
                assert!(drawn.is_sorted_by(|a, b| a < b));
                drawn
            })
        })
        .collect();
    while draws.iter().any(|draw| !draw.is_finished()) {
        let raised = store.new_epoch().await.unwrap();
        assert_eq!(raised, store.epoch().await.unwrap());
    }
    let mut all = Vec::new();
    for draw in draws {
        all.extend(draw.await.unwrap());
    }
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 4 * 200 * 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn l2_a_clock_far_ahead_is_refused_before_it_spends_the_tokens() {
    let far = Time(4_000_000_000_000_000);
    let postgres = Postgres::open(far).await;
    let store = postgres.store();
    let before = store.epoch().await.unwrap();
    let refused = store.new_epoch().await.unwrap_err();
    assert!(refused.to_string().contains("clock"), "{refused}");
    assert_eq!(store.epoch().await.unwrap(), before);
    // A clock set back moves nothing back.
    postgres.set_clock(Time(1_800_000_000_000_000)).await;
    let high = store.new_epoch().await.unwrap();
    postgres.set_clock(Time(1_700_000_000_000_000)).await;
    let next = store.new_epoch().await.unwrap();
    assert_eq!((next.count, next.base), (high.count + 1, Token(high.base.0 + 1)));
}
