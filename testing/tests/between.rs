//! What may stand between a program and its server: a pooler, a connection that breaks, a disk that runs full.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tenure_testing::{FaultProxy, Pooler, PostgresServer, ServerOptions, SmallDisk, TestDatabase};
use tokio_postgres::{Client, NoTls};

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// For what another process does and nobody announces.
fn wait_until(what: &str, happened: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !happened() {
        assert!(Instant::now() < deadline, "still waiting until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_hands_each_transaction_to_another_session() {
    let database = TestDatabase::create().await.unwrap();
    let client = connect(&Pooler::shared().await.unwrap().url(database.name())).await;
    let mut sessions = std::collections::BTreeSet::new();
    // The second server connection is opened by the pooler's own clock, about a second after the first.
    let deadline = Instant::now() + Duration::from_secs(30);
    while sessions.len() < 2 && Instant::now() < deadline {
        let row = client.query_typed("SELECT pg_backend_pid()", &[]).await.unwrap();
        sessions.insert(row[0].get::<_, i32>(0));
    }
    assert_eq!(sessions.len(), 2);
    let named = async {
        let statement = client.prepare("SELECT 1").await?;
        for _ in 0..4 {
            client.query(&statement, &[]).await?;
        }
        Ok::<(), tokio_postgres::Error>(())
    };
    let refused = named.await.unwrap_err();
    assert_eq!(refused.code().map(|code| code.code()), Some("26000"), "named statements must not work: {refused}");
}

#[test]
fn a_pooler_ends_with_its_process_even_when_that_is_killed() {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_private-postgres"))
        .arg("--pooler")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let _server = lines.next().unwrap().unwrap();
    let url = lines.next().unwrap().unwrap();
    let folder = url.split(['@', ':']).nth(2).unwrap().replace("%2F", "/");
    let folder = Path::new(&folder);
    let pid = fs::read_to_string(folder.join("pooler.pid")).unwrap().trim().to_owned();
    let process = Path::new("/proc").join(pid);
    assert!(process.exists());

    owner.kill().unwrap();
    owner.wait().unwrap();
    wait_until("the pooler has ended", || {
        // Ended, or a zombie that its new parent has yet to collect.
        fs::read_to_string(process.join("stat"))
            .map_or(true, |stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
    });
    wait_until("its folder is gone", || !folder.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_before_is_not_carried_out_and_a_cut_after_is() {
    let server = PostgresServer::start(ServerOptions::fast().tcp()).unwrap();
    let direct = connect(&server.url("postgres")).await;
    direct.batch_execute("CREATE TABLE effect (n integer)").await.unwrap();
    let proxy = FaultProxy::in_front_of(&server.tcp_url("postgres").unwrap()).await.unwrap();
    let effects = async || direct.query_one("SELECT count(*) FROM effect", &[]).await.unwrap().get::<_, i64>(0);

    let client = connect(proxy.url()).await;
    proxy.cut_before("INSERT INTO effect");
    assert!(client.query_typed("INSERT INTO effect VALUES (1)", &[]).await.unwrap_err().is_closed());
    proxy.struck().await;
    assert_eq!(effects().await, 0);

    let client = connect(proxy.url()).await;
    proxy.cut_after("INSERT INTO effect");
    client.query_typed("SELECT 1", &[]).await.expect("another statement is let through");
    assert!(client.query_typed("INSERT INTO effect VALUES (1)", &[]).await.unwrap_err().is_closed());
    proxy.struck().await;
    assert_eq!(effects().await, 1);
}

#[test]
fn a_small_disk_runs_full_and_is_gone_afterwards() {
    let disk = SmallDisk::mount(1).unwrap();
    let folder = disk.folder().to_owned();
    fs::write(folder.join("half"), vec![0; 512 * 1024]).unwrap();
    let full = fs::write(folder.join("more"), vec![0; 1024 * 1024]).unwrap_err();
    assert_eq!(full.kind(), ErrorKind::StorageFull);
    disk.resize(4).unwrap();
    fs::write(folder.join("more"), vec![0; 1024 * 1024]).unwrap();
    drop(disk);
    assert!(!folder.exists());
}
