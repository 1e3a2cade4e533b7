//! Faults of every kind, one after the other, while thousands of jobs are run.

use crate::fleet::{Fleet, Setup};
use crate::judge;
use crate::places::{Place, StoreFault};
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tenure::{Backoff, Filter, JobId, NewJob, Status, Tenure};

const JOBS: usize = 5_000;
const BATCH: usize = 250;
/// Jobs that wait at least, while there are more to come: workers that are struck should have something in hand.
const WAITING_MIN: u64 = 400;
/// Times that each kind of fault strikes.
const ROUNDS: usize = 4;
const SETUP: Setup = Setup { lease_ms: 1_000, concurrency: 12, prefetch: 12 };
const WORKERS: usize = 4;
/// Frozen for so long that the lease has run out and others have the work.
const FREEZE: Duration = Duration::from_millis(1_600);
/// Between faults.
const BREATH: Duration = Duration::from_millis(250);
/// Something is stuck if it takes longer than this, on any machine.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Killed,
    Frozen,
    Terminated,
    TerminatedTwice,
    DiesAtClaim,
    DiesBeforeEnding,
    Panic,
    Poison,
    Blocked,
    Hangs,
    Cancelled,
    Store(StoreFault),
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Fault::Killed => "worker killed",
            Fault::Frozen => "worker frozen past its lease",
            Fault::Terminated => "worker terminated",
            Fault::TerminatedTwice => "worker terminated twice",
            Fault::DiesAtClaim => "worker dead right after a claim",
            Fault::DiesBeforeEnding => "worker dead before it wrote an ending",
            Fault::Panic => "handler panics",
            Fault::Poison => "handler kills its worker",
            Fault::Blocked => "handler blocks the runtime past its lease",
            Fault::Hangs => "handler never ends",
            Fault::Cancelled => "running job cancelled by force",
            Fault::Store(fault) => fault.name(),
        }
    }
}

const FAULTS: [Fault; 11] = [
    Fault::Killed,
    Fault::Frozen,
    Fault::Terminated,
    Fault::TerminatedTwice,
    Fault::DiesAtClaim,
    Fault::DiesBeforeEnding,
    Fault::Panic,
    Fault::Poison,
    Fault::Blocked,
    Fault::Hangs,
    Fault::Cancelled,
];

/// A small generator: the order of faults must be repeatable, nothing more.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

fn seed() -> u64 {
    let given = std::env::var("TENURE_FAULT_SEED").ok().and_then(|seed| seed.parse().ok());
    let drawn = || std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
    // Zero would stay zero.
    given.unwrap_or_else(drawn).max(1)
}

struct Storm<'a, P: Place> {
    place: &'a P,
    tenure: Tenure,
    fleet: Fleet<'a, P>,
    dice: Dice,
    enqueued: usize,
    struck: BTreeMap<Fault, usize>,
    cancelled: BTreeSet<JobId>,
}

/// Runs the jobs, lets the faults strike, and judges what came of it.
pub(crate) async fn rage(place: &impl Place) {
    let seed = seed();
    println!("{}: TENURE_FAULT_SEED={seed}", place.name());
    let tenure = Tenure::open(&place.url()).await.unwrap();
    let upkeep = tenure.clone();
    let upkeep = tokio::spawn(async move { upkeep.verbs().keep_recovering().await });
    let mut storm = Storm {
        place,
        tenure,
        fleet: Fleet::new(place, SETUP, WORKERS),
        dice: Dice(seed),
        enqueued: 0,
        struck: BTreeMap::new(),
        cancelled: BTreeSet::new(),
    };
    let began = Instant::now();
    storm.blow().await;
    storm.settle(began).await;
    let Storm { tenure, fleet, struck, cancelled, .. } = storm;
    let workers = fleet.started();
    fleet.disband().await;
    upkeep.abort();

    let verdict = judge::judge(&tenure, place.folder(), JOBS, &cancelled, SETUP.lease_ms).await;
    for (fault, times) in &struck {
        println!("{:>4} × {}", times, fault.name());
    }
    let faults: usize = struck.values().sum();
    let judge::Verdict { expired, refused, stale_completions, worst_recovery_ms, starts } = verdict;
    println!(
        "{}: {workers} worker processes, {starts} starts, {expired} leases expired under a job, {refused} stale endings refused, {stale_completions} of them completions, in {:.0} s",
        place.name(),
        began.elapsed().as_secs_f64(),
    );
    println!(
        "{}: {JOBS} jobs, {faults} faults of {} kinds, 0 lost, 0 finished twice, worst recovery {worst_recovery_ms} ms",
        place.name(),
        struck.len(),
    );
    // A storm that did not blow proves nothing.
    assert!(faults >= 40 && struck.len() >= 8, "{struck:?}");
    assert!(expired > 0 && refused > 0, "{expired} expired, {refused} refused");
}

