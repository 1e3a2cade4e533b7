//! The sync worker: a handler over all chunks of a sync, by some tasks here and any number elsewhere.
//!
//! Chunks are the face of a [`Worker`], which ends when nothing is left to be claimed; what is done here beside it is to hold
//! the sync's own lease, and to close the sync. Always true, beside what holds for every worker: any number of workers may
//! run over one sync, on any number of machines; whichever holds the sync's lease at the end completes it, and with a
//! chunk failed for good fails it.

use super::{
    Act, Beat, ChunkClaim, ClaimedChunk, Denied, Ended, Ending, IdleReason, Refused, State, SyncClaim, SyncId,
    SyncInfo, Unit,
};
use crate::clock::Moment;
use crate::heart::{Heart, Leases, Span};
use crate::queue::from_json;
use crate::signals::told;
use crate::worker::context::Terms;
use crate::worker::face::{Ask, Claimed, Face, Offer};
use crate::worker::handler::Task;
use crate::worker::parts::{Part, Shared};
use crate::worker::{Context, Report, Worker, ms};
use crate::{CallerTransaction, Error, Outcome, Result, Stop, Tenure};
use futures_util::future::{BoxFuture, join_all, try_join_all};
use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tenure_core::sync::{CHUNK_LEASE_MS_DEFAULT, SYNC_LEASE_MS_DEFAULT};
use tenure_core::{Invalid, LostReason, Token};
use tenure_store::{Fenced, Store, StoreError};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How often a sync that others hold is asked for.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// The wait before a store that did not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// The least that a hint to look again is believed.
const HINT_MIN_MS: u64 = 10;
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

    /// Rows and cursor.
    pub(super) fn into_parts(self) -> (Option<u64>, Option<String>) {
        (self.row_count, self.cursor)
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
type Handler = Arc<dyn Fn(ChunkContext) -> BoxFuture<'static, Outcome<Synced>> + Send + Sync>;

/// One attempt at one chunk, in the hands of its handler.
pub type ChunkContext = Context<ClaimedChunk>;

impl ChunkContext {
    /// Which attempt this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.unit().attempt
    }

    /// What its sync was planned with for it, as a type.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T> {
        from_json("payload", &self.unit().payload)
    }

    /// Completes this chunk in the handler's own transaction: its rows and the word of them are one commit, or neither (S5).
    /// Return [`Synced::completed`] once that is committed.
    pub async fn complete_in<T: CallerTransaction>(&self, tx: &mut T, synced: impl Into<Synced>) -> Result<()> {
        let (row_count, cursor) = synced.into().into_parts();
        let verbs = self.tenure().verbs();
        verbs.complete_chunk_in(tx, self.unit(), self.owner(), row_count, cursor.as_deref()).await
    }

    /// Makes the handler's own transaction fenced: it is refused unless the lease is held now, and nobody is given the chunk
    /// before it ends.
    pub async fn held_in<T: CallerTransaction>(&self, tx: &mut T) -> Result<()> {
        self.tenure().verbs().chunk_held_in(tx, self.unit(), self.owner()).await
    }
}

/// Runs a handler over all chunks of a sync. Made by [`Tenure::sync_worker`].
pub type SyncWorker = Worker<Chunks>;

/// The face of a worker of chunks.
#[derive(Clone)]
pub struct Chunks {
    sync: SyncId,
    lease_ms: u64,
    chunk_lease_ms: u64,
    tell: Option<Tell>,
    handler: Option<Handler>,
}

impl Tenure {
    /// A worker for the chunks of a sync, under the name `owner`. Handlers at work when it is told to stop are waited for as
    /// long as they take, unless a [grace](Worker::grace) is set.
    #[must_use]
    pub fn sync_worker(&self, sync: SyncId, owner: impl Into<String>) -> SyncWorker {
        let (lease_ms, chunk_lease_ms) = (SYNC_LEASE_MS_DEFAULT, CHUNK_LEASE_MS_DEFAULT);
        let chunks = Chunks { sync, lease_ms, chunk_lease_ms, tell: None, handler: None };
        Worker::of(self, owner.into(), chunks).workers(1).grace(Duration::MAX)
    }
}

