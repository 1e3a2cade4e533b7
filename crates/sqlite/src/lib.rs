//! Tenure in one SQLite file: the embedded default.
//!
//! Always true:
//! - what was answered is on disk: WAL with full sync, and no answer before its commit;
//! - every write is a step of one transaction that took the write lock first (`BEGIN IMMEDIATE`), so any number of
//!   processes on one file agree about who holds what (L1, L2);
//! - core decides, and what it decided is written under its guard; no statement is put together from strings.
//!
//! One thread writes (`writer.rs`), a few read; callers only wait for answers. A file that is deleted, replaced, damaged
//! or newer than this program is refused in one line, never quietly begun anew.

mod address;
mod caller;
mod changes;
mod column;
mod connection;
mod domain;
mod examine;
mod fault;
mod identity;
pub mod in_transaction;
mod inbox;
mod migrate;
mod patience;
mod pipeline;
mod queue;
mod reader;
mod savepoint;
mod schedule;
mod sql;
mod sync;
#[cfg(test)]
mod tests;
mod tokens;
mod writer;

pub use address::{SqliteOptions, Synchronous};
/// The SQLite driver (0.41), for callers who share a transaction with the queue: [`in_transaction`].
pub use rusqlite;

use address::Place;
use async_trait::async_trait;
use fault::{Done, Fault};
use identity::Identity;
use inbox::{Inbox, Lane, Step};
use rusqlite::Connection;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use tenure_core::Page;
use tenure_core::changes::{Changed, Subject};
use tenure_core::queue::{
    Beat, Beaten, Change, Claim, Claims, Conflict, Ended, Ending, Enqueued, Event, Filter, Job, JobId, NewJob,
    Operation, Pruned, QueueInfo, Recovered, Refusal, Sight, Situation, Start, Status, Worker, worker,
};
use tenure_core::{Actor, Epoch, Time};
use tenure_store::{Clock, Fenced, Finding, QueueStore, Result, Sightings, Signals, Store, StoreError, Upkeep};
use writer::Writer;

/// Threads that read: one slow list must not hold up the others.
const READERS: usize = 2;

/// A store in one SQLite file, or in memory.
#[derive(Clone)]
pub struct SqliteStore {
    writes: Arc<Inbox>,
    /// In memory there is one connection, and reads are asked of the writer.
    reads: Arc<Inbox>,
    /// Ended with the last handle.
    _threads: Arc<Threads>,
    clock: Clock,
    signals: Signals,
    sightings: Arc<Sightings>,
    lock_waits: Arc<AtomicU64>,
    place: Place,
    /// Who acts through this handle.
    actor: Actor,
}

/// The threads of one store.
struct Threads {
    writes: Arc<Inbox>,
    reads: Arc<Inbox>,
    /// The writer first, then the readers.
    handles: Vec<JoinHandle<()>>,
}

/// The connections of one store.
struct Opened {
    writer: Connection,
    readers: Vec<Connection>,
    identity: Option<Identity>,
    data_version: i64,
}

impl SqliteStore {
    /// Opens `sqlite:FILE` or `sqlite::memory:`; an empty store is laid out, an older one is brought up to date.
    pub async fn open(url: &str) -> Result<SqliteStore> {
        SqliteStore::open_with(url, SqliteOptions::new()).await
    }

    /// The same, on a clock of the caller's, or without creating anything.
    pub async fn open_with(url: &str, options: SqliteOptions) -> Result<SqliteStore> {
        let (place, options) = address::parse(url, options)?;
        let (told, opened) = tokio::sync::oneshot::channel();
        // Opening may wait for another process; a caller's runtime must not.
        let opening = (place.clone(), options.clone());
        spawn("tenure-sqlite-open", move || {
            let (place, options) = opening;
            let opened = connect(&place, &options).map_err(|fault| fault.of(&place.shown()));
            // An error means that the caller has gone.
            let _ = told.send(opened);
        })?;
        let opened = opened.await.map_err(|_| StoreError::unavailable("opening was broken off"))??;
        SqliteStore::attend(place, &options, opened)
    }

    /// Starts the threads.
    fn attend(place: Place, options: &SqliteOptions, opened: Opened) -> Result<SqliteStore> {
        let writes = Arc::new(Inbox::new());
        let reads = if opened.readers.is_empty() { Arc::clone(&writes) } else { Arc::new(Inbox::new()) };
        let mut threads = Threads {
            writes: Arc::clone(&writes),
            reads: Arc::clone(&reads),
            handles: Vec::with_capacity(1 + READERS),
        };
        let (clock, signals, lock_waits) = (options.clock.clone(), Signals::default(), Arc::<AtomicU64>::default());
        let file = match &place {
            Place::Memory => None,
            Place::File(path) => caller::key(path),
        };
        let writer = Writer {
            conn: opened.writer,
            file,
            inbox: Arc::clone(&writes),
            clock: clock.clone(),
            signals: signals.clone(),
            identity: opened.identity.clone(),
            lock_waits: Arc::clone(&lock_waits),
            data_version: opened.data_version,
        };
        threads.handles.push(spawn("tenure-sqlite-write", move || writer.run())?);
        for conn in opened.readers {
            let (inbox, clock, identity) = (Arc::clone(&reads), clock.clone(), opened.identity.clone());
            threads.handles.push(spawn("tenure-sqlite-read", move || reader::run(&conn, identity, inbox, &clock))?);
        }
        Ok(SqliteStore {
            writes,
            reads,
            _threads: Arc::new(threads),
            clock,
            signals,
            sightings: Arc::default(),
            lock_waits,
            place,
            actor: Actor::default(),
        })
    }

