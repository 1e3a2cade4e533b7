//! What the guides show in Rust are pieces of these programs, which run: `<!-- PATH -->` before a block names its program.

mod domains;
mod pipelines;
mod queue;
mod schedules;
mod syncs;
mod testing;
mod worker;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every guide: its name and its text.
fn guides() -> Vec<(String, String)> {
    let folder = fs::read_dir(root().join("docs/guide")).unwrap();
    let read = |path: PathBuf| (path.file_name().unwrap().display().to_string(), fs::read_to_string(&path).unwrap());
    folder.map(|entry| read(entry.unwrap().path())).collect()
}

/// The blocks of a text: what its fence says, its lines, and the line before the fence.
fn blocks(text: &str) -> Vec<(&str, Vec<&str>, &str)> {
    let (mut blocks, mut before) = (Vec::new(), "");
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            let inside = lines.by_ref().take_while(|line| line.trim() != "```").collect();
            blocks.push((language, inside, before));
        }
        before = line;
    }
    blocks
}

#[test]
fn the_rust_of_the_guides_is_part_of_programs_that_run() {
    let mut pieces = 0;
    for (guide, text) in guides() {
        for (_, lines, before) in blocks(&text).into_iter().filter(|(language, ..)| *language == "rust") {
            let path = before.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
            let path = path.unwrap_or_else(|| panic!("{guide}: no program is named before this block: {lines:#?}"));
            let program = fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
            let mut known = program.lines().map(str::trim);
            for line in lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()) {
                assert!(known.any(|known| known == line), "{guide}: not in {path}, or not in this order: {line}");
            }
            pieces += 1;
        }
    }
    assert!(pieces >= 20, "{pieces}");
}

#[test]
fn every_block_of_the_guides_says_what_language_it_is() {
    for (guide, text) in guides() {
        for (language, lines, _) in blocks(&text) {
            assert!(!language.is_empty(), "{guide}: {lines:#?}");
        }
    }
}