impl SyncWorker {
    /// How many chunks are worked on at once here.
    #[must_use]
    pub fn workers(self, workers: usize) -> SyncWorker {
        self.concurrency(workers.max(1))
    }

    /// How long the lease of the sync runs unless renewed; five minutes unless said otherwise.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> SyncWorker {
        self.face.lease_ms = ms(lease);
        self
    }

    /// How long the lease of a chunk runs unless renewed; two minutes unless said otherwise.
    #[must_use]
    pub fn chunk_lease(mut self, lease: Duration) -> SyncWorker {
        self.face.chunk_lease_ms = ms(lease);
        self
    }

    /// Told about once a second how far the sync has come, and once more at its end.
    #[must_use]
    pub fn on_progress(mut self, tell: impl Fn(&SyncInfo) + Send + Sync + 'static) -> SyncWorker {
        self.face.tell = Some(Arc::new(tell));
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
        self.run_with(move |cx: ChunkContext| handler(cx.unit().clone()), shutdown).await
    }

    /// The same, with a handler that is told to stop, and has what the worker's [state](Worker::state) is.
    pub async fn run_with<F, W, S, E>(mut self, handler: F, shutdown: impl Future<Output = ()>) -> Result<SyncInfo>
    where
        F: Fn(ChunkContext) -> W + Send + Sync + 'static,
        W: Future<Output = std::result::Result<S, E>> + Send + 'static,
        S: Into<Synced> + Send + 'static,
        E: Display + Send + 'static,
    {
        self.face.handler = Some(of(handler));
        Ok(self.pass(shutdown).await?.0)
    }

    /// One pass, to its end or until `shutdown`; how far the sync has come, and what was done here.
    async fn pass(mut self, shutdown: impl Future<Output = ()>) -> Result<(SyncInfo, Report)> {
        self.plan.drain = true;
        self.prepare()?;
        let (stop, stopping) = watch::channel(false);
        let Terms { tenure, owner, .. } = self.terms.clone();
        let (heart, held) = (self.heart().await?, Mutex::default());
        let Chunks { sync, lease_ms, tell, .. } = self.face.clone();
        let pass = Arc::new(Pass { tenure, sync, owner, lease_ms, heart, stopping, held });
        let (mut working, mut shutdown) = (std::pin::pin!(pass.run(self)), std::pin::pin!(shutdown));
        let (info, report) = tokio::select! {
            done = &mut working => done?,
            () = &mut shutdown => {
                stop.send_replace(true);
                working.await?
            }
        };
        tell.into_iter().for_each(|tell| tell(&info));
        Ok((info, report))
    }
}

fn of<F, W, S, E>(handler: F) -> Handler
where
    F: Fn(ChunkContext) -> W + Send + Sync + 'static,
    W: Future<Output = std::result::Result<S, E>> + Send + 'static,
    S: Into<Synced> + Send + 'static,
    E: Display + Send + 'static,
{
    let handler = Arc::new(handler);
    Arc::new(move |cx| {
        let handler = handler.clone();
        Box::pin(async move {
            let failed = |error: E| Stop::Retry { error: error.to_string(), after: None };
            handler(cx).await.map(Into::into).map_err(failed)
        })
    })
}

/// The chunks of a matrix as a part of a worker of jobs: its passes, one after the other as they are planned.
pub(crate) fn chunks_of<F, W, S, E>(matrix: String, handler: F) -> Part
where
    F: Fn(ChunkContext) -> W + Send + Sync + 'static,
    W: Future<Output = std::result::Result<S, E>> + Send + 'static,
    S: Into<Synced> + Send + 'static,
    E: Display + Send + 'static,
{
    let handler = of(handler);
    Box::new(move |shared| {
        Box::pin(async move {
            tokio::select! {
                report = passes(&shared, &matrix, handler) => report,
                () = shared.leaving_now() => Ok(Report::default()),
            }
        })
    })
}

