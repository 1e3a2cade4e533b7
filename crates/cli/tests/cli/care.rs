//! The commands that look after the tool itself: doctor, completions, man.

use super::{NOBODY, Place};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

#[test]
fn doctor_tells_what_it_found_and_what_to_do() {
    let place = Place::new();
    place.out(&["init"]);
    let findings = place.json(&["doctor"]);
    let findings = findings["findings"].as_array().unwrap();
    let level = |topic: &str| findings.iter().find(|f| f["topic"] == topic).unwrap()["level"].clone();
    assert_eq!(level("durability"), "fine");
    assert_eq!(level("pages"), "fine");
    assert_eq!(level("clock"), "fine");
    assert_eq!(level("permissions"), "fine");
    assert!(place.out(&["doctor"]).contains("full"));
}

#[cfg(unix)]
#[test]
fn doctor_warns_of_a_file_that_others_can_read() {
    let place = Place::new();
    place.out(&["init"]);
    let file = place.folder.path().join("tenure.db");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let findings = place.json(&["doctor"]);
    let found = findings["findings"].as_array().unwrap().iter().find(|f| f["topic"] == "permissions").unwrap().clone();
    assert_eq!(found["level"], "warning");
    assert!(found["advice"].as_str().unwrap().contains("chmod 600"));
}

/// The tests' own PostgreSQL does not wait for the disk, which breaks what we promise: the doctor must see it.
#[test]
fn doctor_ends_with_1_where_a_promise_does_not_hold() {
    let place = Place::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(tenure_testing::TestDatabase::create()).unwrap();
    place.out(&["init", "--store", database.url()]);
    let output = place.tenure(&["doctor", "--store", database.url()]).assert().code(1).get_output().clone();
    let said = String::from_utf8(output.stdout).unwrap();
    let wrong: Vec<&str> = said.lines().filter(|line| line.starts_with("wrong")).collect();
    assert!(wrong.len() == 1 && wrong[0].contains("set fsync = on"), "{said}");
    for topic in
        ["standbys", "server", "vacuum", "long transactions", "connections", "pooler", "isolation", "in transit"]
    {
        assert!(said.contains(topic), "{topic}: {said}");
    }
}

#[test]
fn a_config_file_names_the_store_unless_somebody_else_does() {
    let place = Place::new();
    let config = place.file("tenure.toml", "store = \"sqlite:from_file.db\"\n");
    let in_file = || place.folder.path().join("from_file.db").exists();
    // The environment comes first.
    place.out(&["init"]);
    assert!(!in_file());
    let unset = |args: &[&str]| {
        let mut command = place.tenure(args);
        command.env_remove("TENURE_STORE");
        command
    };
    unset(&["init"]).assert().success();
    assert!(in_file());
    unset(&["queue", "list", "--config", "absent.toml"]).assert().code(66);
    let typo = place.file("typo.toml", "\nstor = \"postgres://u:hunter2@h/db\"\n");
    let said = unset(&["queue", "list", "--config", &typo]).assert().code(2).get_output().clone();
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains("line 2") && said.contains("stor") && !said.contains("hunter2"), "{said}");
    unset(&["queue", "list", "--config", &config]).assert().success();
}

/// What is in the folder may be anybody's, and names where our work goes. Named by us, it is ours to answer for.
#[test]
fn a_config_file_that_others_could_have_written_is_refused_unless_it_is_named() {
    let place = Place::new();
    let config = place.file("tenure.toml", "store = \"sqlite:from_file.db\"\n");
    let tenure = |args: &[&str]| {
        let ended = place.tenure(args).env_remove("TENURE_STORE").output().unwrap();
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
    };
    let refused = |told: &str| {
        let (exit, said) = tenure(&["queue", "list"]);
        assert_eq!(exit, Some(77), "{said}");
        assert!(said.contains("tenure.toml") && said.contains(told) && said.contains("--config"), "{said}");
        assert!(!place.folder.path().join("from_file.db").exists());
    };
    let mode = |mode| std::fs::set_permissions(&config, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o602);
    refused("others can write to it");
    mode(0o600);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::lchown(&config, Some(NOBODY), None).unwrap();
        refused("belongs to user 65534");
        std::os::unix::fs::lchown(&config, Some(0), None).unwrap();
        // Whose link it is matters too: it says which file of ours is meant.
        let elsewhere = place.folder.path().join("elsewhere.toml");
        std::fs::rename(&config, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &config).unwrap();
        std::os::unix::fs::lchown(&config, Some(NOBODY), None).unwrap();
        refused("belongs to user 65534");
        std::fs::rename(&elsewhere, &config).unwrap();
    }
    mode(0o666);
    let (exit, said) = tenure(&["init", "--config", &config]);
    assert_eq!(exit, Some(0), "{said}");
    mode(0o644);
    let (exit, said) = tenure(&["queue", "list"]);
    assert_eq!(exit, Some(0), "{said}");
}

#[test]
fn a_config_file_that_is_no_plain_file_is_refused_without_waiting_for_it() {
    let place = Place::new();
    let pipe = place.folder.path().join("tenure.toml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for args in [&["queue", "list"][..], &["queue", "list", "--config", "tenure.toml"]] {
        let mut command = place.tenure(args);
        let ended = command.env_remove("TENURE_STORE").timeout(Duration::from_secs(20)).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(66), "{said}");
        assert!(said.contains("not a plain file"), "{said}");
    }
}

#[test]
fn doctor_tells_of_a_store_with_two_names() {
    let place = Place::new();
    place.out(&["init"]);
    std::fs::hard_link(place.folder.path().join("tenure.db"), place.folder.path().join("hard.db")).unwrap();
    let said = place.refused(&["doctor"], 77);
    assert!(said.contains("2 names (hard links)"), "{said}");
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.out(&["completions", shell]);
        for command in ["doctor", "enqueue", "explain"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    place.refused(&["completions", "tcsh"], 2);
    assert!(place.out(&["man"]).contains(".TH tenure 1"));
    let folder = place.folder.path().join("man1");
    place.tenure(&["man", "--out", folder.to_str().unwrap()]).assert().success();
    let page = std::fs::read_to_string(folder.join("tenure-job-explain.1")).unwrap();
    assert!(page.contains("explain"), "{page}");
    assert!(!place.folder.path().join("tenure.db").exists(), "no store is made for them");
}
