//! A pipeline with real files and real work: fetch → split → encode each segment → join → verify → publish.
//!
//! Every stage leaves an artifact at a path that is derived from its run and name. Kill it wherever you like and start it
//! again with the same folder: it takes up the run that is not finished, redoes only what was in hand, and publishes the
//! same checksum. `tests/encode_pipeline.rs` does that, ten times on each database.
//!
//! `cargo run -p tenure --example encode_pipeline -- sqlite:encode.db artifacts`

use serde::{Deserialize, Serialize};
use std::time::Duration;
use tenure::Stop;
use tenure::pipeline::artifacts::{Folder, blake3};
use tenure::pipeline::{Artifact, Definition, Filter, NewRun, RunId, RunStatus, Segment, Stage, StageContext, Stages};
use tenure::prelude::*;

/// Bytes of the source, and of each segment.
const SOURCE_BYTES: usize = 4 << 20;
const SEGMENT_BYTES: usize = 512 << 10;
/// Segments of a run.
pub(crate) const SEGMENTS: usize = SOURCE_BYTES / SEGMENT_BYTES;
/// Units in hand at once: the work is done by processors.
const CONCURRENCY: usize = 2;

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
    // A short lease: whoever takes over from a killed process does not wait long. Many attempts: a kill counts as one.
    let stage = |name: &str| Stage::new(name).lease_ms(1_000).attempts_max(100);
    Definition::new("encode")
        .stage(stage("fetch"))
        .stage(stage("encode").needs(["fetch"]).segmented())
        .stage(stage("verify").needs(["fetch", "encode"]))
        .stage(stage("publish").needs(["verify"]))
}

/// A worker that knows every stage.
pub(crate) fn stages(tenure: &Tenure, folder: &str) -> Stages {
    let published = format!("{folder}/published");
    tenure
        .stages("encode")
        .concurrency(CONCURRENCY)
        .artifacts(Folder::new(folder))
        .handle("fetch", fetch)
        .split("encode", cut)
        .segment("encode", encode)
        .handle("encode", join)
        .handle("verify", verify)
        .handle("publish", hand_over)
        .commit("publish", move |cx: StageContext, file: File| publish(cx, file, published.clone()))
}

/// Says what begins, for whoever watches.
fn begin(cx: &StageContext) {
    println!("{} {} attempt {}", cx.stage(), cx.segment().unwrap_or("-"), cx.attempt());
}

/// Real work, apart from the threads on which the runtime waits.
async fn work<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Outcome<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Stop::from(error.to_string()))
}

/// Makes the source: words drawn by a seed, the same for each seed.
async fn fetch(cx: StageContext, seed: u64) -> Outcome<File> {
    begin(&cx);
    const WORDS: [&str; 8] = ["lease ", "token ", "stage ", "worker ", "is held", ", and ", "expires.\n", "fenced "];
    let bytes = work(move || {
        let mut state = seed | 1;
        let mut bytes = Vec::with_capacity(SOURCE_BYTES + 16);
        while bytes.len() < SOURCE_BYTES {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            bytes.extend_from_slice(WORDS[(state >> 61) as usize].as_bytes());
            bytes.extend((state >> 55).is_multiple_of(8).then_some((state >> 40) as u8));
        }
        bytes.truncate(SOURCE_BYTES);
        bytes
    });
    Ok(File::of(cx.write("source", bytes.await?).await?))
}

/// What one segment is to do.
#[derive(Serialize, Deserialize)]
struct Piece {
    source: File,
    from: usize,
}

async fn cut(cx: StageContext, source: File) -> Outcome<Vec<Segment<Piece>>> {
    begin(&cx);
    let piece = |n| Segment::new(format!("s{n}"), Piece { source: source.clone(), from: n * SEGMENT_BYTES });
    Ok((0..SEGMENTS).map(piece).collect())
}

async fn encode(cx: StageContext, piece: Piece) -> Outcome<File> {
    begin(&cx);
    // An earlier attempt may have got as far as this.
    if let Some(done) = cx.reuse("encoded").await? {
        return Ok(File::of(done));
    }
    let source = piece.source.read(&cx).await?;
    let encoded = work(move || compress(&source[piece.from..piece.from + SEGMENT_BYTES])).await?;
    cx.progress(&encoded.len()).await?;
    Ok(File::of(cx.write("encoded", encoded).await?))
}

/// Runs once, when every segment is done, with their outputs at hand.
async fn join(cx: StageContext, _: File) -> Outcome<File> {
    begin(&cx);
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
    begin(&cx);
    let (source, joined) = (made.fetch.read(&cx).await?, made.encode.read(&cx).await?);
    let decodes = work(move || {
        let mut rest = joined.as_slice();
        let mut decoded = Vec::with_capacity(source.len());
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let Some((piece, left)) = after.split_at_checked(u32::from_le_bytes(*length) as usize) else { break };
            decoded.extend(expand(piece));
            rest = left;
        }
        decoded == source
    });
    if !decodes.await? {
        return Outcome::fail("what was encoded does not decode to its source");
    }
    Ok(made.encode)
}

