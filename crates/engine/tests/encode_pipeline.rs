//! The pipeline of the example, as a program of its own: killed ten times at random (SIGKILL), started again each time, it
//! publishes what an undisturbed run publishes.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tenure::Tenure;
use tenure::pipeline::artifacts::{Folder, blake3};
use tenure::pipeline::{Filter, RunStatus};
use tenure_testing::TestDatabase;

const KILLS: u32 = 10;
/// The source, eight segments, and what they were joined to.
const ARTIFACTS: u64 = 10;

/// The example's program. `cargo test` builds examples beside the tests; where only this test was asked for, it is built here.
fn program() -> PathBuf {
    let tests = std::env::current_exe().expect("this program has a path");
    let profile = tests.parent().and_then(|deps| deps.parent()).expect("tests are in target/<profile>/deps");
    let program = profile.join("examples/encode_pipeline");
    if !program.exists() {
        let build = ["build", "--locked", "-p", "tenure", "--example", "encode_pipeline"];
        let built = Command::new(env!("CARGO")).args(build).status();
        assert!(built.expect("cargo runs").success(), "the example builds");
    }
    program
}

fn encoding(program: &Path, url: &str, folder: &Path) -> Child {
    Command::new(program).arg(url).arg(folder).stdout(Stdio::piped()).spawn().expect("the example starts")
}

/// The checksum that the program says it has published.
fn published(child: Child) -> String {
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{out:?}");
    let said = String::from_utf8(out.stdout).unwrap();
    said.lines().last().and_then(|line| line.split_whitespace().last()).expect("it says so").to_owned()
}

async fn survives(url: &str) {
    let program = program();
    let (folder, quiet) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let undisturbed = format!("sqlite:{}", quiet.path().join("tenure.db").display());
    let expected = published(encoding(&program, &undisturbed, &quiet.path().join("artifacts")));

    // Drawn from the process id, so that runs differ; the seed is printed.
    let mut seed = u64::from(std::process::id());
    println!("seed {seed}");
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut killed = 0;
    while killed < KILLS {
        let mut child = encoding(&program, url, folder.path());
        // Killed a moment after it has begun with so many stages and segments.
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
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
    assert_eq!(published(encoding(&program, url, folder.path())), expected);

    let tenure = Tenure::open(url).await.unwrap();
    let runs = tenure.runs(Filter::default(), None, 100).await.unwrap().items;
    for run in &runs {
        assert_eq!(run.status, RunStatus::Done, "{run:?}");
        let file = folder.path().join(format!("published/{}", run.id));
        assert_eq!(blake3(&std::fs::read(&file).unwrap()), expected, "{}", file.display());
        assert_eq!(std::fs::read_to_string(file.with_extension("blake3")).unwrap(), expected);
        let verified = tenure.verify_run(run.id, &Folder::new(folder.path())).await.unwrap();
        assert_eq!(verified, (ARTIFACTS, vec![]), "run {}", run.id);
    }
    println!("{} runs, {killed} kills", runs.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_killed_ten_times_on_sqlite_it_publishes_the_same_checksum() {
    let folder = tempfile::tempdir().unwrap();
    survives(&format!("sqlite:{}", folder.path().join("tenure.db").display())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_killed_ten_times_on_postgres_it_publishes_the_same_checksum() {
    let database = TestDatabase::create().await.unwrap();
    survives(database.url()).await;
}
