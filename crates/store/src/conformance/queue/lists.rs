//! Reading: lists, pages, filters and counts show the state the verbs left (Q1, X).

use super::Harness;
use super::tools::{Grip, LEASE_MS, START, World, complete, fail, plain};
use tenure_core::Time;
use tenure_core::queue::{Claim, Counts, Filter, JobId, NewJob, Status};
use tenure_core::retry::Retry;

scenarios! {
    __queue_lists = queue::lists;
    x_jobs_are_listed_newest_first_in_pages,
    x_a_filter_is_the_and_of_its_fields,
    x_a_listed_job_is_the_whole_job,
    q1_an_unswept_job_is_shown_as_running,
    q1_each_state_is_counted,
    q1_counts_follow_recovery,
    x_the_oldest_waiting_job_is_told,
    x_a_queue_of_held_work_has_no_oldest,
    x_queues_are_listed_by_name_in_pages,
    x_a_listed_queue_is_the_whole_queue,
    x_what_was_never_there_reads_as_absent,
    l5_the_stores_clock_is_the_harnesss,
    q2_an_enqueue_wakes_who_waits,
}

async fn listed<H: Harness>(w: &World<H>, filter: Filter, before: Option<JobId>, limit: u32) -> (Vec<JobId>, bool) {
    let page = w.store.jobs(filter, before, limit).await.expect("jobs");
    (page.items.iter().map(|job| job.id).collect(), page.more)
}

fn descending(ids: &[JobId]) -> Vec<JobId> {
    ids.iter().rev().copied().collect()
}

/// Newest first, page by page, each beginning below the last id of the one before.
pub async fn x_jobs_are_listed_newest_first_in_pages<H: Harness>() {
    let w = World::<H>::open().await;
    let ids = w.fill(7).await;
    let all = Filter::default;
    assert_eq!(listed(&w, all(), None, 3).await, (descending(&ids[4..]), true));
    assert_eq!(listed(&w, all(), Some(ids[4]), 3).await, (descending(&ids[1..4]), true));
    assert_eq!(listed(&w, all(), Some(ids[1]), 3).await, (vec![ids[0]], false));
    assert_eq!(listed(&w, all(), Some(ids[0]), 3).await, (vec![], false));
    assert_eq!(listed(&w, all(), None, 7).await, (descending(&ids), false));
}

/// By queue, by state, by kind, and by all of them at once.
pub async fn x_a_filter_is_the_and_of_its_fields<H: Harness>() {
    let w = World::<H>::open().await;
    let job = |queue, kind| NewJob::new(queue, kind, "{}");
    let ids = w.enqueue_all(vec![job("q", "x"), job("q", "y"), job("r", "x"), job("q", "x"), job("r", "y")]).await;
    w.claim(Claim::new("q", "a").kinds(["x"])).await;
    let (queue, kind) = (Some("q".to_owned()), Some("x".to_owned()));
    let status = Some(Status::Queued);
    let by_queue = Filter { queue: queue.clone(), ..Filter::default() };
    assert_eq!(listed(&w, by_queue, None, 9).await.0, [ids[3], ids[1], ids[0]]);
    let by_kind = Filter { kind: kind.clone(), ..Filter::default() };
    assert_eq!(listed(&w, by_kind.clone(), None, 9).await.0, [ids[3], ids[2], ids[0]]);
    assert_eq!(listed(&w, by_kind, Some(ids[3]), 1).await, (vec![ids[2]], true));
    let by_status = Filter { status: Some(Status::Running), ..Filter::default() };
    assert_eq!(listed(&w, by_status, None, 9).await.0, [ids[0]]);
    let by_all = Filter { queue, status, kind };
    assert_eq!(listed(&w, by_all, None, 9).await, (vec![ids[3]], false));
}

/// A listed job is the job that is read alone, lease and attempts included.
pub async fn x_a_listed_job_is_the_whole_job<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.fill(3).await;
    let first = w.take("a").await;
    w.finish(&first, fail(Retry::Never)).await.expect("held");
    w.take("b").await;
    w.pass_ms(3).await;
    let page = w.store.jobs(Filter::default(), None, 10).await.expect("jobs");
    assert_eq!(page.items.len(), 3);
    for job in page.items {
        assert_eq!(w.job(job.id).await, job);
    }
}

/// An expired lease that nobody has swept is still shown as running, with the deadline that passed.
pub async fn q1_an_unswept_job_is_shown_as_running<H: Harness>() {
    let mut w = World::<H>::open().await;
    let grip = w.held_by("a").await;
    w.pass_ms(LEASE_MS + 1).await;
    let job = w.job(grip.id).await;
    assert_eq!((job.status, job.lease.map(|lease| lease.expires_at)), (Status::Running, Some(START.plus_ms(LEASE_MS))));
}

