//! The repository's commands: `cargo xtask test | check | bench | soak`.
//!
//! They need Rust and a Debian-like machine; PostgreSQL they bring themselves (see `tenure-testing`). Nothing they start
//! outlives them, and the exit code is zero only if everything asked for was done and held.

mod architecture;
mod bench;
mod cargo;
mod check;
mod map;
mod slowest;
mod soak;
mod test;

use std::fmt;
use std::io;
use std::process::{ExitCode, ExitStatus};

use tenure_testing::ServerError;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [-p PACKAGE]… [FILTER]… [-- LIBTEST_ARGS]
                              every test of the workspace, on a private PostgreSQL; names the slowest
  check                       formatting, lints, documentation, architecture
  bench queue [ARGS]          the queue's bench, on a private, durable PostgreSQL; `--peers graphile_worker`
                              builds that peer as well and measures it beside us
  bench size [ARGS]           what each verb takes in a store of 10 million finished and 2 million waiting jobs
  bench pipeline [ARGS]       what an advance costs as finished runs pile up; `--runs 10000 --stages 10 --store sqlite`
  soak [--seconds N] [--clients N] [--seed N]
                              the stress of the queue on PostgreSQL, for ten minutes unless told otherwise
";

const COMMANDS: [&str; 4] = ["test", "check", "bench", "soak"];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let arguments: Vec<String> = arguments.collect();
    let done = match command.as_str() {
        "test" => test::run(&arguments),
        "check" => check::run(&arguments),
        "bench" => bench::run(&arguments),
        "soak" => soak::run(&arguments),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => Err(Failure::usage(&command, &COMMANDS)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Tests) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Why a command did not succeed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{problem}\n\n{USAGE}")]
    Usage { problem: String },
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The program did not run at all.
    #[error("cannot run `{command}`: {source}")]
    Run { command: String, source: io::Error },
    /// The program ran, and reported failure.
    #[error("`{command}` failed ({status})")]
    Exit { command: String, status: ExitStatus },
    #[error("{what}: {source}")]
    Read { what: String, source: io::Error },
    /// What failed was said by cargo, and the sum of it in the last line, which is to stay the last.
    #[error("the tests failed")]
    Tests,
    #[error("{} of the checks failed: {}", .0.len(), .0.join(", "))]
    Checks(Vec<&'static str>),
    #[error("{}", Lines(.0))]
    Architecture(Vec<String>),
}

impl Failure {
    /// For a word that is none of `known`: says which one was probably meant.
    fn usage(word: &str, known: &[&str]) -> Self {
        let problem = if word.is_empty() {
            format!("which one: {}?", known.join(", "))
        } else {
            match known.iter().min_by_key(|name| distance(word, name)) {
                // Two slips of the fingers; more is another word.
                Some(name) if distance(word, name) <= 2 => format!("no `{word}` here; did you mean `{name}`?"),
                _ => format!("no `{word}` here, only {}", known.join(", ")),
            }
        };
        Self::Usage { problem }
    }
}

struct Lines<'a>(&'a [String]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

/// How many letters must be added, removed or replaced to turn `a` into `b` (Levenshtein), row by row.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_fingers_is_answered_with_the_command_meant() {
        assert_eq!(distance("kitten", "sitting"), 3);
        for slip in ["tset", "tests", "tes"] {
            assert!(Failure::usage(slip, &COMMANDS).to_string().contains("did you mean `test`"), "{slip}");
        }
        assert!(Failure::usage("deploy", &COMMANDS).to_string().contains("only test, check, bench, soak"));
    }
}