impl<P: Place> Storm<'_, P> {
    async fn blow(&mut self) {
        let store = self.place.faults().iter().map(|fault| Fault::Store(*fault));
        let kinds: Vec<Fault> = FAULTS.into_iter().chain(store).collect();
        for _ in 0..ROUNDS {
            let mut round = kinds.clone();
            while !round.is_empty() {
                let fault = round.swap_remove(self.dice.roll(round.len()));
                self.feed().await;
                tokio::time::sleep(BREATH).await;
                self.fleet.muster();
                self.strike(fault).await;
                *self.struck.entry(fault).or_default() += 1;
            }
        }
    }

    /// Enqueues the rest, and waits until every job has ended.
    async fn settle(&mut self, began: Instant) {
        loop {
            self.fleet.muster();
            self.feed().await;
            let counts = self.counts().await;
            if self.enqueued == JOBS && counts.0 == 0 {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{counts:?} (queued or running, finished) after {PATIENCE:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn counts(&self) -> (u64, u64) {
        loop {
            // The store may be away just now.
            if let Ok(info) = self.tenure.verbs().queue("faults").await {
                let counts = info.map(|info| info.counts).unwrap_or_default();
                return (counts.queued + counts.running, counts.completed + counts.failed);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn feed(&mut self) {
        while self.enqueued < JOBS && self.counts().await.0 < WAITING_MIN {
            let many = BATCH.min(JOBS - self.enqueued);
            let tasks: Vec<String> = (0..many).map(|_| format!(r#"{{"ms":{}}}"#, self.dice.roll(120))).collect();
            self.enqueue(&tasks, |job| job).await;
        }
    }

    /// Under keys: a call that was not answered is sent again, and enqueues nothing twice.
    async fn enqueue(&mut self, tasks: &[String], more: impl Fn(NewJob) -> NewJob) {
        let backoff = Backoff { initial_ms: 50, max_ms: 1_000, ..Backoff::default() };
        let tasks = &tasks[..tasks.len().min(JOBS - self.enqueued)];
        let jobs: Vec<NewJob> = tasks
            .iter()
            .enumerate()
            .map(|(i, task)| {
                let job = NewJob::new("faults", "task", task).key((self.enqueued + i).to_string());
                // No job may run out of attempts here: that is the other test.
                more(job.attempts_max(100).backoff(backoff))
            })
            .collect();
        while !jobs.is_empty() && self.tenure.enqueue_all(jobs.clone()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.enqueued += tasks.len();
    }

    async fn strike(&mut self, fault: Fault) {
        match fault {
            Fault::Panic => return self.plant("panic", 1).await,
            Fault::Poison => return self.plant("kill", 1).await,
            Fault::Blocked => return self.plant("block", 2 * SETUP.lease_ms).await,
            Fault::Hangs => return self.plant("hang", 1).await,
            Fault::Cancelled => return self.cancel().await,
            Fault::Store(fault) => return self.place.strike(fault).await,
            _ => {}
        }
        let mut standing = self.fleet.standing();
        let chosen = self.dice.roll(standing.len());
        let member = &mut standing[chosen];
        match fault {
            Fault::Killed => member.signal(Signal::KILL),
            Fault::Frozen => member.freeze(FREEZE),
            Fault::Terminated => {
                member.leaving = true;
                member.signal(Signal::TERM);
            }
            Fault::TerminatedTwice => {
                member.leaving = true;
                member.signal(Signal::TERM);
                member.signal(Signal::INT);
            }
            Fault::DiesAtClaim => member.tell("die-at-claim"),
            _ => member.tell("die-at-end"),
        }
    }

    /// A job that goes wrong in its first attempt, ahead of all others.
    async fn plant(&mut self, wrong: &str, ms: u64) {
        let task = format!(r#"{{"ms":{ms},"wrong":"{wrong}"}}"#);
        let hangs = wrong == "hang";
        self.enqueue(&[task], |job| {
            let job = job.priority(10);
            if hangs { job.timeout_ms(300) } else { job }
        })
        .await;
    }

    async fn cancel(&mut self) {
        let filter = Filter { queue: None, status: Some(Status::Running), kind: None };
        let Ok(page) = self.tenure.verbs().jobs(filter, None, 1).await else { return };
        if let Some(job) = page.items.first() {
            // Whatever the answer, it may have been carried out.
            self.cancelled.insert(job.id);
            let _ = self.tenure.verbs().cancel(job.id, None, true).await;
        }
    }
}
