//! `tenure`: durable work, held under lease, from the command line.
//!
//! Always true: data goes to stdout, everything else to stderr; `--json` gives the shapes of the HTTP API; text from
//! strangers is escaped before a terminal sees it; a password in a store address is never printed.
//!
//! Exit codes: 0 done · 1 declined at a question, stopped half-way, or the doctor found something wrong · 2 wrong usage ·
//! 65 bad input, or it does not fit what is on record (a dedup key with another body, a cancel of what has ended, a retry of what has not) · 66 not on record, or no store · 69 store
//! unavailable · 74 output cannot be written · 75 unknown outcome, try again · 77 not allowed.

mod commands;
mod config;
mod failure;
mod keeper;
mod output;
mod secrecy;
mod service;
mod span;
mod terminal;

use clap::Parser;
use commands::Command;
use failure::Failure;
use output::Output;
use std::process::ExitCode;
use std::time::Duration;
use tenure::{Actor, Address, Tenure};

/// Durable work, held under lease.
#[derive(Debug, Parser)]
#[command(
    name = "tenure",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  tenure init
  tenure enqueue images '{\"asset\":42}' --kind resize
  tenure job list --queue images --status failed
  tenure job explain 42
  tenure queue limit images --max-running 16
  tenure serve --store postgres://app@db.example/work

Exit codes: 0 done, 1 declined at a question or unwell (doctor), 2 wrong usage, 65 bad input or in
conflict with what is on record, 66 not on record or no store (tenure init), 69 store unavailable,
74 output not written, 75 outcome unknown (try again), 77 not allowed."
)]
struct Cli {
    /// Where the work is kept: sqlite:FILE, sqlite::memory:, postgres://USER@HOST/DATABASE or memory: [default:
    /// `store` of the config file, else sqlite:tenure.db]
    #[arg(long, global = true, value_name = "URL", env = "TENURE_STORE", hide_env_values = true)]
    store: Option<Address>,

    /// The config file [default: ./tenure.toml, else tenure/tenure.toml in your config folder]
    #[arg(long, global = true, value_name = "FILE", env = "TENURE_CONFIG")]
    config: Option<std::path::PathBuf>,

    /// Print JSON, in the shapes of the HTTP API
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

/// How long a command that has ended tells the others what it did.
const LAST_WORD: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    secrecy::begin();
    // Some processes are parts of others, and have no command line of their own.
    if let Some(ended) = keeper::asked().or_else(commands::demo::worker::asked) {
        return ended;
    }
    let cli = Cli::try_parse().unwrap_or_else(|error| refuse(&error));
    let output = Output::new(cli.json);
    if cli.store.as_ref().is_some_and(secrecy::on_the_command_line) {
        output.note(secrecy::WARNING);
    }
    let ran = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::unavailable(format!("cannot start: {error}")))
        .and_then(|runtime| runtime.block_on(run(cli, &output)));
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.fail(&failure);
            failure.exit()
        }
    }
}

/// Says what is wrong with the command line. An address in the place of something else would be repeated with its
/// password.
fn refuse(error: &clap::Error) -> ! {
    let rendered = error.render().to_string();
    let told = secrecy::hidden(&rendered);
    if told == rendered {
        error.exit();
    }
    eprint!("{told}");
    std::process::exit(error.exit_code())
}

/// Who gives the command, as far as the system tells: `cli:USER@HOST`.
fn actor() -> Actor {
    let named = ["USER", "LOGNAME"].into_iter().filter_map(|name| std::env::var(name).ok());
    let user = named.into_iter().find(|name| !name.is_empty());
    let user = user.unwrap_or_else(|| rustix::process::getuid().as_raw().to_string());
    let host = rustix::system::uname();
    Actor::of(format_args!("cli:{user}@{}", host.nodename().to_string_lossy()))
}

async fn run(cli: Cli, output: &Output) -> Result<(), Failure> {
    // What is wrong with the command alone is said before a store is created for it.
    cli.command.check()?;
    match cli.command {
        Command::Completions(completions) => {
            completions.run(output);
            return Ok(());
        }
        Command::Man(man) => return man.run(output),
        _ => {}
    }
    let store = config::store(cli.store, cli.config.as_deref())?;
    // An older schema cannot be opened: it is upgraded first.
    if let Command::Migrate(migrate) = cli.command {
        return migrate.run(&store, output).await;
    }
    if let Command::Init(init) = cli.command {
        return init.run(&store, output).await;
    }
    if let Command::Demo(demo) = cli.command {
        return demo.run(&store, output).await;
    }
    let service = cli.command.service();
    service.iter().for_each(|service| service.log());
    let patience = service.map_or(Duration::ZERO, |service| service.wait_for_store);
    let store = if cli.command.needs_no_store() { Address::new("memory:") } else { store };
    let opened = Tenure::open(store.as_str()).create(!cli.command.only_reads()).within(patience).await;
    let tenure = opened.map_err(|error| Failure::opening(&store, error))?.acting_as(actor());
    let ran = cli.command.run(&tenure, output).await;
    // A process that ends at once would take its wake-ups with it. They are hints: losing them is no failure, and a store
    // that is away is not waited for.
    let _ = tokio::time::timeout(LAST_WORD, tenure.close()).await;
    ran
}
