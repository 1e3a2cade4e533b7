//! Requests about syncs and their chunks.

use super::shape;
use crate::problem::Problem;
use crate::read::{Body, Object};
use crate::request::{Request, holder, json, narrowed};
use tenure::sync::{Act, Beat, ChunkClaim, Ending, NewChunk, Plan, SyncClaim, SyncId, Unit};

/// The sync that an id names; one that is not ours reads as a number that no store draws.
#[must_use]
pub fn sync_id(id: &str) -> SyncId {
    id.parse().unwrap_or(SyncId(0))
}

/// A pass over a matrix, with its chunks.
pub static PLAN: Request<(), Plan> = Request::new(&shape::PLAN, |mut object, ()| {
    let mut plan = Plan::new(object.text("matrix_id").unwrap_or_default());
    plan.priority = object.int("priority").map_or(0, narrowed);
    plan.skip_if_synced_within_ms = object.int("skip_if_synced_within_ms").map(narrowed);
    plan.attempts_max = object.int("attempts_max").map_or(plan.attempts_max, narrowed);
    plan.crashes_max = object.int("crashes_max").map(narrowed);
    plan.chunks = chunks(object)?;
    Ok(plan)
})
.bulk();
/// Chunks to add to a sync.
pub static ADD: Request<SyncId, (SyncId, Vec<NewChunk>)> =
    Request::new(&shape::ADD, |object, sync| Ok((sync, chunks(object)?))).bulk();

/// A claim of a sync.
pub static CLAIM: Request<(), SyncClaim> = Request::new(&shape::CLAIM, |mut object, ()| {
    let mut claim = SyncClaim::new(object.text("worker").unwrap_or_default());
    claim.lease_ms = object.int("lease_ms").map_or(claim.lease_ms, narrowed);
    claim.matrix_id = object.text("matrix_id");
    Ok(claim)
});
/// A claim of a chunk.
pub static CLAIM_CHUNK: Request<SyncId, ChunkClaim> = Request::new(&shape::CLAIM_CHUNK, |mut object, sync| {
    let mut claim = ChunkClaim::new(sync, object.text("worker").unwrap_or_default());
    claim.lease_ms = object.int("lease_ms").map_or(claim.lease_ms, narrowed);
    claim.chunk_hash = object.text("chunk_hash");
    Ok(claim)
});

/// A heartbeat of a sync or a chunk.
pub static HEARTBEAT: Request<Unit, Beat> = Request::new(&shape::HOLDER, |mut object, unit| {
    let (owner, token) = holder(&mut object);
    Ok(Beat { unit, owner, token })
});
/// Completes a sync.
pub static COMPLETE: Request<Unit, Ending> = Request::new(&shape::HOLDER, complete);
/// Completes a chunk.
pub static COMPLETE_CHUNK: Request<Unit, Ending> = Request::new(&shape::COMPLETE_CHUNK, complete);
/// Fails a sync, for good.
pub static FAIL: Request<Unit, Ending> = Request::new(&shape::FAIL, fail);
/// Fails a chunk.
pub static FAIL_CHUNK: Request<Unit, Ending> = Request::new(&shape::FAIL_CHUNK, fail);
/// Gives a sync or a chunk back.
pub static RELEASE: Request<Unit, Ending> =
    Request::new(&shape::HOLDER, |object, unit| Ok(ending(object, unit, |_| Act::Release)));
/// Why a sync is cancelled.
pub static CANCEL: Request<SyncId, (SyncId, Option<String>)> =
    Request::new(&shape::CANCEL, |mut object, sync| Ok((sync, object.text("reason")))).optional();

/// Reads one chunk of a list in a file.
pub fn chunk_line(line: &[u8]) -> Result<NewChunk, Problem> {
    Ok(chunk(Body::parse(line)?.object(&shape::CHUNK)?))
}

fn chunks(mut object: Object<'_>) -> Result<Vec<NewChunk>, Problem> {
    object.list("chunks", |object| Ok(chunk(object)))
}

fn chunk(mut object: Object<'_>) -> NewChunk {
    let chunk = NewChunk::new(object.text("chunk_hash").unwrap_or_default());
    match object.json("payload") {
        Some(payload) => chunk.payload(payload),
        None => chunk,
    }
}

fn complete(object: Object<'_>, unit: Unit) -> Result<Ending, Problem> {
    Ok(ending(object, unit, |sent| Act::Complete {
        row_count: sent.int("row_count").map(narrowed),
        cursor: json(sent, "cursor"),
    }))
}

fn fail(object: Object<'_>, unit: Unit) -> Result<Ending, Problem> {
    Ok(ending(object, unit, |sent| {
        let retry = sent.boolean("retry").unwrap_or(true);
        Act::Fail { error: sent.text("error").unwrap_or_default(), retry }
    }))
}

fn ending(mut object: Object<'_>, unit: Unit, act: impl FnOnce(&mut Object<'_>) -> Act) -> Ending {
    let (owner, token) = holder(&mut object);
    Ending { unit, owner, token, act: act(&mut object) }
}
