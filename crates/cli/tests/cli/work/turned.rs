//! Programs that turn on whoever watches them: their job ends all the same, and nothing of them is left.

use super::{Working, alive, until};
use crate::Place;
use rustix::process::Signal;
use std::process::{Command, Stdio};

/// In the group of the program, out of it, and out of it without a parent; returns when all are there.
const FAMILY: &str = "echo $$ > leader; sleep 1000 & echo $! > child; setsid sh -c 'echo $$ > apart; exec sleep 1000' & \
                      (setsid sh -c 'echo $$ > orphan; exec sleep 1000' &); \
                      for f in apart orphan; do while ! test -s $f; do sleep 0.01; done; done; ";

fn family(place: &Place) -> [i32; 4] {
    ["leader", "child", "apart", "orphan"].map(|name| place.pid(name))
}

#[test]
fn a_program_that_kills_its_keeper_is_ended_with_all_it_started() {
    let place = Place::new();
    let id = place.job("1", &["--attempts-max", "1"]);
    let said = place.drain(&[], &format!("{FAMILY} kill -KILL $PPID; sleep 1000"));
    assert!(said.contains("0 completed, 1 failed"), "{said}");
    assert_eq!(place.show(&id)["error"], "the process that watched the program was killed");
    let left: Vec<i32> = family(&place).into_iter().filter(|pid| alive(*pid)).collect();
    assert_eq!(left, [0; 0], "an ending is written after all of them are gone");
}

#[test]
fn a_program_that_kills_its_keeper_at_once_is_ended_too() {
    let place = Place::new();
    for _ in 0..5 {
        place.job("1", &["--attempts-max", "1"]);
    }
    place.drain(&["--concurrency", "5"], "echo $$ >> leaders; kill -KILL $PPID; exec sleep 1000");
    let leaders = std::fs::read_to_string(place.folder.path().join("leaders")).unwrap();
    let leaders: Vec<i32> = leaders.lines().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(leaders.len(), 5);
    assert!(!leaders.iter().any(|pid| alive(*pid)), "{leaders:?}");
}

#[test]
fn a_keeper_that_is_killed_takes_no_other_program_with_it() {
    let place = Place::new();
    let (other, poison) = (place.job("1", &[]), place.job("2", &["--attempts-max", "1"]));
    let script = "if test $(cat) = 1; then (setsid sh -c 'echo $$ > theirs; exec sleep 1000' &); \
                  while ! test -e go; do sleep 0.02; done; test -d /proc/$(cat theirs) && echo 7; \
                  else while ! test -s theirs; do sleep 0.02; done; kill -KILL $PPID; sleep 1000; fi";
    let mut working = Working::start(&place, &["--concurrency", "2"], script);
    until("the poison has failed", || place.status(&poison) == "failed");
    place.file("go", "");
    until("the other has ended", || place.status(&other) != "running");
    assert_eq!(place.show(&other)["result"], 7, "its own orphan was left alone too");
    working.signal(Signal::TERM);
    assert_eq!(working.ended().0, Some(0));
    assert!(!alive(place.pid("theirs")));
}

