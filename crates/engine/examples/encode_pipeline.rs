//! A pipeline with real files: fetch → encode (split into segments, joined again) → verify → publish.
//!
//! Every stage leaves an artifact at a path that is derived from its run and name. Kill it wherever you like and start it
//! again with the same folder: it goes on, redoes only what was in hand, and publishes the same checksum.
//!
//! `cargo run -p tenure --example encode_pipeline -- sqlite:encode.db artifacts`

use serde::{Deserialize, Serialize};
use std::time::Duration;
use tenure::pipeline::artifacts::{Folder, blake3};
use tenure::pipeline::{Artifact, Definition, NewRun, RunId, RunStatus, Segment, Stage, StageContext, Stages};
use tenure::prelude::*;

/// Bytes of the source, and of each segment.
const SOURCE_BYTES: usize = 192 << 10;
const SEGMENT_BYTES: usize = 32 << 10;

/// A file, as one stage tells the next of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct File {
    path: String,
    size: u64,
    blake3: String,
}

impl File {
    fn of(artifact: Artifact) -> File {
        File { path: artifact.path, size: artifact.size, blake3: artifact.blake3 }
    }

    async fn read(&self, cx: &StageContext) -> tenure::Result<Vec<u8>> {
        let File { path, size, blake3 } = self.clone();
        cx.read(&Artifact { path, size, blake3 }).await
    }
}

/// The graph.
pub(crate) fn definition() -> Definition {
    let lease_ms = 5_000;
    Definition::new("encode")
        .stage(Stage::new("fetch").lease_ms(lease_ms))
        .stage(Stage::new("encode").needs(["fetch"]).segmented().lease_ms(lease_ms))
        .stage(Stage::new("verify").needs(["fetch", "encode"]).lease_ms(lease_ms))
        .stage(Stage::new("publish").needs(["verify"]).lease_ms(lease_ms))
}

/// A worker that knows every stage.
pub(crate) fn stages(tenure: &Tenure, folder: &str) -> Stages {
    let published = format!("{folder}/published");
    tenure
        .stages("encode")
        .artifacts(Folder::new(folder))
        .handle("fetch", fetch)
        .split("encode", cut)
        .segment("encode", encode)
        .handle("encode", join)
        .handle("verify", verify)
        .handle("publish", hand_over)
        .commit("publish", move |cx: StageContext, file: File| publish(cx, file, published.clone()))
}

/// Makes the source: bytes that only look random, the same for each seed.
async fn fetch(cx: StageContext, seed: u64) -> Outcome<File> {
    let mut state = seed | 1;
    let byte = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Long runs of equal bytes, so that there is something to encode.
        (state >> 60) as u8
    };
    let bytes: Vec<u8> = (0..SOURCE_BYTES).map(byte).collect();
    Ok(File::of(cx.write("source", bytes).await?))
}

/// What one segment is to do.
#[derive(Serialize, Deserialize)]
struct Piece {
    source: File,
    from: usize,
}

async fn cut(_: StageContext, source: File) -> Outcome<Vec<Segment<Piece>>> {
    let pieces = (0..SOURCE_BYTES).step_by(SEGMENT_BYTES);
    let piece = |from| Segment::new(format!("at-{from}"), Piece { source: source.clone(), from });
    Ok(pieces.map(piece).collect())
}

async fn encode(cx: StageContext, piece: Piece) -> Outcome<File> {
    // An earlier attempt may have got as far as this.
    if let Some(done) = cx.reuse("encoded").await? {
        return Ok(File::of(done));
    }
    let source = piece.source.read(&cx).await?;
    let encoded = compress(&source[piece.from..piece.from + SEGMENT_BYTES]);
    cx.progress(&encoded.len()).await?;
    Ok(File::of(cx.write("encoded", encoded).await?))
}

/// Runs once, when every segment is done, with their outputs at hand.
async fn join(cx: StageContext, _: File) -> Outcome<File> {
    let mut joined = Vec::new();
    let mut after = None;
    loop {
        let page = cx.segments(after, 100).await?;
        for segment in &page.items {
            let file: File = serde_json::from_str(segment.output.as_deref().unwrap_or("null"))?;
            let bytes = file.read(&cx).await?;
            joined.extend((bytes.len() as u32).to_le_bytes());
            joined.extend(bytes);
        }
        after = page.items.last().map(|segment| segment.id);
        if !page.more {
            break;
        }
    }
    Ok(File::of(cx.write("joined", joined).await?))
}

/// Both prerequisites, by name.
#[derive(Deserialize)]
struct Made {
    fetch: File,
    encode: File,
}

async fn verify(cx: StageContext, made: Made) -> Outcome<File> {
    let (source, joined) = (made.fetch.read(&cx).await?, made.encode.read(&cx).await?);
    let mut rest = joined.as_slice();
    let mut decoded = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (piece, left) = after.split_at(u32::from_le_bytes(*length) as usize);
        decoded.extend(expand(piece));
        rest = left;
    }
    if decoded != source {
        return Outcome::fail("what was encoded does not decode to its source");
    }
    Ok(made.encode)
}

/// There is nothing left to make: publishing is its commit action.
async fn hand_over(_: StageContext, file: File) -> Outcome<File> {
    Ok(file)
}

/// The commit action: last, after the output is recorded, while the lease is held. Doing it twice does no harm.
async fn publish(cx: StageContext, file: File, folder: String) -> Outcome {
    let bytes = file.read(&cx).await?;
    tokio::fs::create_dir_all(&folder).await?;
    let (path, temporary) = (format!("{folder}/{}", cx.run()), format!("{folder}/{}.tmp-{}", cx.run(), cx.token()));
    tokio::fs::write(&temporary, bytes).await?;
    tokio::fs::rename(&temporary, &path).await?;
    Ok(())
}

/// Runs of equal bytes, as length and byte.
fn compress(bytes: &[u8]) -> Vec<u8> {
    bytes.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(255)).flat_map(|run| [run.len() as u8, run[0]]).collect()
}

fn expand(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(2).flat_map(|pair| std::iter::repeat_n(pair[1], pair[0].into())).collect()
}

/// Works beside an orchestrator until a run has ended; the checksum of what was published.
pub(crate) async fn finish(tenure: &Tenure, run: RunId, folder: &str) -> tenure::Result<String> {
    let ended = async {
        while !tenure.run(run).await?.is_some_and(|(run, _)| run.status.terminal()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tenure::Result::Ok(())
    };
    let work = stages(tenure, folder).run_until(async { drop(ended.await) });
    tokio::select! {
        () = tenure.keep_pipelines() => {}
        report = work => drop(report?),
    }
    let (found, _) = tenure.run(run).await?.expect("a run is kept for seven days");
    assert_eq!(found.status, RunStatus::Done);
    let published = std::fs::read(format!("{folder}/published/{run}")).expect("what was published is there");
    Ok(blake3(&published))
}

#[tokio::main]
pub(crate) async fn main() -> tenure::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap_or_else(|| "memory:".to_owned());
    let folder = arguments.next().unwrap_or_else(|| "artifacts".to_owned());
    let tenure = Tenure::open(&url).await?;
    tenure.apply_pipeline(definition()).await?;
    let run = tenure.start_run(NewRun::new("encode", "7")).await?;
    println!("run {run} published {}", finish(&tenure, run, &folder).await?);
    Ok(())
}
