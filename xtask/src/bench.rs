//! `cargo xtask bench`: Tenure's benches, on a private PostgreSQL that really writes to the disk.
//!
//! Builds in release, starts the server, hands its URL and the peers' programs to `tenure-bench`, and passes everything else
//! through. What is measured, and how it is reported, is the bench's own business.

use std::process::Command;

use tenure_testing::{PostgresServer, ServerOptions};

use crate::Failure;
use crate::cargo::{cargo, root, run as run_command, target};

const BENCHES: [&str; 5] = ["domain", "pipeline", "queue", "size", "sync"];

/// A peer: a workspace of its own under `bench/peers/`, whose drivers cannot share our lock file.
struct Peer {
    /// Its folder, and its word after `--peers`.
    name: &'static str,
    program: &'static str,
    /// Tells the bench where the program is.
    variable: &'static str,
}

const PEERS: [Peer; 1] =
    [Peer { name: "graphile_worker", program: "peer-graphile-worker", variable: "TENURE_PEER_GRAPHILE_WORKER" }];

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let bench = arguments.first().map_or("", String::as_str);
    if !BENCHES.contains(&bench) {
        return Err(Failure::usage(bench, &BENCHES));
    }
    let peers = wanted_peers(arguments)?;

    run_command(&mut cargo(["build", "--release", "--locked", "--package", "tenure-bench"]))?;
    let mut command = Command::new(target().join("release/tenure-bench"));
    command.args(arguments).current_dir(root());
    for peer in peers {
        command.env(peer.variable, build(peer)?);
    }
    let server = PostgresServer::start(options())?;
    command.env("TENURE_BENCH_POSTGRES", server.url("postgres"));
    run_command(&mut command)
}

/// The settings that `bench/` quotes its figures for: everything in memory that belongs there, and no checkpoint forced
/// by the log's size in the middle of a run.
fn options() -> ServerOptions {
    ServerOptions::durable().shared_buffers("1GB").setting("max_wal_size", "8GB")
}

/// What stands after `--peers` or `--peers=`, parted by commas.
fn wanted_peers(arguments: &[String]) -> Result<Vec<&'static Peer>, Failure> {
    let list = arguments.iter().zip(arguments.iter().skip(1).map(Some).chain([None])).find_map(|(argument, next)| {
        match argument.strip_prefix("--peers=") {
            Some(list) => Some(list),
            None if argument == "--peers" => Some(next.map_or("", String::as_str)),
            None => None,
        }
    });
    let Some(list) = list else { return Ok(Vec::new()) };
    let names: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
    list.split(',')
        .map(|name| PEERS.iter().find(|peer| peer.name == name).ok_or_else(|| Failure::usage(name, &names)))
        .collect()
}

/// Builds the peer and returns the path of its program.
fn build(peer: &Peer) -> Result<std::path::PathBuf, Failure> {
    let folder = root().join("bench/peers").join(peer.name);
    // Beside ours where someone chose a place for builds, else in the peer's own folder, which git passes over.
    let into = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(_) => target().join("peers").join(peer.name),
        None => folder.join("target"),
    };
    let mut command = cargo(["build", "--release", "--locked"]);
    command.arg("--manifest-path").arg(folder.join("Cargo.toml")).arg("--target-dir").arg(&into);
    run_command(&mut command)?;
    Ok(into.join("release").join(peer.program))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let names: Vec<&str> = wanted_peers(&arguments).unwrap().iter().map(|peer| peer.name).collect();
        assert_eq!(names, expected, "{text}");
    }

    #[test]
    fn peers_are_named_after_either_spelling_of_the_flag() {
        check("queue --jobs 1000", &[]);
        check("queue --peers graphile_worker --jobs 1000", &["graphile_worker"]);
        check("queue --peers=graphile_worker", &["graphile_worker"]);
    }

    #[test]
    fn an_unknown_or_missing_peer_is_refused() {
        for text in ["--peers nobody", "--peers=graphile_worker,nobody", "--peers"] {
            let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            assert!(matches!(wanted_peers(&arguments), Err(Failure::Usage { .. })), "{text}");
        }
    }
}
