//! `cargo xtask test`: every test of the workspace, on one private PostgreSQL.
//!
//! Prints what cargo prints; then which tests took longest; then again what each failing test said, so that the end of a
//! long log tells why; and as the last line the sum of all the runners' closing lines. Fails if a test failed, a runner did
//! not end well, or no test ran. The server ends with this process, by whatever end: see `tenure-testing`.

use std::io::{self, BufRead, BufReader, Write};
use std::ops::AddAssign;
use std::process::Stdio;
use std::time::Instant;

use tenure_testing::{PostgresServer, ServerOptions, install_pooler};

use crate::Failure;
use crate::cargo::cargo;
use crate::slowest::Slowest;

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let began = Instant::now();
    let selection = Selection::parse(arguments)?;
    let server = PostgresServer::start(ServerOptions::fast())?;
    // Not the end of the run: the tests that want a pooler will fail, and say why.
    if let Err(error) = install_pooler() {
        eprintln!("xtask: {error}");
    }
    let mut command = cargo(selection.arguments());
    command.env("TENURE_TEST_POSTGRES", server.url("postgres")).stdout(Stdio::piped());

    let not_run = |source| Failure::Run { command: "cargo test".to_owned(), source };
    let mut child = command.spawn().map_err(not_run)?;
    let mut heard = Heard { slowest: Slowest::of_runners(selection.threads()), ..Heard::default() };
    if let Some(output) = child.stdout.take() {
        heard.relay(BufReader::new(output), io::stdout()).map_err(not_run)?;
    }
    let status = child.wait().map_err(not_run)?;
    drop(server);

    let Heard { tally, said, slowest } = heard;
    print!("{slowest}{}", said.text);
    let none = if tally.passed + tally.failed == 0 { " (no test ran)" } else { "" };
    let seconds = began.elapsed().as_secs_f64();
    println!("\n{} passed, {} failed{}{none} in {seconds:.1} s", tally.passed, tally.failed, tally.remark());
    // Zero tests fail too: a green run of nothing is a mistake in the command line or in the build.
    if status.success() && tally.failed == 0 && tally.passed > 0 { Ok(()) } else { Err(Failure::Tests) }
}

/// What to test.
#[derive(Debug, Default, PartialEq, Eq)]
struct Selection {
    packages: Vec<String>,
    filters: Vec<String>,
    libtest: Vec<String>,
}

impl Selection {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut selection = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--" => selection.libtest.extend(rest.by_ref().cloned()),
                "-p" | "--package" => {
                    let package = rest.next().ok_or_else(|| unknown("-p without a PACKAGE"))?;
                    selection.packages.push(package.clone());
                }
                flag if flag.starts_with('-') => return Err(unknown(&format!("`test` has no {flag}"))),
                _ => selection.filters.push(argument.clone()),
            }
        }
        Ok(selection)
    }

    /// Tests that a runner has under way at once.
    fn threads(&self) -> usize {
        let asked = self.libtest.iter().find_map(|argument| argument.strip_prefix("--test-threads="));
        let told = std::env::var("RUST_TEST_THREADS").ok();
        let known = asked.or(told.as_deref()).and_then(|number| number.parse().ok());
        known.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    fn arguments(&self) -> Vec<&str> {
        let mut arguments = vec!["test", "--locked", "--no-fail-fast"];
        match self.packages.as_slice() {
            [] => arguments.push("--workspace"),
            packages => arguments.extend(packages.iter().flat_map(|package| ["--package", package])),
        }
        arguments.push("--");
        arguments.extend(self.filters.iter().chain(&self.libtest).map(String::as_str));
        arguments
    }
}

fn unknown(problem: &str) -> Failure {
    Failure::Usage { problem: problem.to_owned() }
}