async fn passes(shared: &Shared, matrix: &str, handler: Handler) -> Result<Report> {
    let mut total = Report::default();
    loop {
        // A matrix has at most one sync that has not ended, its newest (S6).
        let newest = insist(|| shared.tenure().matrix(matrix).syncs().page(1)).await?.items.into_iter().next();
        match newest.filter(|sync| sync.standing.open()) {
            Some(sync) => {
                let mut worker = shared.adopt(shared.tenure().sync_worker(sync.id, shared.owner()));
                worker.face.handler = Some(handler.clone());
                total += worker.pass(shared.leaving()).await?.1;
            }
            None if shared.drain => return Ok(total),
            None => {}
        }
        tokio::select! {
            () = shared.leaving() => return Ok(total),
            () = tokio::time::sleep(LOOK_AGAIN) => {}
        }
    }
}

impl Leases for ClaimedChunk {
    /// A chunk or the sync itself.
    type Key = (Unit, Token);
    type Part = ();

    async fn beat(
        store: Arc<dyn Store>,
        owner: String,
        keys: Vec<(Unit, Token)>,
    ) -> std::result::Result<Vec<Fenced<Vec<()>>>, StoreError> {
        let beats = keys.into_iter().map(|(unit, token)| store.heartbeat_sync(Beat::new(unit, &owner, token)));
        let answers = try_join_all(beats).await?;
        Ok(answers.into_iter().map(|answer| answer.map(|_| Vec::new())).collect())
    }
}

impl Claimed for ClaimedChunk {
    fn key(&self) -> (Unit, Token) {
        (Unit::chunk(self.sync, &self.chunk_hash), self.token)
    }

    fn part(&self) {}

    fn token(&self) -> Token {
        self.token
    }
}

impl Chunks {
    fn claim_of(&self, owner: &str) -> ChunkClaim {
        ChunkClaim::new(self.sync, owner).lease_ms(self.chunk_lease_ms)
    }
}

impl Face for Chunks {
    type Unit = ClaimedChunk;
    type Done = Synced;
    type Act = Act;
    type Ending = Ending;
    type Ended = Ended;

    const CLAIMS: &'static str = "chunks";

    fn prepare(worker: &mut SyncWorker) -> Result<()> {
        SyncClaim::new(&worker.terms.owner).lease_ms(worker.face.lease_ms).check()?;
        Ok(worker.face.claim_of(&worker.terms.owner).check()?)
    }

    /// Chunks come back without a signal.
    fn wakes(&self) -> Vec<String> {
        Vec::new()
    }

    fn span(&self, _: &ClaimedChunk) -> Span {
        Span::beating(Duration::from_millis(self.chunk_lease_ms), CHUNK_BEATS)
    }

    async fn claim(&self, terms: &Terms, ask: Ask) -> Result<Offer<ClaimedChunk>> {
        let claim = self.claim_of(&terms.owner);
        let answers = join_all((0..ask.max).map(|_| terms.tenure.verbs().claim_chunk(claim.clone()))).await;
        let mut offer = Offer { units: Vec::new(), again_in: None, limited: true, held: false };
        let mut failed = None;
        for answer in answers {
            match answer {
                Ok(Ok(chunk)) => offer.units.push(chunk),
                Ok(Err(idle)) if idle.reason == IdleReason::Held => {
                    offer.held = true;
                    let hint = idle.again_in_ms.unwrap_or(0).max(HINT_MIN_MS);
                    offer.again_in = Some(Duration::from_millis(hint));
                }
                Ok(Err(_)) => {}
                Err(error) => failed = Some(error),
            }
        }
        // What was granted is worked on, whatever became of the others.
        failed.filter(|_| offer.units.is_empty()).map_or(Ok(offer), Err)
    }

