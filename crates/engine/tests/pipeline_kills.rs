//! Two orchestrators and four workers, killed at random (SIGKILL) over runs of a twelve-stage graph with segments.
//!
//! A test starts this very program again as its children: each runs the same test, finds `TENURE_CHILD` in its environment
//! and plays that part instead. `TENURE_RUNS=300 cargo test -p tenure --test pipeline_kills` runs hundreds.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tenure::pipeline::artifacts::Folder;
use tenure::pipeline::{Definition, NewRun, RunId, RunStatus, Segment, Stage, StageContext, Stages, UnitKey, Verb};
use tenure::prelude::*;
use tenure_testing::TestDatabase;

const CHILD: &str = "TENURE_CHILD";
const STORE: &str = "TENURE_CHILD_STORE";
const FOLDER: &str = "TENURE_CHILD_FOLDER";
/// Runs, unless `TENURE_RUNS` says otherwise.
const RUNS: u64 = 30;
/// Runs that are open at once.
const OPEN_MAX: usize = 4;
/// Processes killed in each round, of six.
const KILLED_AT_ONCE: usize = 2;
/// Segments of each of the two stages that are split.
const SEGMENTS: u64 = 3;
/// No test run takes as long unless something is stuck.
const PATIENCE: Duration = Duration::from_secs(900);

/// Twelve stages: a fork, two that are split, joins of two and three.
fn definition() -> Definition {
    let stage =
        |name: &str, needs: &[&str]| Stage::new(name).needs(needs.iter().copied()).lease_ms(1_500).attempts_max(1_000);
    Definition::new("killed")
        .stage(stage("fetch", &[]))
        .stage(stage("probe", &["fetch"]))
        .stage(stage("audio", &["fetch"]).segmented())
        .stage(stage("video", &["fetch"]).segmented())
        .stage(stage("title", &["probe"]))
        .stage(stage("cover", &["probe"]))
        .stage(stage("mix", &["audio", "video"]))
        .stage(stage("words", &["audio"]))
        .stage(stage("index", &["words", "title"]))
        .stage(stage("verify", &["mix"]))
        .stage(stage("bundle", &["verify", "index", "cover"]))
        .stage(stage("publish", &["bundle"]))
}

/// A number that takes a while to find, and that only its input decides.
fn work(seed: &str) -> u64 {
    let mut state = seed
        .bytes()
        .fold(14_695_981_039_346_656_037u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(1_099_511_628_211));
    for _ in 0..20_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407).rotate_left(17);
    }
    state
}

async fn plain(cx: StageContext, input: serde_json::Value) -> Outcome<u64> {
    let sum = work(&format!("{}{input}", cx.stage()));
    cx.write("sum", sum.to_string()).await?;
    Outcome::done(sum)
}

async fn cut(_: StageContext, input: u64) -> Outcome<Vec<Segment<u64>>> {
    Ok((0..SEGMENTS).map(|n| Segment::new(format!("s{n}"), input.wrapping_add(n))).collect())
}

async fn join(cx: StageContext, input: u64) -> Outcome<u64> {
    let page = cx.segments(None, 100).await?;
    let outputs: Vec<&str> = page.items.iter().map(|segment| segment.output.as_deref().unwrap_or("?")).collect();
    let sum = work(&format!("{input}{}", outputs.join(",")));
    cx.write("sum", sum.to_string()).await?;
    Outcome::done(sum)
}

fn stages(tenure: &Tenure, folder: &str) -> Stages {
    let mut stages = tenure.stages("killed").concurrency(3).artifacts(Folder::new(folder));
    for stage in definition().stages {
        stages = match stage.segmented {
            false => stages.handle(stage.name, plain),
            true => {
                let name = stage.name;
                stages.split(name.clone(), cut).segment(name.clone(), plain).handle(name, join)
            }
        };
    }
    stages
}

/// Plays the part of a child, if this process is one.
async fn child() -> bool {
    let Ok(role) = std::env::var(CHILD) else { return false };
    let tenure = Tenure::open(&std::env::var(STORE).unwrap()).await.unwrap();
    match role.as_str() {
        "orchestrator" => tenure.upkeep().await,
        _ => drop(stages(&tenure, &std::env::var(FOLDER).unwrap()).run_until(std::future::pending()).await.unwrap()),
    }
    true
}

