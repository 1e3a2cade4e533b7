//! Requests about syncs.

use super::{holder, narrowed};
use crate::problem::Problem;
use crate::read::{Body, Object};
use crate::shape::sync as shape;
use tenure::sync::{Act, Beat, ChunkClaim, Ending, NewChunk, Plan, SyncClaim, SyncId, Unit};

/// The sync that an id names; one that is not ours reads as a number that no store draws.
#[must_use]
pub fn sync_id(id: &str) -> SyncId {
    id.parse().unwrap_or(SyncId(0))
}

/// Reads a plan.
pub fn plan(body: Body<'_>) -> Result<Plan, Problem> {
    let mut object = body.object(&shape::PLAN)?;
    let mut plan = Plan::new(object.text("matrix_id").unwrap_or_default());
    plan.priority = object.int("priority").map_or(0, narrowed);
    plan.skip_if_synced_within_ms = object.int("skip_if_synced_within_ms").map(narrowed);
    plan.attempts_max = object.int("attempts_max").map_or(plan.attempts_max, narrowed);
    plan.crashes_max = object.int("crashes_max").map(narrowed);
    plan.chunks = chunks(&mut object)?;
    Ok(plan)
}

/// Reads chunks to add.
pub fn add(body: Body<'_>) -> Result<Vec<NewChunk>, Problem> {
    chunks(&mut body.object(&shape::ADD)?)
}

fn chunks(object: &mut Object<'_>) -> Result<Vec<NewChunk>, Problem> {
    object.list("chunks", |_| &shape::CHUNK, |mut object| Ok(chunk(&mut object)))
}

fn chunk(object: &mut Object<'_>) -> NewChunk {
    let chunk = NewChunk::new(object.text("chunk_hash").unwrap_or_default());
    match object.json("payload") {
        Some(payload) => chunk.payload(payload),
        None => chunk,
    }
}

/// Reads one chunk of a list in a file.
pub fn chunk_line(line: &[u8]) -> Result<NewChunk, Problem> {
    Ok(chunk(&mut Body::parse(line)?.object(&shape::CHUNK)?))
}

/// Reads a claim of a sync.
pub fn claim(body: Body<'_>) -> Result<SyncClaim, Problem> {
    let mut object = body.object(&shape::CLAIM)?;
    let mut claim = SyncClaim::new(object.text("worker").unwrap_or_default());
    claim.lease_ms = object.int("lease_ms").map_or(claim.lease_ms, narrowed);
    claim.matrix_id = object.text("matrix_id");
    Ok(claim)
}

/// Reads a claim of a chunk.
pub fn claim_chunk(body: Body<'_>, sync: SyncId) -> Result<ChunkClaim, Problem> {
    let mut object = body.object(&shape::CLAIM_CHUNK)?;
    let mut claim = ChunkClaim::new(sync, object.text("worker").unwrap_or_default());
    claim.lease_ms = object.int("lease_ms").map_or(claim.lease_ms, narrowed);
    claim.chunk_hash = object.text("chunk_hash");
    Ok(claim)
}

/// Reads a heartbeat.
pub fn heartbeat(body: Body<'_>, unit: Unit) -> Result<Beat, Problem> {
    let (owner, token) = holder(&mut body.object(&shape::HOLDER)?);
    Ok(Beat { unit, owner, token })
}

/// Reads the completion of a sync or a chunk.
pub fn complete(body: Body<'_>, unit: Unit) -> Result<Ending, Problem> {
    let mut object = body.object(if unit.chunk_hash.is_some() { &shape::COMPLETE_CHUNK } else { &shape::HOLDER })?;
    let (owner, token) = holder(&mut object);
    let row_count = object.int("row_count").map(narrowed);
    let act = Act::Complete { row_count, cursor: object.json("cursor").map(str::to_owned) };
    Ok(Ending { unit, owner, token, act })
}

/// Reads the failure of a sync or a chunk.
pub fn fail(body: Body<'_>, unit: Unit) -> Result<Ending, Problem> {
    let mut object = body.object(if unit.chunk_hash.is_some() { &shape::FAIL_CHUNK } else { &shape::FAIL })?;
    let (owner, token) = holder(&mut object);
    let retry = object.boolean("retry").unwrap_or(true);
    let act = Act::Fail { error: object.text("error").unwrap_or_default(), retry };
    Ok(Ending { unit, owner, token, act })
}

/// Reads a release.
pub fn release(body: Body<'_>, unit: Unit) -> Result<Ending, Problem> {
    let (owner, token) = holder(&mut body.object(&shape::HOLDER)?);
    Ok(Ending { unit, owner, token, act: Act::Release })
}

/// Reads why a sync is cancelled.
pub fn cancel(body: Body<'_>) -> Result<Option<String>, Problem> {
    Ok(body.object(&shape::CANCEL)?.text("reason"))
}
