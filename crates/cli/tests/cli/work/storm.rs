//! Many programs under several workers, while workers, programs and keepers are struck.

use super::{Working, alive, until};
use crate::Place;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const JOBS: usize = 60;
const WORKERS: usize = 3;
const FAULTS: usize = 15;
/// Longer than a lease.
const FREEZE: Duration = Duration::from_millis(1_500);

/// Its number, its keeper's, and the claim it works under; then some work; then the claim as its result.
const PROGRAM: &str = "echo $$ $PPID $TENURE_JOB_ID $TENURE_TOKEN >> starts; sleep 0.2; echo $TENURE_TOKEN";

/// Processes at work in the folder of this place: programs, and what they started.
fn at_work(place: &Place) -> Vec<i32> {
    let here = place.folder.path().canonicalize().unwrap();
    let numbers =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == here) && alive(*pid))
        .collect()
}

/// Whose child a process is.
fn parent(pid: i32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// The last program that was started, and its keeper.
fn last_started(place: &Place) -> Option<(i32, i32)> {
    let starts = std::fs::read_to_string(place.folder.path().join("starts")).ok()?;
    let mut words = starts.lines().next_back()?.split(' ').map(|word| word.parse().ok());
    Some((words.next()??, words.next()??))
}

#[test]
fn b1_every_job_ends_once_and_nothing_is_left_whatever_is_killed() {
    let place = Place::new();
    let jobs = place
        .file("jobs.ndjson", &"{\"payload\":1,\"attempts_max\":100,\"backoff\":{\"initial_ms\":20}}\n".repeat(JOBS));
    place.out(&["enqueue", "q", "--file", &jobs]);
    let start = || Working::start(&place, &["--lease", "1s", "--concurrency", "2", "--grace", "100ms"], PROGRAM);
    let mut workers: Vec<Working> = (0..WORKERS).map(|_| start()).collect();
    let mut thawed_at = Instant::now();
    let mut frozen = WORKERS;
    for fault in 0..FAULTS {
        let struck = fault % WORKERS;
        std::thread::sleep(Duration::from_millis(150));
        if Instant::now() > thawed_at {
            frozen = WORKERS;
        }
        let worker_free = frozen != struck;
        match fault % 5 {
            0 if worker_free => {
                // Dropped, it is killed, and a new one takes its place.
                workers[struck] = start();
            }
            1 if frozen == WORKERS => {
                workers[struck].signal(Signal::STOP);
                (frozen, thawed_at) = (struck, Instant::now() + FREEZE);
                // Woken by somebody else: frozen inside a write it holds up this thread too.
                let pid = Pid::from_child(&workers[struck].child);
                std::thread::spawn(move || {
                    std::thread::sleep(FREEZE);
                    let _ = kill_process(pid, Signal::CONT);
                });
            }
            2 if worker_free => {
                workers[struck].signal(Signal::TERM);
                assert_eq!(workers[struck].ended().0, Some(0));
                workers[struck] = start();
            }
            kind => {
                let Some((program, keeper)) = last_started(&place) else { continue };
                let victim = if kind == 4 { keeper } else { program };
                // Only what is certainly ours: it may have ended meanwhile. Where a keeper works, only root is told.
                let ours = |pid: i32| workers.iter().any(|worker| Some(worker.child.id()) == parent(pid));
                let there = if kind == 4 { ours(victim) } else { at_work(&place).contains(&victim) };
                if there {
                    let _ = kill_process(Pid::from_raw(victim).unwrap(), Signal::KILL);
                }
            }
        }
    }
    let ended = || place.json(&["queue", "show", "q"])["counts"]["completed"].as_u64();
    until("every job is completed", || ended() == Some(JOBS as u64));
    for mut worker in workers {
        worker.signal(Signal::TERM);
        assert_eq!(worker.ended().0, Some(0));
    }
    until("no program is left", || at_work(&place).is_empty());

    let starts = std::fs::read_to_string(place.folder.path().join("starts")).unwrap();
    let mut started: BTreeMap<String, usize> = BTreeMap::new();
    for line in starts.lines() {
        *started.entry(line.split(' ').skip(2).collect::<Vec<_>>().join(" ")).or_default() += 1;
    }
    assert!(started.values().all(|times| *times == 1), "a claim was started twice: {started:?}");
    let jobs = place.json(&["job", "list", "--limit", "1000"]);
    let jobs = jobs["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), JOBS);
    for job in jobs {
        let whole = place.show(job["id"].as_str().unwrap());
        let attempts = whole["attempts"].as_array().unwrap();
        let completed: Vec<_> = attempts.iter().filter(|attempt| attempt["outcome"] == "completed").collect();
        assert_eq!(completed.len(), 1, "{whole}");
        assert_eq!((&completed[0]["token"], &whole["result"]), (&whole["token"], &whole["token"]), "{whole}");
        assert!(started.contains_key(&format!("{} {}", whole["id"].as_str().unwrap(), whole["token"])), "{whole}");
    }
}
