//! Whom a store trusts: nobody who could make it run what they planted.
//!
//! Whoever may create schemas in a database can make one with our name before we come, and in it a trigger, a view or a
//! function that a superuser's `migrate` would run. So the catalogs are asked first, which run nothing: schema, tables,
//! functions and types must be our own, the store's owner's or a superuser's, and nothing else may hang on the tables
//! of a migration.
//!
//! Always true: nothing in the schema is read, called or changed before [`check`] has let it pass, and all of it runs under
//! a search path in which others can put nothing.

use crate::error;
use crate::names::RoleNames;
use crate::pool::{Database, Pooled, typed};
use crate::upkeep::first;
use crate::value::get;
use tenure_store::{Result, StoreError};
use tokio_postgres::Transaction;

/// Names that are written down without a schema mean PostgreSQL's own; temporary tables come last, not first.
pub(crate) const SAFE_PATH: &str = "set local search_path = pg_catalog, pg_temp";

/// What is at the place of a store.
pub(crate) enum Place {
    Empty,
    /// A schema that may be used; and the store's owner, if it is theirs and we are somebody else.
    Schema {
        of_owner: Option<String>,
    },
}

/// Looks at the schema of `database` and refuses what is not trusted.
pub(crate) async fn look(database: &Database) -> Result<Place> {
    let mut connection = database.connection().await?;
    if let Ok(found) = tokio::time::timeout(database.timeout(), looked(&mut connection, database.schema())).await {
        return found;
    }
    // One that does not answer is of no use to the next who asks.
    connection.abandon();
    Err(error::timed_out(false))
}

async fn looked(connection: &mut Pooled, schema: &str) -> Result<Place> {
    let failed = |met| error::of(met, false);
    let transaction = connection.transaction().await.map_err(failed)?;
    // A long statement over small tables, which takes longer to plan than a hasty session allows; our own bound holds.
    transaction.batch_execute("set local statement_timeout = 0").await.map_err(failed)?;
    transaction.batch_execute(SAFE_PATH).await.map_err(failed)?;
    let found = check(&transaction, schema, false).await?;
    transaction.commit().await.map_err(failed)?;
    Ok(found)
}

/// The same inside a transaction that has the [`SAFE_PATH`]; `migrating` if it will run whatever is there.
pub(crate) async fn check(transaction: &Transaction<'_>, schema: &str, migrating: bool) -> Result<Place> {
    let failed = |met| error::of(met, false);
    let name = "select current_database()::text as name";
    let name: String = get(&first(transaction.query_typed(name, &[]).await.map_err(failed)?)?, "name")?;
    let owner = RoleNames::of(&name, schema).owner();
    let sql = include_str!("../queries/store/trust.sql");
    let params = typed(&[&schema, &owner, &migrating]);
    let row = first(transaction.query_typed(sql, &params).await.map_err(failed)?)?;
    let asking: String = get(&row, "asking")?;
    if let Some(what) = get::<Option<String>>(&row, "what")? {
        return Err(StoreError::Foreign { message: refusal(&what, get(&row, "whose")?, &asking, &owner, schema) });
    }
    if !get::<bool>(&row, "there")? {
        return Ok(Place::Empty);
    }
    let schema_owner: String = get(&row, "schema_owner")?;
    Ok(Place::Schema { of_owner: (schema_owner == owner && asking != owner).then_some(owner) })
}

fn refusal(what: &str, whose: Option<String>, asking: &str, owner: &str, schema: &str) -> String {
    match whose {
        Some(whose) if what.starts_with("schema ") && whose == owner => format!(
            "{what} belongs to {owner}, which was not made for this store, and what is in it could do anything in your name; \
             `tenure migrate --print-roles` prints a script that says what to do"
        ),
        Some(whose) if what.starts_with("schema ") => format!(
            "{what} belongs to {whose}, neither to {asking} nor to {owner}, and what is in it could do anything in your \
             name; if it is a store of yours, come as {whose}, or where that owns nothing else hand it over (in a database \
             that was copied or renamed: `reassign owned by {whose} to {asking}`), else name another schema or have it dropped"
        ),
        Some(whose) => format!(
            "{what} belongs to {whose}, neither to {asking} nor to {owner}, and could do anything in your name; drop it, or \
             move it out of the schema {schema}"
        ),
        None => format!("{what} is not Tenure's, and would run in your name; drop it, and make it again afterwards"),
    }
}
