//! `ARCHITECTURE.md` held against the tree: what it names exists, and nothing is listed twice.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::Failure;
use crate::cargo::root;

const MAP: &str = "ARCHITECTURE.md";

pub(crate) fn check() -> Result<(), Failure> {
    let file = root().join(MAP);
    let text = fs::read_to_string(&file).map_err(|source| Failure::Read { what: MAP.to_owned(), source })?;
    let wrong: Vec<String> = mistakes(&text, &root()).map(|(line, what)| format!("{MAP}:{line}: {what}")).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Architecture(wrong)) }
}

/// What is wrong, with the number of its line.
fn mistakes<'a>(text: &'a str, tree: &'a Path) -> impl Iterator<Item = (usize, String)> + 'a {
    let mut rows = HashSet::new();
    text.lines().enumerate().flat_map(move |(index, line)| {
        let cells: Vec<&str> = line.strip_prefix("| ").map(|row| row.split(" | ").collect()).unwrap_or_default();
        let first = cells.first().copied().unwrap_or_default().trim();
        let mut found = Vec::new();
        if cells.is_empty() {
            rows.clear();
        } else if first.contains('`') && !rows.insert(first) {
            found.push((index + 1, format!("{first} has a row already")));
        }
        let folder = spans(first).next().filter(|folder| tree.join(folder).is_dir());
        let named = spans(line).filter(|span| is_path(span, folder.is_some()));
        found.extend(
            named.filter(|path| !exists(tree, folder, path)).map(|path| (index + 1, format!("there is no {path}"))),
        );
        found
    })
}

/// What stands between backticks.
fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Whether a span names something of the tree: a path, or in a folder's own row a file.
fn is_path(span: &str, in_row: bool) -> bool {
    let names_file = [".rs", ".sql", ".md", ".toml", "/"].iter().any(|end| span.ends_with(end));
    let plain = !span.starts_with(['/', '-']) && !span.contains([' ', '(', '"', ':', '?']);
    plain && (names_file && (in_row || span.contains('/')) || span.starts_with("crates/"))
}

/// Whether it is there: from the root, or written shorter, without `crates/` or `src/`. Of a pattern, what stands before
/// its first variable part.
fn exists(tree: &Path, folder: Option<&str>, path: &str) -> bool {
    let fixed: Vec<&str> = path.split('/').take_while(|part| !part.contains(['<', '*', '{', '…'])).collect();
    let path = fixed.join("/");
    let mut places = vec![path.clone(), format!("crates/{path}")];
    if let Some((of, rest)) = path.split_once('/') {
        places.push(format!("crates/{of}/src/{rest}"));
        places.push(format!("crates/{of}/functions/{rest}"));
    }
    if let Some(folder) = folder {
        let below = ["", "src/", "tests/", "functions/", "functions/queue/", "queries/"];
        places.extend(below.iter().map(|below| format!("{folder}/{below}{path}")));
    }
    places.iter().any(|place| tree.join(place).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        mistakes(text, &root()).map(|(line, what)| format!("{line}: {what}")).collect()
    }

    #[test]
    fn what_a_map_names_is_there() {
        let text = "See `crates/core`, `core/src/bounds.rs`, `xtask/src/*.rs`, `/v1/jobs` and `bounds.rs`.\n\
                    | `crates/core` | the rules | `bounds.rs`, `queue/<verb>.rs` |\n";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn what_has_moved_is_found() {
        assert_eq!(found("`core/src/nowhere.rs`"), ["1: there is no core/src/nowhere.rs"]);
        assert_eq!(found("| `crates/core` | `nowhere.rs` |"), ["1: there is no nowhere.rs"]);
    }

    #[test]
    fn a_row_stands_once_in_its_table() {
        assert_eq!(found("| `a` | x |\n| `b` | x |\n| `a` | y |\n"), ["3: `a` has a row already"]);
        assert_eq!(found("| `a` | x |\n\n| `a` | y |\n"), [""; 0]);
    }
}
