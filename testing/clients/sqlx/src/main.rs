//! The queue in transactions of sqlx's own, by SQL alone.
//!
//! `DATABASE_URL` is the database; `JOB`, `TOKEN` and `POOR_JOB`, `POOR_TOKEN` are held by worker-1; `STALE_JOB`,
//! `STALE_TOKEN` were.

use sqlx::postgres::{PgConnection, PgDatabaseError};
use sqlx::{Connection, query, query_scalar};

/// What Tenure refuses, told apart by SQLSTATE.
#[derive(Debug)]
enum Refused {
    /// Stop the work; the transaction can only be rolled back. Expired, superseded, finished, cancelled or unknown.
    LeaseLost(String),
    /// Another body was sent under a key that is remembered, by this job.
    DedupConflict(i64),
    /// Mend the call: the stable code, and a sentence.
    BadInput(String, String),
    /// Anything else that a database can say.
    Other(sqlx::Error),
}

impl From<sqlx::Error> for Refused {
    fn from(error: sqlx::Error) -> Refused {
        let Some(db) = error.as_database_error().and_then(|db| db.try_downcast_ref::<PgDatabaseError>()) else {
            return Refused::Other(error);
        };
        let detail = db.detail().unwrap_or_default();
        match db.code() {
            "TE020" => Refused::LeaseLost(detail.to_owned()),
            "TE003" => {
                let holder = detail.split_once(' ').and_then(|(_, job)| job.parse().ok());
                Refused::DedupConflict(holder.unwrap_or_default())
            }
            "TE010" => Refused::BadInput(db.hint().unwrap_or_default().to_owned(), db.message().to_owned()),
            _ => Refused::Other(error),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut connection = PgConnection::connect(&std::env::var("DATABASE_URL")?).await?;
    match run(&mut connection).await {
        Ok(()) => Ok(()),
        Err(refused) => Err(format!("{refused:?}").into()),
    }
}

async fn run(connection: &mut PgConnection) -> Result<(), Refused> {
    let enqueue = "select tenure.enqueue('shipping', 'ship', $1, $2::jsonb)";

    let mut tx = connection.begin().await?;
    query("insert into orders values (1, 'new')").execute(&mut *tx).await?;
    query(enqueue).bind(r#"{"order":1}"#).bind("{}").execute(&mut *tx).await?;
    tx.rollback().await?;
    println!("rolled back");

    let mut tx = connection.begin().await?;
    query("insert into orders values (2, 'new')").execute(&mut *tx).await?;
    let options = r#"{"key":"order-2"}"#;
    let shipping: i64 = query_scalar(enqueue).bind(r#"{"order":2}"#).bind(options).fetch_one(&mut *tx).await?;
    tx.commit().await?;
    println!("committed");

    let (job, token) = (number("JOB"), number("TOKEN"));
    let mut tx = connection.begin().await?;
    query("select tenure.held($1, 'worker-1', $2)").bind(job).bind(token).execute(&mut *tx).await?;
    query("update orders set state = 'shipped' where id = 2").execute(&mut *tx).await?;
    let complete = query_scalar("select tenure.complete($1, 'worker-1', $2, $3)");
    let status: String = complete.bind(job).bind(token).bind("\"by train\"").fetch_one(&mut *tx).await?;
    tx.commit().await?;
    println!("completed: {status}");

    let mut tx = connection.begin().await?;
    let fail = query_scalar("select tenure.fail($1, 'worker-1', $2, $3)");
    let poor = fail.bind(number("POOR_JOB")).bind(number("POOR_TOKEN")).bind("out of paper");
    let status: String = poor.fetch_one(&mut *tx).await?;
    tx.commit().await?;
    println!("failed: {status}");

    match stale(connection).await {
        Err(Refused::LeaseLost(reason)) => println!("stale: {reason}"),
        other => println!("stale: {other:?}"),
    }
    match query(enqueue).bind(r#"{"order":"#).bind("{}").execute(&mut *connection).await.map_err(Refused::from) {
        Err(Refused::BadInput(code, sentence)) if sentence.contains("`payload`") => println!("bad input: {code}"),
        other => println!("bad input: {other:?}"),
    }
    match query(enqueue).bind(r#"{"order":7}"#).bind(options).execute(&mut *connection).await.map_err(Refused::from) {
        Err(Refused::DedupConflict(job)) if job == shipping => println!("another body: the key is the shipping job's"),
        other => println!("another body: {other:?}"),
    }
    Ok(())
}

/// A worker that lost its lease and does not know it yet.
async fn stale(connection: &mut PgConnection) -> Result<(), Refused> {
    let mut tx = connection.begin().await?;
    query("insert into orders values (3, 'stale')").execute(&mut *tx).await?;
    let held = query("select tenure.held($1, 'worker-1', $2)").bind(number("STALE_JOB")).bind(number("STALE_TOKEN"));
    held.execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(())
}

fn number(name: &str) -> i64 {
    let text = std::env::var(name).unwrap_or_default();
    text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}"))
}
