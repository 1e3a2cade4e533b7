//! Every stable code has a page in `docs/errors`, and every page is of a code: the list is read from the sources, where
//! the codes are spelled.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of every source file of every crate.
fn sources(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
}

/// The word that `text` begins with, if it is one in quotes.
fn quoted(text: &str) -> Option<&str> {
    let (word, _) = text.trim_start().strip_prefix('"')?.split_once('"')?;
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (!word.is_empty() && word.bytes().all(plain)).then_some(word)
}

/// What follows each `opening` in `text`.
fn after<'a>(text: &'a str, opening: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(opening).map(move |(at, _)| &text[at + opening.len()..])
}

/// The codes that one file spells.
fn spelled(text: &str) -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    // A refusal made on the spot.
    for opening in ["Problem::new(", "Refused::new("] {
        codes.extend(after(text, opening).filter_map(|rest| quoted(rest.split_once(',')?.1)));
    }
    for opening in ["Problem::invalid(", "malformed("] {
        codes.extend(after(text, opening).filter_map(quoted));
    }
    // What an error says of itself; those whose words are listed elsewhere have them there.
    let own = ["fn code(", "impl Code {", "\n    Refusal {", "\n    RunRefusal {"];
    for body in own.iter().flat_map(|opening| after(text, opening)) {
        let body = body.split_once("\n    }").map_or(body, |(body, _)| body);
        let body_code = ["=> ", " = "].into_iter().flat_map(|before| after(body, before)).filter_map(quoted);
        codes.extend(body_code);
    }
    codes.into_iter().map(str::to_owned).collect()
}

fn codes() -> BTreeSet<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut texts);
    }
    texts.iter().flat_map(|text| spelled(text)).collect()
}

/// Each page by its code.
fn pages() -> Vec<(String, String)> {
    let files = fs::read_dir(root().join("docs/errors")).unwrap().map(|entry| entry.unwrap().path());
    let page =
        |path: PathBuf| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap());
    let mut pages: Vec<_> = files.map(page).filter(|(code, _)| code != "README").collect();
    pages.sort();
    pages
}

/// What a page says in the row `name` of its table.
fn row<'a>(code: &str, page: &'a str, name: &str) -> &'a str {
    let found = page.lines().find_map(|line| line.strip_prefix(&format!("| {name} | "))?.strip_suffix(" |"));
    found.unwrap_or_else(|| panic!("docs/errors/{code}.md has no row `{name}`"))
}

#[test]
fn the_codes_of_every_layer_are_found_in_the_sources() {
    let codes = codes();
    // One for each way in which they are spelled.
    for code in
        ["lease_lost", "store_absent", "out_of_bounds", "busy", "not_done", "body_empty", "cross_site", "unwell"]
    {
        assert!(codes.contains(code), "{code} is not among {codes:?}");
    }
}

#[test]
fn x_every_code_has_a_page_and_every_page_a_code() {
    let pages: BTreeSet<String> = pages().into_iter().map(|(code, _)| code).collect();
    let codes = codes();
    let (missing, stale): (Vec<_>, Vec<_>) = (codes.difference(&pages).collect(), pages.difference(&codes).collect());
    assert!(missing.is_empty() && stale.is_empty(), "without a page: {missing:?}; of no code: {stale:?}");
}

#[test]
fn x_every_page_says_what_it_means_what_to_do_and_where_it_appears() {
    for (code, page) in pages() {
        assert!(page.starts_with(&format!("# `{code}`\n\n")), "{code}");
        assert!(page.contains("\n**What to do.** "), "{code}");
        for name in ["HTTP", "exit code", "Rust"] {
            assert!(!row(&code, &page, name).is_empty(), "{code}");
        }
    }
}

#[test]
fn x_the_table_of_errors_is_that_of_the_pages() {
    let mut table = "# Errors\n\nThe stable word of every refusal, the same in HTTP, `--json` and `Error::code()`; a page for each.\n\n\
                     | code | HTTP | exit code | |\n| --- | --- | --- | --- |\n"
        .to_owned();
    for (code, page) in pages() {
        let (http, exit) = (row(&code, &page, "HTTP"), row(&code, &page, "exit code"));
        let meaning = page.lines().nth(2).unwrap_or_default();
        table.push_str(&format!("| [`{code}`]({code}.md) | {http} | {exit} | {meaning} |\n"));
    }
    let kept = fs::read_to_string(root().join("docs/errors/README.md")).unwrap_or_default();
    assert!(kept == table, "docs/errors/README.md should be:\n\n{table}");
}