/// What the runners' closing lines say, summed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Tally {
    /// Reads `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; …`; `None` for any other line.
    fn of_line(line: &str) -> Option<Self> {
        let (_, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
        let mut tally = Self::default();
        for count in counts.split("; ") {
            let Some((number, what)) = count.split_once(' ') else { continue };
            let Ok(number) = number.parse() else { continue };
            match what {
                "passed" => tally.passed = number,
                "failed" => tally.failed = number,
                "ignored" => tally.ignored = number,
                _ => {}
            }
        }
        Some(tally)
    }

    fn remark(&self) -> String {
        if self.ignored == 0 { String::new() } else { format!(", {} ignored", self.ignored) }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// The beginning of what each failing test said, as its runner repeats it under `---- name stdout ----`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    text: String,
    /// Lines of the test being repeated that may still be kept; `None` between tests.
    left: Option<usize>,
}

impl Said {
    /// Lines kept of each test, and characters of each line: a walk that failed prints thousands.
    const LINES_MAX: usize = 40;
    const WIDTH_MAX: usize = 400;

    fn hear(&mut self, line: &str) {
        let line = line.trim_end();
        if line.starts_with("---- ") && line.ends_with(" ----") {
            self.left = Some(Self::LINES_MAX);
            self.text.push('\n');
        } else if line == "failures:" || line.starts_with("test result: ") {
            self.left = None;
        }
        if let Some(left) = self.left.filter(|left| *left > 0) {
            self.left = Some(left - 1);
            self.text.extend(line.chars().take(Self::WIDTH_MAX));
            self.text.push('\n');
        }
    }
}

/// What the runners' output told.
#[derive(Debug, Default)]
struct Heard {
    tally: Tally,
    said: Said,
    slowest: Slowest,
}

impl Heard {
    /// Passes the output on, line by line. Bytes, not text: a failing test may print anything.
    fn relay(&mut self, mut from: impl BufRead, mut to: impl Write) -> io::Result<()> {
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line)? > 0 {
            to.write_all(&line)?;
            let text = String::from_utf8_lossy(&line);
            self.said.hear(&text);
            self.slowest.hear(&text, Instant::now());
            if let Some(counts) = Tally::of_line(&text) {
                self.tally += counts;
            }
            line.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn closing_lines_are_summed_and_others_passed_over() {
        let output = "running 3 tests\n\
            test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            \u{fffd} test result: said a test\n\
            test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 5 filtered out; finished in 1.20s\n";
        let mut heard = Heard::default();
        heard.relay(output.as_bytes(), io::sink()).unwrap();
        assert_eq!(heard.tally, Tally { passed: 5, failed: 1, ignored: 1 });
        assert_eq!(heard.said, Said::default());
    }

    #[test]
    fn what_failing_tests_said_is_kept_and_cut() {
        let long = "x\n".repeat(100);
        let output = format!(
            "test a ... FAILED\nfailures:\n\n---- a stdout ----\nwhy\n\n---- b stdout ----\n{long}\nfailures:\n    a\n    b\n\n\
             test result: FAILED. 0 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             test c ... ok\n"
        );
        let mut heard = Heard::default();
        heard.relay(output.as_bytes(), io::sink()).unwrap();
        assert_eq!(heard.tally.failed, 2);
        assert_eq!(heard.said.text, format!("\n---- a stdout ----\nwhy\n\n\n---- b stdout ----\n{}", "x\n".repeat(39)));
    }

    #[test]
    fn without_arguments_the_whole_workspace_is_tested() {
        let selection = Selection::parse(&[]).unwrap();
        assert_eq!(selection.arguments().join(" "), "test --locked --no-fail-fast --workspace --");
    }

    #[test]
    fn packages_filters_and_libtest_arguments_reach_their_places() {
        let selection = Selection::parse(&words("lease -p tenure-core fence -- --nocapture")).unwrap();
        assert_eq!(
            selection.arguments().join(" "),
            "test --locked --no-fail-fast --package tenure-core -- lease fence --nocapture"
        );
    }

    #[test]
    fn threads_are_as_many_as_the_runner_was_told() {
        assert_eq!(Selection::parse(&words("-- --test-threads=3")).unwrap().threads(), 3);
    }

    #[test]
    fn an_unknown_flag_is_refused() {
        assert!(matches!(Selection::parse(&words("--fast")), Err(Failure::Usage { .. })));
        assert!(matches!(Selection::parse(&words("-p")), Err(Failure::Usage { .. })));
    }
}
