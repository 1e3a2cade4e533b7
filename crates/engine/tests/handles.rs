//! Handles, builders and held units, on every store.

mod support;

use serde::{Deserialize, Serialize};
use std::time::Duration;
use support::everywhere;
use tenure::domain::{Acquired, FailedTry, Succeeded};
use tenure::pipeline::{Definition, NewSegment, RunStatus, Stage};
use tenure::prelude::*;
use tenure::sync::{NewChunk, State, Synced};
use tenure::{Error, KeyHolder, LostReason, NewJob, Refused, Status, Time};

#[derive(Debug, PartialEq, Serialize, Deserialize, Job)]
#[job(kind = "resize", queue = "images")]
struct Resize {
    asset: u64,
}

const DAY: Duration = Duration::from_secs(24 * 3_600);

#[tokio::test(flavor = "multi_thread")]
async fn what_is_added_to_a_job_is_added_to_the_call() {
    everywhere(async |tenure| {
        let now = tenure.now().await.unwrap();
        let later = tenure.enqueue(Resize { asset: 1 }).after(DAY).priority(5).attempts_max(2);
        let later = later.timeout(Duration::from_secs(7)).ordering_key("o").limit_key("l").await.unwrap().id;
        let job = tenure.job(later).info().await.unwrap();
        assert_eq!((job.priority, job.attempts_max, job.timeout_ms), (5, 2, Some(7_000)));
        assert_eq!((job.ordering_key.as_deref(), job.limit_key.as_deref()), (Some("o"), Some("l")));
        assert!(job.run_at >= now.plus_ms(24 * 3_600_000), "by the store's clock");
        let at = Time(now.0 + 5_000_000);
        let job = tenure.enqueue(Resize { asset: 2 }).at(at).queue("elsewhere").await.unwrap().id;
        let job = tenure.job(job).info().await.unwrap();
        assert_eq!((job.run_at, job.queue.as_str()), (at, "elsewhere"));
        let first = tenure.enqueue(Resize { asset: 3 }).key("k").await.unwrap().id;
        assert!(tenure.enqueue(Resize { asset: 3 }).key("k").await.unwrap().deduplicated);
        let refused = tenure.enqueue(Resize { asset: 4 }).key("k").await.unwrap_err();
        assert!(matches!(refused, Error::Conflict { index: 0, with: KeyHolder::Job(id) } if id == first), "{refused}");
        let all = [Resize { asset: 5 }, Resize { asset: 6 }];
        assert_eq!(tenure.enqueue_all(all).await.unwrap().len(), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn l12_a_held_job_is_ended_by_value_and_an_ending_may_be_sent_again() {
    everywhere(async |tenure| {
        let id = tenure.enqueue(Resize { asset: 42 }).await.unwrap().id;
        let images = tenure.queue("images");
        let job = images.claim().worker("w1").lease(Duration::from_secs(30)).one().await.unwrap().unwrap();
        assert_eq!(job.payload::<Resize>().unwrap(), Resize { asset: 42 });
        assert_eq!((job.owner(), job.id, job.attempt), ("w1", id, 1));
        assert!(images.claim().one().await.unwrap().is_none(), "it is held");
        job.heartbeat().await.unwrap();
        job.progress(&"half").await.unwrap();
        job.checkpoint(&7).await.unwrap();
        let wrong = job.payload::<u64>().unwrap_err();
        assert_eq!(wrong.code(), "json_syntax");
        let (again, stale) = (job.clone(), job.clone());
        assert_eq!(job.complete(&"42.webp").await.unwrap().status, Status::Completed);
        assert!(again.complete(&"42.webp").await.unwrap().already);
        // Refused, it comes back with the reason.
        let (held, error) = stale.fail("too late").await.unwrap_err().into_parts();
        assert!(matches!(error, Error::LeaseLost(LostReason::Finished)), "{error}");
        assert_eq!(held.id, id);
        assert_eq!(tenure.job(id).wait::<String>().await.unwrap(), "42.webp");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_endings_of_a_job_and_what_waiting_for_it_says() {
    everywhere(async |tenure| {
        let claim = || async { tenure.queue("images").claim().worker("w").one().await.unwrap().unwrap() };
        let id = tenure.enqueue(Resize { asset: 1 }).attempts_max(1).await.unwrap().id;
        assert_eq!(claim().await.release().await.unwrap().status, Status::Queued);
        assert_eq!(claim().await.snooze(Duration::ZERO).await.unwrap().status, Status::Queued);
        assert_eq!(claim().await.fail("no such asset").await.unwrap().status, Status::Failed);
        let failed = tenure.job(id).wait::<String>().await.unwrap_err();
        assert!(matches!(&failed, Error::JobFailed { id: of, error } if *of == id && error == "no such asset"));
        assert_eq!(failed.code(), "job_failed");
        assert_eq!(tenure.job(id).retry().await.unwrap(), Status::Queued);
        assert_eq!(tenure.job(id).cancel("not wanted").await.unwrap(), Status::Failed);
        let refused = tenure.job(id).cancel("again").force().await.unwrap_err();
        assert!(matches!(refused, Error::Refused(Refused::Job(_))), "{refused}");
        assert!(!tenure.job(id).timeline().await.unwrap().is_empty());
        assert!(!tenure.job(id).explain().await.unwrap().summary.is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_is_paused_limited_and_listed_by_its_handle() {
    everywhere(async |tenure| {
        let images = tenure.queue("images");
        assert!(matches!(images.info().await.unwrap_err(), Error::NotFound(what) if what == "queue images"));
        assert!(images.pause().await.unwrap().settings.paused);
        tenure.enqueue(Resize { asset: 1 }).await.unwrap();
        assert!(images.claim().one().await.unwrap().is_none());
        assert!(!images.resume().await.unwrap().settings.paused);
        assert_eq!(images.max_running(16).await.unwrap().settings.max_running, Some(16));
        let changed = images.change().max_running(None).retention(DAY).max_running_per_key(2).await.unwrap().settings;
        assert_eq!(
            (changed.max_running, changed.max_running_per_key, changed.retention_ms),
            (None, Some(2), 86_400_000)
        );
        assert!(images.changes().await.unwrap().len() >= 4);
        tenure.enqueue_all([Resize { asset: 2 }, Resize { asset: 3 }]).await.unwrap();
        let page = images.jobs().status(Status::Queued).kind("resize").page(2).await.unwrap();
        assert_eq!((page.items.len(), page.more), (2, true));
        let rest = images.jobs().before(page.items[1].id).page(10).await.unwrap();
        assert_eq!(rest.items.len(), 1);
        assert_eq!(images.jobs().cancel("deploy").await.unwrap().done, 3);
        assert_eq!(images.jobs().status(Status::Failed).retry().await.unwrap().done, 3);
        assert_eq!(tenure.queues().page(10).await.unwrap().items.len(), 1);
        tenure.set_max_running(7).await.unwrap();
        assert_eq!(tenure.max_running().await.unwrap(), Some(7));
        tenure.set_max_running(None).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_an_offset_is_held_tried_again_and_followed_by_the_next() {
    everywhere(async |tenure| {
        let customer = tenure.domain("customer-7").worker("w").lease(Duration::from_secs(30));
        let held = customer.try_acquire(12).await.unwrap().held().unwrap();
        assert_eq!((held.offset, held.owner()), (12, "w"));
        assert_eq!(customer.try_acquire(13).await.unwrap(), Acquired::Enqueued { expired_offset: None });
        let other = tenure.domain("customer-7").worker("other").try_acquire(12).await.unwrap();
        assert_eq!(other, Acquired::HeldByOther);
        assert!(other.held().is_none());
        held.heartbeat().await.unwrap();
        let FailedTry::RetryScheduled { held, retry_count: 1 } = held.fail().await.unwrap() else {
            panic!("its first")
        };
        let advanced = held.advance(None).await.unwrap();
        assert_eq!(advanced.succeeded, Succeeded::NextHint { offset: 13 });
        let (offset, next) = advanced.next.unwrap();
        let next = next.unwrap().held().unwrap();
        assert_eq!((offset, next.offset), (13, 13));
        let stale = customer.held(13, next.token());
        assert_eq!(next.complete().await.unwrap(), Succeeded::NoBacklog);
        assert!(stale.complete().await.is_err(), "it is ended");
        assert_eq!(customer.change().max_retries(1).await.unwrap().settings.max_retries, 1);
        customer.skip(14).await.unwrap();
        assert!(!customer.timeline().await.unwrap().is_empty());
        assert_eq!(tenure.domains().page(10).await.unwrap().items.len(), 1);
        assert_eq!(tenure.domain("nobody").info().await.unwrap_err().code(), "not_found");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_chunks_are_claimed_and_a_sync_is_closed_by_hand() {
    everywhere(async |tenure| {
        let orders = tenure.matrix("orders");
        let plan = orders.plan([NewChunk::new("a").payload("7"), NewChunk::new("b")]).priority(1).attempts_max(2);
        let sync = tenure.sync(plan.await.unwrap().id);
        assert_eq!(sync.add([NewChunk::new("c")]).await.unwrap().planned, 3);
        let chunk = sync.claim().worker("w1").lease(Duration::from_secs(60)).one().await.unwrap().unwrap();
        assert_eq!((chunk.chunk_hash.as_str(), chunk.payload::<u32>().unwrap()), ("a", 7));
        chunk.heartbeat().await.unwrap();
        chunk.complete(Synced::rows(10).cursor("99")).await.unwrap();
        sync.claim().chunk("b").one().await.unwrap().unwrap().fail("try again").await.unwrap();
        sync.claim().chunk("b").one().await.unwrap().unwrap().complete(1).await.unwrap();
        sync.claim().one().await.unwrap().unwrap().release().await.unwrap();
        let held = orders.claim().worker("w1").one().await.unwrap().unwrap();
        held.heartbeat().await.unwrap();
        let (held, error) = held.complete().await.unwrap_err().into_parts();
        assert_eq!(error.code(), "sync_incomplete", "{error}");
        sync.claim().one().await.unwrap().unwrap().complete(0).await.unwrap();
        assert!(sync.claim().one_or_why().await.unwrap().is_err());
        held.complete().await.unwrap();
        let info = sync.info().await.unwrap();
        assert_eq!((info.sync.state, info.progress.rows), (State::Completed, 11));
        assert_eq!(sync.chunk("a").await.unwrap().row_count, Some(10));
        assert_eq!(sync.chunks().state(State::Completed).page(10).await.unwrap().items.len(), 3);
        assert_eq!(orders.syncs().page(10).await.unwrap().items.len(), 1);
        assert!(!sync.timeline().await.unwrap().is_empty());
        assert_eq!(sync.cancel("too late").await.unwrap_err().code(), "terminal");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_a_run_is_started_once_worked_on_by_hand_and_operated() {
    everywhere(async |tenure| {
        let definition = Definition::new("video").stage(Stage::new("cut").segmented());
        let definition = definition.stage(Stage::new("publish").needs(["cut"]));
        tenure.apply(definition).await.unwrap();
        let video = tenure.pipeline("video");
        let run = video.start(7_u32).key("asset-42").await.unwrap();
        assert_eq!(video.start(7_u32).key("asset-42").await.unwrap().id(), run.id());
        let refused = video.start(8_u32).key("asset-42").await.unwrap_err();
        assert!(matches!(refused, Error::Conflict { with: KeyHolder::Run(id), .. } if id == run.id()), "{refused}");
        let advance = || async { tenure.orchestrator().advance(10).await.unwrap() };
        let claim = |stage: &'static str| {
            let claim = video.claim([stage]).worker("w1").lease(Duration::from_secs(30));
            async move { claim.one().await.unwrap() }
        };
        advance().await;
        let cut = claim("cut").await.unwrap();
        assert_eq!(cut.input::<u32>().unwrap(), 7);
        cut.progress(&"cutting").await.unwrap();
        cut.split(vec![NewSegment { name: "s1".to_owned(), input: None }]).await.unwrap();
        advance().await;
        claim("cut").await.unwrap().complete(&1).await.unwrap();
        advance().await;
        claim("cut").await.unwrap().complete(&2).await.unwrap();
        assert_eq!(run.pause().await.unwrap(), RunStatus::Running);
        advance().await;
        assert!(claim("publish").await.is_none(), "it rests");
        run.resume().await.unwrap();
        advance().await;
        let publish = claim("publish").await.unwrap();
        let stale = publish.clone();
        publish.complete("done").await.unwrap();
        assert!(stale.fail("too late").await.is_err());
        advance().await;
        assert_eq!(run.wait().await.unwrap().status, RunStatus::Done);
        assert_eq!(run.output::<String>("publish").await.unwrap(), "done");
        assert_eq!(run.segments("cut", None, 10).await.unwrap().items.len(), 1);
        assert!(!run.timeline().await.unwrap().is_empty());
        assert_eq!(video.runs().status(RunStatus::Done).page(10).await.unwrap().items.len(), 1);
        assert_eq!(video.info().await.unwrap().definition.version, 1);
        assert_eq!(video.version(2).await.unwrap_err().code(), "not_found");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t1_a_schedule_is_put_by_its_name_and_rests() {
    everywhere(async |tenure| {
        let nightly = tenure.schedule("nightly");
        assert_eq!(nightly.info().await.unwrap_err().code(), "not_found");
        let put = || nightly.cron("0 3 * * *").zone("Europe/Berlin").enqueues(Resize { asset: 1 });
        let schedule = put().await.unwrap();
        assert_eq!(put().await.unwrap(), schedule, "what is there stays");
        assert_eq!(
            (schedule.definition.zone.as_str(), schedule.definition.job.kind.as_str()),
            ("Europe/Berlin", "resize")
        );
        assert_eq!(nightly.next(3).await.unwrap().len(), 3);
        assert!(nightly.pause().await.unwrap().definition.paused);
        assert!(!nightly.resume().await.unwrap().definition.paused);
        assert!(nightly.firings(None, 10).await.unwrap().items.is_empty());
        assert_eq!(tenure.schedules().page(10).await.unwrap().items.len(), 1);
        assert!(nightly.remove().await.unwrap() && !nightly.remove().await.unwrap());
        let bad = nightly.cron("not a cron").enqueues(NewJob::new("q", "k", "1")).await.unwrap_err();
        assert!(matches!(bad, Error::Invalid(_)), "{bad}");
    })
    .await;
}
