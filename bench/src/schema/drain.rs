//! Drain: load a shape and empty it again, timed.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use tokio::sync::Barrier;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row, Statement};

use super::shapes::Shape;

const QUEUE: &str = "q";
const PRIORITY: i32 = 0;
/// Far above any drain here: no lease may expire while it is timed.
const LEASE_MS: i64 = 600_000;
/// A job that commits behind the cursor waits at most about this long for the look that finds it.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Under a held snapshot a look walks every dead entry; it may cost at most a tenth of the time.
const LOOK_SHARE: u32 = 10;

/// A server to measure on and how much to load.
pub(crate) struct Bench {
    pub(crate) url: String,
    pub(crate) jobs: i64,
}

/// What one drain showed.
pub(crate) struct Drained {
    /// Jobs per second until all are finished in the database.
    pub(crate) rate: f64,
    /// WAL bytes per job.
    pub(crate) wal: f64,
    /// Microseconds of processor time per job in the two backends: what a busy neighbour disturbs least. Zero when the
    /// server is on another machine.
    pub(crate) cpu: f64,
}

/// The furthest place any connection of this process has claimed up to.
type Cursor = Arc<Mutex<Option<(SystemTime, i64)>>>;

impl Bench {
    /// Version and the settings that matter, in one line.
    pub(crate) async fn server(&self) -> Result<String> {
        let row = self
            .connect()
            .await?
            .query_one(
                "SELECT 'PostgreSQL ' || current_setting('server_version') || string_agg(', ' || name || '=' || current_setting(name), '' ORDER BY name)
                 FROM unnest(ARRAY['fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size']) AS name",
                &[],
            )
            .await?;
        Ok(row.get(0))
    }

    /// Loads the shape and drains it, optionally while another session holds a snapshot, optionally under an exact W.
    pub(crate) async fn drain(&self, shape: &Shape, batch: i64, hold: bool, exact: bool) -> Result<Drained> {
        let admin = self.load(shape, self.jobs).await?;
        let holder = self.connect().await?;
        if hold {
            holder.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM job WHERE false").await?;
        }
        let (look, claim) = match &shape.exact {
            Some((look, claim)) if exact => (look, claim.as_ref()),
            _ => (shape.turn.as_ref().unwrap_or(&shape.look), shape.turn.as_ref().or(shape.claim.as_ref())),
        };
        let cursor = Cursor::default();
        let barrier = Arc::new(Barrier::new(3));
        let mut workers = Vec::new();
        let mut backends = Vec::new();
        for name in ["host:1:a", "host:2:b"] {
            let client = self.connect().await?;
            backends.push(client.query_one("SELECT pg_backend_pid()", &[]).await?.get::<_, i32>(0));
            let worker = Worker {
                look: client.prepare(look).await?,
                claim: match claim {
                    Some(claim) => Some(client.prepare(claim).await?),
                    None => None,
                },
                finish: match shape.turn {
                    None => Some(client.prepare(&shape.finish).await?),
                    Some(_) => None,
                },
                client,
                name,
                batch,
                cursor: cursor.clone(),
            };
            let barrier = barrier.clone();
            workers.push(tokio::spawn(async move {
                barrier.wait().await;
                let finished = worker.drain().await?;
                anyhow::Ok((worker, finished))
            }));
        }
        let lsn = wal(&admin).await?;
        let cpu = cpu(&backends);
        barrier.wait().await;
        let start = Instant::now();
        let mut finished = 0;
        let mut still_connected = Vec::new();
        for worker in workers {
            let (worker, count) = worker.await??;
            still_connected.push(worker);
            finished += count;
        }
        let took = start.elapsed().as_secs_f64();
        let cpu = self::cpu(&backends).saturating_sub(cpu);
        let wal = wal(&admin).await? - lsn;
        let kept: i64 = admin.query_one("SELECT count(*) FROM history", &[]).await?.get(0);
        let left: i64 = admin.query_one("SELECT count(*) FROM job", &[]).await?.get(0);
        ensure!((finished, kept, left) == (self.jobs, self.jobs, 0), "finished {finished}, kept {kept}, left {left}");
        let drained = Drained {
            rate: self.jobs as f64 / took,
            wal: wal as f64 / self.jobs as f64,
            cpu: cpu as f64 / 1e3 / self.jobs as f64,
        };
        eprintln!(
            "{} batch {batch} hold {hold} exact {exact}: {:.0}/s, {:.0} B, {:.1} us",
            shape.label, drained.rate, drained.wal, drained.cpu
        );
        Ok(drained)
    }

