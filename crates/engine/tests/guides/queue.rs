//! docs/guide/queue.md

use serde::{Deserialize, Serialize};
use std::time::Duration;
use tenure::queue::HeldJob;
use tenure::{Beat, Claim, Error, Idle, Job, LostReason, NewJob, Start, Status, Tenure};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "resize", queue = "images")]
struct Resize {
    asset: u64,
}

async fn one(tenure: &Tenure) -> tenure::Result<HeldJob> {
    tenure.enqueue(Resize { asset: 42 }).await?;
    Ok(tenure.queue("images").claim().worker("worker-1").one().await?.expect("one waits"))
}

#[tokio::test]
async fn jobs_are_enqueued_and_claimed() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;

    tenure.enqueue(Resize { asset: 42 }).await?;
    tenure.enqueue(Resize { asset: 43 }).after(Duration::from_secs(60)).priority(5).key("asset-43").await?;
    tenure.enqueue(NewJob::new("images", "resize", r#"{"asset":44}"#)).await?; // without a type
    tenure.enqueue_all([Resize { asset: 45 }, Resize { asset: 46 }]).await?; // all or none, ids in this order

    let images = tenure.queue("images");
    if let Some(job) = images.claim().worker("worker-1").lease(Duration::from_secs(60)).one().await? {
        let Resize { asset } = job.payload()?;
        job.complete(&format!("images/{asset}.webp")).await?; // by value: it cannot be ended twice
    }
    let more = images.claim().worker("worker-1").also("mail").wait(Duration::from_secs(20)).up_to(10).await?;
    assert_eq!(more.len(), 3, "what was put off waits");

    let claims = tenure.verbs().claim(Claim::new("images", "worker-1")).await?;
    assert_eq!((claims.jobs.len(), claims.idle), (0, Some(Idle::Empty)));
    Ok(())
}

#[tokio::test]
async fn a_held_job_is_kept_and_ended() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    let job = one(&tenure).await?;

    job.heartbeat().await?;
    job.progress(&"40 %").await?; // for people
    job.checkpoint(&7).await?; // for the next attempt: job.last_checkpoint()

    assert_eq!(job.fail("out of tiles").await?.status, Status::Queued);

    let (job, result) = (one(&tenure).await?, "images/42.webp");
    match job.complete(result).await {
        Ok(ended) => println!("it is {}", ended.status),
        Err(not_ended) => {
            let (job, error) = not_ended.into_parts();
            if let Error::Unavailable { .. } = error {
                job.complete(result).await?; // answered as the first time would have been
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_lost_lease_says_why() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    let job = one(&tenure).await?;
    tenure.job(job.id).cancel("").force().await?;

    match job.heartbeat().await {
        Ok(beaten) if beaten.cancel_requested.is_empty() => { /* go on */ }
        Ok(_) => { /* an operator asks to stop; end it as you see fit */ }
        Err(Error::LeaseLost(why)) => println!("stop: {}", why.sentence()),
        Err(error) => return Err(error),
    }

    let refused = job.complete(&()).await.unwrap_err();
    assert!(matches!(refused.error(), Error::LeaseLost(LostReason::Cancelled)));
    Ok(())
}

#[tokio::test]
async fn many_jobs_are_held_under_one_lease() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    tenure.enqueue_all((0..3).map(|asset| Resize { asset })).await?;

    let verbs = tenure.verbs();
    let claims = verbs.claim(Claim::new("images", "worker-1").max(100).shared(1)).await?; // one lease for each queue
    let token = claims.jobs[0].token;
    verbs.start(Start { owner: "worker-1".into(), token, count: 2 }).await?; // before the second handler runs
    verbs.heartbeat(Beat::shared("worker-1", token)).await?; // keeps all of them

    assert!(claims.jobs.iter().all(|job| job.token == token));
    Ok(())
}

#[tokio::test]
async fn limits_are_changed() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;

    tenure.set_max_running(200).await?; // the engine
    tenure.queue("images").change().max_running(3).max_running_per_key(1).await?;
    tenure.enqueue(Resize { asset: 1 }).limit_key("acme").await?;

    let settings = tenure.queue("images").info().await?.settings;
    assert_eq!((settings.max_running, settings.max_running_per_key), (Some(3), Some(1)));
    assert_eq!(tenure.max_running().await?, Some(200));
    Ok(())
}

#[tokio::test]
async fn operators_look_cancel_and_retry() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    let id = tenure.enqueue(Resize { asset: 42 }).await?.id;

    let images = tenure.queue("images");
    let newest = images.jobs().status(Status::Queued).kind("resize").page(100).await?;
    let why = tenure.job(id).explain().await?.summary;

    assert_eq!(newest.items[0].id, id);
    assert!(why.contains("no worker"), "{why}");

    tenure.job(id).cancel("wrong customer").await?; // `.force()` does not wait for its holder
    tenure.job(id).retry().await?; // of a job that has ended
    images.jobs().status(Status::Failed).retry().await?; // all that match

    assert_eq!(tenure.job(id).info().await?.status, Status::Queued);
    Ok(())
}

#[tokio::test]
async fn a_result_is_waited_for() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    let job = one(&tenure).await?;
    let id = job.id;
    job.complete("images/42.webp").await?;

    let file: String = tenure.job(id).wait().await?;

    assert_eq!(file, "images/42.webp");
    Ok(())
}