/// Four states, each counted; scheduled work is queued.
pub async fn q1_each_state_is_counted<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(4).await;
    w.enqueue_all(vec![plain().run_at(Time::MAX), NewJob::new("other", "k", "{}")]).await;
    let jobs = w.claim(Claim::new("q", "a").max(3)).await;
    w.finish(&Grip::of(&jobs[0], "a"), complete()).await.expect("held");
    w.finish(&Grip::of(&jobs[1], "a"), fail(Retry::Never)).await.expect("held");
    let queue = w.store.queue("q").await.expect("queue").expect("used");
    assert_eq!(queue.counts, Counts { queued: 2, running: 1, completed: 1, failed: 1 });
}

/// Counts follow every way back into the queue.
pub async fn q1_counts_follow_recovery<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.enqueue_all(vec![plain(), plain().attempts_max(1)]).await;
    w.claim(Claim::new("q", "a").max(2)).await;
    w.pass_ms(LEASE_MS).await;
    w.recover(10).await;
    let queue = w.store.queue("q").await.expect("queue").expect("used");
    assert_eq!(queue.counts, Counts { queued: 1, running: 0, completed: 0, failed: 1 });
}

/// The age of what waits longest: scheduled work waits too, held work does not.
pub async fn x_the_oldest_waiting_job_is_told<H: Harness>() {
    let mut w = World::<H>::open().await;
    let oldest = |w: &World<H>| {
        let store = w.store.clone();
        async move { store.queue("q").await.expect("queue").expect("used").oldest_queued_at }
    };
    w.enqueue(plain().priority(1)).await;
    w.pass_ms(5).await;
    w.enqueue(plain().run_at(Time::MAX)).await;
    assert_eq!(oldest(&w).await, Some(START));
    let grip = w.take("a").await;
    assert_eq!(oldest(&w).await, Some(START.plus_ms(5)));
    w.finish(&grip, fail(Retry::In { delay_ms: 0 })).await.expect("held");
    assert_eq!(oldest(&w).await, Some(START), "a job put back keeps its age");
    let grip = w.take("a").await;
    w.finish(&grip, complete()).await.expect("held");
    assert_eq!(oldest(&w).await, Some(START.plus_ms(5)));
}

/// Nothing waits: there is no oldest.
pub async fn x_a_queue_of_held_work_has_no_oldest<H: Harness>() {
    let mut w = World::<H>::open().await;
    w.held_by("a").await;
    w.pass_ms(1).await;
    let queue = w.store.queue("q").await.expect("queue").expect("used");
    assert_eq!((queue.name.as_str(), queue.created_at, queue.oldest_queued_at), ("q", START, None));
}

/// Queues by name, byte by byte, page by page.
pub async fn x_queues_are_listed_by_name_in_pages<H: Harness>() {
    let mut w = World::<H>::open().await;
    for queue in ["b", "a", "B", "b.1", "b-2", "10", "9"] {
        w.enqueue(NewJob::new(queue, "k", "{}")).await;
        w.pass_ms(1).await;
    }
    let mut names: Vec<String> = Vec::new();
    loop {
        let page = w.store.queues(names.last().map(String::as_str), 3).await.expect("queues");
        names.extend(page.items.into_iter().map(|queue| queue.name));
        if !page.more {
            break;
        }
    }
    assert_eq!(names, ["10", "9", "B", "a", "b", "b-2", "b.1"]);
}

/// A listed queue is the queue that is read alone.
pub async fn x_a_listed_queue_is_the_whole_queue<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(3).await;
    w.take("a").await;
    let page = w.store.queues(None, 10).await.expect("queues");
    let alone = w.store.queue("q").await.expect("queue").expect("used");
    assert_eq!((page.items, page.more), (vec![alone], false));
}

/// What was never there reads as absent.
pub async fn x_what_was_never_there_reads_as_absent<H: Harness>() {
    let w = World::<H>::open().await;
    assert_eq!(w.store.job(JobId(123_456)).await.expect("job"), None);
    assert_eq!(w.events(JobId(123_456)).await, []);
    assert_eq!(w.store.queue("q").await.expect("queue"), None);
    assert_eq!(listed(&w, Filter::default(), None, 5).await, (vec![], false));
    let page = w.store.queues(None, 5).await.expect("queues");
    assert_eq!((page.items, page.more), (vec![], false));
}

/// The store says what time it is, and what it is.
pub async fn l5_the_stores_clock_is_the_harnesss<H: Harness>() {
    let mut w = World::<H>::open().await;
    assert_eq!(w.store.now().await.expect("now"), START);
    w.pass_ms(86_400_000).await;
    assert_eq!(w.harness.another().await.now().await.expect("now"), START.plus_ms(86_400_000));
    let described = w.store.describe().await.expect("describe");
    assert!(!described.is_empty() && !described.contains('\n'), "one line: {described:?}");
}

/// A listener that began before an enqueue is woken by it, on the same handle.
pub async fn q2_an_enqueue_wakes_who_waits<H: Harness>() {
    let w = World::<H>::open().await;
    let mut listener = w.store.signals().listen(vec!["q".to_owned()]);
    w.fill(1).await;
    let woken = tokio::time::timeout(std::time::Duration::from_secs(20), listener.woken()).await;
    assert!(woken.is_ok(), "no hint came");
}
