//! Claims of units.

use super::row;
use crate::PostgresStore;
use crate::value::{at, get};
use std::collections::BTreeSet;
use tenure_core::Token;
use tenure_core::pipeline::{Claim, ClaimedUnit, Claims, RECOVERED_PER_CLAIM, RunId, compose_input};
use tenure_store::Result;
use tokio_postgres::Row;

pub(super) async fn claim(store: &PostgresStore, claim: Claim) -> Result<Option<Claims>> {
    let stages: Vec<&str> = claim.stages.iter().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect();
    let (max, lease_ms) = (claim.max as i32, claim.lease_ms.map(|ms| ms as i64));
    let recover = RECOVERED_PER_CLAIM as i32;
    let rows = store
        .database
        .write(
            "select * from tenure.claim_units($1, $2, $3, $4, $5, $6)",
            &[&claim.pipeline, &stages, &claim.owner, &max, &lease_ms, &recover],
        )
        .await?;
    if let [row] = rows.as_slice()
        && get::<bool>(row, "absent")?
    {
        return Ok(None);
    }
    let units = rows.iter().map(|row| claimed(row, &claim)).collect::<Result<_>>()?;
    Ok(Some(Claims { units }))
}

fn claimed(row: &Row, claim: &Claim) -> Result<ClaimedUnit> {
    let segment: Option<String> = get(row, "segment")?;
    let input = match segment {
        Some(_) => get::<Option<String>>(row, "own_input")?.unwrap_or_else(|| "null".to_owned()),
        None => {
            let (names, outputs): (Vec<String>, Vec<Option<String>>) = (get(row, "needs")?, get(row, "outputs")?);
            let needs: Vec<_> = names.into_iter().zip(outputs).collect();
            compose_input(get::<Option<&str>>(row, "run_input")?.unwrap_or("null"), &needs)
        }
    };
    Ok(ClaimedUnit {
        run: RunId(get(row, "run")?),
        pipeline: claim.pipeline.clone(),
        version: get::<i32>(row, "version")? as u32,
        stage: get(row, "stage")?,
        segment,
        join: get(row, "join_now")?,
        segmented: get(row, "segmented")?,
        input,
        attempt: get::<i32>(row, "attempt")? as u32,
        attempts_max: get::<i32>(row, "attempts_max")? as u32,
        token: Token(get(row, "token")?),
        lease_expires_at: at(row, "lease_expires_at")?,
        lease_ms: get::<i64>(row, "lease_ms")? as u64,
        record: row::record(row)?,
    })
}
