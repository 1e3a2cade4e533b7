//! What one answer carries is bounded in bytes: a claim and a page end before the first job that would not fit, and have
//! at least one.

use super::Harness;
use super::tools::{START, World};
use tenure_core::bounds::{BODY_BYTES_MAX, CLAIM_BYTES_MAX, PAGE_BYTES_MAX};
use tenure_core::queue::{Act, Beat, Change, Claim, Ending, Filter, JobId, NewJob};

scenarios! {
    __queue_bytes = queue::bytes;
    q2_a_claim_takes_what_fits,
    q2_a_checkpoint_counts_in_a_claim,
    q2_a_claim_from_several_queues_takes_what_fits,
    q8_a_claim_that_is_full_counts_only_what_it_took,
    x_a_page_of_jobs_ends_where_the_next_does_not_fit,
}

const MIB: usize = 1 << 20;

/// JSON of so many bytes.
fn json(bytes: usize) -> String {
    format!("\"{}\"", "x".repeat(bytes - 2))
}

/// Jobs of these sizes, in this order.
async fn fill<H: Harness>(w: &World<H>, queue: &str, sizes: &[usize]) -> Vec<JobId> {
    w.enqueue_all(sizes.iter().map(|bytes| NewJob::new(queue, "kind", json(*bytes))).collect()).await
}

async fn ids<H: Harness>(w: &World<H>, max: u32) -> Vec<JobId> {
    w.claimed_ids(Claim::new("q", "ann").max(max)).await
}

/// The first in the order of claims, up to the bound and not beyond; a smaller one behind does not overtake.
pub async fn q2_a_claim_takes_what_fits<H: Harness>() {
    let w = World::<H>::open().await;
    let whole = CLAIM_BYTES_MAX / BODY_BYTES_MAX;
    let first = fill(&w, "q", &[MIB; 15]).await;
    let second = fill(&w, "q", &[MIB; 5]).await;
    // Sixteen fill the claim to its last byte.
    assert_eq!(ids(&w, 1_000).await, [&first[..], &second[..whole - 15]].concat());
    assert_eq!(ids(&w, 1_000).await, second[whole - 15..]);
    let sizes = [vec![MIB; 15], vec![MIB / 2, MIB, 4, MIB / 2]].concat();
    let (head, tail) = sizes.split_at(12);
    let all = [fill(&w, "q", head).await, fill(&w, "q", tail).await].concat();
    assert_eq!(ids(&w, 17).await, all[..16]);
    assert_eq!(ids(&w, 17).await, all[16..]);
    // Many small ones are no matter, and what was not taken was not counted as an attempt.
    let small = fill(&w, "q", &[100; 50]).await;
    let taken = w.claim(Claim::new("q", "ann").max(1_000).shared(1)).await;
    assert_eq!(
        taken.iter().map(|job| (job.id, job.attempt)).collect::<Vec<_>>(),
        small.iter().map(|id| (*id, 1)).collect::<Vec<_>>()
    );
}

/// What an earlier attempt left is handed out too, and weighs as much.
pub async fn q2_a_checkpoint_counts_in_a_claim<H: Harness>() {
    let w = World::<H>::open().await;
    let all = fill(&w, "q", &[MIB; 10]).await;
    for job in w.claim(Claim::new("q", "ann").max(10)).await {
        let mut beat = Beat::new(job.id, "ann", job.token);
        beat.checkpoint = Some(json(MIB));
        w.store.heartbeat(vec![beat]).await.expect("heartbeat")[0].as_ref().expect("held");
        let release = Ending { job: job.id, owner: "ann".to_owned(), token: job.token, act: Act::Release };
        w.store.finish(vec![release]).await.expect("finish")[0].expect("held");
    }
    let taken = w.claim(Claim::new("q", "bob").max(10)).await;
    assert_eq!(taken.iter().map(|job| job.id).collect::<Vec<_>>(), all[..8]);
    assert!(taken.iter().all(|job| job.attempt == 1 && job.checkpoint.as_ref().is_some_and(|json| json.len() == MIB)));
    assert_eq!(ids(&w, 10).await, all[8..]);
}

/// Whatever queue they are in: the first of all of them.
pub async fn q2_a_claim_from_several_queues_takes_what_fits<H: Harness>() {
    let w = World::<H>::open().await;
    let mut all = Vec::new();
    for _ in 0..3 {
        all.extend(fill(&w, "q", &[MIB; 3]).await);
        all.extend(fill(&w, "r", &[MIB; 3]).await);
    }
    let both = || Claim::new("r", "ann").also("q").max(100);
    assert_eq!(w.claimed_ids(both()).await, all[..16]);
    assert_eq!(w.claimed_ids(both().shared(1)).await, all[16..]);
}

/// Slots, tenants and lanes are spent by what was taken, and by nothing that only did not fit.
pub async fn q8_a_claim_that_is_full_counts_only_what_it_took<H: Harness>() {
    let w = World::<H>::open().await;
    w.change(Change { max_running: Some(Some(18)), max_running_per_key: Some(Some(18)), ..Change::default() }).await;
    let job = |n: usize| NewJob::new("q", "kind", json(MIB)).limit_key("acme").ordering_key(format!("lane-{n}"));
    let mut all = Vec::new();
    for chunk in [0..10, 10..20] {
        all.extend(w.enqueue_all(chunk.map(job).collect()).await);
    }
    assert_eq!(ids(&w, 1_000).await, all[..16]);
    assert_eq!(ids(&w, 1_000).await, all[16..18]);
    assert_eq!(ids(&w, 1_000).await, []);
}

/// A page is as long as its jobs allow, and says that there are more; with its last job the next begins.
pub async fn x_a_page_of_jobs_ends_where_the_next_does_not_fit<H: Harness>() {
    let w = World::<H>::open().await;
    assert_eq!((PAGE_BYTES_MAX, w.now), (16 * MIB, START));
    let mut all = Vec::new();
    for _ in 0..2 {
        all.extend(fill(&w, "q", &[MIB; 10]).await);
    }
    all.reverse();
    let filter = Filter { queue: Some("q".to_owned()), ..Filter::default() };
    let page = w.store.jobs(filter.clone(), None, 1_000).await.expect("jobs");
    assert_eq!((page.items.iter().map(|job| job.id).collect::<Vec<_>>(), page.more), (all[..16].to_vec(), true));
    let rest = w.store.jobs(filter.clone(), Some(all[15]), 1_000).await.expect("jobs");
    assert_eq!((rest.items.iter().map(|job| job.id).collect::<Vec<_>>(), rest.more), (all[16..].to_vec(), false));
    let few = w.store.jobs(filter, None, 3).await.expect("jobs");
    assert_eq!((few.items.len(), few.more), (3, true));
}