#[test]
fn a_child_that_the_worker_was_born_with_is_not_taken_for_a_programs() {
    let place = Place::new();
    let id = place.job("1", &["--attempts-max", "1"]);
    // A shell that becomes the worker leaves it its own children.
    let tenure = assert_cmd::cargo::cargo_bin("tenure");
    let script = format!(
        "sleep 1000 & echo $! > stranger; exec {} work q --drain -- sh -c 'kill -KILL $PPID; exec sleep 1000'",
        tenure.display()
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(&place.folder).env("TENURE_STORE", place.store()).stderr(Stdio::null());
    assert!(shell.status().unwrap().success());
    let stranger = place.pid("stranger");
    assert_eq!((place.status(&id).as_str(), alive(stranger)), ("failed", true));
    super::kill_process(super::Pid::from_raw(stranger).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn a_program_that_leaves_its_session_and_its_group_and_exits_leaves_nobody() {
    let place = Place::new();
    let id = place.job("1", &[]);
    place.drain(&[], &format!("{FAMILY} echo 1"));
    assert_eq!(place.show(&id)["result"], 1);
    assert!(!family(&place).iter().any(|pid| alive(*pid)));
}

#[test]
fn a_program_that_kills_its_group_has_ended_by_a_signal_and_leaves_nobody() {
    let place = Place::new();
    let id = place.job("1", &["--attempts-max", "1"]);
    place.drain(&[], &format!("{FAMILY} kill -KILL 0"));
    assert_eq!(place.show(&id)["error"], "killed by SIGKILL");
    assert!(!family(&place).iter().any(|pid| alive(*pid)));
}

#[test]
fn a_keeper_that_is_stopped_is_woken_and_the_end_of_its_program_is_noticed() {
    let place = Place::new();
    let id = place.job("1", &[]);
    place.drain(&["--lease", "1s"], &format!("{FAMILY} kill -STOP $PPID; echo 1"));
    let job = place.show(&id);
    assert_eq!((&job["result"], &job["attempt"]), (&1.into(), &1.into()), "{job}");
    assert!(!family(&place).iter().any(|pid| alive(*pid)));
}

#[test]
fn a_keeper_that_is_stopped_again_and_again_is_not_waited_for() {
    let place = Place::new();
    let id = place.job("1", &["--attempts-max", "1"]);
    let stopping = format!("{FAMILY} while :; do kill -STOP $PPID; done");
    let mut working = Working::start(&place, &["--lease", "1s", "--kill-after", "100ms"], &stopping);
    let family = family(&place);
    place.out(&["job", "cancel", &id, "--force"]);
    until("all of them are gone", || !family.iter().any(|pid| alive(*pid)));
    working.signal(Signal::TERM);
    assert_eq!(working.ended().0, Some(0));
}

#[test]
fn l6_a_program_whose_lease_was_not_renewed_in_time_has_had_its_attempt() {
    let place = Place::new();
    let id = place.job("1", &["--attempts-max", "1"]);
    let mut working = Working::start(&place, &["--lease", "10s"], "echo $$ > leader; exec sleep 1000");
    let leader = place.pid("leader");
    working.freeze(&place);
    // The keeper ends it before the lease does; the worker wakes up while it still holds the lease, and says what it likes.
    until("the keeper has ended the program", || !alive(leader));
    working.signal(Signal::CONT);
    until("the job has failed", || place.status(&id) == "failed");
    assert!(!place.happened(&id).contains(&"released".to_owned()), "{:?}", place.happened(&id));
    assert_eq!(place.show(&id)["attempt"], 1);
    working.signal(Signal::TERM);
    assert_eq!(working.ended().0, Some(0));
}

#[test]
fn v5_a_worker_that_is_told_to_stop_does_not_wait_for_a_users_transaction() {
    let place = Place::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(tenure_testing::TestDatabase::create()).unwrap();
    let url = database.url();
    let id = place.out(&["enqueue", "q", "1", "--store", url]).trim().parse::<i64>().unwrap();
    let flags = ["--store", url, "--worker", "w", "--lease", "2s", "--grace", "100ms"];
    let script = "echo $TENURE_TOKEN > token; while ! test -e go; do sleep 0.02; done";
    let mut working = Working::start(&place, &flags, script);
    let token = i64::from(place.pid("token"));
    let connect = || async {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    };
    let (user, hand) = runtime.block_on(async { (connect().await, connect().await) });
    runtime.block_on(async {
        user.batch_execute("begin").await.unwrap();
        user.query("select tenure.held($1, 'w', $2)", &[&id, &token]).await.unwrap();
    });
    place.file("go", "");
    let waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    until("its ending waits for the user", || !runtime.block_on(hand.query(waiting, &[])).unwrap().is_empty());
    working.signal(Signal::TERM);
    until("it has ended", || working.child.try_wait().unwrap().is_some());
    assert_eq!(working.ended().0, Some(0));
}
