//! The walk finds what it is there to find: each store below is the memory store with one mistake, and each mistake
//! is caught, and shrunk to a list a person can read.

use async_trait::async_trait;
use std::sync::{Arc, Mutex};
use tenure_core::queue::{
    Act, Beat, Beaten, Claim, Claims, Ended, Ending, Enqueued, Event, Filter, Grants, Job, JobId, NewJob, Page,
    QueueInfo, Recovered, Retry, Start, Status, What,
};
use tenure_core::{LostReason, Time};
use tenure_memory::MemoryStore;
use tenure_store::conformance::{Harness, walk};
use tenure_store::{Clock, Fenced, QueueStore, Result, Signals, Store, Upkeep};

/// A walk this long finds every mistake, with one of a few seeds.
const STEPS: u32 = 1_500;
const SEEDS: u64 = 4;
/// No mistake needs more operations than this to show itself.
const SHRUNK_MAX: usize = 8;
/// The catcher of a mistake that shows in several answers at once.
const ANYTHING: &str = "";

macro_rules! planted {
    ($($test:ident: $bug:ident => $catcher:expr,)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Bug { $($bug,)+ }

        impl Bug {
            const ALL: &[Bug] = &[$(Bug::$bug,)+];
        }

        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                assert_caught::<{ Bug::$bug as usize }>($catcher).await;
            }
        )+
    };
}

planted! {
    finish_without_the_token: FinishIgnoresToken => "I3",
    finish_without_the_owner: FinishIgnoresOwner => "I3",
    finish_by_id_alone: FinishById => "I3",
    finish_after_expiry: FinishIgnoresExpiry => "I3",
    finish_at_the_instant_of_expiry: HeldAtTheInstant => "I3",
    heartbeat_without_the_token: HeartbeatIgnoresToken => "I4",
    heartbeat_revives_an_expired_lease: HeartbeatRevives => "I4",
    heartbeat_extends_the_old_deadline: HeartbeatFromDeadline => "Q3",
    checkpoint_forgotten: CheckpointForgotten => "job",
    crashes_not_counted: CrashesUncounted => "I11",
    neighbours_counted: NeighboursCounted => "I11",
    one_attempt_too_many: OneAttemptMore => ANYTHING,
    started_mark_ignored: StartIgnored => "I11",
    claim_out_of_order: ClaimReversed => "Q2",
    claim_of_any_kind: ClaimIgnoresKinds => "I10",
    claim_of_the_first_queue_only: ClaimOneQueue => "Q2",
    claim_given_twice: ClaimGivenTwice => ANYTHING,
    claim_before_it_is_due: RunAtDropped => ANYTHING,
    token_not_fresh: TokenRepeats => "I2",
    epoch_not_raised: EpochKept => "epoch",
    release_counts_the_attempt: ReleaseCounts => ANYTHING,
    snooze_counts_the_attempt: SnoozeCounts => ANYTHING,
    retry_without_chance: ChanceIgnored => "job",
    replay_not_marked: AlreadyUnmarked => "I3",
    replay_refused: ReplayRefused => "L12",
    replay_of_another_verb: AnyVerbReplays => "L12",
    superseded_called_expired: SupersededCalledExpired => ANYTHING,
    refusals_forgotten: RefusalsForgotten => "events",
    refusals_not_counted: RefusalsUncounted => "events",
    recovery_without_a_bound: RecoveryUnbounded => "recover",
    pages_that_overlap: PagesOverlap => ANYTHING,
    counts_without_failures: FailuresUncounted => "queue",
    payload_tidied: PayloadTrimmed => ANYTHING,
    bulk_enqueue_reversed: BulkReversed => "X",
    second_handle_on_its_own: HandlesApart => ANYTHING,
    panic_on_an_unknown_id: PanicsOnUnknown => "the store panicked",
}

/// One of the walks fails, and what it says first begins with the rule that was broken or the answer that differs.
async fn assert_caught<const BUG: usize>(catcher: &str) {
    for seed in 0..SEEDS {
        if let Err(failure) = walk::<Planted<BUG>>(seed, STEPS).await {
            println!("{failure}");
            assert!(failure.message.starts_with(catcher), "{:?} was not caught by {catcher}: {failure}", Bug::ALL[BUG]);
            assert!(failure.shrunk.len() <= SHRUNK_MAX, "{:?} took {failure}", Bug::ALL[BUG]);
            return;
        }
    }
    panic!("{:?} was not caught", Bug::ALL[BUG]);
}

struct Planted<const BUG: usize> {
    store: Arc<Wrong>,
    another: Arc<Wrong>,
    clock: Clock,
}

