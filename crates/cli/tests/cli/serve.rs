//! `tenure serve` as a real process.

use crate::Place;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A server that is ended with the test.
pub(crate) struct Serving {
    child: Child,
    said: BufReader<std::process::ChildStderr>,
    address: String,
    first_line: String,
}

impl Serving {
    pub(crate) fn start(place: &Place, store: &str) -> Serving {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("tenure"))
            .args(["serve", "--listen", "127.0.0.1:0", "--store", store])
            .current_dir(&place.folder)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut first_line = String::new();
        said.read_line(&mut first_line).unwrap();
        let address = first_line.strip_prefix("serving http://").and_then(|rest| rest.split(' ').next());
        let address = address.unwrap_or_else(|| panic!("{first_line}")).to_owned();
        Serving { child, said, address, first_line }
    }

    /// One request on a connection of its own; the answer, head and all.
    pub(crate) fn ask(&self, request: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let head = "Host: localhost\r\nContent-Type: application/json\r\nConnection: close";
        write!(stream, "{request} HTTP/1.1\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn signal(&mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let status = self.child.wait().unwrap();
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        (status.code(), rest)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Ended already in most tests; a failed assertion must not leave a server behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn serve_answers_until_sigterm_and_ends_with_0() {
    let place = Place::new();
    let mut serving = Serving::start(&place, "memory:");
    assert!(serving.first_line.contains(" on memory"), "{}", serving.first_line);
    assert!(serving.ask("GET /healthz", "").starts_with("HTTP/1.1 204"));
    let enqueued = serving.ask("POST /v1/queues/q/jobs", r#"{"kind":"k","payload":[1]}"#);
    assert!(enqueued.starts_with("HTTP/1.1 201") && enqueued.contains(r#"{"jobs":[{"id":"1""#), "{enqueued}");
    let claimed = serving.ask("POST /v1/queues/q/claim", r#"{"worker":"w1"}"#);
    assert!(claimed.contains(r#""payload":[1]"#), "{claimed}");
    let (code, rest) = serving.signal(Signal::TERM);
    assert_eq!((code, rest.trim_end()), (Some(0), "stopped"));
}

#[test]
fn sigint_ends_it_just_as_well() {
    let place = Place::new();
    let mut serving = Serving::start(&place, "memory:");
    assert_eq!(serving.signal(Signal::INT).0, Some(0));
}

#[test]
fn the_command_line_and_the_server_share_one_file() {
    let place = Place::new();
    place.out(&["enqueue", "q", "\"from the shell\""]);
    let mut serving = Serving::start(&place, &place.store());
    let claimed = serving.ask("POST /v1/queues/q/claim", r#"{"worker":"w1"}"#);
    assert!(claimed.contains("from the shell"), "{claimed}");
    assert!(place.out(&["job", "list", "--status", "running"]).contains("\tw1"));
    assert_eq!(serving.signal(Signal::TERM).0, Some(0));
    assert_eq!(place.json(&["job", "show", "1"])["status"], "running");
}

#[test]
fn an_address_that_is_not_loopback_is_77() {
    let place = Place::new();
    for address in ["0.0.0.0:7117", "192.0.2.1:7117", "[::]:7117"] {
        let said = place.refused(&["serve", "--listen", address], 77);
        assert!(said.contains("loopback") && said.lines().count() == 1, "{said}");
    }
    assert!(std::fs::read_dir(&place.folder).unwrap().next().is_none(), "a refused command leaves no store behind");
}

#[test]
fn an_address_in_use_is_69() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = place.refused(&["serve", "--listen", &address, "--store", "memory:"], 69);
    assert!(said.contains(&address), "{said}");
}

#[test]
fn c6_what_no_waiting_mends_is_told_once() {
    let place = Place::new();
    for args in [&["serve", "--listen", "127.0.0.1:0"][..], &["work", "q", "--", "true"]] {
        let said = place.tenure(args).env("TENURE_STORE", "sqlite:/nowhere/tenure.db").output().unwrap();
        let told = String::from_utf8(said.stderr).unwrap();
        assert_eq!(said.status.code(), Some(77), "{args:?}: {told}");
        assert_eq!(told.matches("its directory does not exist").count(), 1, "{args:?}: {told}");
    }
}
