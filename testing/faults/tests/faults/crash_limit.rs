//! A job that kills its worker, really: it starts `attempts_max` times, and whoever was prefetched beside it pays
//! nothing.

use crate::fleet::{Member, Setup};
use crate::judge::{Record, all_jobs};
use crate::places::Place;
use std::time::{Duration, Instant};
use tenure::{AttemptOutcome, NewJob, Reason, Status, Tenure};

const ATTEMPTS_MAX: u32 = 3;
const NEIGHBOURS: usize = 8;
const SETUP: Setup = Setup { lease_ms: 700, concurrency: 1, prefetch: 20 };
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) async fn holds(place: &impl Place) {
    let tenure = Tenure::open(&place.url()).await.unwrap();
    let job = |kind: &str, task: &str| NewJob::new("faults", kind, task).attempts_max(ATTEMPTS_MAX);
    tenure.enqueue(job("poison", r#"{"ms":0,"wrong":"poison"}"#).priority(5)).await.unwrap();
    tenure.enqueue_all(vec![job("neighbour", r#"{"ms":1}"#); NEIGHBOURS]).await.unwrap();

    let began = Instant::now();
    let mut lives = 0;
    loop {
        let jobs = all_jobs(&tenure).await;
        if jobs.iter().all(|job| job.status.terminal()) {
            break;
        }
        lives += 1;
        // While this one runs, the poison and its neighbours are claimed ahead, under one lease.
        tenure.enqueue(job("first", r#"{"ms":300}"#).priority(10)).await.unwrap();
        let mut worker = Member::start(place, SETUP, &format!("worker-{lives}"));
        loop {
            assert!(began.elapsed() < PATIENCE, "{:?}", all_jobs(&tenure).await);
            tokio::time::sleep(Duration::from_millis(20)).await;
            if worker.gone() || all_jobs(&tenure).await.iter().all(|job| job.status.terminal()) {
                break;
            }
        }
    }

    let jobs = all_jobs(&tenure).await;
    let poison = jobs.iter().find(|job| job.kind == "poison").unwrap();
    assert_eq!((poison.status, poison.reason), (Status::Failed, Some(Reason::CrashLimit)), "{poison:?}");
    let record = Record::read(place.folder());
    let starts = record.starts.keys().filter(|(job, _)| *job == poison.id).count();
    assert_eq!(starts, ATTEMPTS_MAX as usize, "B6: it starts exactly attempts_max times");

    let neighbours: Vec<_> = jobs.iter().filter(|job| job.kind == "neighbour").collect();
    assert_eq!(neighbours.len(), NEIGHBOURS);
    for job in &neighbours {
        assert_eq!((job.status, job.attempt), (Status::Completed, 1), "L6: a neighbour lost an attempt: {job:?}");
    }
    let shared = |outcome| outcome == Some(AttemptOutcome::Expired);
    let struck = neighbours.iter().filter(|job| job.attempts.iter().any(|attempt| shared(attempt.outcome))).count();
    assert!(struck > 0, "no neighbour was ever held beside the poison: this proved nothing");
    println!(
        "{}: a poison job started {starts} of {ATTEMPTS_MAX} times; {struck} neighbours went down with it, 0 attempts lost",
        place.name()
    );
}
