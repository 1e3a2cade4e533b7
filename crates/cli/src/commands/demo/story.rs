//! The story as it happens, read from the store.

use super::folder::Folder;
use crate::failure::Failure;
use crate::terminal::{Ink, Paint, bar};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tenure::{AttemptOutcome, Event, Filter, JobId, JobInfo, Status, Tenure, Time, What};
use tenure_wire::queue::reply;

/// Between looks at the store.
const LOOK: Duration = Duration::from_millis(50);
/// A store that takes no write within this is locked.
const WRITE_WITHIN: Duration = Duration::from_millis(700);
/// Nothing here takes longer, on any machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Jobs in a page.
const PAGE: u32 = 500;

/// A job whose worker was struck.
#[derive(Debug)]
struct Watched {
    holder: &'static str,
    token: i64,
    /// Events of it that were told.
    told: usize,
}

impl Watched {
    /// Whether somebody has claimed it since.
    fn taken(&self, job: &JobInfo) -> bool {
        job.token.is_some_and(|token| token.0 > self.token)
    }
}

#[derive(Debug)]
pub(super) struct Story {
    paint: Paint,
    tenure: Tenure,
    queue: String,
    jobs: u32,
    began: Instant,
    /// The same instant by the store's clock.
    began_at: Time,
    watched: BTreeMap<JobId, Watched>,
    struck: Vec<(&'static str, &'static str)>,
}

impl Story {
    pub(super) async fn begin(paint: Paint, tenure: Tenure, queue: String, jobs: u32) -> Result<Story, Failure> {
        let title = paint.ink(Ink::Bold, "tenure demo");
        let place = tenure.describe().await?;
        let place = place.split(',').next().unwrap_or_default().to_owned();
        paint.line(&format!(
            "{title}  {}",
            paint.ink(Ink::Dim, &format!("{place}; a lease lasts {} s", super::LEASE.as_secs()))
        ));
        paint.line("");
        let (began, began_at) = (Instant::now(), tenure.now().await?);
        let (watched, struck) = (BTreeMap::new(), Vec::new());
        Ok(Story { paint, tenure, queue, jobs, began, began_at, watched, struck })
    }

    /// Something that the demo itself did.
    pub(super) async fn tell(&mut self, what: &str, words: &str) -> Result<(), Failure> {
        let at = self.tenure.now().await?;
        self.say(at, Ink::Plain, what, words);
        Ok(())
    }

    /// Lets time pass.
    pub(super) async fn pass(&mut self, span: Duration) -> Result<(), Failure> {
        let until = Instant::now() + span;
        self.wait("time has passed", |_, _| Instant::now() >= until).await
    }