#[async_trait]
impl<const BUG: usize> Harness for Planted<BUG> {
    async fn open(start: Time) -> Self {
        let clock = Clock::manual(start);
        let store = Arc::new(Wrong::new(Bug::ALL[BUG], clock.clone()));
        let apart = Bug::ALL[BUG] == Bug::HandlesApart;
        let another = if apart { Arc::new(Wrong::new(Bug::HandlesApart, clock.clone())) } else { store.clone() };
        Planted { store, another, clock }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn set_clock(&self, now: Time) {
        self.clock.set(now);
    }

    async fn another(&self) -> Arc<dyn Store> {
        self.another.clone()
    }
}

/// The memory store with one mistake in front of it.
struct Wrong {
    right: MemoryStore,
    clock: Clock,
    bug: Bug,
    last_claims: Mutex<Option<Claims>>,
}

impl Wrong {
    fn new(bug: Bug, clock: Clock) -> Wrong {
        Wrong { right: MemoryStore::with_clock(clock.clone()), clock, bug, last_claims: Mutex::default() }
    }

    fn is(&self, bug: Bug) -> bool {
        self.bug == bug
    }

    /// The deadline of the lease a job runs under, if it is the presented one and has passed.
    async fn lapsed(&self, job: Option<JobId>, token: tenure_core::Token) -> Option<Time> {
        let lease = self.right.job(job?).await.ok()??.lease?;
        (lease.token == token && lease.expires_at <= self.clock.now()).then_some(lease.expires_at)
    }

    fn shown(&self, mut job: Job) -> Job {
        if self.is(Bug::OneAttemptMore) {
            job.attempts_max -= 1;
        }
        job
    }

    async fn finish_one(&self, mut ending: Ending) -> Result<Fenced<Ended>> {
        let job = self.right.job(ending.job).await?;
        assert!(job.is_some() || !self.is(Bug::PanicsOnUnknown), "no such job");
        if let Some(lease) = job.and_then(|job| job.lease) {
            let (owner, token) = (lease.owner == ending.owner, lease.token == ending.token);
            match self.bug {
                Bug::FinishIgnoresToken if owner => ending.token = lease.token,
                Bug::FinishIgnoresOwner if token => ending.owner = lease.owner,
                Bug::FinishById => (ending.owner, ending.token) = (lease.owner, lease.token),
                _ => {}
            }
        }
        ending.act = match ending.act {
            Act::Release if self.is(Bug::ReleaseCounts) => failing(0),
            Act::Snooze { delay_ms } if self.is(Bug::SnoozeCounts) => failing(delay_ms),
            Act::Fail { error, retry: Retry::Policy { .. } } if self.is(Bug::ChanceIgnored) => {
                Act::Fail { error, retry: Retry::Policy { chance: 0.0 } }
            }
            act => act,
        };
        let now = self.clock.now();
        if let Some(expired_at) = self.lapsed(Some(ending.job), ending.token).await {
            let tolerant = self.is(Bug::HeldAtTheInstant) && expired_at == now;
            if tolerant || self.is(Bug::FinishIgnoresExpiry) {
                self.clock.set(Time(expired_at.0 - 1));
            }
        }
        let answer = self.right.finish(vec![ending]).await?.remove(0);
        self.clock.set(now);
        Ok(match answer {
            Ok(ended) if self.is(Bug::AlreadyUnmarked) => Ok(Ended { already: false, ..ended }),
            Ok(Ended { already: true, .. }) if self.is(Bug::ReplayRefused) => Err(LostReason::Finished),
            Err(LostReason::Finished) if self.is(Bug::AnyVerbReplays) => {
                Ok(Ended { status: Status::Completed, already: true })
            }
            Err(LostReason::Superseded) if self.is(Bug::SupersededCalledExpired) => Err(LostReason::Expired),
            answer => answer,
        })
    }

    async fn beat_one(&self, mut beat: Beat) -> Result<Fenced<Beaten>> {
        if let Some(id) = beat.job.filter(|_| self.is(Bug::HeartbeatIgnoresToken))
            && let Some(lease) = self.right.job(id).await?.and_then(|job| job.lease)
            && lease.owner == beat.owner
        {
            beat.token = lease.token;
        }
        if self.is(Bug::CheckpointForgotten) {
            beat.checkpoint = None;
        }
        let now = self.clock.now();
        if self.is(Bug::HeartbeatRevives)
            && let Some(expired_at) = self.lapsed(beat.job, beat.token).await
        {
            self.clock.set(Time(expired_at.0 - 1));
        }
        if let Some(id) = beat.job.filter(|_| self.is(Bug::HeartbeatFromDeadline))
            && let Some(lease) = self.right.job(id).await?.and_then(|job| job.lease)
            && lease.expires_at > now
        {
            self.clock.set(Time(lease.expires_at.0 - 1));
        }
        let answer = self.right.heartbeat(vec![beat]).await?.remove(0);
        self.clock.set(now);
        Ok(answer)
    }

