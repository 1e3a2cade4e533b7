//! Colours and a line that moves, where a person is looking.

use crate::output::Output;
use std::io::{IsTerminal, Write};
use tenure_wire::text;

/// What stands out, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
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
pub(super) struct Paint {
    silent: bool,
    colour: bool,
    /// Standard error is a terminal, on which a line can move.
    moving: bool,
}

impl Paint {
    pub(super) fn new(output: &Output) -> Paint {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let silent = output.json();
        let colour = wanted && std::io::stdout().is_terminal();
        let moving = !silent && std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        Paint { silent, colour, moving }
    }

    /// Text in a colour; what is strange in it is escaped.
    pub(super) fn ink(&self, ink: Ink, words: &str) -> String {
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
    pub(super) fn line(&self, line: &str) {
        if self.silent {
            return;
        }
        self.clear();
        let mut out = std::io::stdout().lock();
        // Whoever read it may have seen enough; the demo still ends what it started.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }

    /// The line that moves.
    pub(super) fn progress(&self, line: &str) {
        if self.moving {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "\r\u{1b}[2K{line}").and_then(|()| err.flush());
        }
    }

    pub(super) fn clear(&self) {
        self.progress("");
    }
}

/// How far it is, as a bar of `width`.
pub(super) fn bar(done: u64, all: u64, width: u64) -> String {
    let filled = (done * width).checked_div(all).unwrap_or(0).min(width);
    (0..width).map(|i| if i < filled { '█' } else { '░' }).collect()
}
