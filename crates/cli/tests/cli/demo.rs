//! `tenure demo`: the first command of a newcomer.

use crate::Place;
use crate::work::until;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

impl Place {
    /// Processes that were given a store in this place.
    fn processes(&self) -> Vec<String> {
        let folder = self.folder.path().display().to_string();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let here = String::from_utf8_lossy(&environment)
                .split('\0')
                .any(|variable| variable.strip_prefix("TENURE_STORE=").is_some_and(|store| store.contains(&folder)));
            found.extend(here.then(|| entry.file_name().display().to_string()));
        }
        found
    }

    fn is_empty(&self) -> bool {
        std::fs::read_dir(&self.folder).unwrap().next().is_none()
    }
}

#[test]
fn the_demo_ends_with_every_job_completed_once_and_leaves_nothing_behind() {
    let place = Place::new();
    let mut demo = place.tenure(&["demo"]);
    let output = demo.env("TMPDIR", place.folder.path()).assert().success().get_output().clone();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.lines().any(|line| line == "300 jobs, 300 completed, 0 lost, 0 finished twice"), "{told}");
    for what in ["KILLED", "FROZEN", "expired", "claimed", "WOKEN", "refused a complete from carol"] {
        assert!(told.contains(what), "{what}: {told}");
    }
    assert!(!told.contains('\u{1b}'), "colours are for terminals: {told}");
    assert!(place.is_empty() && place.processes().is_empty());

    // What it proposes works, in a folder where nothing is.
    let (_, next) = told.split_once("Try next:\n").unwrap();
    let commands: Vec<&str> = next.lines().map(str::trim).collect();
    assert_eq!((commands.len(), commands[3]), (4, "tenure demo --keep"));
    let binary = assert_cmd::cargo::cargo_bin("tenure");
    for command in &commands[..3] {
        let (_, arguments) = command.split_once("tenure ").unwrap();
        let ran = Command::new("sh")
            .args(["-c", &format!("exec {} {arguments}", binary.display())])
            .current_dir(&place.folder)
            .env_remove("TENURE_STORE")
            .output()
            .unwrap();
        assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    assert_eq!(place.json(&["job", "show", "1"])["result"]["name"], "world");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_it_is_the_same_and_json_counts_it() {
    let database = tenure_testing::TestDatabase::create().await.unwrap();
    let place = Place::new();
    let report = place.json(&["demo", "--jobs", "150", "--store", database.url()]);
    let counted = ["jobs", "completed", "lost", "finished_twice"].map(|name| report[name].as_u64().unwrap());
    assert_eq!(counted, [150, 150, 0, 0]);
    assert!(report["rescued"].as_u64() >= Some(2) && report["refused"].as_u64() >= Some(1), "{report}");
    assert!(place.is_empty(), "the store that was named is the only one");
}

#[test]
fn ctrl_c_ends_the_demo_and_its_workers() {
    let place = Place::new();
    let mut demo = Command::new(assert_cmd::cargo::cargo_bin("tenure"))
        .args(["demo", "--keep"])
        .env("TMPDIR", place.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let told = BufReader::new(demo.stdout.take().unwrap());
    assert!(told.lines().map_while(Result::ok).any(|line| line.contains("FROZEN")));
    assert!(!place.processes().is_empty());
    kill_process(Pid::from_child(&demo), Signal::INT).unwrap();
    assert_eq!(demo.wait().unwrap().code(), Some(1));
    assert!(place.processes().is_empty() && place.is_empty());
}

#[test]
fn workers_do_not_outlive_a_demo_that_is_killed() {
    let place = Place::new();
    let mut demo = Command::new(assert_cmd::cargo::cargo_bin("tenure"))
        .arg("demo")
        .env("TMPDIR", place.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let told = BufReader::new(demo.stdout.take().unwrap());
    assert!(told.lines().map_while(Result::ok).any(|line| line.contains("started")));
    demo.kill().unwrap();
    demo.wait().unwrap();
    until("its workers are gone", || place.processes().is_empty());
}