    fn fatal(error: &Error) -> bool {
        !matches!(error, Error::Unavailable { .. })
    }

    fn log_span(cx: &ChunkContext) -> tracing::Span {
        let ClaimedChunk { sync, chunk_hash, attempt, .. } = cx.unit();
        tracing::info_span!("chunk", %sync, chunk_hash, attempt)
    }

    fn begin(self: &Arc<Self>, cx: ChunkContext) -> Option<Task<Synced>> {
        self.handler.as_ref().map(|handler| Task::spawn(handler(cx)))
    }

    fn act(outcome: Outcome<Synced>, _: f64) -> Option<Act> {
        match outcome {
            Ok(Synced { completed: true, .. }) => None,
            Ok(Synced { row_count, cursor, .. }) => Some(Act::Complete { row_count, cursor }),
            Err(Stop::Release) => Some(Act::Release),
            // It is tried again at once; a chunk has no backoff.
            Err(failed) => Some(Act::Fail { error: failed.failure(0.0).0, retry: true }),
        }
    }

    fn ending(owner: &str, (unit, token): (Unit, Token), (): (), act: Act) -> Ending {
        Ending { unit, owner: owner.to_owned(), token, act }
    }

    fn check(ending: &mut Ending) -> std::result::Result<(), Invalid> {
        ending.check()
    }

    fn act_of(ending: &mut Ending) -> &mut Act {
        &mut ending.act
    }

    async fn finish(&self, terms: &Terms, endings: Vec<Ending>) -> std::result::Result<Vec<Fenced<Ended>>, StoreError> {
        let answers = try_join_all(endings.into_iter().map(|ending| terms.tenure.store.finish_sync(ending))).await?;
        let lost = |denied| match denied {
            Denied::Lost(reason) => reason,
            Denied::Refused(_) => LostReason::Unknown,
        };
        Ok(answers.into_iter().map(|answer| answer.map_err(lost)).collect())
    }

    fn count(report: &mut Report, ending: &Ending, answer: &Fenced<Ended>) {
        let counted = match (&ending.act, answer) {
            (_, Err(_)) => &mut report.refused,
            (Act::Complete { .. }, Ok(_)) => &mut report.completed,
            (Act::Fail { .. }, Ok(Ended { state: State::Failed, .. })) => &mut report.failed,
            (Act::Fail { .. }, Ok(_)) => &mut report.retried,
            (Act::Release, Ok(_)) => &mut report.released,
        };
        *counted += 1;
    }
}

/// A worker over one sync: what is held and closed beside its chunks.
struct Pass {
    tenure: Tenure,
    sync: SyncId,
    owner: String,
    lease_ms: u64,
    heart: Arc<Heart<ClaimedChunk>>,
    stopping: watch::Receiver<bool>,
    /// The token of the sync's lease, while it is held here. A name alone is no lease: another process may bear it.
    held: Mutex<Option<Token>>,
}

impl Pass {
    async fn run(self: &Arc<Self>, worker: SyncWorker) -> Result<(SyncInfo, Report)> {
        let mut report = Report::default();
        // Before any handler can take the runtime for itself.
        let taken = self.take().await.ok().flatten();
        let (left, leaving) = watch::channel(false);
        let (mut keeping, mut telling) = (JoinSet::new(), JoinSet::new());
        keeping.spawn(self.clone().keep(taken, leaving));
        if let Some(tell) = worker.face.tell.clone() {
            telling.spawn(self.clone().keep_telling(tell));
        }
        loop {
            let stopped = told(self.stopping.clone());
            report += worker.clone().work(Some(self.heart.clone()), stopped, std::future::pending()).await?;
            if let Some(info) = self.close().await? {
                return Ok((info, report));
            }
            if self.stopped() {
                // A claim of the sync that is under way is answered first: what it brings is given back too.
                left.send_replace(true);
                keeping.join_next().await;
                return Ok((self.leave().await?, report));
            }
        }
    }

