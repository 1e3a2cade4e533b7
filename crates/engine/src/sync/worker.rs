//! The sync worker: a handler over all chunks of a sync, by some tasks here and any number elsewhere.
//!
//! Always true:
//! - a chunk's lease, and the sync's, is kept by a task of its own, not by the handler;
//! - a handler whose lease is lost is dropped, at the latest when its own deadline passes, counted from before the claim
//!   was sent (L5);
//! - an ending whose answer was lost is sent again (L12);
//! - any number of workers may run over one sync, on any number of machines; whichever holds the sync's lease at the end
//!   completes it, and with a chunk failed for good fails it.

use super::{Act, Beat, ChunkClaim, ClaimedChunk, Ending, IdleReason, Refused, SyncClaim, SyncId, SyncInfo, Unit};
use crate::{Error, Result, Tenure};
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tenure_core::Token;
use tenure_core::sync::{CHUNK_LEASE_MS_DEFAULT, SYNC_LEASE_MS_DEFAULT};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// A claim that took nothing is repeated after this long at most; chunks come back without a signal.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// The wait before a store that did not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// Heartbeats in one lease of a chunk: every 30 s of 2 min, as the document has it.
const CHUNK_BEATS: u32 = 4;
/// Heartbeats in one lease of a sync: every minute of 5.
const SYNC_BEATS: u32 = 5;

/// What a handler made of a chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    row_count: Option<u64>,
    cursor: Option<String>,
    completed: bool,
}

impl Synced {
    /// So many rows were synced.
    #[must_use]
    pub fn rows(row_count: u64) -> Synced {
        Synced { row_count: Some(row_count), ..Synced::default() }
    }

    /// The handler completed the chunk by itself, in the transaction that wrote its rows.
    #[must_use]
    pub fn completed() -> Synced {
        Synced { completed: true, ..Synced::default() }
    }

    /// With something for the next sync of this chunk, as JSON.
    #[must_use]
    pub fn cursor(mut self, cursor: impl Into<String>) -> Synced {
        self.cursor = Some(cursor.into());
        self
    }
}

impl From<u64> for Synced {
    fn from(row_count: u64) -> Synced {
        Synced::rows(row_count)
    }
}

type Tell = Arc<dyn Fn(&SyncInfo) + Send + Sync>;

/// Runs a handler over all chunks of a sync.
#[derive(Clone)]
pub struct SyncWorker {
    tenure: Tenure,
    sync: SyncId,
    owner: String,
    workers: usize,
    lease_ms: u64,
    chunk_lease_ms: u64,
    tell: Option<Tell>,
    /// The token of the sync's lease, while it is held here. A name alone is no lease: another process may bear it.
    held: Arc<Mutex<Option<Token>>>,
}

