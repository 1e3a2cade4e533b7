//! A worker to be killed and frozen: `fault-worker STORE NAME RECORD LEASE_MS CONCURRENCY PREFETCH`.
//!
//! It runs the engine's own worker. What its handlers do, the payloads say; what they did, each writes down in the file
//! RECORD, a line at a time, apart from the store: that is what the store is judged by. On standard input it is told to
//! die at a certain point: `die-at-claim`, `die-at-end`.
//!
//! | line | when |
//! | --- | --- |
//! | `start JOB TOKEN` | a handler begins |
//! | `end JOB TOKEN` | it is about to return a result |
//! | `accepted JOB TOKEN VERB` | the store accepted the ending |
//! | `refused JOB TOKEN VERB` | the store refused it |

use rustix::process::{Signal, getpid, kill_process};
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tenure::{Act, Context, Ended, Hooks, LostReason, Outcome, Outcomes, Tenure};

const QUEUE: &str = "faults";

/// What a payload asks of the handler.
#[derive(Deserialize)]
struct Task {
    /// How long it takes.
    ms: u64,
    /// What goes wrong in its first attempt, or always.
    #[serde(default)]
    wrong: Option<Wrong>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Wrong {
    /// The handler panics, once.
    Panic,
    /// The handler takes its worker down, once.
    Kill,
    /// The handler takes its worker down, every time.
    Poison,
    /// The handler blocks a thread of the runtime for longer than a lease, once.
    Block,
    /// The handler never ends, once.
    Hang,
}

#[tokio::main(worker_threads = 4)]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, name, record, lease_ms, concurrency, prefetch] = arguments.as_slice() else {
        eprintln!("fault-worker STORE NAME RECORD LEASE_MS CONCURRENCY PREFETCH");
        return ExitCode::from(2);
    };
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let number = |text: &String| text.parse::<u64>().unwrap_or(1);
    let site = Arc::new(Site::new(record));
    let told = site.clone();
    std::thread::spawn(move || obey(&told));
    let tenure = loop {
        // The store may be away just now: that is one of the faults.
        match Tenure::open(store).await {
            Ok(tenure) => break tenure,
            Err(error) => eprintln!("{error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    let handler = site.clone();
    let ran = tenure
        .worker()
        .queue(QUEUE)
        .name(name)
        .lease(Duration::from_millis(number(lease_ms)))
        .concurrency(number(concurrency) as usize)
        .prefetch(number(prefetch) as usize)
        .grace(Duration::from_millis(500))
        .cancel_grace(Duration::from_millis(100))
        .hooks(Written(site))
        .handle_any(move |cx| run(handler.clone(), cx))
        .run_until_signalled()
        .await;
    match ran {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Where the handlers of this process write down what they do.
struct Site {
    record: File,
    die_at_claim: AtomicBool,
    die_at_end: AtomicBool,
}

impl Site {
    fn new(path: &str) -> Site {
        let record = File::options().create(true).append(true).open(path).expect("the record can be written");
        Site { record, die_at_claim: AtomicBool::new(false), die_at_end: AtomicBool::new(false) }
    }

    /// One line in one write: what was written is there, however this process ends.
    fn write(&self, what: &str, cx: &Context, verb: &str) {
        let line = format!("{what} {} {} {verb}\n", cx.id(), cx.token());
        (&self.record).write_all(line.as_bytes()).expect("the record can be written");
    }
}

fn die() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    std::process::abort()
}

fn obey(site: &Site) {
    for order in std::io::stdin().lock().lines().map_while(Result::ok) {
        match order.as_str() {
            "die-at-claim" => site.die_at_claim.store(true, Ordering::SeqCst),
            "die-at-end" => site.die_at_end.store(true, Ordering::SeqCst),
            other => eprintln!("unknown order {other:?}"),
        }
    }
}

async fn run(site: Arc<Site>, cx: Context) -> Outcome<Option<String>> {
    site.write("start", &cx, "");
    let Task { ms, wrong } = serde_json::from_str(&cx.job().payload)?;
    let first = cx.attempt() == 1;
    match wrong {
        Some(Wrong::Poison) => die(),
        Some(Wrong::Kill) if first => die(),
        Some(Wrong::Panic) if first => panic!("as asked"),
        Some(Wrong::Hang) if first => std::future::pending().await,
        Some(Wrong::Block) if first => {
            std::thread::sleep(Duration::from_millis(ms));
        }
        _ => tokio::time::sleep(Duration::from_millis(ms)).await,
    }
    site.write("end", &cx, "");
    if site.die_at_end.load(Ordering::SeqCst) {
        die();
    }
    Outcome::done(cx.token().to_string())
}

/// Writes down what the store answered.
struct Written(Arc<Site>);

impl Hooks for Written {
    fn claimed(&self, _: usize) {
        if self.0.die_at_claim.load(Ordering::SeqCst) {
            die();
        }
    }

    fn ended(&self, cx: &Context, act: &Act, _: Ended, _: Duration) {
        self.0.write("accepted", cx, act.verb().as_str());
    }

    fn refused(&self, cx: &Context, act: &Act, _: LostReason) {
        self.0.write("refused", cx, act.verb().as_str());
    }
}