    /// How often a write had to wait because another process held the lock: a measure of how much the file is fought
    /// over.
    #[must_use]
    pub fn lock_waits(&self) -> u64 {
        self.lock_waits.load(Ordering::Relaxed)
    }

    async fn write<T: Send + 'static>(
        &self,
        rows: usize,
        work: impl Fn(&Step<'_>) -> Done<T> + Send + 'static,
    ) -> Result<T> {
        self.writes.ask(Lane::Normal, rows, work).await
    }

    /// Writes the sightings of a claim that was made at `now`, where they are due. In a transaction of its own, so that
    /// whatever keeps it from being written leaves the claim alone.
    async fn see(&self, sight: Sight, now: Time) {
        if sight.queues.is_empty() || !worker::due(self.sightings.oldest(&sight), now) {
            return;
        }
        let asked = sight.clone();
        match self.write(sight.queues.len(), move |step| queue::worker::see(step, &asked)).await {
            Ok(seen) => seen.iter().for_each(|(queue, at)| self.sightings.note(&sight, queue, *at)),
            Err(error) => tracing::debug!(%error, "a sighting could not be written"),
        }
    }

    async fn read<T: Send + 'static>(&self, work: impl Fn(&Step<'_>) -> Done<T> + Send + 'static) -> Result<T> {
        self.reads.ask(Lane::Normal, 1, work).await
    }
}

impl Drop for Threads {
    /// Waits until the file is let go of, so that what follows may move or delete it.
    fn drop(&mut self) {
        // The writer goes last: only it can bring the WAL home, and SQLite does that when the last connection closes.
        self.reads.close();
        let readers = self.handles.drain(1.min(self.handles.len())..);
        // A thread that panicked has said so.
        readers.for_each(|thread| drop(thread.join()));
        self.writes.close();
        self.handles.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("place", &self.place).finish_non_exhaustive()
    }
}

#[async_trait]
impl QueueStore for SqliteStore {
    async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<std::result::Result<Vec<Enqueued>, Conflict>> {
        self.write(jobs.len(), move |step| queue::enqueue::enqueue(step, &jobs)).await
    }

