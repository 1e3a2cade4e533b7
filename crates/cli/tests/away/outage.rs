//! `tenure serve` and `tenure work` while their store is away: they wait for it at the start, say so once, and end in
//! time when they are told to.

use crate::{command, printed, served};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tenure_testing::{FaultProxy, PostgresServer, ServerOptions, StopMode};

/// Longer than anything here takes on a machine that is busy with something else.
const PATIENCE: Duration = Duration::from_secs(60);
/// What `work` says when it begins, and `serve`.
const BEGUN: [&str; 2] = [" runs ", "serving http://"];
const AWAY: &str = "the store does not answer";
const BACK: &str = "the store answers again";

/// A process that is ended with the test, and what it says, line by line.
struct Process {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Process {
    fn start(url: &str, args: &[&str]) -> Process {
        let mut child = command(url, args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let said = BufReader::new(child.stderr.take().expect("a pipe"));
        let (told, lines) = channel();
        std::thread::spawn(move || said.lines().map_while(Result::ok).try_for_each(|line| told.send(line)));
        Process { child, lines, said: Vec::new() }
    }

    fn serve(url: &str, flags: &[&str]) -> Process {
        Process::start(url, &[&["serve", "--listen", "127.0.0.1:0"], flags].concat())
    }

    fn work(url: &str, flags: &[&str], script: &str) -> Process {
        Process::start(url, &[&["work", "q"], flags, &["--", "sh", "-c", script]].concat())
    }

    /// The next line with one of these texts in it.
    fn says(&mut self, texts: &[&str]) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let line = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()));
            let line = line.unwrap_or_else(|_| panic!("it never said {texts:?}, but {:#?}", self.said));
            self.said.push(line.clone());
            if texts.iter().any(|text| line.contains(text)) {
                return line;
            }
        }
    }

    /// Tells it to end, and gives how long it took and all that it ever said.
    fn end(mut self) -> (Duration, Vec<String>) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("it is there");
        let told_at = Instant::now();
        while self.child.try_wait().expect("it can be waited for").is_none() {
            assert!(told_at.elapsed() < 2 * PATIENCE, "it does not end, and said {:#?}", self.said);
            std::thread::sleep(Duration::from_millis(10));
        }
        let took = told_at.elapsed();
        let mut said = std::mem::take(&mut self.said);
        said.extend(self.lines.iter());
        (took, said)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn count(said: &[String], text: &str) -> usize {
    said.iter().filter(|line| line.contains(text)).count()
}

/// The address that `serve` said it listens on.
fn address(line: &str) -> String {
    line.split("http://").nth(1).and_then(|rest| rest.split(' ').next()).expect("an address").to_owned()
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

fn stopped() -> PostgresServer {
    let server = served(ServerOptions::fast());
    server.stop(StopMode::Fast).expect("it stops");
    server
}

#[test]
fn c8_serve_and_work_wait_for_a_store_that_is_away_at_the_start_and_say_so_once() {
    let server = stopped();
    let url = server.url("work");
    let mut both = [Process::serve(&url, &[]), Process::work(&url, &["--drain"], "true")];
    for process in &mut both {
        process.says(&[AWAY]);
    }
    server.start_again().expect("it starts");
    for process in &mut both {
        assert!(process.says(&[BACK]).contains("after"), "{:?}", process.said);
        process.says(&BEGUN);
    }
    for process in both {
        let (_, said) = process.end_or_ended();
        assert_eq!((count(&said, AWAY), count(&said, BACK)), (1, 1), "{said:#?}");
    }
}

impl Process {
    /// As [`end`](Process::end), of one that may have ended by itself.
    fn end_or_ended(mut self) -> (Duration, Vec<String>) {
        if self.child.try_wait().expect("it can be waited for").is_some() {
            let mut said = std::mem::take(&mut self.said);
            said.extend(self.lines.iter());
            return (Duration::ZERO, said);
        }
        self.end()
    }
}

#[test]
fn c8_a_store_that_stays_away_is_given_up_after_the_time_that_was_asked_for() {
    let server = stopped();
    let url = server.url("work");
    for args in [["serve", "--listen", "127.0.0.1:0"].as_slice(), &["work", "q"]] {
        let program = if args[0] == "work" { ["--", "true"].as_slice() } else { &[] };
        let output = command(&url, &[args, &["--wait-for-store", "1s"], program].concat()).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(69), "{args:?}: {said}");
        assert!(said.contains("cannot open"), "{args:?}: {said}");
        assert_eq!(said.matches(AWAY).count(), 1, "{args:?}: {said}");
    }
    // What no waiting mends is told at once.
    let wrong = command("postgres://u@h/db?connections_max=1", &["work", "q", "--", "true"]).output().expect("it runs");
    assert_eq!(wrong.status.code(), Some(2), "{}", String::from_utf8_lossy(&wrong.stderr));
}

