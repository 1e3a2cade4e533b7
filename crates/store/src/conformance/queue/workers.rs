//! Workers: every claim is a sighting, by the store's clock, and costs a write at most once a minute.

use super::Harness;
use super::tools::{START, World, complete, plain};
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::queue::worker::{KINDS_KEPT, KINDS_SHOWN, SEEN_EVERY_MS, SIGHTING_MS, SIGHTINGS_MAX};
use tenure_core::queue::{Change, Claim, NewJob, Pruned, Worker};

scenarios! {
    __queue_workers = queue::workers;
    y_every_claim_is_a_sighting,
    y_a_worker_is_seen_in_each_of_its_queues,
    y_a_sighting_tells_the_kinds,
    i19_sightings_of_a_queue_are_bounded,
    y_many_kinds_are_cut,
    y_a_sighting_is_rewritten_once_a_minute,
    y_two_handles_keep_one_sighting,
    y_a_worker_tells_what_it_holds,
    x_workers_are_listed_by_name_in_pages,
    i19_a_worker_not_seen_for_a_day_is_forgotten,
    l7_recovery_needs_no_sighting,
}

async fn workers<H: Harness>(w: &World<H>) -> Vec<Worker> {
    let page = w.store.workers(None, 100).await.expect("workers");
    assert!(!page.more);
    page.items
}

/// Name, queue, kinds and instant of everything that was seen.
async fn seen<H: Harness>(w: &World<H>) -> Vec<(String, String, Option<Vec<String>>, Time)> {
    let all = workers(w).await.into_iter().flat_map(|worker| worker.sightings);
    all.map(|one| (one.owner, one.queue, one.kinds, one.seen_at)).collect()
}

async fn look<H: Harness>(w: &World<H>, claim: Claim) {
    w.claim(claim).await;
}

/// A store in which these queues were used, and have nothing to claim.
async fn used<H: Harness>(queues: &[&str]) -> World<H> {
    let w = World::open().await;
    for queue in queues {
        w.store.change(queue, Change::default()).await.expect("change");
    }
    w
}

/// A claim that takes a job and one that takes nothing are both sightings, at the store's instant.
pub async fn y_every_claim_is_a_sighting<H: Harness>() {
    let mut w = used::<H>(&["q"]).await;
    assert_eq!(workers(&w).await, []);
    look(&w, Claim::new("q", "ann")).await;
    w.pass_ms(7).await;
    w.fill(1).await;
    look(&w, Claim::new("q", "bob")).await;
    let expected = [("ann", START), ("bob", START.plus_ms(7))];
    assert_eq!(seen(&w).await, expected.map(|(name, at)| (name.to_owned(), "q".to_owned(), None, at)));
}

/// A worker is seen in each queue it claims from, but in none that nobody ever used, which is not created by that.
pub async fn y_a_worker_is_seen_in_each_of_its_queues<H: Harness>() {
    let w = used::<H>(&["q", "r"]).await;
    look(&w, Claim::new("r", "ann").also("q").also("r").also("unheard-of")).await;
    let queues: Vec<String> = seen(&w).await.into_iter().map(|(_, queue, _, _)| queue).collect();
    assert_eq!(queues, ["q", "r"]);
    assert_eq!(w.store.queue("unheard-of").await.expect("queue"), None);
    // It is seen there with the first claim after the first job.
    w.enqueue(NewJob::new("unheard-of", "k", "{}")).await;
    look(&w, Claim::new("r", "ann").also("q").also("unheard-of").kinds(["other"])).await;
    let all = seen(&w).await;
    assert!(all.iter().any(|(_, queue, _, _)| queue == "unheard-of"), "{all:?}");
}

/// Of the sightings of a queue the newest are kept, so many and no more, whatever workers call themselves.
pub async fn i19_sightings_of_a_queue_are_bounded<H: Harness>() {
    let mut w = used::<H>(&["q"]).await;
    for n in 0..SIGHTINGS_MAX + 3 {
        w.set(Time(w.now.0 + 1)).await;
        look(&w, Claim::new("q", format!("w{n:0>4}"))).await;
    }
    let first = w.store.workers(None, 1_000).await.expect("workers");
    assert_eq!((first.items.len(), first.more), (SIGHTINGS_MAX, false));
    assert_eq!((first.items[0].name.as_str(), first.items[SIGHTINGS_MAX - 1].name.as_str()), ("w0003", "w1002"));
}

/// Kinds are told by name, each once; other kinds are another sighting, and none are all of them.
pub async fn y_a_sighting_tells_the_kinds<H: Harness>() {
    let mut w = used::<H>(&["q"]).await;
    look(&w, Claim::new("q", "ann").kinds(["b", "a", "b"])).await;
    w.pass_ms(10).await;
    look(&w, Claim::new("q", "ann").kinds(["a", "b"])).await;
    look(&w, Claim::new("q", "ann").kinds(["a"])).await;
    look(&w, Claim::new("q", "ann")).await;
    let kinds: Vec<_> = seen(&w).await.into_iter().map(|(_, _, kinds, at)| (kinds, at)).collect();
    let (a, b, later) = ("a".to_owned(), "b".to_owned(), START.plus_ms(10));
    assert_eq!(kinds, [(None, later), (Some(vec![a.clone()]), later), (Some(vec![a, b]), START)]);
}

