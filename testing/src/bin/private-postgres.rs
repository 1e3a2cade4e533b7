//! Holds a private PostgreSQL for as long as its standard input stays open, and prints where it is:
//!
//! ```text
//! $ cargo run -p tenure-testing --bin private-postgres
//! postgres://postgres@%2Ftmp%2Ftenure-pg-4711-0:5432/postgres
//! ```
//!
//! Arguments are settings: `fsync=on shared_buffers=1GB`. Ends with Ctrl-D, or any other way.

use std::io;
use std::process::ExitCode;

use tenure_testing::{PostgresServer, ServerOptions};

fn main() -> ExitCode {
    let mut options = ServerOptions::fast();
    for argument in std::env::args().skip(1) {
        let Some((name, value)) = argument.split_once('=') else {
            eprintln!("private-postgres: {argument:?} is not a setting: write NAME=VALUE");
            return ExitCode::FAILURE;
        };
        options = options.setting(name, value);
    }
    match PostgresServer::start(options) {
        Ok(server) => {
            println!("{}", server.url("postgres"));
            match io::copy(&mut io::stdin(), &mut io::sink()) {
                Ok(_) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            }
        }
        Err(error) => {
            eprintln!("private-postgres: {error}");
            ExitCode::FAILURE
        }
    }
}