fn start(test: &str, role: &str, url: &str, folder: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(CHILD, role).env(STORE, url).env(FOLDER, folder);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Children that die with this value.
struct Crowd {
    test: &'static str,
    url: String,
    folder: String,
    children: Vec<(&'static str, Child)>,
    kills: usize,
    chance: u64,
}

impl Crowd {
    fn start(test: &'static str, url: &str, folder: &str) -> Crowd {
        let roles = ["orchestrator", "orchestrator", "worker", "worker", "worker", "worker"];
        let children = roles.map(|role| (role, start(test, role, url, folder))).into();
        Crowd { test, url: url.to_owned(), folder: folder.to_owned(), children, kills: 0, chance: 0x5eed }
    }

    /// Kills one at random, and starts another in its place.
    fn kill_one(&mut self) {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let which = (self.chance >> 33) as usize % self.children.len();
        let (role, child) = &mut self.children[which];
        child.kill().unwrap();
        child.wait().unwrap();
        *child = start(self.test, role, &self.url, &self.folder);
        self.kills += 1;
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for (_, child) in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

async fn survives(test: &'static str, url: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let tenure = Tenure::open(url).await.unwrap();
    tenure.verbs().apply_pipeline(definition()).await.unwrap();
    let count = std::env::var("TENURE_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let mut runs: Vec<(u64, RunId)> = Vec::new();
    let mut crowd = Crowd::start(test, url, &path);
    let began = Instant::now();
    let mut open: BTreeSet<RunId> = BTreeSet::new();
    while !open.is_empty() || (runs.len() as u64) < count {
        assert!(began.elapsed() < PATIENCE, "{} runs are stuck: {:?}", open.len(), open.first());
        // A few at a time, so that there is something to kill at from beginning to end.
        while (runs.len() as u64) < count && open.len() < OPEN_MAX {
            // Three inputs, so that runs can be compared with each other.
            let input = runs.len() as u64 % 3;
            let run = tenure.verbs().start_run(NewRun::new("killed", input.to_string())).await.unwrap();
            runs.push((input, run));
            open.insert(run);
        }
        tokio::time::sleep(Duration::from_millis(150)).await;
        (0..KILLED_AT_ONCE).for_each(|_| crowd.kill_one());
        let mut still = BTreeSet::new();
        for run in open {
            if !tenure.verbs().run(run).await.unwrap().unwrap().0.status.terminal() {
                still.insert(run);
            }
        }
        open = still;
    }
    let kills = crowd.kills;
    drop(crowd);
    let mut published: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    let mut units = 0;
    for (input, run) in runs {
        units += check(&tenure, run, &path).await;
        let (_, stages) = tenure.verbs().run(run).await.unwrap().unwrap();
        published.entry(input).or_default().insert(stages[11].unit.output.clone().unwrap());
    }
    // The same input came to the same checksum, whoever was killed meanwhile.
    assert!(published.len() == 3 && published.values().all(|sums| sums.len() == 1), "{published:?}");
    println!("{count} runs, {units} units, {kills} processes killed, {:?}", began.elapsed());
}

/// Every unit accepted once, none skipped, no stage before its prerequisites, every artifact valid.
async fn check(tenure: &Tenure, run: RunId, folder: &str) -> usize {
    let (found, stages) = tenure.verbs().run(run).await.unwrap().unwrap();
    let events = tenure.verbs().run_timeline(run).await.unwrap().unwrap();
    assert_eq!(found.status, RunStatus::Done, "run {run}: {events:#?}");
    let mut done: BTreeMap<UnitKey, tenure::Time> = BTreeMap::new();
    for event in events.iter().filter(|event| event.what.as_str() == "completed") {
        let stage = event.stage.clone().unwrap();
        let key = UnitKey { run, stage, segment: event.segment.clone() };
        assert!(done.insert(key.clone(), event.at).is_none(), "{key} was accepted twice");
    }
    assert_eq!(done.len() as u64, 12 + 2 * SEGMENTS, "run {run} skipped a unit");
    for stage in &stages {
        let claims = events
            .iter()
            .filter(|event| event.what.as_str() == "claimed" && event.stage.as_deref() == Some(&stage.unit.stage));
        for claim in claims {
            for need in &stage.unit.needs {
                let at = done[&UnitKey::stage(run, need)];
                assert!(claim.at >= at, "{} of run {run} was claimed before {need} was DONE", stage.unit.stage);
            }
        }
    }
    let (looked_at, findings) = tenure.verbs().verify_run(run, &Folder::new(folder)).await.unwrap();
    assert_eq!((looked_at, findings), (12 + 2 * SEGMENTS, vec![]), "run {run}");
    assert!(events.iter().all(|event| event.verb != Some(Verb::Split) || event.lost.is_some()));
    done.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_processes_on_sqlite_lose_and_double_nothing() {
    if child().await {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("tenure.db").display());
    survives("killed_processes_on_sqlite_lose_and_double_nothing", &url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_processes_on_postgres_lose_and_double_nothing() {
    if child().await {
        return;
    }
    let database = TestDatabase::create().await.unwrap();
    survives("killed_processes_on_postgres_lose_and_double_nothing", database.url()).await;
}
