//! Wake-ups between processes: LISTEN on a connection of its own, NOTIFY gathered into one statement.
//!
//! Always true: a hint only. A listener that cannot connect costs time, never correctness; notifications are sent
//! after the commit they speak of, and never inside it, for NOTIFY takes a lock that all commits share.

use crate::address::PostgresOptions;
use crate::pool::tls;
use crate::queue::EVERY_QUEUE;
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::time::Duration;
use tenure_store::Signals;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls, Socket};

/// Queues waiting to be told of. When it is full, others find the work by looking.
const TOLD_MAX: usize = 1_024;
/// How long a listener waits before it connects again.
const RECONNECT: Duration = Duration::from_secs(1);
/// Notifications are sent at most this often, however many jobs arrive.
const TELL_EVERY: Duration = Duration::from_millis(5);

/// The listener's task; it ends with this value.
#[derive(Debug)]
pub(crate) struct Listening {
    told: mpsc::Sender<String>,
    task: JoinHandle<()>,
}

impl Listening {
    /// Tells the other processes, soon, that `queue` may have work.
    pub(crate) fn tell(&self, queue: &str) {
        let _ = self.told.try_send(queue.to_owned());
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts listening and telling.
pub(crate) fn start(options: &PostgresOptions, signals: Signals) -> Listening {
    let (told, mut to_tell) = mpsc::channel(TOLD_MAX);
    let Some(config) = options.listen.clone() else {
        // Nobody takes what is told: the channel is closed, and telling costs nothing.
        return Listening { told, task: tokio::spawn(async {}) };
    };
    let options = options.clone();
    let task = tokio::spawn(async move {
        loop {
            if let Err(error) = connected(&options, &config, &signals, &mut to_tell).await {
                tracing::debug!(error, "the listener lost its connection; looking instead until it is back");
            }
            // What was enqueued meanwhile was not heard of.
            signals.ring_all();
            tokio::time::sleep(RECONNECT).await;
        }
    });
    Listening { told, task }
}

async fn connected(
    options: &PostgresOptions,
    config: &Config,
    signals: &Signals,
    to_tell: &mut mpsc::Receiver<String>,
) -> Result<(), String> {
    match tls(options).map_err(|error| error.to_string())? {
        Some(tls) => {
            let (client, connection) = connect(config, tls).await?;
            run(options, client, connection, signals, to_tell).await
        }
        None => {
            let (client, connection) = connect(config, NoTls).await?;
            run(options, client, connection, signals, to_tell).await
        }
    }
}

async fn connect<T>(config: &Config, tls: T) -> Result<(Client, Connection<Socket, T::Stream>), String>
where
    T: MakeTlsConnect<Socket>,
{
    config.connect(tls).await.map_err(|error| error.to_string())
}

async fn run<S>(
    options: &PostgresOptions,
    client: Client,
    mut connection: Connection<Socket, S>,
    signals: &Signals,
    to_tell: &mut mpsc::Receiver<String>,
) -> Result<(), String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // The connection answers to nobody while it is not polled: it gets a task of its own, which reports what it hears.
    let heard = signals.clone();
    let driver = tokio::spawn(async move {
        while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
            match message {
                Ok(AsyncMessage::Notification(note)) if note.payload() == EVERY_QUEUE => heard.ring_all(),
                Ok(AsyncMessage::Notification(note)) => heard.ring(note.payload()),
                Ok(_) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    });
    let channel = format!("{}_wake", options.schema);
    let talked = talk(&client, &channel, to_tell).await;
    drop(client);
    driver.abort();
    talked
}

async fn talk(client: &Client, channel: &str, to_tell: &mut mpsc::Receiver<String>) -> Result<(), String> {
    // The channel's name is the schema's, which was checked to be a plain identifier.
    client.batch_execute(&format!("listen {channel}")).await.map_err(|error| error.to_string())?;
    loop {
        let first = tokio::select! {
            first = to_tell.recv() => first,
            // A silent connection is asked now and then whether it is still there (C3).
            () = tokio::time::sleep(Duration::from_secs(10)) => {
                client.simple_query("select 1").await.map_err(|error| error.to_string())?;
                continue;
            }
        };
        let Some(first) = first else { return Ok(()) };
        let mut queues = BTreeSet::from([first]);
        while let Ok(more) = to_tell.try_recv() {
            queues.insert(more);
        }
        let queues: Vec<String> = queues.into_iter().collect();
        let sql = "select pg_notify($1, q) from unnest($2::text[]) as q";
        let params =
            [(&channel as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT), (&queues, Type::TEXT_ARRAY)];
        client.query_typed(sql, &params).await.map_err(|error| error.to_string())?;
        tokio::time::sleep(TELL_EVERY).await;
    }
}