/// There is nothing left to make: publishing is its commit action.
async fn hand_over(cx: StageContext, file: File) -> Outcome<File> {
    begin(&cx);
    Ok(file)
}

/// The commit action: last, after the output is recorded, while the lease is held. Doing it twice does no harm.
async fn publish(cx: StageContext, file: File, folder: String) -> Outcome {
    let bytes = file.read(&cx).await?;
    tokio::fs::create_dir_all(&folder).await?;
    for (name, bytes) in [(format!("{}", cx.run()), bytes), (format!("{}.blake3", cx.run()), file.blake3.into())] {
        let (path, temporary) = (format!("{folder}/{name}"), format!("{folder}/{name}.tmp-{}", cx.token()));
        tokio::fs::write(&temporary, bytes).await?;
        tokio::fs::rename(&temporary, &path).await?;
    }
    Ok(())
}

/// How far back a repetition may lie, and how many earlier places are tried for the longest.
const WINDOW: usize = 1 << 16;
const TRIES: usize = 24;

/// Repetitions as distance and length, the rest as it is: `0 length bytes…` and `1 length distance`.
fn compress(bytes: &[u8]) -> Vec<u8> {
    let hash = |at: usize| {
        let four = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        (four.wrapping_mul(2_654_435_761) >> 17) as usize
    };
    let mut last = vec![usize::MAX; 1 << 15];
    let mut before = vec![usize::MAX; bytes.len()];
    let (mut out, mut plain, mut at) = (Vec::new(), 0, 0);
    let put_plain = |out: &mut Vec<u8>, part: &[u8]| {
        for part in part.chunks(255) {
            out.extend([0, part.len() as u8]);
            out.extend(part);
        }
    };
    while at + 4 <= bytes.len() {
        let (mut best, mut distance) = (0, 0);
        let mut place = last[hash(at)];
        for _ in 0..TRIES {
            if place == usize::MAX || at - place >= WINDOW {
                break;
            }
            let same = bytes[place..].iter().zip(&bytes[at..]).take(255).take_while(|(a, b)| a == b).count();
            if same > best {
                (best, distance) = (same, at - place);
            }
            place = before[place];
        }
        let step = if best >= 6 { best } else { 1 };
        if best >= 6 {
            put_plain(&mut out, &bytes[plain..at]);
            out.extend([1, best as u8]);
            out.extend((distance as u16).to_le_bytes());
            plain = at + best;
        }
        for seen in at..(at + step).min(bytes.len() - 3) {
            before[seen] = std::mem::replace(&mut last[hash(seen)], seen);
        }
        at += step;
    }
    put_plain(&mut out, &bytes[plain..]);
    out
}

/// What [`compress`] was given; as far as it can be read.
fn expand(mut bytes: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    loop {
        match bytes {
            [0, length, rest @ ..] if rest.len() >= usize::from(*length) => {
                let (plain, rest) = rest.split_at((*length).into());
                out.extend(plain);
                bytes = rest;
            }
            [1, length, low, high, rest @ ..] => {
                let distance = usize::from(u16::from_le_bytes([*low, *high]));
                let Some(from) = out.len().checked_sub(distance).filter(|_| distance > 0) else { return out };
                // It may reach into what it makes itself.
                (from..from + usize::from(*length)).for_each(|at| out.push(out[at]));
                bytes = rest;
            }
            _ => return out,
        }
    }
}

/// Works beside an orchestrator until a run has ended; the checksum of what was published.
pub(crate) async fn finish(tenure: &Tenure, run: RunId, folder: &str) -> tenure::Result<String> {
    let ended = async {
        while !tenure.run(run).info().await?.status.terminal() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tenure::Result::Ok(())
    };
    let work = stages(tenure, folder).run_until(async { drop(ended.await) });
    tokio::select! {
        () = tenure.upkeep() => {}
        report = work => drop(report?),
    }
    let found = tenure.run(run).info().await?;
    assert_eq!(found.status, RunStatus::Done);
    let published = std::fs::read(format!("{folder}/published/{run}")).expect("what was published is there");
    Ok(blake3(&published))
}

#[tokio::main]
pub(crate) async fn main() -> tenure::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap_or_else(|| "memory:".to_owned());
    let folder = arguments.next().unwrap_or_else(|| "artifacts".to_owned());
    run(&url, &folder).await
}

/// Takes up the run that is not finished, or starts one, and sees it to its end.
pub(crate) async fn run(url: &str, folder: &str) -> tenure::Result<()> {
    let tenure = Tenure::open(url).await?;
    tenure.apply(definition()).await?;
    // What an earlier process left is taken up.
    let unfinished = Filter { pipeline: Some("encode".to_owned()), status: Some(RunStatus::Running) };
    let run = match tenure.verbs().runs(unfinished, None, 1).await?.items.first() {
        Some(run) => run.id,
        None => tenure.verbs().start_run(NewRun::new("encode", "7")).await?,
    };
    println!("run {run} published {}", finish(&tenure, run, folder).await?);
    Ok(())
}
