//! What is printed, where and how.

use crate::failure::Failure;
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
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
            self.line(&serde_json::to_string(reply).unwrap_or_default());
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
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
        rows.for_each(|row| {
            table.add_row(row);
        });
        self.line(&table.trim_fmt());
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

/// What may be absent, for a table.
pub(crate) fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}
