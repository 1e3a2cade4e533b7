//! `tenure demo`: the promise, shown in a quarter of a minute.
//!
//! Real worker processes share one store. One of them is killed in the middle of its jobs, another is frozen until its
//! lease has run out and others have its work, and is then woken. What is told is read from the store as it happens; the
//! closing line is counted from the store at the end, and the command fails if it does not come out.

mod crew;
mod folder;
mod paint;
mod story;
pub(crate) mod worker;

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use crew::Crew;
use folder::Folder;
use paint::Paint;
use std::time::Duration;
use story::Story;
use tenure::{Address, NewJob, Tenure};
use tenure_wire::queue::reply;
use tokio::signal::unix::{SignalKind, signal};

/// How long a lease lasts here: long enough to be kept on a busy machine, short enough to be seen running out.
pub(crate) const LEASE: Duration = Duration::from_secs(2);
/// Jobs at a time, for each worker.
pub(crate) const AT_ONCE: usize = 3;
/// Who works.
const NAMES: [&str; 4] = ["alice", "bob", "carol", "dave"];
const KILLED: usize = 1;
const FROZEN: usize = 2;

/// Show what happens to work when its workers die or freeze: a quarter of a minute, on a store of its own.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure demo
  tenure demo --keep
  tenure demo --store postgres://postgres@localhost/scratch

Without --store it makes an SQLite file in a temporary folder, and removes it at the end; TENURE_STORE
is not touched. A store that is named keeps the jobs, in a queue demo-N of their own.")]
pub(crate) struct Demo {
    /// Jobs to run, 100 to 10,000
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(100..=10_000))]
    jobs: u32,

    /// Keep the store, to look at afterwards
    #[arg(long)]
    keep: bool,
}

impl Demo {
    pub(crate) async fn run(self, store: &Address, output: &Output) -> Result<(), Failure> {
        let cannot = |error: std::io::Error| Failure::unavailable(format!("cannot listen to signals: {error}"));
        let mut interrupted = signal(SignalKind::interrupt()).map_err(cannot)?;
        let mut terminated = signal(SignalKind::terminate()).map_err(cannot)?;
        // Whatever ends this, what was started and written goes with it.
        tokio::select! {
            shown = self.show(store, output) => shown,
            _ = interrupted.recv() => Err(Failure::stopped()),
            _ = terminated.recv() => Err(Failure::stopped()),
        }
    }

    async fn show(self, store: &Address, output: &Output) -> Result<(), Failure> {
        // The default and the environment are not for play: only a store that was named here is used.
        let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        let named = words.any(|word| word == "--store" || word.starts_with("--store="));
        let mut folder = if named { None } else { Some(Folder::make()?) };
        let url = folder.as_ref().map_or_else(|| store.clone(), |folder| Address::new(folder.url()));
        let queue = if named { format!("demo-{}", std::process::id()) } else { "demo".to_owned() };
        let tenure = Tenure::open(url.as_str()).await.map_err(|error| Failure::opening(&url, error))?;

        let mut story = Story::begin(Paint::new(output), tenure.clone(), queue.clone(), self.jobs).await?;
        // From 150 to 349 ms each, in no order.
        let job = |i: u32| NewJob::new(&queue, "demo", format!(r#"{{"ms":{}}}"#, 150 + (i * 37) % 200));
        tenure.enqueue_all((0..self.jobs).map(job)).await?;
        story.tell("enqueued", &format!("{} jobs", self.jobs)).await?;
        let mut crew = Crew::start(url.as_str(), &queue, &NAMES)?;
        let who = NAMES.join(", ");
        story.tell("started", &format!("{who}: a process each, {AT_ONCE} jobs at a time")).await?;

        story.all_busy(&NAMES).await?;
        story.pass(Duration::from_millis(600)).await?;
        story.all_busy(&NAMES[KILLED..=KILLED]).await?;
        let pid = crew.kill(KILLED)?;
        story.strike("KILLED", NAMES[KILLED], &format!("process {pid}, SIGKILL")).await?;
        story.pass(Duration::from_millis(700)).await?;
        let pid = crew.freeze(FROZEN)?;
        while !(story.writable().await && story.holds(NAMES[FROZEN]).await?) {
            // Between two jobs there is nothing to see; inside a write to the file it would hold up everybody. A moment
            // later, then.
            crew.thaw(FROZEN)?;
            tokio::time::sleep(Duration::from_millis(30)).await;
            crew.freeze(FROZEN)?;
        }
        story.strike("FROZEN", NAMES[FROZEN], &format!("process {pid}, SIGSTOP")).await?;
        story.until_rescued().await?;
        crew.thaw(FROZEN)?;
        story.wake("WOKEN", NAMES[FROZEN]).await?;
        story.until_refused(NAMES[FROZEN]).await?;
        story.until_finished().await?;
        crew.dismiss().await;

        let report = story.count().await?;
        story.replay(NAMES[FROZEN]).await?;
        let mut kept = folder.as_mut().filter(|_| self.keep);
        if let Some(folder) = &mut kept {
            folder.keep();
        }
        output.show(&report, |_, report| story.close(report, kept.as_deref()));
        let reply::Demo { jobs, completed, lost, finished_twice, .. } = report;
        if completed == jobs && lost == 0 && finished_twice == 0 {
            return Ok(());
        }
        Err(Failure::unavailable("this is not what was promised: please report it"))
    }
}
