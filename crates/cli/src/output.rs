//! What is printed, where and how.

use crate::failure::Failure;
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use tenure::{Explanation, Time};
use tenure_wire::reply::Timeline;
use tenure_wire::text;

/// How results are shown: JSON, a table for a person, or tab-separated lines for a pipe.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    terminal: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Output {
        Output { json, terminal: io::stdout().is_terminal() }
    }

    /// Whether programs read this, not people.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Prints `reply` as JSON, or else what `plain` prints.
    pub(crate) fn show<T: Serialize>(&self, reply: &T, plain: impl FnOnce(&Output, &T)) {
        if self.json {
            self.line(&text::escaped_json(&serde_json::to_string(reply).unwrap_or_default()));
        } else {
            plain(self, reply);
        }
    }

    /// A line of data as it is: what it holds of strangers' text was escaped before.
    pub(crate) fn line(&self, line: &str) {
        let mut stdout = io::stdout().lock();
        if let Err(error) = writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
            // Whoever read us (`| head`) has seen enough; any other failure has nobody left to tell but stderr.
            if error.kind() == io::ErrorKind::BrokenPipe {
                std::process::exit(0);
            }
            eprintln!("tenure: cannot write the output: {error}");
            std::process::exit(74);
        }
    }

    /// Rows under a header.
    pub(crate) fn table<const N: usize>(&self, header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) {
        let rows = rows.into_iter().map(|row| row.map(|cell| text::escaped(&cell)));
        if !self.terminal {
            self.line(&header.join("\t"));
            rows.for_each(|row| self.line(&row.join("\t")));
            return;
        }
        self.line(&arranged(header, rows, None));
    }

    /// What happened, a line for each event: when, what, and a sentence.
    pub(crate) fn timeline<E: Serialize>(
        &self,
        events: Vec<E>,
        message: impl Fn(&E) -> String,
        of: impl Fn(&E) -> (Time, &'static str),
    ) {
        self.show(&Timeline::new(events, message), |output, timeline| {
            let rows = timeline.events.iter().map(|told| (of(&told.event), &told.message));
            output.events(rows.map(|((at, what), message)| (at, what, message)));
        });
    }

    /// A line for each event.
    pub(crate) fn events<'a>(&self, events: impl Iterator<Item = (Time, &'a str, &'a String)>) {
        let rows = events.map(|(at, what, message)| [at.to_string(), what.to_owned(), message.clone()]);
        self.table(["AT", "WHAT", "MESSAGE"], rows);
    }

    /// Why something does not run, the most telling reason first.
    pub(crate) fn reasons(&self, explanation: &Explanation) {
        explanation.reasons.iter().for_each(|why| self.line(&text::escaped(&why.message)));
    }

    /// Where the next page begins, if there is one.
    pub(crate) fn more(&self, cursor: &Option<String>) {
        if let Some(cursor) = cursor {
            self.note(&format!("more: --cursor {cursor}"));
        }
    }

    /// A note to the person, beside the data.
    pub(crate) fn note(&self, note: &str) {
        eprintln!("{}", text::escaped(note));
    }

    /// The last words of a command that failed.
    pub(crate) fn fail(&self, failure: &Failure) {
        if self.json {
            eprintln!("{}", failure.json());
        } else {
            eprintln!("tenure: {}", failure.line());
        }
    }
}

/// A column narrower than this shows no word: a terminal without room for them all (or one that tells no width, as some
/// tools pretend) gets lines that it may wrap itself.
const COLUMN_MIN: u16 = 8;

/// Rows as a table for a terminal; `width` in place of the terminal's own.
fn arranged<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    width: Option<u16>,
) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header);
    rows.into_iter().for_each(|row| {
        table.add_row(row);
    });
    if let Some(width) = width {
        table.set_width(width);
    }
    let room = usize::from(COLUMN_MIN) * N;
    let wide = table.width().is_none_or(|width| usize::from(width) >= room);
    table.set_content_arrangement(if wide { ContentArrangement::Dynamic } else { ContentArrangement::Disabled });
    table.trim_fmt()
}

/// What may be absent, for a table.
pub(crate) fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_of_any_width_shows_every_cell() {
        for width in [None, Some(0), Some(1), Some(5), Some(23), Some(24), Some(80), Some(u16::MAX)] {
            let rows = (0..3).map(|n| [n.to_string(), "images".to_owned(), "2026-01-01T00:00:00Z".to_owned()]);
            let shown = arranged(["ID", "QUEUE", "AT"], rows, width);
            let words = |text: &str| text.split_whitespace().collect::<String>();
            for cell in ["QUEUE", "images", "0", "2"] {
                assert!(words(&shown).contains(cell), "{width:?}: {shown:?}");
            }
        }
    }
}
