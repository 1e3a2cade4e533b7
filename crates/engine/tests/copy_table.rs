//! A copy that is killed ten times, at whatever point it had reached, ends up identical.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tenure::Tenure;
use tenure::sync::{State, SyncFilter};
use tenure_sqlite::rusqlite;
use tenure_testing::TestDatabase;

const ROWS: i64 = 2_000;
const KILLS: u32 = 10;

/// The example's program. `cargo test` builds examples beside the tests; where only this test was asked for, it is built here.
fn program() -> PathBuf {
    let tests = std::env::current_exe().expect("this program has a path");
    let profile = tests.parent().and_then(|deps| deps.parent()).expect("tests are in target/<profile>/deps");
    let program = profile.join("examples/copy_table");
    if !program.exists() {
        let build = ["build", "--locked", "-p", "tenure", "--example", "copy_table"];
        let built = Command::new(env!("CARGO")).args(build).status();
        assert!(built.expect("cargo runs").success(), "the example builds");
    }
    program
}

fn copying(program: &PathBuf, source: &str, target: &str) -> Child {
    Command::new(program).args([source, target]).stdout(Stdio::piped()).spawn().expect("the example starts")
}

#[tokio::test(flavor = "multi_thread")]
async fn s5_a_copy_killed_ten_times_is_identical() {
    let (folder, database) = (tempfile::tempdir().unwrap(), TestDatabase::create().await.unwrap());
    let (source, target) = (folder.path().join("source.db").display().to_string(), database.url());
    let mut table = rusqlite::Connection::open(&source).unwrap();
    table.execute_batch("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL)").unwrap();
    let filling = table.transaction().unwrap();
    for id in 0..ROWS {
        filling.execute("INSERT INTO item VALUES (?1, ?2)", (id * 3 % (ROWS * 2), format!("näme {id}"))).unwrap();
    }
    filling.commit().unwrap();

    let program = program();
    // Drawn from the process id, so that runs differ; the seed is printed.
    let mut seed = u64::from(std::process::id());
    println!("seed {seed}");
    let mut killed = 0;
    let mut copied = 0u32;
    while killed < KILLS {
        let mut child = copying(&program, &source, target);
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Killed while it works on the chunks after these.
        let lines = (seed >> 33) % 5;
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let seen = said.by_ref().take(lines as usize).filter(Result::is_ok).count() as u32;
        copied += seen;
        if u64::from(seen) < lines {
            // It had nothing left to copy: too quick for us. The kills that remain would prove nothing.
            assert!(child.wait().unwrap().success());
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        killed += 1;
    }
    assert_eq!(killed, KILLS, "after {copied} chunks");
    let last = copying(&program, &source, target).wait_with_output().unwrap();
    assert!(last.status.success(), "{last:?}");

    let (client, connection) = tokio_postgres::connect(target, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let there = client.query("select id, name from item order by id", &[]).await.unwrap();
    let there: Vec<(i64, String)> = there.iter().map(|row| (row.get(0), row.get(1))).collect();
    let mut select = table.prepare("SELECT id, name FROM item ORDER BY id").unwrap();
    let here = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let here: Vec<(i64, String)> = here.collect::<Result<_, _>>().unwrap();
    assert_eq!(there, here);

    let tenure = Tenure::open(target).await.unwrap();
    let syncs = tenure.verbs().syncs(SyncFilter::default(), None, 10).await.unwrap().items;
    assert!(syncs.iter().all(|sync| sync.state == State::Completed));
    let info = tenure.verbs().sync(syncs[0].id).await.unwrap().unwrap();
    assert_eq!(info.progress.rows, ROWS as u64, "each row was counted in one completion");
}
