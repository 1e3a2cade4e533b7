//! Wake-ups between processes: LISTEN on a connection of its own, NOTIFY gathered into one statement.
//!
//! Always true: a hint only. A listener that cannot connect costs time, never correctness; notifications are sent
//! after the commit they speak of, and never inside it, for NOTIFY takes a lock that all commits share. A connection
//! that does not answer in time is given up for another, and whoever waits then looks at everything, for what was told
//! meanwhile was not heard.

use crate::address::PostgresOptions;
use crate::connect::{Connector, Session, Way};
use crate::pool::typed;
use crate::queue::EVERY_QUEUE;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tenure_store::{Result, Signals};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// Queues waiting to be told of. When it is full, others find the work by looking.
const TOLD_MAX: usize = 1_024;
/// How long a listener waits before it connects again, at first and at most.
const RECONNECT: Duration = Duration::from_secs(1);
const RECONNECT_MAX: Duration = Duration::from_secs(30);
/// Notifications are sent at most this often, however many jobs arrive.
const TELL_EVERY: Duration = Duration::from_millis(5);
/// One that listens, and one that was given up and is not closed yet.
const SESSIONS_MAX: usize = 2;
/// A connection on which nothing is said is asked this often whether it is still there (C3).
const CHECK_EVERY: Duration = Duration::from_secs(10);

/// The listener's task; it ends with this value.
#[derive(Debug)]
pub(crate) struct Listening {
    told: mpsc::Sender<String>,
    /// How the connection is protected, while there is one. `None`: nobody listens here.
    way: Option<watch::Receiver<Option<Way>>>,
    task: JoinHandle<()>,
}

/// What there is to listen with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ear {
    /// The address says `listen_url=none`.
    Unwanted,
    /// It should, and does not.
    Deaf,
    /// A connection that listens.
    Open(Way),
}

impl Listening {
    /// Tells the other processes, soon, that `queue` may have work.
    pub(crate) fn tell(&self, queue: &str) {
        let _ = self.told.try_send(queue.to_owned());
    }

    /// Whether it listens; one that has just begun has so long to connect.
    pub(crate) async fn ear(&self, patience: Duration) -> Ear {
        let Some(mut way) = self.way.clone() else { return Ear::Unwanted };
        let open = tokio::time::timeout(patience, way.wait_for(Option::is_some)).await;
        match open.ok().and_then(|way| way.ok().and_then(|way| *way)) {
            Some(way) => Ear::Open(way),
            None => Ear::Deaf,
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts listening and telling.
pub(crate) fn start(options: &PostgresOptions, signals: Signals) -> Result<Listening> {
    let (told, to_tell) = mpsc::channel(TOLD_MAX);
    let Some(route) = &options.listen else {
        // Nobody takes what is told: the channel is closed, and telling costs nothing.
        return Ok(Listening { told, way: None, task: tokio::spawn(async {}) });
    };
    let (way, seen) = watch::channel(None);
    let mut listener = Listener {
        connector: Arc::new(Connector::new(route, SESSIONS_MAX)?),
        // The schema's name was checked to be a plain identifier.
        channel: format!("{}_wake", options.schema),
        patience: options.timeout,
        signals,
        to_tell,
        untold: BTreeSet::new(),
        way,
    };
    let task = tokio::spawn(async move {
        let mut pause = RECONNECT;
        loop {
            let ended = listener.connected().await;
            if let Err(error) = ended {
                tracing::debug!(error, "the listener has no connection; looking instead until it is back");
            }
            pause = if listener.way.send_replace(None).is_some() { RECONNECT } else { (pause * 2).min(RECONNECT_MAX) };
            // Processes that lost the same server do not come back to it in one moment.
            tokio::time::sleep(pause + Duration::from_millis(u64::from(std::process::id() % 500))).await;
        }
    });
    Ok(Listening { told, way: Some(seen), task })
}

struct Listener {
    connector: Arc<Connector>,
    channel: String,
    /// How long an answer may take.
    patience: Duration,
    signals: Signals,
    to_tell: mpsc::Receiver<String>,
    /// What no server has taken yet.
    untold: BTreeSet<String>,
    way: watch::Sender<Option<Way>>,
}

impl Listener {
    /// Listens and tells on one connection, until it is lost.
    async fn connected(&mut self) -> std::result::Result<(), String> {
        let (open, mut closed) = oneshot::channel::<()>();
        let session = self.open(open).await?;
        let ended = tokio::select! {
            talked = self.talk(&session) => talked,
            _ = &mut closed => Err("it was closed".to_owned()),
        };
        let connector = self.connector.clone();
        tokio::spawn(async move { connector.stop(session).await });
        ended
    }

    /// A session that rings for what it hears, and drops `open` when it ends.
    async fn open(&self, open: oneshot::Sender<()>) -> std::result::Result<Session, String> {
        let mut met = Vec::new();
        for server in self.connector.order() {
            let opened = async { Ok((self.connector.slot(server).await?, self.connector.open(server).await?)) };
            match opened.await {
                Ok((slot, opened)) => {
                    let signals = self.signals.clone();
                    return Ok(opened.run(slot, move |note| {
                        let _ = &open;
                        match note.payload() {
                            EVERY_QUEUE => signals.ring_all(),
                            queue => signals.ring(queue),
                        }
                    }));
                }
                Err(error) => met.push((server, error)),
            }
        }
        Err(self.connector.failed(met).to_string())
    }

    async fn talk(&mut self, session: &Session) -> std::result::Result<(), String> {
        answered(self.patience, session.batch_execute(&format!("listen {}", self.channel))).await?;
        self.way.send_replace(Some(session.way()));
        // What was enqueued before was not heard of.
        self.signals.ring_all();
        loop {
            if self.untold.is_empty() {
                tokio::select! {
                    first = self.to_tell.recv() => match first {
                        Some(first) => drop(self.untold.insert(first)),
                        None => return Ok(()),
                    },
                    () = tokio::time::sleep(CHECK_EVERY) => {}
                }
            }
            while let Ok(more) = self.to_tell.try_recv() {
                self.untold.insert(more);
            }
            let queues: Vec<&String> = self.untold.iter().collect();
            let sql = "select pg_notify($1, q) from unnest($2::text[]) as q";
            let params = typed(&[&self.channel, &queues]);
            // With nothing to tell it asks whether anyone is there.
            answered(self.patience, session.query_typed(sql, &params)).await?;
            self.untold.clear();
            tokio::time::sleep(TELL_EVERY).await;
        }
    }
}

/// What a server said, unless it took too long: then it is not there any more.
async fn answered<T>(
    patience: Duration,
    asked: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
) -> std::result::Result<T, String> {
    let answer = tokio::time::timeout(patience, asked).await.map_err(|_| "it did not answer in time".to_owned())?;
    answer.map_err(|error| error.to_string())
}