impl std::fmt::Debug for SyncWorker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SyncWorker").field("sync", &self.sync).field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl SyncWorker {
    pub(super) fn new(tenure: Tenure, sync: SyncId, owner: String) -> SyncWorker {
        SyncWorker {
            tenure,
            sync,
            owner,
            workers: 1,
            lease_ms: SYNC_LEASE_MS_DEFAULT,
            chunk_lease_ms: CHUNK_LEASE_MS_DEFAULT,
            tell: None,
            held: Arc::default(),
        }
    }

    /// How many chunks are worked on at once here.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> SyncWorker {
        self.workers = workers.max(1);
        self
    }

    /// How long the lease of the sync runs unless renewed; five minutes unless said otherwise.
    #[must_use]
    pub fn lease_ms(mut self, lease_ms: u64) -> SyncWorker {
        self.lease_ms = lease_ms;
        self
    }

    /// How long the lease of a chunk runs unless renewed; two minutes unless said otherwise.
    #[must_use]
    pub fn chunk_lease_ms(mut self, lease_ms: u64) -> SyncWorker {
        self.chunk_lease_ms = lease_ms;
        self
    }

    /// Told about once a second how far the sync has come, and once more at its end.
    #[must_use]
    pub fn on_progress(mut self, tell: impl Fn(&SyncInfo) + Send + Sync + 'static) -> SyncWorker {
        self.tell = Some(Arc::new(tell));
        self
    }

    /// Works until the sync has ended, here or elsewhere, and answers how. A handler's error fails its chunk, which is
    /// tried again while it has attempts. Dropping the future stops the work; its leases then run out by themselves.
    pub async fn run<F, W, S, E>(self, handler: F) -> Result<SyncInfo>
    where
        F: Fn(ClaimedChunk) -> W + Send + Sync + 'static,
        W: Future<Output = std::result::Result<S, E>> + Send + 'static,
        S: Into<Synced> + Send + 'static,
        E: Display + Send + 'static,
    {
        let handler = Arc::new(handler);
        let mut beside = JoinSet::new();
        beside.spawn(self.clone().keep_sync());
        if self.tell.is_some() {
            beside.spawn(self.clone().tell_on_and_on());
        }
        loop {
            let mut tasks = JoinSet::new();
            for _ in 0..self.workers {
                tasks.spawn(self.clone().work(handler.clone()));
            }
            while let Some(ended) = tasks.join_next().await {
                // A panic of ours, not of the handler, which has a task of its own.
                ended.map_err(|error| tenure_store::StoreError::broken(error.to_string()))??;
            }
            if let Some(info) = self.close().await? {
                if let Some(tell) = &self.tell {
                    tell(&info);
                }
                return Ok(info);
            }
        }
    }

    /// Claims and works until nothing is left to be claimed.
    async fn work<F, W, S, E>(self, handler: Arc<F>) -> Result<()>
    where
        F: Fn(ClaimedChunk) -> W + Send + Sync + 'static,
        W: Future<Output = std::result::Result<S, E>> + Send + 'static,
        S: Into<Synced> + Send + 'static,
        E: Display + Send + 'static,
    {
        loop {
            let sent_at = Instant::now();
            let claim = ChunkClaim::new(self.sync, &self.owner).lease_ms(self.chunk_lease_ms);
            match insist(|| self.tenure.claim_chunk(claim.clone())).await? {
                Ok(chunk) => self.one(chunk, sent_at, &*handler).await?,
                Err(idle) => match idle.reason {
                    IdleReason::Held => {
                        let again = Duration::from_millis(idle.again_in_ms.unwrap_or(0).max(10));
                        tokio::time::sleep(again.min(LOOK_AGAIN)).await;
                    }
                    IdleReason::Done | IdleReason::Ended | IdleReason::Unknown => return Ok(()),
                },
            }
        }
    }

    /// Works on one chunk and ends its claim.
    async fn one<F, W, S, E>(&self, chunk: ClaimedChunk, sent_at: Instant, handler: &F) -> Result<()>
    where
        F: Fn(ClaimedChunk) -> W,
        W: Future<Output = std::result::Result<S, E>> + Send + 'static,
        S: Into<Synced> + Send + 'static,
        E: Display + Send + 'static,
    {
        let (unit, token) = (Unit::chunk(chunk.sync, &chunk.chunk_hash), chunk.token);
        // Dropped with this future, both of them.
        let mut kept = JoinSet::new();
        let lease = Duration::from_millis(self.chunk_lease_ms);
        kept.spawn(keep(self.tenure.clone(), unit.clone(), self.owner.clone(), token, sent_at, lease, CHUNK_BEATS));
        let mut working = JoinSet::new();
        working.spawn(handler(chunk));
        let act = tokio::select! {
            done = working.join_next() => match done {
                Some(Ok(Ok(synced))) => {
                    let Synced { row_count, cursor, completed } = synced.into();
                    if completed {
                        return Ok(());
                    }
                    Act::Complete { row_count, cursor }
                }
                Some(Ok(Err(error))) => Act::Fail { error: error.to_string(), retry: true },
                Some(Err(_)) | None => Act::Fail { error: "the handler panicked".to_owned(), retry: true },
            },
            // The lease is lost: the handler is dropped, and whoever has the chunk now does it.
            _ = kept.join_next() => return Ok(()),
        };
        let ending = Ending { unit, owner: self.owner.clone(), token, act };
        match insist(|| self.tenure.finish_sync(ending.clone())).await {
            Ok(_) | Err(Error::LeaseLost(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Holds the sync's lease as long as this runs, taking it whenever nobody has it.
    async fn keep_sync(self) {
        let lease = Duration::from_millis(self.lease_ms);
        loop {
            if let Ok(Some((token, sent_at))) = self.take().await {
                let unit = Unit::sync(self.sync);
                self.hold(Some(token));
                keep(self.tenure.clone(), unit, self.owner.clone(), token, sent_at, lease, SYNC_BEATS).await;
                self.hold(None);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    fn hold(&self, token: Option<Token>) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = token;
    }

    /// Claims the sync, if nobody holds it.
    async fn take(&self) -> Result<Option<(Token, Instant)>> {
        let Some(info) = self.tenure.sync(self.sync).await? else { return Ok(None) };
        let sent_at = Instant::now();
        let claim = SyncClaim::new(&self.owner).lease_ms(self.lease_ms).matrix_id(info.sync.matrix_id);
        let claimed = self.tenure.claim_sync(claim).await?;
        // The matrix may have got a new pass since; that one is another worker's.
        Ok(claimed.filter(|claimed| claimed.id == self.sync).map(|claimed| (claimed.token, sent_at)))
    }

    /// Ends the sync if everything is done; how it ended. `None`: there is more to do.
    async fn close(&self) -> Result<Option<SyncInfo>> {
        loop {
            let info = insist(|| self.tenure.sync(self.sync)).await?;
            let Some(info) = info else { return Err(Error::Sync(Refused::Absent)) };
            if !info.sync.standing.open() {
                return Ok(Some(info));
            }
            let progress = info.progress;
            if progress.left() > 0 {
                return Ok(None);
            }
            let held = *self.held.lock().unwrap_or_else(PoisonError::into_inner);
            let token = match held {
                Some(token) => Some(token),
                None => insist(|| self.take()).await?.map(|(token, _)| token),
            };
            if let Some(token) = token {
                let act = match progress.failed {
                    0 => Act::done(),
                    failed => Act::Fail { error: format!("{failed} chunks failed for good"), retry: false },
                };
                let ending = Ending { unit: Unit::sync(self.sync), owner: self.owner.clone(), token, act };
                match insist(|| self.tenure.finish_sync(ending.clone())).await {
                    Ok(_) => continue,
                    // Chunks were added meanwhile. What was taken only to end it is given back: nobody keeps it.
                    Err(Error::Sync(Refused::Incomplete { .. })) => {
                        if held.is_none() {
                            let release = Ending { act: Act::Release, ..ending };
                            let _ = insist(|| self.tenure.finish_sync(release.clone())).await;
                        }
                        return Ok(None);
                    }
                    Err(Error::LeaseLost(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            // Another worker holds it, and will end it.
            tokio::time::sleep(LOOK_AGAIN / 5).await;
        }
    }

    async fn tell_on_and_on(self) {
        loop {
            tokio::time::sleep(TELL_EVERY).await;
            if let (Some(tell), Ok(Some(info))) = (&self.tell, self.tenure.sync(self.sync).await) {
                tell(&info);
            }
        }
    }
}

/// Keeps a lease until it is lost. The last instant to believe in it is counted from before it was asked for, less a
/// tenth, so that the work stops before the store gives it away.
async fn keep(tenure: Tenure, unit: Unit, owner: String, token: Token, sent_at: Instant, lease: Duration, beats: u32) {
    let believed = lease.mul_f64(0.9);
    let mut deadline = sent_at + believed;
    let mut next = sent_at + lease / beats;
    loop {
        tokio::time::sleep_until(next.min(deadline)).await;
        let sent_at = Instant::now();
        if sent_at >= deadline {
            return;
        }
        let beat = tenure.heartbeat_sync(Beat::new(unit.clone(), &owner, token));
        match tokio::time::timeout_at(deadline, beat).await {
            Ok(Ok(_)) => (deadline, next) = (sent_at + believed, sent_at + lease / beats),
            Ok(Err(Error::Store(_))) => next = sent_at + ASK_AGAIN,
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

/// Asks until the store answers: everything asked here may be asked twice.
async fn insist<T, A: Future<Output = Result<T>>>(ask: impl Fn() -> A) -> Result<T> {
    /// About ten minutes of an absent store.
    const TRIES: u32 = 2_400;
    let mut tries = 0;
    loop {
        match ask().await {
            Err(Error::Store(error)) if tries < TRIES && matches!(error.code(), "unavailable" | "unknown_outcome") => {
                tries += 1;
                tokio::time::sleep(ASK_AGAIN).await;
            }
            answer => return answer,
        }
    }
}
