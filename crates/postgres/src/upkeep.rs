//! Upkeep: the clock, recovery and the epoch of tokens.

use crate::PostgresStore;
use crate::examine;
use crate::value::{at, get, word};
use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::changes::{Changed, Difference, Subject, What};
use tenure_core::queue::{Pruned, Recovered};
use tenure_core::{Actor, Epoch, Time, Token};
use tenure_store::{Finding, Place, Result, Store, StoreError, Upkeep};
use tokio_postgres::Row;

fn epoch(row: &Row) -> Result<Epoch> {
    Ok(Epoch { count: get::<i32>(row, "epoch")? as u32, base: Token(get(row, "base")?) })
}

fn changed(row: &Row) -> Result<Changed> {
    let setting: Option<String> = get(row, "setting")?;
    let (from, to) = (get(row, "was")?, get(row, "became")?);
    Ok(Changed {
        at: at(row, "at")?,
        by: get(row, "by")?,
        what: word(row, "what", What::parse)?.ok_or_else(|| StoreError::broken("a change of no kind"))?,
        difference: setting.map(|setting| Difference { setting, from, to }),
    })
}

pub(crate) fn first(rows: Vec<Row>) -> Result<Row> {
    rows.into_iter().next().ok_or_else(|| StoreError::broken("a statement returned no row"))
}

#[async_trait]
impl Upkeep for PostgresStore {
    async fn now(&self) -> Result<Time> {
        at(&first(self.database.read("select tenure.clock() as now", &[]).await?)?, "now")
    }

    async fn recover(&self, leases_max: u32) -> Result<Recovered> {
        let max = leases_max as i32;
        let sql = "select leases, requeued, failed from tenure.recover($1, null)";
        let row = first(self.database.write(sql, &[&max]).await?)?;
        let count = |column| get::<i32>(&row, column).map(|n| n as u32);
        let recovered = Recovered { leases: count("leases")?, requeued: count("requeued")?, failed: count("failed")? };
        if recovered.requeued > 0 {
            self.signals.ring_all();
        }
        Ok(recovered)
    }

    async fn prune(&self, max: u32) -> Result<Pruned> {
        let max = max as i32;
        let sql = "select jobs, receipts, keys, sightings from tenure.prune($1)";
        let row = first(self.database.write(sql, &[&max]).await?)?;
        let count = |column| get::<i32>(&row, column).map(|n| n as u32);
        Ok(Pruned {
            jobs: count("jobs")?,
            receipts: count("receipts")?,
            keys: count("keys")?,
            sightings: count("sightings")?,
        })
    }

    async fn epoch(&self) -> Result<Epoch> {
        // Without a row, as a schema copied without its data has none, nothing was ever drawn.
        let sql = "select coalesce(max(epoch), 0) as epoch, coalesce(max(base), 0) as base from tenure.epoch";
        epoch(&first(self.database.read(sql, &[]).await?)?)
    }

    async fn new_epoch(&self) -> Result<Epoch> {
        let (sql, by) = ("select epoch, base from tenure.new_epoch($1)", self.actor.as_str());
        epoch(&first(self.database.write(sql, &[&by]).await?)?)
    }

    fn acting_as(&self, actor: Actor) -> Arc<dyn Store> {
        Arc::new(PostgresStore { actor, ..self.clone() })
    }

    async fn changes(&self, subject: Subject) -> Result<Vec<Changed>> {
        let sql = include_str!("../queries/store/changes.sql");
        self.database.read(sql, &[&subject.face.as_str(), &subject.name]).await?.iter().map(changed).collect()
    }

    async fn ready(&self) -> Result<()> {
        self.database.write("select tenure.ready()", &[]).await.map(drop)
    }

    fn place(&self) -> Place {
        Place::Schema(self.database.schema().to_owned())
    }

    async fn describe(&self) -> Result<String> {
        let sql = "select current_setting('server_version') as version, current_setting('fsync') as fsync,
                          current_setting('synchronous_commit') as commit, current_database()::text as name";
        let row = first(self.database.read(sql, &[]).await?)?;
        let (version, name): (String, String) = (get(&row, "version")?, get(&row, "name")?);
        let (fsync, commit): (String, String) = (get(&row, "fsync")?, get(&row, "commit")?);
        let schema = self.database.schema();
        Ok(format!(
            "PostgreSQL {version}, database {name}, schema {schema}; fsync {fsync}, synchronous_commit {commit}"
        ))
    }

    async fn flush(&self) -> Result<()> {
        self.flush_told().await
    }

    async fn examine(&self) -> Result<Vec<Finding>> {
        examine::examine(self).await
    }
}
