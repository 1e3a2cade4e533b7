//! The sync worker: a handler over all chunks of a sync, by some tasks here and any number elsewhere.
//!
//! Always true:
//! - leases are kept by the heart, whatever the handlers do with the runtime and its connections (A9, A10);
//! - a handler whose lease is lost is dropped, at the latest when its own deadline passes, counted from before the claim
//!   was sent, on a clock that runs through suspend (L5);
//! - an ending whose answer was lost is sent again (L12);
//! - any number of workers may run over one sync, on any number of machines; whichever holds the sync's lease at the end
//!   completes it, and with a chunk failed for good fails it.

use super::{Act, Beat, ChunkClaim, ClaimedChunk, Ending, IdleReason, Refused, SyncClaim, SyncId, SyncInfo, Unit};
use crate::clock::Moment;
use crate::heart::{Heart, Leases, Span};
use crate::rest::Rest;
use crate::{Error, Result, Tenure};
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tenure_core::Token;
use tenure_core::sync::{CHUNK_LEASE_MS_DEFAULT, SYNC_LEASE_MS_DEFAULT};
use tenure_store::{Fenced, Store, StoreError};
use tokio::sync::watch;
use tokio::task::JoinSet;

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
        self.run_until(handler, std::future::pending()).await
    }

    /// The same, until `shutdown`: then no more chunks are claimed, those at work are finished, and the sync's lease is
    /// given back. Answers how far the sync has come.
    pub async fn run_until<F, W, S, E>(self, handler: F, shutdown: impl Future<Output = ()>) -> Result<SyncInfo>
    where
        F: Fn(ClaimedChunk) -> W + Send + Sync + 'static,
        W: Future<Output = std::result::Result<S, E>> + Send + 'static,
        S: Into<Synced> + Send + 'static,
        E: Display + Send + 'static,
    {
        let (stop, stopping) = watch::channel(false);
        let heart = Arc::new(Heart::start(self.owner.clone(), self.tenure.apart(), None).await?);
        let telling = self.clone();
        let working = Shift { worker: self, heart, stopping }.run(Arc::new(handler));
        let (mut working, mut shutdown) = (std::pin::pin!(working), std::pin::pin!(shutdown));
        let info = tokio::select! {
            info = &mut working => info?,
            () = &mut shutdown => {
                stop.send_replace(true);
                working.await?
            }
        };
        telling.tell(&info);
        Ok(info)
    }
}

/// The chunks and syncs of a worker, as the heart keeps them.
struct Units;

impl Leases for Units {
    type Key = (Unit, Token);
    type Part = ();

    async fn beat(
        store: Arc<dyn Store>,
        owner: String,
        keys: Vec<(Unit, Token)>,
    ) -> std::result::Result<Vec<Fenced<Vec<()>>>, StoreError> {
        let beats = keys.into_iter().map(|(unit, token)| store.heartbeat_sync(Beat::new(unit, &owner, token)));
        let answers = futures_util::future::try_join_all(beats).await?;
        Ok(answers.into_iter().map(|answer| answer.map(|_| Vec::new())).collect())
    }
}

/// A worker at work.
#[derive(Clone)]
struct Shift {
    worker: SyncWorker,
    heart: Arc<Heart<Units>>,
    stopping: watch::Receiver<bool>,
}