    /// Waits until every worker holds a job.
    pub(super) async fn all_busy(&mut self, names: &'static [&'static str]) -> Result<(), Failure> {
        let began = Instant::now();
        loop {
            let mut idle = false;
            for name in names {
                idle |= !self.holds(name).await?;
            }
            if !idle {
                return Ok(());
            }
            patient(began, "every worker has a job")?;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// A worker was struck: what it holds now is watched from here on.
    pub(super) async fn strike(&mut self, what: &'static str, name: &'static str, how: &str) -> Result<(), Failure> {
        let held = self.held().await?;
        let at = self.tenure.now().await?;
        let mut holding = Vec::new();
        for job in held.into_iter().rev() {
            let Some(lease) = job.lease.filter(|lease| lease.owner == name) else { continue };
            let told = self.tenure.verbs().timeline(job.id).await?.map_or(0, |events| events.len());
            self.watched.insert(job.id, Watched { holder: name, token: lease.token.0, told });
            holding.push(format!("{} (token {})", job.id, lease.token));
        }
        self.struck.push((name, what));
        self.say(at, Ink::Red, what, &format!("{name} ({how}), holding jobs {}", holding.join(", ")));
        Ok(())
    }

    /// A worker that was frozen goes on.
    pub(super) async fn wake(&mut self, what: &'static str, name: &'static str) -> Result<(), Failure> {
        self.struck.retain(|(struck, _)| *struck != name);
        let at = self.tenure.now().await?;
        self.say(at, Ink::Yellow, what, &format!("{name} (SIGCONT): it goes on as if nothing had happened"));
        Ok(())
    }

    /// Whether a worker holds a job just now.
    pub(super) async fn holds(&self, name: &str) -> Result<bool, Failure> {
        let held = self.held().await?;
        Ok(held.iter().any(|job| job.lease.as_ref().is_some_and(|lease| lease.owner == name)))
    }

    /// Whether the store takes writes just now.
    pub(super) async fn writable(&self) -> bool {
        tokio::time::timeout(WRITE_WITHIN, self.tenure.verbs().recover(1)).await.is_ok()
    }

    /// Waits until everything that was held by a struck worker is held, or was finished, by another. (A write that it
    /// had sent before it was struck may still have been accepted: then the job has ended, and nobody needs to.)
    pub(super) async fn until_rescued(&mut self) -> Result<(), Failure> {
        self.wait("their work is rescued", |watched, jobs| {
            jobs.iter().all(|job| job.status.terminal() || watched.get(&job.id).is_none_or(|was| was.taken(job)))
        })
        .await
    }

    /// Waits until what `name` hands in was refused.
    pub(super) async fn until_refused(&mut self, name: &str) -> Result<(), Failure> {
        let began = Instant::now();
        let stale = self.taken_from(name).await?;
        loop {
            self.look().await?;
            let mut refused = 0;
            for id in &stale {
                let events = self.tenure.verbs().timeline(*id).await?.unwrap_or_default();
                refused += usize::from(events.iter().any(|event| event.what == What::Refused));
            }
            if refused == stale.len() {
                return self.look().await.map(drop);
            }
            patient(began, "the stale endings are refused")?;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until every job has ended.
    pub(super) async fn until_finished(&mut self) -> Result<(), Failure> {
        let began = Instant::now();
        while self.look().await? < u64::from(self.jobs) {
            patient(began, "every job has ended")?;
            tokio::time::sleep(LOOK).await;
        }
        self.paint.clear();
        Ok(())
    }

    async fn wait(
        &mut self,
        what: &str,
        is_so: impl Fn(&BTreeMap<JobId, Watched>, &[JobInfo]) -> bool,
    ) -> Result<(), Failure> {
        let began = Instant::now();
        loop {
            self.look().await?;
            let mut jobs = Vec::new();
            for id in self.watched.keys() {
                jobs.extend(self.tenure.verbs().job(*id).await?);
            }
            if is_so(&self.watched, &jobs) {
                return self.look().await.map(drop);
            }
            patient(began, what)?;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Tells what is new about the watched jobs, and how far the rest is.
    async fn look(&mut self) -> Result<u64, Failure> {
        let mut news = Vec::new();
        for (id, was) in &mut self.watched {
            let events = self.tenure.verbs().timeline(*id).await?.unwrap_or_default();
            let from = was.told.min(events.len());
            was.told = events.len();
            news.extend(events.into_iter().skip(from));
        }
        news.sort_by_key(|event| (event.at, event.job, event.token));
        for event in &news {
            self.event(event, &format!("job {}: {}", event.job, short(event)));
        }
        let info = self.tenure.verbs().queue(&self.queue).await?;
        let counts = info.map(|info| info.counts).unwrap_or_default();
        let done = counts.completed + counts.failed;
        let struck: String =
            self.struck.iter().map(|(name, what)| format!(", {name} {}", what.to_lowercase())).collect();
        let line = format!(
            "  {} {done}/{} done, {} running{struck}",
            bar(done, self.jobs.into(), 20),
            self.jobs,
            counts.running
        );
        self.paint.progress(&self.paint.ink(Ink::Cyan, &line));
        Ok(done)
    }

    /// Something that happened to a job.
    fn event(&self, event: &Event, words: &str) {
        let ink = match event.what {
            What::Refused => Ink::Red,
            What::Expired => Ink::Yellow,
            What::Claimed | What::Completed => Ink::Green,
            _ => Ink::Plain,
        };
        self.say(event.at, ink, event.what.as_str(), words);
    }

    fn say(&self, at: Time, ink: Ink, what: &str, words: &str) {
        let since = self.paint.ink(Ink::Dim, &format!("{:6.2} s", at.ms_since(self.began_at) as f64 / 1_000.0));
        self.paint.line(&format!(
            "  {since}  {}  {}",
            self.paint.ink(ink, &format!("{what:<9}")),
            self.paint.ink(Ink::Plain, words)
        ));
    }

    async fn held(&self) -> Result<Vec<JobInfo>, Failure> {
        let filter = Filter { queue: Some(self.queue.clone()), status: Some(Status::Running), kind: None };
        Ok(self.tenure.verbs().jobs(filter, None, PAGE).await?.items)
    }

    /// The jobs that `name` held when it was struck and that somebody else has claimed since.
    async fn taken_from(&self, name: &str) -> Result<Vec<JobId>, Failure> {
        let mut taken = Vec::new();
        for (id, was) in self.watched.iter().filter(|(_, was)| was.holder == name) {
            let job = self.tenure.verbs().job(*id).await?;
            taken.extend(job.filter(|job| was.taken(job)).map(|job| job.id));
        }
        Ok(taken)
    }

    /// The whole story of one job that was taken from `name`.
    pub(super) async fn replay(&self, name: &str) -> Result<(), Failure> {
        let Some(id) = self.taken_from(name).await?.first().copied() else { return Ok(()) };
        let Some(events) = self.tenure.verbs().timeline(id).await? else { return Ok(()) };
        self.paint.line("");
        self.paint.line(&self.paint.ink(Ink::Bold, &format!("Job {id}, from first to last")));
        for event in &events {
            self.event(event, &event.message());
        }
        self.paint.line("");
        Ok(())
    }

    /// What the store says in the end.
    pub(super) async fn count(&self) -> Result<reply::Demo, Failure> {
        let mut report = reply::Demo { jobs: self.jobs.into(), ..reply::Demo::default() };
        let mut before = None;
        let mut on_record = 0;
        loop {
            let filter = Filter { queue: Some(self.queue.clone()), status: None, kind: None };
            let page = self.tenure.verbs().jobs(filter, before, PAGE).await?;
            before = page.items.last().map(|job| job.id);
            for job in &page.items {
                on_record += 1;
                let ended =
                    |outcome| job.attempts.iter().filter(|attempt| attempt.outcome == Some(outcome)).count() as u64;
                let completions = ended(AttemptOutcome::Completed);
                let own = job.result.as_deref() == job.token.map(|token| token.to_string()).as_deref();
                // Completed by the claim that is on record, and with that claim's own result.
                report.completed += u64::from(job.status == Status::Completed && completions == 1 && own);
                report.finished_twice += u64::from(completions > 1);
                report.rescued += u64::from(ended(AttemptOutcome::Expired) > 0 && job.status == Status::Completed);
            }
            if !page.more {
                break;
            }
        }
        for id in self.watched.keys() {
            let events = self.tenure.verbs().timeline(*id).await?.unwrap_or_default();
            report.refused += events.iter().filter(|event| event.what == What::Refused).count() as u64;
        }
        report.lost = report.jobs.saturating_sub(on_record);
        report.duration_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(report)
    }

    /// The last words, and what to try next.
    pub(super) fn close(&self, report: &reply::Demo, kept: Option<&Folder>) {
        let reply::Demo { jobs, completed, lost, finished_twice, rescued, refused, duration_ms } = report;
        let paint = &self.paint;
        let beside = format!(
            "{rescued} rescued from dead or frozen workers, {refused} stale writes refused, in {:.1} s",
            *duration_ms as f64 / 1_000.0
        );
        paint.line(&paint.ink(Ink::Dim, &beside));
        let closing = format!("{jobs} jobs, {completed} completed, {lost} lost, {finished_twice} finished twice");
        paint.line(&paint.ink(Ink::Bold, &closing));
        paint.line("");
        let try_next = match kept {
            Some(folder) => vec![
                format!("export TENURE_STORE={}", folder.url()),
                format!("tenure job timeline {}", self.watched.keys().next_back().map_or(1, |id| id.0)),
                "tenure job list --status completed".to_owned(),
                "tenure serve".to_owned(),
                format!("rm -r {}", folder.path().display()),
            ],
            None => vec![
                r#"tenure enqueue hello '{"name":"world"}'"#.to_owned(),
                "tenure work hello --drain -- cat".to_owned(),
                "tenure job list --queue hello".to_owned(),
                "tenure demo --keep".to_owned(),
            ],
        };
        paint.line("Try next:");
        for command in try_next {
            paint.line(&format!("  {}", paint.ink(Ink::Cyan, &command)));
        }
    }
}

/// An event in few words: who, and under which token.
fn short(event: &Event) -> String {
    let message = event.message();
    // The advice to the worker is for the worker.
    message.split(';').next().unwrap_or_default().to_owned()
}

fn patient(began: Instant, what: &str) -> Result<(), Failure> {
    if began.elapsed() < PATIENCE {
        return Ok(());
    }
    Err(Failure::unavailable(format!("waited {} s in vain until {what}", PATIENCE.as_secs())))
}
