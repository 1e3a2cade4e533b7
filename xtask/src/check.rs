//! `cargo xtask check`: what a compiler does not refuse and a reviewer should not have to look for.
//!
//! Runs every check, also after one has failed, and names those that did.

use std::process::Stdio;

use crate::cargo::{self, cargo};
use crate::{Failure, architecture};

type Check = fn() -> Result<(), Failure>;

const CHECKS: [(&str, Check); 5] = [
    ("formatting", formatting),
    ("lints", lints),
    ("documentation", documentation),
    ("a core without dependencies", core_has_no_dependencies),
    ("architecture", architecture::check),
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