/// Of many kinds the first are shown, and it is told that there are more.
pub async fn y_many_kinds_are_cut<H: Harness>() {
    let w = used::<H>(&["q"]).await;
    let names: Vec<String> = (0..1_000).map(|n| format!("kind.{n:0>120}")).collect();
    look(&w, Claim::new("q", "ann").kinds(names.iter().cloned())).await;
    let worker = workers(&w).await.remove(0);
    assert_eq!(worker.sightings[0].kinds.as_deref(), Some(&names[..KINDS_SHOWN]));
    assert!(worker.sightings[0].kinds_capped);
    // Claimed by any of them all the same; and nobody is said to be missing for one that may be among those not kept.
    let id = w.enqueue(NewJob::new("q", names[999].as_str(), "{}")).await;
    assert_eq!(w.why(id).await, ["waiting_for_a_worker"]);
    assert_eq!(w.claimed_ids(Claim::new("q", "ann").kinds(names.iter().cloned())).await, [id]);
    // Others beyond those that are kept are no other sighting.
    let others = names[..KINDS_KEPT].iter().cloned().chain([String::from("z")]);
    look(&w, Claim::new("q", "ann").kinds(others)).await;
    assert_eq!(workers(&w).await.remove(0).sightings.len(), 1);
}

/// A sighting is written again when it is a minute old, and not a microsecond before.
pub async fn y_a_sighting_is_rewritten_once_a_minute<H: Harness>() {
    let mut w = used::<H>(&["q"]).await;
    look(&w, Claim::new("q", "ann")).await;
    w.set(Time(START.plus_ms(SEEN_EVERY_MS).0 - 1)).await;
    look(&w, Claim::new("q", "ann")).await;
    assert_eq!(workers(&w).await[0].last_seen_at, START);
    w.set(START.plus_ms(SEEN_EVERY_MS)).await;
    look(&w, Claim::new("q", "ann")).await;
    let worker = workers(&w).await.remove(0);
    assert_eq!((worker.first_seen_at, worker.last_seen_at), (START, w.now));
}

/// Handles that know nothing of each other write no more often, and neither makes the other's sighting older.
pub async fn y_two_handles_keep_one_sighting<H: Harness>() {
    let mut w = used::<H>(&["q"]).await;
    let other = w.harness.another().await;
    look(&w, Claim::new("q", "ann")).await;
    w.pass_ms(SEEN_EVERY_MS - 1).await;
    other.claim(Claim::new("q", "ann")).await.expect("claim");
    assert_eq!(workers(&w).await[0].last_seen_at, START);
    w.pass_ms(1).await;
    other.claim(Claim::new("q", "ann")).await.expect("claim");
    let rewritten = w.now;
    w.pass_ms(10).await;
    // This handle knows only of the first.
    look(&w, Claim::new("q", "ann")).await;
    assert_eq!(workers(&w).await[0].last_seen_at, rewritten);
}

/// A worker's jobs are counted over all its leases, shared or not, and those of nobody else.
pub async fn y_a_worker_tells_what_it_holds<H: Harness>() {
    let w = used::<H>(&["q"]).await;
    w.fill(5).await;
    look(&w, Claim::new("q", "ann").max(3).shared(1)).await;
    let grip = w.take("ann").await;
    look(&w, Claim::new("q", "bob")).await;
    let running = |workers: Vec<Worker>| workers.iter().map(|worker| worker.running).collect::<Vec<_>>();
    assert_eq!(running(workers(&w).await), [4, 1]);
    w.finish(&grip, complete()).await.expect("held");
    assert_eq!(running(workers(&w).await), [3, 1]);
    assert!(workers(&w).await.iter().all(|worker| !worker.running_capped && !worker.sightings_capped));
}

/// Workers come by name, in pages.
pub async fn x_workers_are_listed_by_name_in_pages<H: Harness>() {
    let w = used::<H>(&["q", "r"]).await;
    for name in ["cleo", "ann", "bob", "Ann"] {
        look(&w, Claim::new("q", name).also("r")).await;
    }
    let names = |page: &Page<Worker>| page.items.iter().map(|worker| worker.name.clone()).collect::<Vec<_>>();
    let first = w.store.workers(None, 3).await.expect("workers");
    assert_eq!((names(&first), first.more), (["Ann", "ann", "bob"].map(str::to_owned).to_vec(), true));
    let last = w.store.workers(Some("bob"), 3).await.expect("workers");
    assert_eq!((names(&last), last.more), (vec!["cleo".to_owned()], false));
    assert_eq!(w.store.workers(Some("cleo"), 3).await.expect("workers").items, []);
}

/// Who was not seen for a day is forgotten, in bounded steps; who comes back is new.
pub async fn i19_a_worker_not_seen_for_a_day_is_forgotten<H: Harness>() {
    let mut w = used::<H>(&["q"]).await;
    for name in ["ann", "bob", "cleo"] {
        look(&w, Claim::new("q", name)).await;
    }
    w.set(Time(START.plus_ms(SIGHTING_MS).0 - 1)).await;
    look(&w, Claim::new("q", "cleo")).await;
    assert_eq!(w.prune(10).await, Pruned::default());
    w.set(Time(w.now.0 + 1)).await;
    assert_eq!(w.prune(1).await, Pruned { sightings: 1, ..Pruned::default() });
    assert_eq!(w.prune(10).await, Pruned { sightings: 1, ..Pruned::default() });
    assert_eq!(workers(&w).await.iter().map(|worker| worker.name.as_str()).collect::<Vec<_>>(), ["cleo"]);
    look(&w, Claim::new("q", "ann")).await;
    assert_eq!(workers(&w).await[0].first_seen_at, w.now);
}

/// Work is recovered from a worker that nobody has seen for days (B2).
pub async fn l7_recovery_needs_no_sighting<H: Harness>() {
    let mut w = used::<H>(&["q"]).await;
    w.enqueue(plain()).await;
    w.claim(Claim::new("q", "ann").lease_ms(86_400_000)).await;
    w.pass_ms(SIGHTING_MS).await;
    assert_eq!(w.prune(10).await.sightings, 1);
    assert_eq!(workers(&w).await, []);
    assert_eq!(w.recover(10).await.requeued, 1);
}
