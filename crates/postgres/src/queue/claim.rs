//! Claim: from where this process last stopped, with a full look before "empty" is believed (Q2).

use super::cursor::{Columns, Place};
use crate::PostgresStore;
use crate::value::{At, at, get};
use std::time::Instant;
use tenure_core::Token;
use tenure_core::queue::{Claim, ClaimedJob, Claims, Grants, Idle, JobId, Sight};
use tenure_store::{Result, StoreError};
use tokio_postgres::Row;

const SQL: &str = "select * from tenure.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";

pub(super) async fn claim(store: &PostgresStore, mut claim: Claim) -> Result<Claims> {
    claim.queues.sort();
    claim.queues.dedup();
    // The database knows kinds by their text: in order and each once.
    if let Some(kinds) = &mut claim.kinds {
        kinds.sort();
        kinds.dedup();
    }
    let sight = Sight::of(&claim);
    let begin: Vec<Option<Place>> = claim.queues.iter().map(|queue| store.cursors.begin(queue, &claim.kinds)).collect();
    let hinted = begin.iter().any(Option::is_some);
    let claims = patient_look(store, &claim, &sight, &begin).await?;
    if claims.jobs.is_empty() && hinted {
        return patient_look(store, &claim, &sight, &vec![None; claim.queues.len()]).await;
    }
    Ok(claims)
}

/// How often a look is repeated that saw jobs and got none: each time others took what it saw.
const LOOKS_MAX: u32 = 20;

/// What one look brought.
enum Look {
    Done(Claims),
    /// There are jobs, which others are about to take or pass by: at this gate, if it was one.
    Busy(Option<Vec<String>>),
}

/// Looks until there is an answer that is not owed to claims under way: it may be too late for these, and then says so.
async fn patient_look(store: &PostgresStore, claim: &Claim, sight: &Sight, begin: &[Option<Place>]) -> Result<Claims> {
    let mut gate = None;
    for _ in 0..LOOKS_MAX {
        match look(store, claim, sight, begin, gate.take()).await? {
            Look::Done(claims) => return Ok(claims),
            Look::Busy(at) => gate = at,
        }
    }
    // A crowd, each of whom took something: there will be more in a moment.
    Ok(Claims { jobs: Vec::new(), idle: Some(Idle::Empty), again_in_ms: Some(BUSY_MS) })
}

/// How soon to ask again where a crowd took everything.
const BUSY_MS: u64 = 50;

async fn look(
    store: &PostgresStore,
    claim: &Claim,
    sight: &Sight,
    begin: &[Option<Place>],
    gate: Option<Vec<String>>,
) -> Result<Look> {
    let (shared, started) = match claim.grants {
        Grants::Each => (false, claim.max),
        Grants::Shared { started } => (true, started),
    };
    let Columns { priorities, created_ats, ids } = Columns::of(begin);
    let (max, lease_ms, started) = (claim.max as i32, claim.lease_ms as i64, started.min(claim.max) as i32);
    let seen_known = store.sightings.oldest(sight).map(At);
    let asked_at = Instant::now();
    let rows = store
        .database
        .write(
            SQL,
            &[
                &claim.queues,
                &claim.kinds,
                &claim.owner,
                &max,
                &lease_ms,
                &shared,
                &started,
                &priorities,
                &created_ats,
                &ids,
                &seen_known,
                &gate,
            ],
        )
        .await?;
    let cost = asked_at.elapsed();
    if let Some(first) = rows.first() {
        let seen: Vec<Option<At>> = get::<Option<_>>(first, "seen")?.unwrap_or_default();
        for (queue, at) in claim.queues.iter().zip(seen) {
            at.into_iter().for_each(|At(at)| store.sightings.note(sight, queue, at));
        }
    }
    if let [row] = rows.as_slice()
        && let Some(word) = get::<Option<&str>>(row, "idle")?
    {
        if word == "busy" {
            return Ok(Look::Busy(get(row, "busy")?));
        }
        let idle = Idle::parse(word).ok_or_else(|| StoreError::broken(format!("`{word}` is no reason to be idle")))?;
        let again_in_ms = get::<Option<i64>>(row, "again_in_ms")?.map(|ms| ms.max(0) as u64);
        return Ok(Look::Done(Claims { jobs: Vec::new(), idle: Some(idle), again_in_ms }));
    }
    let mut last: Vec<Option<Place>> = vec![None; claim.queues.len()];
    let mut jobs = Vec::with_capacity(rows.len());
    for row in &rows {
        let job = claimed(row)?;
        if get(row, "fresh")?
            && let Ok(queue) = claim.queues.binary_search(&job.queue)
        {
            last[queue] = Some(Place { priority: job.priority, created_at: job.created_at, id: job.id });
        }
        jobs.push(job);
    }
    for ((queue, begin), last) in claim.queues.iter().zip(begin).zip(last) {
        match (begin, last) {
            (_, None) => {}
            (None, Some(last)) => store.cursors.looked(queue, &claim.kinds, last, cost),
            (Some(_), Some(last)) => store.cursors.advanced(queue, &claim.kinds, last),
        }
    }
    Ok(Look::Done(Claims { jobs, idle: None, again_in_ms: None }))
}

fn claimed(row: &Row) -> Result<ClaimedJob> {
    Ok(ClaimedJob {
        id: JobId(get(row, "id")?),
        queue: get(row, "queue")?,
        kind: get(row, "kind")?,
        payload: get(row, "payload")?,
        priority: get(row, "priority")?,
        attempt: get::<i32>(row, "attempt")? as u32,
        attempts_max: get::<i32>(row, "attempts_max")? as u32,
        token: Token(get(row, "token")?),
        lease_expires_at: at(row, "lease_expires_at")?,
        created_at: at(row, "created_at")?,
        run_at: at(row, "run_at")?,
        timeout_ms: get::<Option<i64>>(row, "timeout_ms")?.map(|ms| ms as u64),
        checkpoint: get(row, "checkpoint")?,
        ordering_key: get(row, "ordering_key")?,
        limit_key: get(row, "limit_key")?,
    })
}
