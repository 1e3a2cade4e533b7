//! The end of a run: no more trouble, and everything that can run must end.
//!
//! Limits and rates stay at first, for a change of them makes the store look again at what it had set aside, and might
//! find what was forgotten. Only lanes that stopped for a failure may then have something left; they are let go on last.

use super::client::everywhere;
use super::ledger::{Ending, Ledger, now};
use super::plan::{Plan, QUEUES};
use super::trouble;
use std::time::{Duration, Instant};
use tenure_core::Time;
use tenure_core::queue::Ending as Asked;
use tenure_core::queue::{Act, Change, Filter, JobId, LaneOnFailure, Situation, Status, explain};
use tenure_postgres::PostgresStore;
use tenure_store::{QueueStore, Upkeep};

pub(crate) async fn run(url: &str, plan: &Plan, ledger: &Ledger) {
    let store = PostgresStore::open(url).await.expect("a store");
    for queue in QUEUES {
        ledger.sets((queue, "open"), Some(1));
        let open = Change { paused: Some(false), ..Change::default() };
        store.change(queue, open).await.expect("a queue can be opened");
    }
    empty(&store, plan, ledger, "with the limits of the run", |of| of.lane_blocked_by.is_some()).await;
    for queue in QUEUES {
        for name in ["max_running", "max_running_per_key", "goes on"] {
            ledger.sets((queue, name), None);
        }
        let open = Change {
            max_running: Some(None),
            max_running_per_key: Some(None),
            lane_on_failure: Some(Some(LaneOnFailure::Continue)),
            rate_limit: Some(None),
            rate_limit_per_key: Some(None),
            ..Change::default()
        };
        store.change(queue, open).await.expect("a queue can be opened");
    }
    trouble::limit(&store, ledger, None).await.expect("a limit can be lifted");
    empty(&store, plan, ledger, "with all limits lifted", |_| false).await;
}

/// Works until nothing is left but what `may_stay`, or nothing could be claimed for as long as the run is patient.
async fn empty(store: &PostgresStore, plan: &Plan, ledger: &Ledger, when: &str, may_stay: impl Fn(&Situation) -> bool) {
    let mut moved_at = Instant::now();
    loop {
        let claims = store.claim(everywhere("drain").max(50).lease_ms(5_000)).await.expect("a claim");
        if !claims.jobs.is_empty() {
            moved_at = Instant::now();
            let owner = "drain".to_owned();
            let asked = claims.jobs.iter().map(|job| Asked {
                job: job.id,
                owner: owner.clone(),
                token: job.token,
                act: Act::Complete { result: None },
            });
            let ended = store.finish(asked.collect()).await.expect("an answer");
            for (job, ended) in claims.jobs.iter().zip(ended) {
                ledger.claimed(job.id.0, job.token.0);
                ledger.count("claimed by the drain", 1);
                if let Ok(ended) = ended {
                    let verb = Act::Complete { result: None }.verb();
                    let status = ended.status;
                    ledger.ended(job.id.0, job.token.0, Ending { verb, status }, Some(ended.already));
                }
            }
            continue;
        }
        store.recover(100).await.expect("recovery");
        if moved_at.elapsed() > plan.patience {
            let left = left(store, usize::MAX, &may_stay).await;
            return tell(ledger, &left, when);
        }
        if left(store, 1, &may_stay).await.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Jobs that have not ended and may not stay, at most `max`, with what bears on each.
async fn left(store: &PostgresStore, max: usize, may_stay: impl Fn(&Situation) -> bool) -> Vec<Situation> {
    let mut left = Vec::new();
    for status in [Status::Running, Status::Queued] {
        let filter = Filter { status: Some(status), ..Filter::default() };
        for job in store.jobs(filter, None, 1_000).await.expect("a list").items {
            let of = store.situation(job.id).await.expect("a situation");
            left.extend(of.filter(|of| !may_stay(of)));
            if left.len() >= max {
                return left;
            }
        }
    }
    left
}

fn tell(ledger: &Ledger, left: &[Situation], when: &str) {
    for of in left {
        let JobId(id) = of.job.id;
        let why = explain(of, Time(now())).summary;
        let (lane, tenant) = (&of.job.ordering_key, &of.job.limit_key);
        let what = format!("job {id} of {}, lane {lane:?}, tenant {tenant:?}: {why}", of.job.queue);
        ledger.fault("left", format!("{when}: {what}"));
    }
}
