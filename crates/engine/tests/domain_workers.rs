//! Several workers on the same domains, none of them named by its user.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tenure::domain::{Work, offsets};
use tenure::prelude::*;
use tenure_testing::TestDatabase;
use tokio::sync::watch;

/// Offsets that the second worker does meanwhile, each after the one before: it was told of the first by then.
const BESIDE: u64 = 20;

/// Two workers are offered the same offset. The one that has it goes on until the other has had time to be told of it.
async fn never_overlap(one: Tenure, two: Tenure) {
    let (at_work, most, begun) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)), watch::Sender::new(false));
    let done_beside = watch::Sender::new(0);
    let handler = {
        let (at_work, most, begun, beside) = (at_work, most.clone(), begun.clone(), done_beside);
        move |work: Work| {
            let (at_work, most, begun, beside) = (at_work.clone(), most.clone(), begun.clone(), beside.clone());
            async move {
                if &*work.domain == "beside" {
                    beside.send_modify(|done| *done += 1);
                    return Ok::<(), String>(());
                }
                most.fetch_max(at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                begun.send_replace(true);
                beside.subscribe().wait_for(|done| *done == BESIDE).await.map_err(|error| error.to_string())?;
                at_work.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            }
        }
    };
    let look_every = Duration::from_millis(20);
    let first = one.domain_worker().look_every(look_every).run(offsets([("a", 1)]), handler.clone());
    let first = tokio::spawn(first);
    begun.subscribe().wait_for(|begun| *begun).await.unwrap();
    let lease = one.domain("a").info().await.unwrap().lease.unwrap();
    assert!(lease.holder.is_some() && lease.lease_ms.is_some(), "a worker has a name and a lease: {lease:?}");
    let items = [("a", 1)].into_iter().chain((0..BESIDE).map(|n| ("beside", n)));
    let second = two.domain_worker().look_every(look_every).run(offsets(items), handler);
    let (first, second) = tokio::join!(first, second);
    let (first, second) = (first.unwrap().unwrap(), second.unwrap());
    assert_eq!(most.load(Ordering::SeqCst), 1, "one offset ran twice at the same time");
    assert_eq!((first.completed, second.completed, first.refused + second.refused), (1, BESIDE, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn d3_two_workers_without_a_name_never_run_one_offset_at_once_in_memory() {
    let tenure = Tenure::open("memory:").await.unwrap();
    never_overlap(tenure.clone(), tenure).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d3_two_workers_without_a_name_never_run_one_offset_at_once_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("d3.db").display());
    never_overlap(Tenure::open(&url).await.unwrap(), Tenure::open(&url).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d3_two_workers_without_a_name_never_run_one_offset_at_once_on_postgres() {
    let database = TestDatabase::create().await.unwrap();
    let url = database.url();
    never_overlap(Tenure::open(url).await.unwrap(), Tenure::open(url).await.unwrap()).await;
}
