//! How programs end, and what becomes of their jobs.

use super::{Working, alive, until};
use crate::Place;
use rustix::process::Signal;

#[test]
fn q4_exit_0_completes_and_json_on_stdout_is_the_result() {
    let place = Place::new();
    let payload = r#"{"asset": 42, "name": "$(touch owned); `touch owned`"}"#;
    let id = place.job(payload, &[]);
    let said = place.drain(&[], "cat");
    assert!(said.contains("stopped: 1 completed, 0 failed"), "{said}");
    let job = place.show(&id);
    assert_eq!((&job["status"], &job["attempt"]), (&"completed".into(), &1.into()));
    assert_eq!(job["result"]["name"], "$(touch owned); `touch owned`");
    assert!(!place.folder.path().join("owned").exists(), "nothing of a payload is ever run");
}

#[test]
fn a_result_that_is_no_json_is_kept_as_text_and_silence_as_nothing() {
    let place = Place::new();
    let id = place.job("1", &[]);
    place.drain(&[], r"printf 'gr\374n \033[31m done'");
    assert_eq!(place.show(&id)["result"]["stdout"], "gr\u{fffd}n \u{1b}[31m done");
    assert!(!place.out(&["job", "show", &id]).contains('\u{1b}'), "a terminal is not coloured by strangers");
    // JSON that a store refuses is text too: the program has done its work.
    for odd in [r#"{"a":1,"a":2}"#, r#""\u0000""#] {
        let id = place.job("2", &[]);
        place.drain(&[], &format!("printf '%s' '{odd}'"));
        assert_eq!(place.show(&id)["result"]["stdout"], odd);
    }
    let id = place.job("4", &[]);
    place.drain(&[], "true");
    assert!(place.show(&id)["result"].is_null());
}

#[test]
fn q6_any_other_exit_code_is_tried_again_with_the_end_of_stderr() {
    let place = Place::new();
    let id = place.job("1", &[]);
    let said = place.drain(&[], "echo reading >&2; echo 'no such asset' >&2; exit 3");
    assert!(said.contains("1 to be tried again"), "{said}");
    let job = place.show(&id);
    assert_eq!((&job["status"], &job["attempt"]), (&"queued".into(), &1.into()));
    assert_eq!(job["error"], "exit code 3: no such asset\n\nreading\nno such asset");
}

#[test]
fn q6_exit_65_fails_for_good() {
    let place = Place::new();
    let id = place.job("1", &[]);
    place.drain(&[], "exit 65");
    let job = place.show(&id);
    assert_eq!((&job["status"], &job["reason"]), (&"failed".into(), &"failed".into()));
    assert_eq!(job["error"], "exit code 65");
}

#[test]
fn l6_exit_75_puts_off_and_gives_the_attempt_back() {
    let place = Place::new();
    let id = place.job("1", &[]);
    let said = place.drain(&["--snooze", "1h"], "exit 75");
    assert!(said.contains("1 put off"), "{said}");
    let job = place.show(&id);
    assert_eq!((&job["status"], &job["attempt"]), (&"queued".into(), &0.into()));
    assert!(job["run_at"].as_str() > job["updated_at"].as_str());
}

#[test]
fn q6_a_program_killed_by_a_signal_is_tried_again_and_the_signal_is_named() {
    let place = Place::new();
    let id = place.job("1", &["--attempts-max", "1"]);
    place.drain(&[], "kill -SEGV $$");
    let job = place.show(&id);
    assert_eq!((&job["reason"], &job["error"]), (&"attempts_spent".into(), &"killed by SIGSEGV".into()));
}

#[test]
fn q6_a_program_that_takes_too_long_is_ended_with_all_it_started() {
    let place = Place::new();
    let id = place.job("1", &["--attempts-max", "1", "--timeout", "300ms"]);
    place.drain(&["--timeout", "1h"], "echo $$ > leader; sleep 1000 & echo $! > child; echo hm >&2; wait");
    let job = place.show(&id);
    assert_eq!((&job["status"], &job["reason"]), (&"failed".into(), &"timeout".into()));
    assert_eq!(job["error"], "took longer than 300 ms: killed by SIGTERM: hm");
    assert!(!alive(place.pid("leader")) && !alive(place.pid("child")));
}

#[test]
fn q6_a_program_that_does_not_heed_sigterm_is_killed() {
    let place = Place::new();
    let id = place.job("1", &[]);
    place.drain(
        &["--timeout", "300ms", "--kill-after", "200ms"],
        "trap '' TERM; echo $$ > leader; while :; do sleep 1; done",
    );
    assert_eq!(place.show(&id)["error"], "took longer than 300 ms: killed by SIGKILL");
    assert!(!alive(place.pid("leader")));
}

#[test]
fn l11_a_cancelled_job_ends_its_program() {
    let place = Place::new();
    let id = place.job("1", &[]);
    let mut working = Working::start(&place, &["--lease", "1s"], "echo $$ > leader; sleep 1000");
    let leader = place.pid("leader");
    place.out(&["job", "cancel", &id, "--reason", "wrong customer"]);
    until("the job has ended", || place.status(&id) == "failed");
    assert_eq!(place.show(&id)["reason"], "cancelled");
    assert!(!alive(leader));
    working.signal(Signal::TERM);
    assert_eq!(working.ended().0, Some(0));
}

#[test]
fn l11_a_program_that_is_done_when_it_is_cancelled_has_completed() {
    let place = Place::new();
    let id = place.job("1", &[]);
    let _working = Working::start(
        &place,
        &["--lease", "1s"],
        "trap 'echo 1; exit 0' TERM; echo $$ > leader; while :; do sleep 0.05; done",
    );
    place.pid("leader");
    place.out(&["job", "cancel", &id]);
    until("the job has ended", || place.status(&id) != "running");
    assert_eq!((place.status(&id).as_str(), place.show(&id)["result"].as_i64()), ("completed", Some(1)));
}

#[test]
fn q2_only_the_kinds_asked_for_are_claimed() {
    let place = Place::new();
    let (mine, other) = (place.job("1", &["--kind", "resize"]), place.job("2", &["--kind", "mail"]));
    place.drain(&["--kind", "resize", "--kind", "crop"], "printf '\"%s\"' $TENURE_KIND");
    assert_eq!((place.show(&mine)["result"].as_str(), place.status(&other).as_str()), (Some("resize"), "queued"));
}

#[test]
fn json_prints_what_the_worker_did() {
    let place = Place::new();
    place.job("1", &[]);
    let report =
        place.tenure(&["work", "q", "--drain", "--json", "--", "true"]).assert().success().get_output().clone();
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!((&report["completed"], &report["refused"]), (&1.into(), &0.into()));
}
