//! docs/guide/worker.md

use serde::{Deserialize, Serialize};
use std::time::Duration;
use tenure::QueueShare;
use tenure::domain::{Work, offsets};
use tenure::pipeline::artifacts::InMemory;
use tenure::pipeline::{Definition, Stage, StageContext};
use tenure::prelude::*;
use tenure::sync::{ChunkContext, NewChunk};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "resize", queue = "images", attempts_max = 3)]
struct Resize {
    asset: u64,
}

async fn fetch(asset: u64) -> std::io::Result<String> {
    Ok(format!("images/{asset}.raw"))
}

async fn resize(cx: Context, job: Resize) -> Outcome<String> {
    let file = fetch(job.asset).await?; // any error: try again, after the job's backoff
    cx.checkpoint(&file).await?; // comes back to the next attempt if this one dies
    Outcome::done(format!("images/{}.webp", job.asset))
}

#[tokio::test]
async fn a_worker_runs_typed_jobs() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    let id = tenure.enqueue(Resize { asset: 41 }).await?.id;
    let shutdown = {
        let tenure = tenure.clone();
        async move { drop(tenure.job(id).wait::<String>().await) }
    };

    tenure.enqueue(Resize { asset: 42 }).priority(9).key("asset-42").await?;
    tenure.worker().concurrency(16).handle(resize).run_until(shutdown).await?; // or run_until_signalled()

    assert_eq!(tenure.job(id).wait::<String>().await?, "images/41.webp");
    Ok(())
}

#[derive(Serialize, Deserialize, Job)]
#[job(queue = "reports")]
struct Report {}

async fn report(_: Context, _: Report) -> Outcome {
    Outcome::snooze(Duration::from_secs(60))
}

#[tokio::test]
async fn queues_have_shares_of_a_worker() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    tenure.enqueue(Report {}).await?;

    let worker = tenure
        .worker()
        .queue(QueueShare::new("images").weight(3))
        .queue(QueueShare::new("reports").concurrency(2))
        .handle(resize)
        .handle(report);

    assert_eq!(worker.drain().await?.completed, 0);
    Ok(())
}

async fn encode(_: StageContext, file: String) -> Outcome<u64> {
    Outcome::done(file.len() as u64)
}

async fn copy_chunk(cx: ChunkContext) -> Result<u64, String> {
    Ok(cx.unit().chunk_hash.len() as u64)
}

async fn post_invoice(work: Work) -> Result<(), String> {
    println!("{} of {}", work.offset, work.domain);
    Ok(())
}

#[tokio::test]
async fn one_worker_does_everything() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    tenure.apply(Definition::new("video").stage(Stage::new("encode"))).await?;
    tenure.pipeline("video").start("holiday.mov").await?;
    tenure.matrix("orders").plan([NewChunk::new("2026-01")]).await?;
    tenure.enqueue(Resize { asset: 42 }).await?;
    let video = tenure.stages("video").artifacts(InMemory::default()).handle("encode", encode);
    let invoices = offsets([("acct-42", 1), ("acct-42", 2)]);

    let worker = tenure
        .worker()
        .concurrency(16)
        .handle(resize) // jobs
        .stages(video) // stages and segments of a pipeline, set up by tenure.stages("video")
        .chunks("orders", copy_chunk) // chunks of a matrix, pass after pass as they are planned
        .domains(invoices, post_invoice); // offsets of domains, as they come from a source

    assert_eq!(worker.drain().await?.completed, 5);
    Ok(())
}
