//! What is drawn where a person is looking: colours, bars, and a line that moves. Nobody else draws.

use crate::output::Output;
use std::io::{IsTerminal, Write};
use tenure::sync::Progress;
use tenure_wire::text;

/// What stands out, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
}

/// How things are shown: colours only on a terminal, and not where NO_COLOR is set; nothing at all with `--json`.
#[derive(Debug)]
pub(crate) struct Paint {
    silent: bool,
    colour: bool,
    /// Standard error is a terminal, on which a line can move.
    moving: bool,
}

impl Paint {
    pub(crate) fn new(output: &Output) -> Paint {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let silent = output.json();
        let colour = wanted && std::io::stdout().is_terminal();
        let moving = !silent && std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        Paint { silent, colour, moving }
    }

    /// Text in a colour; what is strange in it is escaped.
    pub(crate) fn ink(&self, ink: Ink, words: &str) -> String {
        let code = match ink {
            Ink::Plain => return text::escaped(words),
            Ink::Bold => 1,
            Ink::Dim => 2,
            Ink::Red => 31,
            Ink::Green => 32,
            Ink::Yellow => 33,
            Ink::Cyan => 36,
        };
        let words = text::escaped(words);
        if self.colour { format!("\u{1b}[{code}m{words}\u{1b}[0m") } else { words }
    }

    /// A line that stays.
    pub(crate) fn line(&self, line: &str) {
        if self.silent {
            return;
        }
        self.clear();
        let mut out = std::io::stdout().lock();
        // Whoever read it may have seen enough; the demo still ends what it started.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }

    /// The line that moves.
    pub(crate) fn progress(&self, line: &str) {
        if self.moving {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "\r\u{1b}[2K{line}").and_then(|()| err.flush());
        }
    }

    pub(crate) fn clear(&self) {
        self.progress("");
    }
}

/// How far it is, as a bar of `width`.
pub(crate) fn bar(done: u64, all: u64, width: u64) -> String {
    let filled = (done * width).checked_div(all).unwrap_or(0).min(width);
    (0..width).map(|i| if i < filled { '█' } else { '░' }).collect()
}

/// A line on standard error that says how far something has come, drawn again and again; nothing where nobody looks.
#[derive(Debug)]
pub(crate) struct Moving(bool);

impl Moving {
    pub(crate) fn new() -> Moving {
        Moving(std::io::stderr().is_terminal())
    }

    /// Draws `line` in the place of the last.
    pub(crate) fn draw(&self, line: &str) {
        if self.0 {
            eprint!("\r{line}\u{1b}[K");
        }
    }

    /// Leaves the last line where it is.
    pub(crate) fn end(self) {
        if self.0 {
            eprintln!();
        }
    }
}

/// One line about a sync: a bar, how much is done, and when the rest will be.
pub(crate) fn sync_line(progress: &Progress) -> String {
    const CELLS: u64 = 30;
    let Progress { completed, rows, failed, .. } = *progress;
    let planned = progress.planned();
    let filled = (completed * CELLS / planned.max(1)) as usize;
    let mut line = format!("[{:<1$}] {completed}/{planned} chunks, {rows} rows", "=".repeat(filled), CELLS as usize);
    if failed > 0 {
        line += &format!(", {failed} failed");
    }
    match progress.eta_ms().filter(|_| progress.left() > 0) {
        None => {}
        Some(0..=999) => line += ", less than a second left",
        Some(ms @ 1_000..=119_999) => line += &format!(", {} s left", ms / 1_000),
        Some(ms @ 120_000..=7_199_999) => line += &format!(", {} min left", ms / 60_000),
        Some(ms) => line += &format!(", {} h left", ms / 3_600_000),
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::Time;

    #[test]
    fn progress_is_one_line_with_a_bar_and_the_time_left() {
        let at = |s: i64| Some(Time(s * 1_000_000));
        let half = Progress { available: 4, running: 1, completed: 5, rows: 70, ..Progress::default() };
        assert_eq!(sync_line(&half), "[===============               ] 5/10 chunks, 70 rows");
        for (seconds, left) in [(1, "1 s"), (100, "100 s"), (600, "10 min"), (36_000, "10 h")] {
            let paced = Progress { began_at: at(0), last_done_at: at(seconds), failed: 1, ..half };
            let line = sync_line(&paced);
            assert!(line.ends_with(&format!("5/11 chunks, 70 rows, 1 failed, {left} left")), "{line}");
        }
        let done = Progress { completed: 10, began_at: at(0), last_done_at: at(9), ..Progress::default() };
        assert_eq!(sync_line(&done), "[==============================] 10/10 chunks, 0 rows");
        assert_eq!(sync_line(&Progress::default()), "[                              ] 0/0 chunks, 0 rows");
    }
}
