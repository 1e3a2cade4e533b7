//! `cargo xtask check`: what a compiler does not refuse and a reviewer should not have to look for.
//!
//! Runs every check, also after one has failed, and names those that did.

use std::fs;
use std::process::Stdio;

use crate::cargo::{self, cargo};
use crate::{Failure, architecture, map};

type Check = fn() -> Result<(), Failure>;

const CHECKS: [(&str, Check); 8] = [
    ("formatting", formatting),
    ("lints", lints),
    ("each backend alone", backends),
    ("documentation", documentation),
    ("a core without dependencies", core_has_no_dependencies),
    ("dependencies", dependencies),
    ("architecture", architecture::check),
    ("the map", map::check),
];

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(argument) = arguments.first() {
        return Err(Failure::Usage { problem: format!("`check` takes no arguments, such as {argument}") });
    }
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        eprintln!("checking {name}");
        if let Err(failure) = check() {
            eprintln!("{failure}\n");
            failed.push(name);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Checks(failed)) }
}

fn formatting() -> Result<(), Failure> {
    cargo::run(&mut cargo(["fmt", "--all", "--check"]))
}

fn lints() -> Result<(), Failure> {
    cargo::run(&mut cargo(["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))
}

/// The library with neither backend, and with each: a program pays for what it names.
fn backends() -> Result<(), Failure> {
    for features in ["", "sqlite", "postgres"] {
        let library =
            ["clippy", "--package", "tenure", "--lib", "--locked", "--no-default-features", "--features", features];
        cargo::run(cargo(library).args(["--", "-D", "warnings"]))?;
    }
    Ok(())
}

fn documentation() -> Result<(), Failure> {
    let mut command = cargo(["doc", "--workspace", "--no-deps", "--locked"]);
    cargo::run(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Cargo's own account of what building `tenure-core` takes: one line, itself. Its tests may use what they like.
fn core_has_no_dependencies() -> Result<(), Failure> {
    let mut command =
        cargo(["tree", "--locked", "--package", "tenure-core", "--edges", "normal,build", "--prefix", "none"]);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| Failure::Run { command: cargo::name(&command), source })?;
    if !output.status.success() {
        return Err(Failure::Exit { command: cargo::name(&command), status: output.status });
    }
    let tree = String::from_utf8_lossy(&output.stdout);
    let dependencies: Vec<String> = tree.lines().skip(1).map(|line| format!("tenure-core depends on {line}")).collect();
    if dependencies.is_empty() { Ok(()) } else { Err(Failure::Architecture(dependencies)) }
}

/// What each crate may be built on, of ours: a layer, not a web.
const LAYERS: [(&str, &[&str]); 10] = [
    ("core", &[]),
    ("derive", &[]),
    ("store", &["tenure-core"]),
    ("memory", &["tenure-core", "tenure-store"]),
    ("sqlite", &["tenure-core", "tenure-store"]),
    ("postgres", &["tenure-core", "tenure-store"]),
    ("engine", &["tenure-core", "tenure-derive", "tenure-memory", "tenure-postgres", "tenure-sqlite", "tenure-store"]),
    ("wire", &["tenure"]),
    ("server", &["tenure", "tenure-wire"]),
    ("cli", &["tenure", "tenure-server", "tenure-wire"]),
];

fn dependencies() -> Result<(), Failure> {
    let mut wrong = Vec::new();
    let crates = cargo::root().join("crates");
    let unreadable = |source| Failure::Read { what: "crates".to_owned(), source };
    for entry in fs::read_dir(&crates).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).map_err(unreadable)?;
        let Some((_, allowed)) = LAYERS.iter().find(|(of, _)| *of == name) else {
            wrong.push(format!("crates/{name} has no place among the layers (xtask/src/check.rs)"));
            continue;
        };
        let forbidden = ours(&manifest).filter(|on| !allowed.contains(on));
        wrong.extend(forbidden.map(|on| format!("crates/{name} must not depend on {on}")));
    }
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Architecture(wrong)) }
}

/// The crates of ours that a manifest builds on; its tests may use what they like.
fn ours(manifest: &str) -> impl Iterator<Item = &str> {
    let section = manifest.lines().skip_while(|line| line.trim() != "[dependencies]").skip(1);
    let names = section.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split(['.', ' ', '=']).next());
    names.filter(|name| *name == "tenure" || name.starts_with("tenure-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_crate_is_built_on_is_read_and_what_its_tests_use_is_not() {
        let manifest = "[package]\nname = \"tenure-wire\"\n[dependencies]\nserde.workspace = true\ntenure.workspace = true\n\
                        tenure-sqlite = { path = \"x\" }\n\n[dev-dependencies]\ntenure-testing.workspace = true\n";
        assert_eq!(ours(manifest).collect::<Vec<_>>(), ["tenure", "tenure-sqlite"]);
    }
}
