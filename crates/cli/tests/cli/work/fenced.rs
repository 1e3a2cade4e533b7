//! Programs and the lease: kept while it is kept, ended when it is not.

use super::{Working, alive, until};
use crate::Place;
use rustix::process::Signal;

/// A program with a child in its group, and one outside of it.
const FAMILY: &str = "echo $$ > leader; sleep 1000 & echo $! > child; \
                      setsid sh -c 'echo $$ > apart; exec sleep 1000' & wait";

#[test]
fn a11_a_lease_is_kept_as_long_as_its_program_lives() {
    let place = Place::new();
    let id = place.job("1", &[]);
    place.drain(&["--lease", "500ms"], "sleep 2; echo 1");
    let job = place.show(&id);
    assert_eq!((&job["status"], &job["attempt"]), (&"completed".into(), &1.into()));
    assert!(job["attempts"][0]["beats"].as_u64() > Some(2), "{job}");
    assert_eq!(place.happened(&id), ["enqueued", "claimed", "completed"]);
}

#[test]
fn b1_a_worker_that_is_killed_takes_its_programs_with_it_and_the_job_is_rescued() {
    let place = Place::new();
    let id = place.job("1", &[]);
    let working = Working::start(&place, &["--lease", "1s"], FAMILY);
    let family = ["leader", "child", "apart"].map(|name| place.pid(name));
    working.signal(Signal::KILL);
    until("the program and its children are gone", || !family.iter().any(|pid| alive(*pid)));
    // The next worker gets the job when the lease has run out.
    let mut next = Working::start(&place, &["--lease", "1s"], "echo 2");
    until("the job is completed", || place.status(&id) == "completed");
    assert_eq!(place.happened(&id), ["enqueued", "claimed", "expired", "claimed", "completed"]);
    next.signal(Signal::TERM);
    assert_eq!(next.ended().0, Some(0));
}

#[test]
fn b6_a_program_that_kills_its_worker_begins_exactly_attempts_max_times() {
    let place = Place::new();
    let id = place.job("1", &["--attempts-max", "2"]);
    // The parent of a program is its keeper, and the keeper's is the worker.
    let poison = "echo x >> starts; worker=$(cut -d' ' -f4 /proc/$PPID/stat); kill -KILL $worker; sleep 1000";
    for _ in 0..2 {
        let mut working = Working::start(&place, &["--lease", "3s"], poison);
        assert_eq!(working.ended().0, None, "it dies by a signal");
    }
    until("the crash limit has ended it", || {
        place.tenure(&["work", "q", "--drain", "--", "true"]).assert().success();
        place.status(&id) == "failed"
    });
    assert_eq!(place.show(&id)["reason"], "crash_limit");
    assert_eq!(std::fs::read_to_string(place.folder.path().join("starts")).unwrap(), "x\nx\n");
}

#[test]
fn l5_the_program_of_a_frozen_worker_is_dead_before_its_job_is_given_away() {
    let place = Place::new();
    let id = place.job("1", &[]);
    let mut frozen = Working::start(&place, &["--lease", "3s", "--worker", "frozen"], FAMILY);
    let family = ["leader", "child", "apart"].map(|name| place.pid(name));
    frozen.freeze(&place);
    // Nobody has claimed the job yet, and the worker does not move: the keeper alone has ended them.
    until("its programs are gone", || !family.iter().any(|pid| alive(*pid)));
    assert_eq!(place.show(&id)["worker"], "frozen");
    let mut other = Working::start(&place, &["--lease", "1s", "--worker", "other"], "echo \"$TENURE_TOKEN\"");
    until("the job is completed", || place.status(&id) == "completed");
    let completed = place.show(&id);
    frozen.signal(Signal::CONT);
    until("the stale ending is refused", || place.happened(&id).contains(&"refused".to_owned()));
    // L3: nothing that counts has changed.
    let now = place.show(&id);
    for field in ["status", "result", "token", "finished_at", "attempts"] {
        assert_eq!(now[field], completed[field], "{field}");
    }
    assert_eq!(now["attempts"][1]["worker"], "other");
    assert_eq!(now["result"], now["token"]);
    for working in [&mut frozen, &mut other] {
        working.signal(Signal::TERM);
    }
    let (code, said) = frozen.ended();
    assert_eq!(code, Some(0));
    assert!(said.contains("stopped: 0 completed") && said.contains("1 refused"), "{said}");
}