    /// Leases for each job that count as not started.
    async fn claim_one_by_one(&self, claim: Claim) -> Result<Claims> {
        let mut claims = self.right.claim(claim.clone().max(1).shared(0)).await?;
        while claims.idle.is_none() && claims.jobs.len() < claim.max as usize {
            let next = self.right.claim(claim.clone().max(1).shared(0)).await?;
            if next.jobs.is_empty() {
                break;
            }
            claims.jobs.extend(next.jobs);
        }
        Ok(claims)
    }
}

fn failing(delay_ms: u64) -> Act {
    Act::Fail { error: String::new(), retry: Retry::In { delay_ms } }
}

#[async_trait]
impl QueueStore for Wrong {
    async fn enqueue(&self, mut jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        for job in &mut jobs {
            match self.bug {
                Bug::OneAttemptMore => job.attempts_max += 1,
                Bug::RunAtDropped => job.run_at = None,
                Bug::PayloadTrimmed => job.payload = job.payload.trim().to_owned(),
                _ => {}
            }
        }
        if self.is(Bug::BulkReversed) {
            jobs.reverse();
        }
        let mut enqueued = self.right.enqueue(jobs).await?;
        if self.is(Bug::BulkReversed) {
            enqueued.reverse();
        }
        Ok(enqueued)
    }

    async fn claim(&self, mut claim: Claim) -> Result<Claims> {
        let before = self.last_claims.lock().expect("no panic").take();
        match (self.bug, claim.grants) {
            (Bug::ClaimIgnoresKinds, _) => claim.kinds = None,
            (Bug::ClaimOneQueue, _) => claim.queues.truncate(1),
            (Bug::NeighboursCounted, Grants::Shared { .. }) => claim = claim.shared(1_000),
            (Bug::ClaimGivenTwice, _) if before.as_ref().is_some_and(|claims| claims.jobs.len() > 2) => {
                return Ok(before.expect("looked at above"));
            }
            _ => {}
        }
        let mut claims = match claim.grants {
            Grants::Each if self.is(Bug::CrashesUncounted) => self.claim_one_by_one(claim).await?,
            _ => self.right.claim(claim).await?,
        };
        if self.is(Bug::ClaimReversed) {
            claims.jobs.reverse();
        }
        for job in &mut claims.jobs {
            match (self.bug, before.as_ref().and_then(|claims| claims.jobs.first())) {
                (Bug::OneAttemptMore, _) => job.attempts_max -= 1,
                (Bug::TokenRepeats, Some(before)) => job.token = before.token,
                _ => {}
            }
        }
        *self.last_claims.lock().expect("no panic") = Some(claims.clone());
        Ok(claims)
    }

    async fn start(&self, start: Start) -> Result<Fenced<()>> {
        let start = if self.is(Bug::StartIgnored) { Start { count: 0, ..start } } else { start };
        self.right.start(start).await
    }

    async fn heartbeat(&self, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>> {
        let mut answers = Vec::new();
        for beat in beats {
            answers.push(self.beat_one(beat).await?);
        }
        Ok(answers)
    }

    async fn finish(&self, endings: Vec<Ending>) -> Result<Vec<Fenced<Ended>>> {
        let mut answers = Vec::new();
        for ending in endings {
            answers.push(self.finish_one(ending).await?);
        }
        Ok(answers)
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>> {
        Ok(self.right.job(id).await?.map(|job| self.shown(job)))
    }

    async fn events(&self, id: JobId) -> Result<Vec<Event>> {
        let mut events = self.right.events(id).await?;
        match self.bug {
            Bug::RefusalsForgotten => events.retain(|event| event.what != What::Refused),
            Bug::RefusalsUncounted => events.iter_mut().for_each(|event| event.count = 1),
            _ => {}
        }
        Ok(events)
    }

    async fn jobs(&self, filter: Filter, before: Option<JobId>, limit: u32) -> Result<Page<Job>> {
        let overlap = i64::from(self.is(Bug::PagesOverlap));
        let page = self.right.jobs(filter, before.map(|id| JobId(id.0 + overlap)), limit).await?;
        Ok(Page { items: page.items.into_iter().map(|job| self.shown(job)).collect(), more: page.more })
    }

    async fn queue(&self, name: &str) -> Result<Option<QueueInfo>> {
        let mut queue = self.right.queue(name).await?;
        if let Some(queue) = queue.as_mut().filter(|_| self.is(Bug::FailuresUncounted)) {
            queue.counts.failed = 0;
        }
        Ok(queue)
    }

    async fn queues(&self, after: Option<&str>, limit: u32) -> Result<Page<QueueInfo>> {
        self.right.queues(after, limit).await
    }

    fn signals(&self) -> &Signals {
        self.right.signals()
    }
}

#[async_trait]
impl Upkeep for Wrong {
    async fn now(&self) -> Result<Time> {
        self.right.now().await
    }

    async fn recover(&self, leases_max: u32) -> Result<Recovered> {
        self.right.recover(if self.is(Bug::RecoveryUnbounded) { 1_000 } else { leases_max }).await
    }

    async fn epoch(&self) -> Result<u16> {
        self.right.epoch().await
    }

    async fn new_epoch(&self) -> Result<u16> {
        if self.is(Bug::EpochKept) {
            return Ok(self.right.epoch().await? + 1);
        }
        self.right.new_epoch().await
    }

    async fn describe(&self) -> Result<String> {
        self.right.describe().await
    }
}
