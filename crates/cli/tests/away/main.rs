//! The binary on a PostgreSQL that is away, only reads, or swallows what it is sent.

mod outage;
mod standby;

use std::process::{Command, Output};
use tenure_testing::{PostgresServer, ServerOptions};

/// `tenure ARGS` on the store at `url`, to its end.
fn tenure(url: &str, args: &[&str]) -> Output {
    command(url, args).output().expect("the binary runs")
}

fn command(url: &str, args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("tenure"));
    // No config file of this machine's.
    command.current_dir(std::env::temp_dir()).env_remove("TENURE_LOG").env("TENURE_STORE", url).args(args);
    command
}

/// What it prints when it succeeds.
fn printed(url: &str, args: &[&str]) -> String {
    let output = tenure(url, args);
    assert!(output.status.success(), "{args:?}: {}", said(&output));
    String::from_utf8(output.stdout).expect("text")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A server of one's own whose database `work` has a store with two jobs in it, of which one is held.
fn served(options: ServerOptions) -> PostgresServer {
    let server = PostgresServer::start(options).expect("a server of one's own");
    psql(&server, "postgres", "create database work");
    let url = server.url("work");
    printed(&url, &["enqueue", "q", "1"]);
    printed(&url, &["enqueue", "q", "2"]);
    server
}

/// Runs a statement as the administrator, and gives what it answered.
fn psql(server: &PostgresServer, database: &str, sql: &str) -> String {
    let url = server.url(database);
    let output = Command::new(server.programs().join("psql"))
        .args(["-qAtX", "-v", "ON_ERROR_STOP=1", "-c", sql, &url])
        .output()
        .expect("psql runs");
    assert!(output.status.success(), "{sql}: {}", said(&output));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}
