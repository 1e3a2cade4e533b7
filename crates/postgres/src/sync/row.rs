//! Rows of syncs, chunks and events, as core knows them.

use crate::value::{at, at_opt, get, pulse, some_word, word};
use tenure_core::lease::Lease;
use tenure_core::sync::{Chunk, Progress, Reason, Refused, Standing, State, Sync, SyncEvent, SyncId, Verb, What};
use tenure_core::{LostReason, Token};
use tenure_store::{Result, StoreError};
use tokio_postgres::Row;

pub(super) fn state(row: &Row) -> Result<State> {
    some_word(row, "state", State::parse)
}

pub(super) fn refused(word: &str) -> Result<Refused> {
    match word {
        "not_found" => Ok(Refused::Absent),
        "terminal" => Ok(Refused::Terminal),
        _ => Err(StoreError::broken(format!("refusal `{word}`"))),
    }
}

fn standing(row: &Row) -> Result<Standing> {
    let (token, claimed_at) = (get::<Option<i64>>(row, "token")?.map(Token), at_opt(row, "claimed_at")?);
    let lease = match (get(row, "locked_by")?, token, claimed_at) {
        (Some(owner), Some(token), Some(granted_at)) => Some(Lease {
            owner,
            token,
            granted_at,
            lease_ms: get::<i64>(row, "lease_ms")? as u64,
            expires_at: at(row, "locked_until")?,
            pulse: pulse(row)?,
        }),
        _ => None,
    };
    Ok(Standing {
        token,
        claimed_at,
        lease,
        told: get(row, "told")?,
        completed_at: at_opt(row, "completed_at")?,
        failed_at: at_opt(row, "failed_at")?,
        error_message: get(row, "error_message")?,
        reason: word(row, "reason", Reason::parse)?,
    })
}

pub(super) fn sync(row: &Row) -> Result<Sync> {
    let count = |column| get::<Option<i64>>(row, column).map(|n| n.unwrap_or(0) as u64);
    let ended = match get::<Option<i64>>(row, "done_completed")? {
        None => None,
        Some(completed) => Some(Progress {
            available: count("done_available")?,
            running: 0,
            expired: 0,
            completed: completed as u64,
            failed: count("done_failed")?,
            skipped: count("done_skipped")?,
            rows: count("done_rows")?,
            began_at: at_opt(row, "done_began_at")?,
            last_done_at: at_opt(row, "done_last_at")?,
        }),
    };
    Ok(Sync {
        id: SyncId(get(row, "id")?),
        matrix_id: get(row, "matrix_id")?,
        priority: get(row, "priority")?,
        created_at: at(row, "created_at")?,
        skip_if_synced_within_ms: get::<Option<i64>>(row, "skip_if_synced_within_ms")?.map(|ms| ms as u64),
        attempts_max: get::<i32>(row, "attempts_max")? as u32,
        crashes: get::<i32>(row, "crashes")? as u32,
        crashes_max: get::<Option<i32>>(row, "crashes_max")?.map(|max| max as u32),
        planned: count("planned")?,
        standing: standing(row)?,
        state: state(row)?,
        ended,
    })
}

/// The progress of a sync that has not ended.
pub(super) fn progress(row: &Row) -> Result<Progress> {
    let count = |column| get::<Option<i64>>(row, column).map(|n| n.unwrap_or(0) as u64);
    Ok(Progress {
        available: count("available")?,
        running: count("running")?,
        expired: count("expired")?,
        completed: count("completed")?,
        failed: count("failed")?,
        skipped: count("skipped")?,
        rows: count("row_sum")?,
        began_at: at_opt(row, "began_at")?,
        last_done_at: at_opt(row, "last_done_at")?,
    })
}

pub(super) fn chunk(row: &Row) -> Result<Chunk> {
    Ok(Chunk {
        sync: SyncId(get(row, "sync")?),
        matrix_id: get(row, "matrix_id")?,
        chunk_hash: get(row, "chunk_hash")?,
        ord: get::<i64>(row, "ord")? as u64,
        payload: get(row, "payload")?,
        attempt: get::<i32>(row, "attempt")? as u32,
        attempts_max: get::<i32>(row, "attempts_max")? as u32,
        last_synced_at: at_opt(row, "last_synced_at")?,
        row_count: get::<Option<i64>>(row, "row_count")?.map(|n| n as u64),
        cursor: get(row, "cursor")?,
        standing: standing(row)?,
        state: state(row)?,
    })
}

pub(super) fn event(row: &Row) -> Result<SyncEvent> {
    Ok(SyncEvent {
        at: at(row, "at")?,
        first_at: at_opt(row, "first_at")?,
        sync: SyncId(get(row, "sync")?),
        chunk_hash: Some(get::<String>(row, "chunk_hash")?).filter(|hash| !hash.is_empty()),
        what: some_word(row, "what", What::parse)?,
        token: get::<Option<i64>>(row, "token")?.map(Token),
        owner: get(row, "owner")?,
        by: get(row, "by")?,
        attempt: get::<Option<i32>>(row, "attempt")?.map(|n| n as u32),
        verb: word(row, "verb", Verb::parse)?,
        lost: word(row, "lost", LostReason::parse)?,
        reason: word(row, "reason", Reason::parse)?,
        error: get(row, "error")?,
        count: get::<i32>(row, "count")? as u32,
    })
}
