//! The memory store with one mistake in front of it: what is wrong with claims, heartbeats and endings.

use super::Bug;
use super::disguise::Disguise;
use std::sync::Mutex;
use tenure_core::queue::{Act, Beat, Beaten, Claim, Claims, Ended, Ending, Filter, Idle, JobId, Status};
use tenure_core::retry::Retry;
use tenure_core::{LostReason, Time};
use tenure_memory::MemoryStore;
use tenure_store::{Clock, Fenced, QueueStore, Result};

/// The memory store with one mistake in front of it.
pub(super) struct Wrong {
    pub(super) right: MemoryStore,
    pub(super) clock: Clock,
    pub(super) bug: Bug,
    pub(super) last_claims: Mutex<Option<Claims>>,
    pub(super) disguise: Mutex<Disguise>,
}

impl Wrong {
    pub(super) fn new(bug: Bug, clock: Clock) -> Wrong {
        Wrong {
            right: MemoryStore::with_clock(clock.clone()),
            clock,
            bug,
            last_claims: Mutex::default(),
            disguise: Mutex::default(),
        }
    }

    pub(super) fn is(&self, bug: Bug) -> bool {
        self.bug == bug
    }

    /// The deadline of the lease a job runs under, if it is the presented one and has passed.
    async fn lapsed(&self, job: Option<JobId>, token: tenure_core::Token) -> Option<Time> {
        let lease = self.right.job(job?).await.ok()??.lease?;
        (lease.token == token && lease.expires_at <= self.clock.now()).then_some(lease.expires_at)
    }

    pub(super) async fn finish_one(&self, mut ending: Ending) -> Result<Fenced<Ended>> {
        let job = self.right.job(ending.job).await?;
        let gone = job.is_none();
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
            Ok(Ended { already: true, .. }) if self.is(Bug::ReceiptsDropped) && gone => Err(LostReason::Unknown),
            Err(LostReason::Finished) if self.is(Bug::AnyVerbReplays) => {
                Ok(Ended { status: Status::Completed, already: true })
            }
            Err(LostReason::Superseded) if self.is(Bug::SupersededCalledExpired) => Err(LostReason::Expired),
            answer => answer,
        })
    }

    pub(super) async fn beat_one(&self, mut beat: Beat) -> Result<Fenced<Beaten>> {
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
        let job = beat.job;
        let mut answer = self.right.heartbeat(vec![beat.clone()]).await?.remove(0);
        self.clock.set(now);
        if let Ok(beaten) = &mut answer {
            match self.bug {
                Bug::CancelNotTold => beaten.cancel_requested.clear(),
                Bug::CancelToldToAll if job.is_some() => {
                    let held = self.right.jobs(Filter::default(), None, 1_000).await?.items;
                    let asked = held.iter().filter(|job| job.cancel_requested && job.token == Some(beat.token));
                    beaten.cancel_requested = asked.map(|job| job.id).collect();
                    beaten.cancel_requested.sort_unstable();
                }
                _ => {}
            }
        }
        Ok(answer)
    }

    /// Waiting for W with a count of leases that have not run out, and returning nothing but what it needs.
    pub(super) async fn claim_by_unexpired(&self, mut claim: Claim) -> Result<Claims> {
        let Some(max) = self.right.limit().await? else { return self.right.claim(claim).await };
        let now = self.clock.now();
        let running = Filter { status: Some(Status::Running), ..Filter::default() };
        let jobs = self.right.jobs(running, None, 1_000).await?.items;
        let held = jobs.iter().filter(|job| job.lease.as_ref().is_some_and(|lease| lease.expires_at > now)).count();
        let free = (max as usize).saturating_sub(held);
        if free == 0 {
            return Ok(Claims { jobs: Vec::new(), idle: Some(Idle::AtCapacity), again_in_ms: None });
        }
        claim.max = claim.max.min(free as u32);
        self.right.set_limit(None).await?;
        let claims = self.right.claim(claim).await;
        self.right.set_limit(Some(max)).await?;
        claims
    }

    /// Leases for each job that count as not started.
    pub(super) async fn claim_one_by_one(&self, claim: Claim) -> Result<Claims> {
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