    async fn claim(&self, claim: Claim) -> Result<Claims> {
        let (sight, max) = (Sight::of(&claim), claim.max);
        let work = move |step: &Step<'_>| {
            Ok((queue::claim::claim(step, &claim)?, queue::worker::known(step, &sight)?, step.now))
        };
        let (claims, sight, now) = self.write(max as usize, work).await?;
        self.see(sight, now).await;
        Ok(claims)
    }

    async fn start(&self, start: Start) -> Result<Fenced<()>> {
        self.writes.ask(Lane::Urgent, 1, move |step| queue::start::start(step, &start)).await
    }

    async fn heartbeat(&self, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>> {
        self.writes.ask(Lane::Urgent, beats.len(), move |step| queue::heartbeat::heartbeat(step, &beats)).await
    }

    async fn finish(&self, endings: Vec<Ending>) -> Result<Vec<Fenced<Ended>>> {
        self.write(endings.len(), move |step| queue::finish::finish(step, &endings)).await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>> {
        self.read(move |step| queue::read::job(step, id)).await
    }

    async fn events(&self, id: JobId) -> Result<Vec<Event>> {
        self.read(move |step| queue::read::events(step, id)).await
    }

    async fn jobs(&self, filter: Filter, before: Option<JobId>, limit: u32) -> Result<Page<Job>> {
        self.read(move |step| queue::read::jobs(step, &filter, before, limit)).await
    }

    async fn queue(&self, name: &str) -> Result<Option<QueueInfo>> {
        let name = name.to_owned();
        self.read(move |step| queue::read::queue(step, &name)).await
    }

    async fn queues(&self, after: Option<&str>, limit: u32) -> Result<Page<QueueInfo>> {
        let after = after.map(str::to_owned);
        self.read(move |step| queue::read::queues(step, after.as_deref(), limit)).await
    }

    async fn change(&self, name: &str, change: Change) -> Result<QueueInfo> {
        let (name, by) = (name.to_owned(), self.actor.clone());
        self.write(1, move |step| queue::change::change(step, &name, &change, &by)).await
    }

    async fn limit(&self) -> Result<Option<u32>> {
        self.read(queue::change::limit).await
    }

    async fn set_limit(&self, max_running: Option<u32>) -> Result<()> {
        let by = self.actor.clone();
        self.write(1, move |step| queue::change::set_limit(step, max_running, &by)).await
    }

    async fn operate(&self, operations: Vec<Operation>) -> Result<Vec<std::result::Result<Status, Refusal>>> {
        let by = self.actor.clone();
        self.write(operations.len(), move |step| queue::operate::operate(step, &operations, &by)).await
    }

    async fn workers(&self, after: Option<&str>, limit: u32) -> Result<Page<Worker>> {
        let after = after.map(str::to_owned);
        self.read(move |step| queue::worker::workers(step, after.as_deref(), limit)).await
    }

    async fn situation(&self, id: JobId) -> Result<Option<Situation>> {
        self.read(move |step| queue::read::situation(step, id)).await
    }

    fn signals(&self) -> &Signals {
        &self.signals
    }
}

#[async_trait]
impl Upkeep for SqliteStore {
    async fn now(&self) -> Result<Time> {
        Ok(self.clock.now())
    }

    async fn recover(&self, leases_max: u32) -> Result<Recovered> {
        self.write(leases_max as usize, move |step| queue::recover::recover(step, leases_max)).await
    }

    async fn prune(&self, max: u32) -> Result<Pruned> {
        self.write(max as usize, move |step| queue::prune::prune(step, max)).await
    }

    async fn epoch(&self) -> Result<Epoch> {
        self.read(tokens::epoch).await
    }

    async fn new_epoch(&self) -> Result<Epoch> {
        let by = self.actor.clone();
        self.write(1, move |step| tokens::raise(step, &by)).await?.ok_or_else(StoreError::tokens_spent)
    }

    fn acting_as(&self, actor: Actor) -> Arc<dyn Store> {
        Arc::new(SqliteStore { actor, ..self.clone() })
    }

    async fn changes(&self, subject: Subject) -> Result<Vec<Changed>> {
        self.read(move |step| changes::of(step, &subject)).await
    }

    fn place(&self) -> tenure_store::Place {
        match &self.place {
            Place::Memory => tenure_store::Place::Memory,
            Place::File(path) => tenure_store::Place::File { path: path.clone(), clock: self.clock.clone() },
        }
    }

    async fn examine(&self) -> Result<Vec<Finding>> {
        examine::examine(self).await
    }

    async fn describe(&self) -> Result<String> {
        let version = rusqlite::version();
        let Place::File(path) = &self.place else {
            return Ok(format!("SQLite {version} in memory: lives and dies with this process"));
        };
        let file = path.display().to_string();
        self.write(1, move |step| {
            let pragma = |name| step.conn.pragma_query_value(None, name, |row| row.get::<_, String>(0));
            let sync = match step.conn.pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0))? {
                0 => "off: a power failure may damage the file",
                1 => "normal: a power failure may lose the last moments",
                _ => "full: what was answered survives a power failure",
            };
            Ok(format!("SQLite {version} in {file}, journal {}, sync {sync}", pragma("journal_mode")?))
        })
        .await
    }

    async fn ready(&self) -> Result<()> {
        self.write(1, |step| {
            savepoint::execute(step.conn, "SAVEPOINT ready")?;
            savepoint::execute(step.conn, sql::PROBE)?;
            // To the disk, as far as a transaction goes that is not committed: else only memory would have been asked.
            step.conn.cache_flush()?;
            savepoint::execute(step.conn, "ROLLBACK TO ready")?;
            savepoint::execute(step.conn, "RELEASE ready")
        })
        .await
    }

    async fn flush(&self) -> Result<()> {
        // Other processes see a commit by looking at the file.
        Ok(())
    }
}

/// Opens the connections and brings the file up to date, where that was asked for.
fn connect(place: &Place, options: &SqliteOptions) -> Done<Opened> {
    let mut writer = connection::writer(place, options)?;
    // Whoever may not create has found a file that is up to date. In memory there is nothing before it is made.
    if options.create || *place == Place::Memory {
        migrate::migrate(&mut writer, options.clock.now())?;
        unstick(&mut writer)?;
    }
    let (readers, identity) = match place {
        Place::Memory => (Vec::new(), None),
        Place::File(path) => {
            let mut identity = Identity::of(path);
            identity.check()?;
            let readers = (0..READERS).map(|_| connection::reader(path)).collect::<Done<Vec<_>>>()?;
            (readers, Some(identity))
        }
    };
    let data_version = writer::data_version(&writer)?;
    connection::opened(&writer)?;
    Ok(Opened { writer, readers, identity, data_version })
}

/// Lets what could not be read the last time be tried again.
fn unstick(writer: &mut Connection) -> Done<()> {
    if writer.query_row(sql::ANY_STUCK, [], |row| row.get(0))? {
        let tx = connection::immediate(writer)?;
        for statement in [sql::UNSTICK, sql::UNSTICK_JOBS, sql::UNSTICK_UNITS, sql::UNSTICK_RUNS] {
            tx.execute(statement, [])?;
        }
        tx.commit()?;
    }
    Ok(())
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|error| Fault::Io(format!("no thread could be started: {error}")).into())
}
