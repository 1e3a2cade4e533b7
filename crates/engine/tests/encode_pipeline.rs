//! The pipeline of the example, as a program of its own: killed ten times at random (SIGKILL), started again each time, it
//! publishes what an undisturbed run publishes.
//!
//! A test starts this very program again as its child, which finds `TENURE_CHILD_STORE` in its environment and is the example.

#[path = "../examples/encode_pipeline.rs"]
#[allow(dead_code)]
mod encode_pipeline;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tenure::Tenure;
use tenure::pipeline::artifacts::{Folder, blake3};
use tenure::pipeline::{Filter, RunStatus};
use tenure_testing::TestDatabase;

const STORE: &str = "TENURE_CHILD_STORE";
const FOLDER: &str = "TENURE_CHILD_FOLDER";
const KILLS: u32 = 10;
/// The source, the segments, and what they were joined to.
const ARTIFACTS: u64 = encode_pipeline::SEGMENTS as u64 + 2;

/// Plays the part of the example's program, if this process is one: the same code, never an older build of it.
async fn child() -> bool {
    let Ok(url) = std::env::var(STORE) else { return false };
    encode_pipeline::run(&url, &std::env::var(FOLDER).unwrap()).await.unwrap();
    true
}

fn encoding(test: &str, url: &str, folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(STORE, url).env(FOLDER, folder);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("this program starts again")
}

/// The checksum that the program says it has published.
fn published(child: Child) -> String {
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{out:?}");
    let said = String::from_utf8(out.stdout).unwrap();
    let line = said.lines().find(|line| line.contains(" published ")).expect("it says so");
    line.split_whitespace().last().expect("the checksum is the last word").to_owned()
}

async fn survives(test: &str, url: &str) {
    let (folder, quiet) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let undisturbed = format!("sqlite:{}", quiet.path().join("tenure.db").display());
    let expected = published(encoding(test, &undisturbed, &quiet.path().join("artifacts")));

    // Drawn from the process id, so that runs differ; the seed is printed.
    let mut seed = u64::from(std::process::id());
    println!("seed {seed}");
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut killed = 0;
    while killed < KILLS {
        let mut child = encoding(test, url, folder.path());
        // Killed a moment after it has begun with so many stages and segments.
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = said.map_while(Result::ok).filter(|line| line.contains(" attempt "));
        let stages = draw(4) as usize;
        let begun = said.by_ref().take(stages).count();
        std::thread::sleep(Duration::from_millis(draw(150)));
        let ended = if begun < stages { Some(child.wait().unwrap()) } else { child.try_wait().unwrap() };
        if let Some(status) = ended {
            // It was too quick for us: the next one begins another run.
            assert!(status.success(), "{status}");
            continue;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        killed += 1;
    }
    assert_eq!(published(encoding(test, url, folder.path())), expected);

    let tenure = Tenure::open(url).await.unwrap();
    let runs = tenure.verbs().runs(Filter::default(), None, 100).await.unwrap().items;
    for run in &runs {
        assert_eq!(run.status, RunStatus::Done, "{run:?}");
        let file = folder.path().join(format!("published/{}", run.id));
        assert_eq!(blake3(&std::fs::read(&file).unwrap()), expected, "{}", file.display());
        assert_eq!(std::fs::read_to_string(file.with_extension("blake3")).unwrap(), expected);
        let verified = tenure.verbs().verify_run(run.id, &Folder::new(folder.path())).await.unwrap();
        assert_eq!(verified, (ARTIFACTS, vec![]), "run {}", run.id);
    }
    println!("{} runs, {killed} kills", runs.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_killed_ten_times_on_sqlite_it_publishes_the_same_checksum() {
    if child().await {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("tenure.db").display());
    survives("p7_killed_ten_times_on_sqlite_it_publishes_the_same_checksum", &url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_killed_ten_times_on_postgres_it_publishes_the_same_checksum() {
    if child().await {
        return;
    }
    let database = TestDatabase::create().await.unwrap();
    survives("p7_killed_ten_times_on_postgres_it_publishes_the_same_checksum", database.url()).await;
}