    fn stopped(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Gives the sync's lease back, if it is held here.
    async fn leave(&self) -> Result<SyncInfo> {
        if let Some(token) = self.held() {
            self.release(self.sync, token).await?;
        }
        insist(|| self.tenure.verbs().sync(self.sync)).await?.ok_or(Error::from(Refused::Absent))
    }

    async fn release(&self, sync: SyncId, token: Token) -> Result<()> {
        let release = Ending { unit: Unit::sync(sync), owner: self.owner.clone(), token, act: Act::Release };
        match insist(|| self.tenure.verbs().finish_sync(release.clone())).await {
            Ok(_) | Err(Error::LeaseLost(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Holds the sync's lease until all have left, taking it whenever nobody has it.
    async fn keep(self: Arc<Self>, mut taken: Option<(Token, Moment)>, leaving: watch::Receiver<bool>) {
        let span = Span::beating(Duration::from_millis(self.lease_ms), SYNC_BEATS);
        loop {
            if let Some((token, asked_at)) = taken {
                let kept = self.heart.keep((Unit::sync(self.sync), token), span, asked_at);
                self.hold(Some(token));
                tokio::select! {
                    _ = kept.hold.over() => self.hold(None),
                    () = told(leaving.clone()) => return,
                }
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_AGAIN) => {}
                () = told(leaving.clone()) => return,
            }
            taken = self.take().await.ok().flatten();
        }
    }

    /// Ends the sync if everything is done; how it ended. `None`: there is more to do.
    async fn close(&self) -> Result<Option<SyncInfo>> {
        loop {
            let info = insist(|| self.tenure.verbs().sync(self.sync)).await?;
            let Some(info) = info else { return Err(Error::from(Refused::Absent)) };
            if !info.sync.standing.open() {
                return Ok(Some(info));
            }
            let progress = info.progress;
            if progress.left() > 0 {
                return Ok(None);
            }
            let held = self.held();
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
                match insist(|| self.tenure.verbs().finish_sync(ending.clone())).await {
                    Ok(_) => continue,
                    // Chunks were added meanwhile. What was taken only to end it is given back: nobody keeps it.
                    Err(Error::Refused(crate::Refused::Sync(Refused::Incomplete { .. }))) => {
                        if held.is_none() {
                            self.release(self.sync, token).await?;
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
            tokio::select! {
                () = tokio::time::sleep(LOOK_AGAIN / 5) => {}
                () = told(self.stopping.clone()) => {}
            }
        }
    }

    fn held(&self) -> Option<Token> {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(&self, token: Option<Token>) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = token;
    }

    /// Claims the sync, if nobody holds it.
    async fn take(&self) -> Result<Option<(Token, Moment)>> {
        let Some(info) = self.tenure.verbs().sync(self.sync).await? else { return Ok(None) };
        let asked_at = self.tenure.around.now();
        let claim = SyncClaim::new(&self.owner).lease_ms(self.lease_ms).matrix_id(info.sync.matrix_id);
        let Some(claimed) = self.tenure.verbs().claim_sync(claim).await? else { return Ok(None) };
        if claimed.id == self.sync {
            return Ok(Some((claimed.token, asked_at)));
        }
        // The matrix has got a new pass since. That one is another worker's, who would wait for our lease to run out.
        self.release(claimed.id, claimed.token).await.map(|()| None)
    }

    async fn keep_telling(self: Arc<Self>, tell: Tell) {
        loop {
            tokio::time::sleep(TELL_EVERY).await;
            if let Ok(Some(info)) = self.tenure.verbs().sync(self.sync).await {
                tell(&info);
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
            Err(Error::Unavailable { .. }) if tries < TRIES => {
                tries += 1;
                tokio::time::sleep(ASK_AGAIN).await;
            }
            answer => return answer,
        }
    }
}
