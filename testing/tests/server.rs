//! What a private server promises: it answers, it keeps its data, and it is gone afterwards.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tenure_testing::{PostgresServer, ServerError, ServerOptions, StopMode};
use tokio_postgres::{Client, NoTls};

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn show(client: &Client, setting: &str) -> String {
    client.query_one(&format!("SHOW {setting}"), &[]).await.unwrap().get(0)
}

/// Ended, or a zombie that its parent has yet to collect.
fn has_ended(pid: u32) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Err(_) => true,
        // The state follows the program's name, which stands in brackets and may contain anything.
        Ok(stat) => stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')),
    }
}

/// For what another process does and nobody announces.
fn wait_until(what: &str, happened: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !happened() {
        assert!(Instant::now() < deadline, "still waiting until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test]
async fn a_started_server_answers_with_its_settings() {
    let options = ServerOptions::fast().shared_buffers("16MB").max_connections(20).setting("work_mem", "1MB");
    let server = PostgresServer::start(options).unwrap();
    let client = connect(&server.url("postgres")).await;
    assert_eq!(show(&client, "fsync").await, "off");
    assert_eq!(show(&client, "synchronous_commit").await, "on");
    assert_eq!(show(&client, "shared_buffers").await, "16MB");
    assert_eq!(show(&client, "max_connections").await, "20");
    assert_eq!(show(&client, "work_mem").await, "1MB");
    assert_eq!(show(&client, "listen_addresses").await, "");
    assert_eq!(server.tcp_url("postgres"), None);
}

#[test]
fn a_dropped_server_leaves_neither_process_nor_folder() {
    let server = PostgresServer::start(ServerOptions::fast()).unwrap();
    let (pid, folder) = (server.pid().unwrap(), server.folder().to_owned());
    assert!(!has_ended(pid) && folder.exists());
    drop(server);
    assert!(has_ended(pid) && !folder.exists());
}

#[test]
fn a_server_outlives_the_thread_that_started_it() {
    let server = thread::spawn(|| PostgresServer::start(ServerOptions::fast()).unwrap()).join().unwrap();
    assert!(!has_ended(server.pid().unwrap()));
}

#[test]
fn a_server_ends_with_its_process_even_when_that_is_killed() {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_private-postgres"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let folder = url.split(['@', ':']).nth(2).unwrap().replace("%2F", "/");
    let folder = Path::new(&folder);
    let lock = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap();
    let pid = lock.lines().next().unwrap().parse().unwrap();
    assert!(!has_ended(pid));

    owner.kill().unwrap();
    owner.wait().unwrap();
    wait_until("the server has ended", || has_ended(pid));
    wait_until("its folder is gone", || !folder.exists());
}

#[tokio::test]
async fn what_was_committed_survives_an_immediate_stop() {
    let server = PostgresServer::start(ServerOptions::durable()).unwrap();
    let client = connect(&server.url("postgres")).await;
    client.batch_execute("CREATE TABLE kept AS SELECT 7 AS number").await.unwrap();
    let pid = server.pid();

    server.restart(StopMode::Immediate).unwrap();

    assert_ne!(server.pid(), pid);
    let client = connect(&server.url("postgres")).await;
    let number: i32 = client.query_one("SELECT number FROM kept", &[]).await.unwrap().get(0);
    assert_eq!(number, 7);
}

#[tokio::test]
async fn a_stopped_server_refuses_connections_until_it_is_started_again() {
    let server = PostgresServer::start(ServerOptions::fast()).unwrap();
    server.stop(StopMode::Fast).unwrap();
    assert_eq!(server.pid(), None);
    assert!(tokio_postgres::connect(&server.url("postgres"), NoTls).await.is_err());
    server.start_again().unwrap();
    connect(&server.url("postgres")).await;
    assert!(matches!(server.start_again(), Err(ServerError::AlreadyRunning)));
}

#[tokio::test]
async fn on_tcp_the_password_is_required() {
    let server = PostgresServer::start(ServerOptions::fast().tcp()).unwrap();
    let url = server.tcp_url("postgres").unwrap();
    connect(&url).await;
    let guess = url.replacen(url.split([':', '@']).nth(2).unwrap(), "guess", 1);
    assert!(tokio_postgres::connect(&guess, NoTls).await.is_err(), "{guess}");
}

#[test]
fn a_server_that_cannot_start_says_why_and_leaves_nothing() {
    let error = PostgresServer::start(ServerOptions::fast().setting("no_such_setting", "1")).unwrap_err();
    assert!(error.to_string().contains("no_such_setting"), "{error}");
}

#[tokio::test]
async fn a_standby_follows_its_server_and_goes_on_without_it_once_promoted() {
    let primary = PostgresServer::start(ServerOptions::fast().tcp()).unwrap();
    let standby = primary.standby("second", ServerOptions::fast().tcp()).unwrap();
    let client = connect(&primary.url("postgres")).await;
    client.batch_execute("ALTER SYSTEM SET synchronous_standby_names = 'second'").await.unwrap();
    client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    client.batch_execute("CREATE TABLE kept AS SELECT 7 AS number").await.unwrap();

    let reader = connect(&standby.tcp_url("postgres").unwrap()).await;
    assert!(reader.batch_execute("CREATE TABLE mine ()").await.is_err(), "a standby only reads");
    primary.kill();
    assert_eq!(primary.pid(), None);
    standby.promote().unwrap();
    let number: i32 = reader.query_one("SELECT number FROM kept", &[]).await.unwrap().get(0);
    assert_eq!(number, 7);
    reader.batch_execute("CREATE TABLE mine ()").await.unwrap();
}

#[tokio::test]
async fn a_frozen_server_answers_nobody_until_it_is_thawed() {
    let server = PostgresServer::start(ServerOptions::fast()).unwrap();
    let client = connect(&server.url("postgres")).await;
    server.freeze();
    let question = client.query_one("SELECT 1", &[]);
    tokio::pin!(question);
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut question).await.is_err());
    server.thaw();
    question.await.unwrap();
    // Frozen, it ends all the same.
    server.freeze();
}
