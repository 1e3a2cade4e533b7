//! Python with psycopg, in a virtual environment under the system's temporary folder.
//!
//! The environment is made when it is missing, under another name first: one that has its name is complete.

use crate::{Scene, lines, root, text};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What is installed. The environment is named after it, so that another version gets another one.
const PSYCOPG: &str = "psycopg[binary]==3.2.13";

#[tokio::test(flavor = "multi_thread")]
async fn q10_python_takes_part_in_its_own_transactions() {
    let python = tokio::task::spawn_blocking(|| environment().join("bin/python")).await.unwrap();
    let scene = Scene::set().await;
    let mut command = Command::new(python);
    command.arg("-I").arg(root().join("testing/clients/python/transactions.py"));
    assert_eq!(
        lines(&scene.run(&mut command)),
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

/// The virtual environment, made if it is not there.
fn environment() -> PathBuf {
    let temporary = std::env::temp_dir();
    let me = fs::metadata("/proc/self").expect("there is a /proc").uid();
    let version = PSYCOPG.rsplit_once("==").map_or("any", |(_, version)| version);
    let ready = temporary.join(format!("tenure-python-{me}-psycopg-{version}"));
    if !ready.exists() {
        let draft = temporary.join(format!("tenure-python-{me}-{}", std::process::id()));
        make(&draft);
        // Another test run may have been quicker; its environment is as good.
        if fs::rename(&draft, &ready).is_err() {
            fs::remove_dir_all(&draft).expect("what was made can be removed");
        }
    }
    // What somebody else put under this name is not run.
    let owner = fs::symlink_metadata(&ready).expect("the environment is there").uid();
    assert_eq!(owner, me, "{} belongs to another user: remove it", ready.display());
    ready
}

fn make(folder: &Path) {
    let venv = |python: &str| run(Command::new(python).args(["-m", "venv"]).arg(folder));
    if let Err(reason) = venv("python3") {
        // Debian has it in a package of its own.
        assert!(me_root(), "python3 cannot make a virtual environment; install python3-venv. It said:\n{reason}");
        let mut install = Command::new("apt-get");
        install.args(["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3", "install", "--yes"]);
        install.args(["--no-install-recommends", "python3", "python3-venv"]).env("DEBIAN_FRONTEND", "noninteractive");
        run(Command::new("apt-get").arg("update")).and_then(|_| run(&mut install)).unwrap_or_else(|reason| {
            panic!("python3-venv cannot be installed:\n{reason}");
        });
        venv("/usr/bin/python3").unwrap_or_else(|reason| panic!("no virtual environment:\n{reason}"));
    }
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PSYCOPG];
    run(Command::new(folder.join("bin/python")).args(pip)).unwrap_or_else(|reason| panic!("no psycopg:\n{reason}"));
}

fn me_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

fn run(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() { Ok(output) } else { Err(text(&output.stdout) + &text(&output.stderr)) }
}
