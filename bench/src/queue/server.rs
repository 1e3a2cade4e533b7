//! The PostgreSQL server: databases of one's own, its log, its processor time.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use tokio_postgres::{Client, NoTls};

use super::machine;

/// A server on which databases may be created.
pub(crate) struct Server {
    url: String,
    admin: Client,
}

impl Server {
    pub(crate) async fn connect(url: &str) -> Result<Server> {
        Ok(Server { url: url.to_owned(), admin: connect(url).await? })
    }

    /// An empty database, named after this process so that two benches do not meet.
    pub(crate) async fn create(&self) -> Result<Database> {
        let name = format!("tenure_bench_{}", std::process::id());
        self.admin.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
        self.admin.batch_execute(&format!("CREATE DATABASE {name}")).await?;
        let url = with_database(&self.url, &name)?;
        // The server outlives its databases, and is reached through the first one.
        Ok(Database { client: connect(&url).await?, admin: connect(&self.url).await?, name, url })
    }

    /// Version and the settings that matter, in one line.
    pub(crate) async fn describe(&self) -> Result<String> {
        let row = self
            .admin
            .query_one(
                "SELECT 'PostgreSQL ' || current_setting('server_version') || string_agg(', ' || name || '=' || current_setting(name), '' ORDER BY name)
                 FROM unnest(ARRAY['fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size']) AS name",
                &[],
            )
            .await?;
        Ok(row.get(0))
    }
}

/// A database of one measurement.
pub(crate) struct Database {
    pub(crate) url: String,
    name: String,
    client: Client,
    admin: Client,
}

impl Database {
    /// Runs a file of SQL.
    pub(crate) async fn change(&self, file: &Path) -> Result<()> {
        let sql = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        self.client.batch_execute(&sql).await.with_context(|| file.display().to_string())
    }

    pub(crate) async fn checkpoint(&self) -> Result<()> {
        Ok(self.client.batch_execute("CHECKPOINT").await?)
    }

    /// A session that keeps a snapshot open until the value is dropped, and with it every row deleted meanwhile.
    pub(crate) async fn hold(&self) -> Result<Client> {
        let holder = connect(&self.url).await?;
        holder.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class").await?;
        Ok(holder)
    }

    /// What the library cannot count beyond its bound.
    pub(crate) async fn check_drained(&self, jobs: u64) -> Result<()> {
        let sql = "SELECT (SELECT count(*) FROM tenure.job), (SELECT count(*) FROM tenure.lease),
                          (SELECT count(*) FROM tenure.finished WHERE status = 'completed')";
        let row = self.client.query_one(sql, &[]).await?;
        let found: (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
        ensure!(found == (0, 0, jobs as i64), "jobs, leases and completed jobs after a drain of {jobs}: {found:?}");
        Ok(())
    }

    /// Bytes of log written since the server was made, and its processor time.
    pub(crate) async fn spent(&self) -> Result<Spent> {
        let row = self
            .client
            .query_one("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint, pg_backend_pid()", &[])
            .await?;
        let (wal, backend): (i64, i32) = (row.get(0), row.get(1));
        Ok(Spent { wal, server_ms: machine::family_ms(backend), own_ms: machine::own_ms() })
    }

    pub(crate) async fn drop(self) -> Result<()> {
        drop(self.client);
        Ok(self.admin.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).await?)
    }
}

/// A reading of the meters, good for differences only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    wal: i64,
    /// Of all the server's processes; `None` when it is on another machine.
    server_ms: Option<u64>,
    own_ms: u64,
}

impl Spent {
    /// What was spent on each of `jobs` since `before`: (meter, unit, figure).
    pub(crate) fn each(self, before: Spent, jobs: u64) -> Vec<(&'static str, &'static str, f64)> {
        let each = |amount: u64, scale: f64| amount as f64 * scale / jobs as f64;
        let mut figures = vec![("log written", "B/job ↓", (self.wal - before.wal) as f64 / jobs as f64)];
        if let (Some(now), Some(then)) = (self.server_ms, before.server_ms) {
            figures.push(("server's processor", "µs/job ↓", each(now.saturating_sub(then), 1e3)));
        }
        figures.push(("own processor", "µs/job ↓", each(self.own_ms.saturating_sub(before.own_ms), 1e3)));
        figures
    }
}

async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.context("cannot connect to PostgreSQL")?;
    tokio::spawn(connection);
    client.batch_execute("SET client_min_messages = warning").await?;
    Ok(client)
}

/// `url` with another database's name.
fn with_database(url: &str, name: &str) -> Result<String> {
    let (address, options) = url.split_once('?').map_or((url, None), |(address, options)| (address, Some(options)));
    let (server, _) = address.rsplit_once('/').context("the server's URL names no database")?;
    Ok(options.map_or_else(|| format!("{server}/{name}"), |options| format!("{server}/{name}?{options}")))
}
