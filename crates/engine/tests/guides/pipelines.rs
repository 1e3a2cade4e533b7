//! docs/guide/pipelines.md

use serde::Serialize;
use tenure::pipeline::artifacts::InMemory;
use tenure::pipeline::{Definition, RunStatus, Segment, Stage, StageContext};
use tenure::prelude::*;

#[derive(Serialize)]
struct Input {
    file: &'static str,
}

fn video() -> Definition {
    Definition::new("video")
        .stage(Stage::new("fetch"))
        .stage(Stage::new("encode").needs(["fetch"]).segmented())
        .stage(Stage::new("publish").needs(["encode"]))
}

async fn fetch(_: StageContext, input: serde_json::Value) -> Outcome<u32> {
    Outcome::done(input["file"].as_str().map_or(0, str::len) as u32)
}

async fn cut(_: StageContext, length: u32) -> Outcome<Vec<Segment<u32>>> {
    Outcome::done((0..length).map(|n| Segment::new(format!("s{n}"), n)).collect::<Vec<_>>())
}

async fn encode(_: StageContext, part: u32) -> Outcome<u32> {
    Outcome::done(part)
}

async fn join(_: StageContext, length: u32) -> Outcome<u32> {
    Outcome::done(length)
}

async fn prepare(_: StageContext, length: u32) -> Outcome<String> {
    Outcome::done(format!("{length} parts"))
}

async fn upload(_: StageContext, _: String) -> Outcome {
    Outcome::done(())
}

#[tokio::test]
async fn a_run_goes_through_its_stages() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    tenure.apply(video()).await?;

    let run = tenure.pipeline("video").start(Input { file: "holiday.mov" }).key("holiday").await?;

    let shutdown = async { drop(run.wait().await) };
    let stages = tenure
        .stages("video")
        .artifacts(InMemory::default())
        .handle("fetch", fetch) // async fn(StageContext, Input) -> Outcome<Output>
        .split("encode", cut) // async fn(StageContext, Input) -> Outcome<Vec<Segment<T>>>
        .segment("encode", encode) // each segment, alone
        .handle("encode", join) // once, when all segments are DONE
        .handle("publish", prepare)
        .commit("publish", upload); // last, after the outputs are recorded, while the lease is held
    tenure.worker().concurrency(8).stages(stages).run_until(shutdown).await?; // or run_until_signalled()

    assert_eq!(run.info().await?.status, RunStatus::Done);
    let parts: String = run.output("publish").await?;
    assert_eq!(parts, "11 parts");

    run.retry_from("publish").await?; // that stage, and what follows from it
    run.cancel("not wanted").await?;

    assert_eq!(run.info().await?.status, RunStatus::Error);
    Ok(())
}

#[tokio::test]
async fn a_stage_is_claimed_by_hand() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    tenure.apply(video()).await?;
    tenure.pipeline("video").start(Input { file: "holiday.mov" }).await?;
    tenure.orchestrator().advance(100).await?;

    if let Some(stage) = tenure.pipeline("video").claim(["fetch"]).worker("worker-1").one().await? {
        stage.progress(&"half of it").await?;
        stage.complete(&11).await?; // or fail(error), release(), split(segments)
    }

    assert!(tenure.pipeline("video").claim(["fetch"]).one().await?.is_none());
    Ok(())
}