#[test]
fn c6_an_outage_is_told_once_when_it_begins_and_once_when_it_ends_whatever_is_asked_meanwhile() {
    let server = served(ServerOptions::fast());
    let url = server.url("work");
    let mut serve = Process::serve(&url, &[]);
    let listens = address(&serve.says(&BEGUN));
    let mut work = Process::work(&url, &[], "true");
    work.says(&BEGUN);
    server.stop(StopMode::Immediate).expect("it stops");
    for process in [&mut serve, &mut work] {
        process.says(&[AWAY]);
    }
    for _ in 0..50 {
        let answer = get(&listens, "/v1/queues");
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    }
    server.start_again().expect("it starts");
    for process in [serve, work] {
        let mut process = process;
        let line = process.says(&[BACK]);
        assert!(line.contains("after"), "its length is told: {line}");
        let (_, said) = process.end();
        assert_eq!((count(&said, AWAY), count(&said, BACK)), (1, 1), "{said:#?}");
        let expected = [BEGUN[0], BEGUN[1], AWAY, BACK, "stopped", "file descriptor"];
        let besides: Vec<&String> = said.iter().filter(|line| !expected.iter().any(|of| line.contains(of))).collect();
        assert!(besides.is_empty(), "two lines for an outage, and none besides: {besides:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d5_told_to_end_in_a_black_hole_serve_and_work_end_within_their_grace_and_a_few_seconds() {
    let server = tokio::task::spawn_blocking(|| served(ServerOptions::fast().tcp())).await.expect("no panic");
    let proxy = FaultProxy::in_front_of(&server.tcp_url("work").expect("on TCP")).await.expect("a proxy");
    let url = proxy.url().to_owned();
    let (hole, direct) = (url.clone(), server.url("work"));
    let (serve, work, idle) = tokio::task::spawn_blocking(move || {
        let mut serve = Process::serve(&hole, &[]);
        let listens = address(&serve.says(&BEGUN));
        // One whose programs hold their jobs for ever, and one that only asks.
        let mut work = Process::work(&hole, &["--grace", "1s", "--kill-after", "1s"], "exec sleep 600");
        let mut idle = Process::start(&hole, &["work", "empty", "--grace", "1s", "--", "true"]);
        work.says(&BEGUN);
        idle.says(&BEGUN);
        let began = Instant::now();
        while !printed(&direct, &["job", "list"]).contains("running") {
            assert!(began.elapsed() < PATIENCE, "nothing is begun");
        }
        ((serve, listens), work, idle)
    })
    .await
    .expect("no panic");
    proxy.blackhole();
    tokio::task::spawn_blocking(move || {
        let (serve, listens) = serve;
        // A request that waits for the hole too.
        let asking = std::thread::spawn(move || get(&listens, "/v1/queues"));
        std::thread::sleep(Duration::from_millis(500));
        let ends = [work, idle, serve].map(|process| std::thread::spawn(move || process.end()));
        let [(work, said), (idle, idle_said), (serve, serve_said)] = ends.map(|end| end.join().expect("no panic"));
        // Grace, the program's own time to end, and a few seconds; the server's grace is ten seconds. It was half a minute.
        assert!(work < Duration::from_secs(20), "work took {work:?}: {said:#?}");
        assert!(idle < Duration::from_secs(20), "an idle worker took {idle:?}: {idle_said:#?}");
        assert!(serve < Duration::from_secs(24), "serve took {serve:?}: {serve_said:#?}");
        let _ = asking.join();
    })
    .await
    .expect("no panic");
    drop(server);
}
