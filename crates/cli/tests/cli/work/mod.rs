//! `tenure work` as a real process, with real programs.

mod ends;
mod fenced;
mod safe;
mod storm;
mod turned;

use crate::Place;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything here takes on a machine that is busy with something else.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `what` is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process is at work: a zombie is not.
fn alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

impl Place {
    /// Enqueues a job with more flags, and gives its id.
    fn job(&self, payload: &str, flags: &[&str]) -> String {
        self.out(&[&["enqueue", "q", payload], flags].concat()).trim().to_owned()
    }

    /// `tenure work q FLAGS --drain -- sh -c SCRIPT`, to its end; what it says on stderr.
    fn drain(&self, flags: &[&str], script: &str) -> String {
        let args = [&["work", "q", "--drain", "--worker", "w"], flags, &["--", "sh", "-c", script]].concat();
        let output = self.tenure(&args).assert().success().get_output().clone();
        String::from_utf8(output.stderr).unwrap()
    }

    fn show(&self, id: &str) -> Value {
        self.json(&["job", "show", id])
    }

    fn status(&self, id: &str) -> String {
        self.show(id)["status"].as_str().unwrap().to_owned()
    }

    /// What the timeline of a job says happened.
    fn happened(&self, id: &str) -> Vec<String> {
        let timeline = self.json(&["job", "timeline", id]);
        timeline["events"].as_array().unwrap().iter().map(|event| event["what"].as_str().unwrap().to_owned()).collect()
    }

    /// The number that a program wrote into a file of this place, once it has.
    fn pid(&self, file: &str) -> i32 {
        let path = self.folder.path().join(file);
        let read = || std::fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'));
        until(&format!("{file} is written"), || read().is_some());
        read().unwrap().trim().parse().unwrap()
    }
}

/// A worker that goes on until it is told otherwise.
struct Working {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Working {
    fn start(place: &Place, flags: &[&str], script: &str) -> Working {
        let args = [&["work", "q"], flags, &["--", "sh", "-c", script]].concat();
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("tenure"))
            .args(args)
            .current_dir(&place.folder)
            .env("TENURE_STORE", place.store())
            .env("TENURE_LOG", "off")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains(" runs ") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "the worker did not start");
        }
        Working { child, said }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Stops it, outside of a write: inside of one it would hold the file's lock, and nobody could rescue anything.
    fn freeze(&self, place: &Place) {
        loop {
            self.signal(Signal::STOP);
            let mut write = place.tenure(&["queue", "resume", "q"]);
            if write.timeout(Duration::from_secs(1)).output().unwrap().status.success() {
                return;
            }
            self.signal(Signal::CONT);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// How it ended, and what it said last.
    fn ended(&mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        (status.code(), rest)
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        // Its keepers see it die, and end their programs.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