#[test]
fn a1_a_finish_that_comes_too_late_is_refused() {
    let place = Place::new();
    let id = place.job("1", &[]);
    // Force takes the lease away while the program is ending.
    let mut working = Working::start(
        &place,
        &["--lease", "2s"],
        "trap '' TERM; echo $$ > leader; while ! test -e go; do sleep 0.02; done; echo '\"late\"'",
    );
    place.pid("leader");
    place.out(&["job", "cancel", &id, "--force"]);
    place.file("go", "");
    until("the finish is refused", || place.happened(&id).contains(&"refused".to_owned()));
    let job = place.show(&id);
    assert_eq!((&job["status"], &job["reason"]), (&"failed".into(), &"cancelled".into()));
    assert!(job["result"].is_null());
    working.signal(Signal::TERM);
    assert_eq!(working.ended().0, Some(0));
}

#[test]
fn d5_sigterm_lets_programs_end_and_takes_no_more_jobs() {
    let place = Place::new();
    let (first, second) = (place.job("1", &[]), place.job("2", &[]));
    let mut working = Working::start(&place, &[], "echo $$ > leader; while ! test -e go; do sleep 0.02; done; echo 1");
    let leader = place.pid("leader");
    working.signal(Signal::TERM);
    place.file("go", "");
    let (code, said) = working.ended();
    assert_eq!(code, Some(0));
    assert!(said.contains("stopped: 1 completed, 0 failed"), "{said}");
    assert_eq!((place.status(&first).as_str(), place.status(&second).as_str()), ("completed", "queued"));
    assert!(!alive(leader));
}

#[test]
fn d5_after_the_grace_a_program_is_stopped_and_its_job_given_back() {
    let place = Place::new();
    let id = place.job("1", &[]);
    let mut working = Working::start(&place, &["--grace", "100ms"], FAMILY);
    let family = ["leader", "child", "apart"].map(|name| place.pid(name));
    working.signal(Signal::INT);
    let (code, said) = working.ended();
    assert_eq!(code, Some(0));
    assert!(said.contains("1 given back"), "{said}");
    assert!(!family.iter().any(|pid| alive(*pid)));
    let job = place.show(&id);
    assert_eq!((&job["status"], &job["attempt"]), (&"queued".into(), &0.into()));
}

#[test]
fn d5_a_second_signal_does_not_wait() {
    let place = Place::new();
    let id = place.job("1", &[]);
    let mut working =
        Working::start(&place, &["--grace", "1h"], "trap '' TERM; echo $$ > leader; while :; do sleep 1; done");
    let leader = place.pid("leader");
    working.signal(Signal::TERM);
    working.signal(Signal::INT);
    let (code, said) = working.ended();
    assert_eq!(code, Some(0));
    assert!(said.contains("1 given back"), "{said}");
    assert!(!alive(leader));
    assert_eq!(place.show(&id)["attempt"], 0);
}

#[test]
fn a_keeper_that_is_killed_does_not_leave_its_program_alone() {
    let place = Place::new();
    let id = place.job("1", &["--attempts-max", "1"]);
    // The keeper tells the worker of the program right after it has started it, and needs a moment to be heard.
    let _working = Working::start(&place, &[], "echo $$ > leader; sleep 1; echo $PPID > keeper; sleep 1000");
    let (leader, keeper) = (place.pid("leader"), place.pid("keeper"));
    super::kill_process(super::Pid::from_raw(keeper).unwrap(), Signal::KILL).unwrap();
    until("the job has failed", || place.status(&id) == "failed");
    assert_eq!(place.show(&id)["error"], "the process that watched the program was killed");
    until("the program is gone", || !alive(leader));
}
