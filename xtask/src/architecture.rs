//! Rules of the architecture that a look at the text can hold up.
//!
//! Each rule names words, where they must not stand, and why. Comments and tests are not looked at: what they say
//! binds nobody. A rule that needs more than this belongs in a test of the crate concerned.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::cargo::root;

struct Rule {
    because: &'static str,
    /// Folders, from the root.
    folders: &'static [&'static str],
    /// Files of those folders that may.
    except: &'static [&'static str],
    finds: fn(&str) -> bool,
}

const RULES: [Rule; 4] = [
    Rule {
        because: "core is pure: time, chance and the world are arguments",
        folders: &["crates/core/src"],
        except: &[],
        finds: |code| {
            ["Instant::now", "SystemTime::now", "RandomState", "std::fs", "std::net", "std::thread", "async fn"]
                .iter()
                .any(|word| code.contains(word))
        },
    },
    Rule {
        because: "only connect.rs names a backend",
        folders: &["crates/engine/src"],
        except: &["connect.rs"],
        finds: |code| ["tenure_memory", "tenure_sqlite", "tenure_postgres"].iter().any(|word| code.contains(word)),
    },
    Rule {
        because: "SQL is source code in .sql files, with parameters, never glued from strings",
        folders: &["crates"],
        except: &[],
        finds: glues_sql,
    },
    Rule {
        because: "the engine takes clock, chance and threads from its surroundings, which a simulator may own",
        folders: &["crates/engine/src"],
        except: &["surroundings.rs", "clock.rs", "chance.rs"],
        finds: |code| ["Moment::now", "chance::signed_unit", "std::thread"].iter().any(|word| code.contains(word)),
    },
];

/// Looks through the whole repository.
pub(crate) fn check() -> Result<(), Failure> {
    let mut broken = Vec::new();
    for rule in &RULES {
        for folder in rule.folders {
            for file in rust_files(&root().join(folder))? {
                let text = fs::read_to_string(&file).map_err(unreadable(&file))?;
                let place = file.strip_prefix(root()).unwrap_or(&file);
                if rule.except.iter().any(|name| place.ends_with(name)) || place.iter().any(|part| part == "tests") {
                    continue;
                }
                let place = place.display();
                broken.extend(breaches(rule, &text).map(|line| format!("{place}:{line}: {}", rule.because)));
            }
        }
    }
    if broken.is_empty() { Ok(()) } else { Err(Failure::Architecture(broken)) }
}

/// The numbers of the lines that break `rule`. A line is seen together with the next, where rustfmt may have put a
/// macro's first argument.
fn breaches<'a>(rule: &'a Rule, text: &'a str) -> impl Iterator<Item = usize> + 'a {
    let lines: Vec<&str> = text.lines().take_while(|line| line.trim() != "#[cfg(test)]").map(str::trim).collect();
    let code = move |index: usize| lines.get(index).copied().filter(|line| !line.starts_with("//"));
    (0..text.lines().count()).filter_map(move |index| {
        let line = code(index)?;
        let seen = if line.ends_with('(') {
            format!("{line}{}", code(index + 1).unwrap_or_default())
        } else {
            line.to_owned()
        };
        (rule.finds)(&seen).then_some(index + 1)
    })
}

/// A formatted string that begins like a statement on data. Utility statements take no parameters and are let through:
/// a schema's or a channel's name cannot be passed otherwise.
fn glues_sql(code: &str) -> bool {
    ["format!(", "write!(", "concat!("].iter().any(|makes| {
        code.split(makes).skip(1).any(|rest| {
            let literal = rest.split_once('"').map_or("", |(_, literal)| literal).trim_start().to_ascii_lowercase();
            ["select ", "insert ", "update ", "delete ", "with ", "merge "].iter().any(|verb| literal.starts_with(verb))
        })
    })
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
        let path = entry.map_err(unreadable(folder))?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn unreadable(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |source| Failure::Read { what: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rule: usize, text: &str) -> Vec<usize> {
        breaches(&RULES[rule], text).collect()
    }

    #[test]
    fn a_clock_in_core_is_found_but_not_in_comments_or_tests() {
        let text = "// Instant::now is not for us\nlet a = Instant::now();\n#[cfg(test)]\nlet b = Instant::now();\n";
        assert_eq!(lines(0, text), [2]);
    }

    #[test]
    fn a_clock_of_the_engines_own_is_found() {
        assert_eq!(lines(3, "let a = around.now();\nlet b = Moment::now();\n"), [2]);
    }

    #[test]
    fn glued_sql_is_found_on_one_line_or_two() {
        assert_eq!(lines(2, "let a = format!(\"SELECT {x}\");\n"), [1]);
        assert_eq!(lines(2, "let a = format!(\n    \"UPDATE {x} SET y\",\n);\n"), [1]);
        assert_eq!(lines(2, "write!(sql, \"DELETE FROM {x}\")\n"), [1]);
        assert_eq!(lines(2, "let a = format!(\"select {x} from y\");\n"), [1]);
        assert_eq!(lines(2, "let a = format!(\"LISTEN {x}\"); query(\"SELECT 1\");\n"), [0; 0]);
    }
}
