//! Holds a private PostgreSQL for as long as its standard input stays open, and prints where it is:
//!
//! ```text
//! $ cargo run -p tenure-testing --bin private-postgres
//! postgres://postgres@%2Ftmp%2Ftenure-pg-4711-0:5432/postgres
//! ```
//!
//! Arguments are settings: `fsync=on shared_buffers=1GB`. With `--pooler` a PgBouncer in transaction mode stands in front,
//! and its address comes on a second line. Ends with Ctrl-D, or any other way.

use std::io;
use std::process::ExitCode;

use tenure_testing::{Pooler, PostgresServer, ServerError, ServerOptions};

fn main() -> ExitCode {
    let mut options = ServerOptions::fast();
    let mut pooled = false;
    for argument in std::env::args().skip(1) {
        if argument == "--pooler" {
            pooled = true;
            continue;
        }
        let Some((name, value)) = argument.split_once('=') else {
            eprintln!("private-postgres: {argument:?} is not a setting: write NAME=VALUE");
            return ExitCode::FAILURE;
        };
        options = options.setting(name, value);
    }
    match hold(options, pooled) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("private-postgres: {error}");
            ExitCode::FAILURE
        }
    }
}

fn hold(options: ServerOptions, pooled: bool) -> Result<(), ServerError> {
    let server = PostgresServer::start(options)?;
    let url = server.url("postgres");
    println!("{url}");
    let pooler = if pooled { Some(Pooler::start(&url)?) } else { None };
    if let Some(pooler) = &pooler {
        println!("{}", pooler.url("postgres"));
    }
    io::copy(&mut io::stdin(), &mut io::sink())
        .map(drop)
        .map_err(|source| ServerError::Io { action: "read standard input", source })
}
