//! Several processes on one file, and processes that are killed.
//!
//! A test starts this very program again as its children: each runs the same test, finds `TENURE_CHILD` in its
//! environment and plays that part instead. Children tell by lines that begin with `>`.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use support::{File, complete, enqueue};
use tenure_core::queue::{Claim, JobId, NewJob, Status};
use tenure_sqlite::SqliteStore;
use tenure_store::QueueStore;

const CHILD: &str = "TENURE_CHILD";

/// The store this process was started for, if it is a child.
fn role() -> Option<String> {
    env::var(CHILD).ok()
}

fn start(test: &str, url: &str) -> Child {
    let this = env::current_exe().unwrap();
    let mut command = Command::new(this);
    command.args([test, "--exact", "--nocapture"]).env(CHILD, url).stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// What a child says from now on.
fn told(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The test harness prints its own words before, on the same line.
    lines.map_while(Result::ok).filter_map(|line| line.split_once('>').map(|(_, said)| said.to_owned()))
}

fn tell(line: String) {
    let mut out = std::io::stdout().lock();
    writeln!(out, ">{line}").unwrap();
    out.flush().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn c12_processes_on_one_file_never_share_a_job_nor_meet_a_busy_file() {
    if let Some(url) = role() {
        let store = SqliteStore::open(&url).await.unwrap();
        let owner = format!("p{}", std::process::id());
        loop {
            // Any error, a busy file too, fails this child and with it the test.
            let claimed = store.claim(Claim::new("q", &owner).max(3)).await.unwrap().jobs;
            if claimed.is_empty() {
                return;
            }
            for job in claimed {
                store.finish(vec![complete(job.id, &owner, job.token)]).await.unwrap()[0].unwrap();
                tell(job.id.to_string());
            }
        }
    }
    let file = File::new();
    let store = SqliteStore::open(&file.url()).await.unwrap();
    let all: BTreeSet<JobId> = enqueue(&store, 600).await.into_iter().collect();
    let test = "c12_processes_on_one_file_never_share_a_job_nor_meet_a_busy_file";
    let mut children: Vec<Child> = (0..3).map(|_| start(test, &file.url())).collect();
    let mut done = Vec::new();
    for child in &mut children {
        done.extend(told(child).map(|id| id.parse::<JobId>().unwrap()));
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(done.len(), all.len());
    assert_eq!(done.into_iter().collect::<BTreeSet<_>>(), all);
}

#[tokio::test(flavor = "multi_thread")]
async fn c14_what_a_killed_process_was_answered_is_kept() {
    if let Some(url) = role() {
        let store = SqliteStore::open(&url).await.unwrap();
        loop {
            let ids: Vec<JobId> = store
                .enqueue(vec![NewJob::new("q", "kind", "{}"); 7])
                .await
                .unwrap()
                .unwrap()
                .iter()
                .map(|job| job.id)
                .collect();
            ids.iter().for_each(|id| tell(format!("queued {id}")));
            let claimed = store.claim(Claim::new("q", "child").max(5).shared(5)).await.unwrap().jobs;
            let endings = claimed.iter().map(|job| complete(job.id, "child", job.token)).collect();
            assert!(store.finish(endings).await.unwrap().iter().all(Result::is_ok));
            claimed.iter().for_each(|job| tell(format!("completed {}", job.id)));
        }
    }
    let file = File::new();
    let mut acknowledged: BTreeMap<JobId, Status> = BTreeMap::new();
    for kill in 0..4 {
        let mut child = start("c14_what_a_killed_process_was_answered_is_kept", &file.url());
        let mut said = told(&mut child);
        let mut hear = |line: String| {
            let (status, id) = line.split_once(' ').unwrap();
            acknowledged.insert(id.parse().unwrap(), Status::parse(status).unwrap());
        };
        // At another moment each time.
        said.by_ref().take(150 + 37 * kill).for_each(&mut hear);
        child.kill().unwrap();
        said.for_each(&mut hear);
        child.wait().unwrap();

        let store = SqliteStore::open(&file.url()).await.unwrap();
        for (id, status) in &acknowledged {
            let job = store.job(*id).await.unwrap().unwrap_or_else(|| panic!("job {id} was lost"));
            assert!(job.status == *status || *status == Status::Queued, "{id} was {status}, is {}", job.status);
        }
        let checked = file.raw().query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
        assert_eq!(checked.as_deref(), Ok("ok"));
    }
}