impl Shift {
    async fn run<F, W, S, E>(self, handler: Arc<F>) -> Result<SyncInfo>
    where
        F: Fn(ClaimedChunk) -> W + Send + Sync + 'static,
        W: Future<Output = std::result::Result<S, E>> + Send + 'static,
        S: Into<Synced> + Send + 'static,
        E: Display + Send + 'static,
    {
        let worker = &self.worker;
        let mut beside = JoinSet::new();
        // Before any handler can take the runtime for itself.
        let taken = worker.take().await.ok().flatten();
        beside.spawn(self.clone().keep_sync(taken));
        if worker.tell.is_some() {
            beside.spawn(worker.clone().keep_telling());
        }
        loop {
            let mut tasks = JoinSet::new();
            for _ in 0..worker.workers {
                tasks.spawn(self.clone().work(handler.clone()));
            }
            while let Some(ended) = tasks.join_next().await {
                // A panic of ours, not of the handler, which has a task of its own.
                ended.map_err(|error| StoreError::broken(error.to_string()))??;
            }
            if let Some(info) = self.close().await? {
                return Ok(info);
            }
            if self.stopped() {
                beside.shutdown().await;
                return self.leave().await;
            }
        }
    }

    fn stopped(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Waits, but no longer than until the shutdown.
    async fn rest(&self, span: Duration) {
        let mut stopping = self.stopping.clone();
        tokio::select! {
            () = tokio::time::sleep(span) => {}
            // The sender outlives the shift.
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
    }

    /// Gives the sync's lease back, if it is held here.
    async fn leave(&self) -> Result<SyncInfo> {
        let SyncWorker { tenure, sync, owner, .. } = &self.worker;
        if let Some(token) = self.worker.held() {
            let release = Ending { unit: Unit::sync(*sync), owner: owner.clone(), token, act: Act::Release };
            match insist(|| tenure.finish_sync(release.clone())).await {
                Ok(_) | Err(Error::LeaseLost(_)) => {}
                Err(error) => return Err(error),
            }
        }
        insist(|| tenure.sync(*sync)).await?.ok_or(Error::Sync(Refused::Absent))
    }

    /// Claims and works until nothing is left to be claimed.
    async fn work<F, W, S, E>(self, handler: Arc<F>) -> Result<()>
    where
        F: Fn(ClaimedChunk) -> W + Send + Sync + 'static,
        W: Future<Output = std::result::Result<S, E>> + Send + 'static,
        S: Into<Synced> + Send + 'static,
        E: Display + Send + 'static,
    {
        let worker = &self.worker;
        let mut rest = Rest::default();
        while !self.stopped() {
            let asked_at = Moment::now();
            let claim = ChunkClaim::new(worker.sync, &worker.owner).lease_ms(worker.chunk_lease_ms);
            match insist(|| worker.tenure.claim_chunk(claim.clone())).await? {
                Ok(chunk) => {
                    rest.found();
                    self.one(chunk, asked_at, &*handler).await?;
                }
                Err(idle) => match idle.reason {
                    IdleReason::Held => {
                        let again = Duration::from_millis(idle.again_in_ms.unwrap_or(0).max(10));
                        self.rest(rest.begin(Some(again))).await;
                        rest.over();
                    }
                    IdleReason::Done | IdleReason::Ended | IdleReason::Unknown => return Ok(()),
                },
            }
        }
        Ok(())
    }

    /// Works on one chunk and ends its claim.
    async fn one<F, W, S, E>(&self, chunk: ClaimedChunk, asked_at: Moment, handler: &F) -> Result<()>
    where
        F: Fn(ClaimedChunk) -> W,
        W: Future<Output = std::result::Result<S, E>> + Send + 'static,
        S: Into<Synced> + Send + 'static,
        E: Display + Send + 'static,
    {
        let (unit, token) = (Unit::chunk(chunk.sync, &chunk.chunk_hash), chunk.token);
        let worker = &self.worker;
        // Dropped with this future, both of them.
        let span = Span::beating(Duration::from_millis(worker.chunk_lease_ms), CHUNK_BEATS);
        let kept = self.heart.keep((unit.clone(), token), span, asked_at);
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
            _ = kept.hold.over() => return Ok(()),
        };
        let ending = Ending { unit, owner: worker.owner.clone(), token, act };
        match insist(|| worker.tenure.finish_sync(ending.clone())).await {
            Ok(_) | Err(Error::LeaseLost(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Holds the sync's lease as long as this runs, taking it whenever nobody has it.
    async fn keep_sync(self, mut taken: Option<(Token, Moment)>) {
        let worker = &self.worker;
        let span = Span::beating(Duration::from_millis(worker.lease_ms), SYNC_BEATS);
        loop {
            if let Some((token, asked_at)) = taken {
                let kept = self.heart.keep((Unit::sync(worker.sync), token), span, asked_at);
                worker.hold(Some(token));
                kept.hold.over().await;
                worker.hold(None);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
            taken = worker.take().await.ok().flatten();
        }
    }

    /// Ends the sync if everything is done; how it ended. `None`: there is more to do.
    async fn close(&self) -> Result<Option<SyncInfo>> {
        let worker = &self.worker;
        loop {
            let info = insist(|| worker.tenure.sync(worker.sync)).await?;
            let Some(info) = info else { return Err(Error::Sync(Refused::Absent)) };
            if !info.sync.standing.open() {
                return Ok(Some(info));
            }
            let progress = info.progress;
            if progress.left() > 0 {
                return Ok(None);
            }
            let held = worker.held();
            let token = match held {
                Some(token) => Some(token),
                None => insist(|| worker.take()).await?.map(|(token, _)| token),
            };
            if let Some(token) = token {
                let act = match progress.failed {
                    0 => Act::done(),
                    failed => Act::Fail { error: format!("{failed} chunks failed for good"), retry: false },
                };
                let ending = Ending { unit: Unit::sync(worker.sync), owner: worker.owner.clone(), token, act };
                match insist(|| worker.tenure.finish_sync(ending.clone())).await {
                    Ok(_) => continue,
                    // Chunks were added meanwhile. What was taken only to end it is given back: nobody keeps it.
                    Err(Error::Sync(Refused::Incomplete { .. })) => {
                        if held.is_none() {
                            let release = Ending { act: Act::Release, ..ending };
                            let _ = insist(|| worker.tenure.finish_sync(release.clone())).await;
                        }
                        return Ok(None);
                    }
                    Err(Error::LeaseLost(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            if self.stopped() {
                return Ok(None);
            }
            // Another worker holds it, and will end it.
            self.rest(LOOK_AGAIN / 5).await;
        }
    }
}

impl SyncWorker {
    fn held(&self) -> Option<Token> {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(&self, token: Option<Token>) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = token;
    }

    /// Claims the sync, if nobody holds it.
    async fn take(&self) -> Result<Option<(Token, Moment)>> {
        let Some(info) = self.tenure.sync(self.sync).await? else { return Ok(None) };
        let asked_at = Moment::now();
        let claim = SyncClaim::new(&self.owner).lease_ms(self.lease_ms).matrix_id(info.sync.matrix_id);
        let claimed = self.tenure.claim_sync(claim).await?;
        let Some(claimed) = claimed else { return Ok(None) };
        if claimed.id == self.sync {
            return Ok(Some((claimed.token, asked_at)));
        }
        // The matrix has got a new pass since. That one is another worker's, who would wait for our lease to run out.
        let (unit, owner) = (Unit::sync(claimed.id), self.owner.clone());
        let release = Ending { unit, owner, token: claimed.token, act: Act::Release };
        match insist(|| self.tenure.finish_sync(release.clone())).await {
            Ok(_) | Err(Error::LeaseLost(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn tell(&self, info: &SyncInfo) {
        if let Some(tell) = &self.tell {
            tell(info);
        }
    }

    async fn keep_telling(self) {
        loop {
            tokio::time::sleep(TELL_EVERY).await;
            if let Ok(Some(info)) = self.tenure.sync(self.sync).await {
                self.tell(&info);
            }
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
            Err(Error::Store(StoreError::Unavailable { .. })) if tries < TRIES => {
                tries += 1;
                tokio::time::sleep(ASK_AGAIN).await;
            }
            answer => return answer,
        }
    }
}