    /// With `jobs` jobs running in grants of 100: the median time of a round of heartbeats, and of a look that finds nothing.
    pub(crate) async fn running(&self, shape: &Shape, jobs: i64) -> Result<(Duration, Duration)> {
        let client = self.load(shape, jobs).await?;
        let look = client.prepare(&shape.look).await?;
        let beat = client.prepare(&shape.heartbeat).await?;
        let (mut ids, mut tokens) = (Vec::new(), Vec::new());
        loop {
            let rows = client.query(&look, &[&QUEUE, &100i64, &"host:1:a", &LEASE_MS]).await?;
            if rows.is_empty() {
                break;
            }
            ids.extend(rows.iter().map(|row| row.get::<_, i64>(0)));
            tokens.extend(rows.iter().map(|row| row.get::<_, i64>(1)));
        }
        ensure!(ids.len() as i64 == jobs, "claimed {} of {jobs}", ids.len());
        let mut grants = tokens.clone();
        grants.dedup();
        let params: &[&(dyn ToSql + Sync)] =
            if shape.beats_jobs { &[&"host:1:a", &ids, &tokens, &LEASE_MS] } else { &[&"host:1:a", &grants] };
        let beats = if shape.beats_jobs { jobs } else { grants.len() as i64 };
        let (mut rounds, mut looks) = (Vec::new(), Vec::new());
        for _ in 0..15 {
            let start = Instant::now();
            let renewed: i64 = client.query_one(&beat, params).await?.get(0);
            rounds.push(start.elapsed());
            ensure!(renewed == beats, "renewed {renewed} of {beats}");
        }
        for _ in 0..31 {
            let start = Instant::now();
            let rows = client.query(&look, &[&QUEUE, &100i64, &"host:1:a", &LEASE_MS]).await?;
            looks.push(start.elapsed());
            ensure!(rows.is_empty(), "an empty queue gave jobs");
        }
        rounds.sort();
        looks.sort();
        Ok((rounds[rounds.len() / 2], looks[looks.len() / 2]))
    }

    /// A checkpoint first, so that neither the one before nor the pages it would make whole fall into the timed part.
    async fn load(&self, shape: &Shape, jobs: i64) -> Result<Client> {
        let client = self.connect().await?;
        client
            .batch_execute("DROP SCHEMA IF EXISTS tenure_bench CASCADE; CREATE SCHEMA tenure_bench; CHECKPOINT")
            .await?;
        for step in &shape.setup {
            client.batch_execute(step).await?;
        }
        client.execute(include_str!("../../schema/load.sql"), &[&jobs]).await?;
        client.batch_execute("ANALYZE job").await?;
        Ok(client)
    }

    async fn connect(&self) -> Result<Client> {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await?;
        tokio::spawn(connection);
        client.batch_execute("SET search_path = tenure_bench; SET client_min_messages = warning").await?;
        Ok(client)
    }
}

async fn wal(client: &Client) -> Result<i64> {
    Ok(client.query_one("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint", &[]).await?.get(0))
}

/// Nanoseconds on a processor of these processes, as far as this machine knows them.
fn cpu(backends: &[i32]) -> u64 {
    let spent = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?.split(' ').next()?.parse::<u64>().ok()
    };
    backends.iter().filter_map(spent).sum::<u64>()
}

/// One connection that claims and finishes until a look finds nothing.
struct Worker {
    client: Client,
    look: Statement,
    claim: Option<Statement>,
    finish: Option<Statement>,
    name: &'static str,
    batch: i64,
    cursor: Cursor,
}

/// Jobs in hand: ids and tokens.
type Held = (Vec<i64>, Vec<i64>);

impl Worker {
    /// With a finish statement each grant is finished by itself; without one it is finished by the next claim.
    async fn drain(&self) -> Result<i64> {
        let mut finished = 0;
        let mut look_at = Instant::now();
        let mut held = Held::default();
        loop {
            let from = *self.cursor.lock().unwrap();
            let start = Instant::now();
            let looked = self.claim.is_none() || from.is_none() || start >= look_at;
            let rows = match &self.claim {
                Some(claim) if !looked => self.take(claim, from, &held).await?,
                _ => self.take(&self.look, None, &held).await?,
            };
            if looked {
                look_at = Instant::now() + LOOK_EVERY.max(start.elapsed() * LOOK_SHARE);
            }
            finished += held.0.len() as i64;
            held = Held::default();
            if rows.is_empty() && looked {
                return Ok(finished);
            }
            if rows.is_empty() {
                look_at = Instant::now();
                continue;
            }
            for row in &rows {
                let token: Option<i64> = row.get(1);
                held.0.push(row.get(0));
                held.1.push(token.context("the fence refused a job")?);
            }
            self.advance(rows.iter().map(|row| (row.get(5), row.get(0))).max());
            if let Some(finish) = &self.finish {
                let answers = self.client.query(finish, &[&self.name, &held.0, &held.1]).await?;
                let accepted = answers.iter().filter(|row| row.get(1)).count();
                ensure!(accepted == held.0.len(), "the fence refused {} jobs", held.0.len() - accepted);
                finished += accepted as i64;
                held = Held::default();
            }
        }
    }

    /// The cursor only moves forward, whichever connection answers first.
    fn advance(&self, last: Option<(SystemTime, i64)>) {
        let mut cursor = self.cursor.lock().unwrap();
        *cursor = (*cursor).max(last);
    }

    /// The statement takes as many of the parameters as it names.
    async fn take(&self, statement: &Statement, from: Option<(SystemTime, i64)>, held: &Held) -> Result<Vec<Row>> {
        let (at, id) = from.unzip();
        let params: [&(dyn ToSql + Sync); 9] =
            [&QUEUE, &self.batch, &self.name, &LEASE_MS, &at, &id, &PRIORITY, &held.0, &held.1];
        Ok(self.client.query(statement, &params[..statement.params().len()]).await?)
    }
}
