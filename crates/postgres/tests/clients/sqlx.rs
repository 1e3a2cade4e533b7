//! sqlx: a workspace of its own, because its lock file is its own.

use crate::{Scene, lines, root, text};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the client, beside everything else that cargo builds, and returns its program.
fn built() -> PathBuf {
    let manifest = root().join("testing/clients/sqlx/Cargo.toml");
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients/sqlx");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--locked", "--manifest-path"]).arg(manifest).arg("--target-dir").arg(&into);
    let output = command.output().expect("cargo runs");
    assert!(output.status.success(), "{command:?} failed:\n{}", text(&output.stderr));
    into.join("debug/tenure-client-sqlx")
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_sqlx_takes_part_in_its_own_transactions() {
    let program = tokio::task::spawn_blocking(built).await.unwrap();
    let scene = Scene::set().await;
    assert_eq!(
        lines(&scene.run(&mut Command::new(program))),
        [
            "rolled back",
            "committed",
            "completed: completed",
            "failed: queued",
            "stale: superseded",
            "bad input: json_syntax",
            "another body: the key is the shipping job's"
        ]
    );
    scene.left_in_order().await;
}
