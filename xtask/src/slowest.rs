//! The tests that took longest.
//!
//! A stable test runner tells when a test ended, not when it began. But it begins them in the order of their names, a new one
//! whenever one has ended, and has always as many under way as it has threads: so the nth began with the ending that made
//! room for it.

use std::fmt;
use std::time::{Duration, Instant};

/// Tests that are named.
const NAMED: usize = 20;

#[derive(Debug, Default)]
pub(crate) struct Slowest {
    threads: usize,
    /// When the runner under way began, and which of its tests ended when.
    began: Option<Instant>,
    ended: Vec<(String, Instant)>,
    found: Vec<(Duration, String)>,
}

impl Slowest {
    /// Of runners with so many tests under way at once.
    pub(crate) fn of_runners(threads: usize) -> Slowest {
        Slowest { threads, ..Slowest::default() }
    }

    /// One line of a runner's output, which came at this instant.
    pub(crate) fn hear(&mut self, line: &str, now: Instant) {
        let line = line.trim_end();
        if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            self.began = Some(now);
            self.ended.clear();
        } else if line.starts_with("test result: ") {
            self.settle();
        } else if let Some((name, end)) = line.strip_prefix("test ").and_then(|test| test.rsplit_once(" ... "))
            && ["ok", "FAILED"].contains(&end)
        {
            self.ended.push((name.to_owned(), now));
        }
    }

    fn settle(&mut self) {
        let Some(began) = self.began.take() else { return };
        // In the order in which they came, which is that of time.
        let endings: Vec<Instant> = self.ended.iter().map(|(_, at)| *at).collect();
        self.ended.sort();
        for (nth, (name, ended)) in self.ended.drain(..).enumerate() {
            let from = nth.checked_sub(self.threads).map_or(began, |room| endings[room]);
            self.found.push((ended.saturating_duration_since(from), name));
        }
        self.found.sort_by(|a, b| b.cmp(a));
        self.found.truncate(NAMED);
    }
}

impl fmt::Display for Slowest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.found.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nthe slowest tests:")?;
        self.found.iter().try_for_each(|(took, name)| writeln!(f, "{:8.1} s  {name}", took.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(threads: usize, lines: &[(u64, &str)]) -> String {
        let (mut slowest, began) = (Slowest::of_runners(threads), Instant::now());
        for (second, line) in lines {
            slowest.hear(line, began + Duration::from_secs(*second));
        }
        slowest.to_string()
    }

    #[test]
    fn a_test_began_when_one_before_it_had_made_room() {
        // b takes long beside a, c and d.
        let lines = [
            (0, "running 4 tests"),
            (1, "test a ... ok"),
            (3, "test c ... FAILED"),
            (6, "test b ... ok"),
            (7, "test d ... ok"),
            (7, "test result: FAILED. 3 passed; 1 failed"),
        ];
        let told = "\nthe slowest tests:\n     6.0 s  b\n     4.0 s  d\n     2.0 s  c\n     1.0 s  a\n";
        assert_eq!(heard(2, &lines), told);
    }

    #[test]
    fn only_the_slowest_of_all_runners_are_named() {
        let mut lines = Vec::new();
        for second in 0..50 {
            lines.extend([(second, "running 1 test"), (second, "test quick ... ok"), (second, "test result: ok.")]);
        }
        lines.extend([(50, "running 1 test"), (58, "test slow ... ok"), (58, "test result: ok.")]);
        let told = heard(2, &lines);
        assert_eq!(told.lines().count(), 2 + NAMED);
        assert_eq!(told.lines().nth(2), Some("     8.0 s  slow"));
    }

    #[test]
    fn nothing_is_told_of_a_run_without_tests() {
        assert_eq!(heard(2, &[(0, "running 0 tests"), (0, "test result: ok.")]), "");
    }
}
