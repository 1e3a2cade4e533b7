//! What requests about syncs may hold.

use crate::shape::{
    CLAIM_WORKER, ERROR, HELD, Holds, PAYLOAD, PRIORITY, REASON, SPAN, Shape, WORKER, lease, optional, required,
};
use tenure::bounds;
use tenure::sync::{CHUNKS_MAX, ROW_COUNT_MAX};

const CHUNKS: Holds = Holds::List((0, CHUNKS_MAX), &[&CHUNK]);
const MORE_CHUNKS: Holds = Holds::List((1, CHUNKS_MAX), &[&CHUNK]);

/// A chunk to plan.
pub(crate) static CHUNK: Shape = Shape {
    name: "NewChunk",
    fields: &[required("chunk_hash", Holds::Text, "Its content's name within its matrix; 1 to 256 bytes."), PAYLOAD],
};

/// A pass over a matrix to plan.
pub(crate) static PLAN: Shape = Shape {
    name: "SyncPlan",
    fields: &[
        required("matrix_id", Holds::Text, "What is synced; one sync of it at a time."),
        PRIORITY,
        optional("skip_if_synced_within_ms", SPAN, "Chunks synced more recently than this count as done."),
        optional(
            "attempts_max",
            Holds::Int(1, bounds::ATTEMPTS_MAX as i64),
            "Attempts that each chunk may have; default 5.",
        ),
        optional(
            "crashes_max",
            Holds::Int(1, bounds::ATTEMPTS_MAX as i64),
            "Leases of the sync that may run out without a chunk done in between; default no limit.",
        ),
        optional("chunks", CHUNKS, "Up to 250,000 chunks in the order in which they are to be claimed, 16 MiB in all."),
    ],
};

/// Chunks to add to a sync.
pub(crate) static ADD: Shape =
    Shape { name: "SyncChunks", fields: &[required("chunks", MORE_CHUNKS, "1 to 250,000 chunks, 16 MiB in all.")] };

/// A claim of the first sync that waits.
pub(crate) static CLAIM: Shape = Shape {
    name: "SyncClaim",
    fields: &[
        CLAIM_WORKER,
        lease("How long the lease runs unless renewed; default 5 min."),
        optional("matrix_id", Holds::Text, "Only the sync of this matrix."),
    ],
};

/// A claim of a chunk.
pub(crate) static CLAIM_CHUNK: Shape = Shape {
    name: "ChunkClaim",
    fields: &[
        CLAIM_WORKER,
        lease("How long the lease runs unless renewed; default 2 min."),
        optional("chunk_hash", Holds::Text, "Only this chunk; default the next in the order of the plan."),
    ],
};

/// A write that says nothing but who holds what.
pub(crate) static HOLDER: Shape = Shape { name: "SyncHolder", fields: &[WORKER, HELD] };
/// Fails a sync, for good.
pub(crate) static FAIL: Shape = Shape { name: "SyncFail", fields: &[WORKER, HELD, ERROR] };
/// Completes a chunk.
pub(crate) static COMPLETE_CHUNK: Shape = Shape {
    name: "ChunkComplete",
    fields: &[
        WORKER,
        HELD,
        optional("row_count", Holds::Int(0, ROW_COUNT_MAX as i64), "Rows that were synced."),
        optional("cursor", Holds::Json, "Handed to the next sync of this chunk, at most 1 MiB; the old one stays."),
    ],
};
/// Fails a chunk.
pub(crate) static FAIL_CHUNK: Shape = Shape {
    name: "ChunkFail",
    fields: &[WORKER, HELD, ERROR, optional("retry", Holds::Bool, "false: not tried again in this pass.")],
};
/// An operator ends a sync.
pub(crate) static CANCEL: Shape = Shape { name: "SyncCancel", fields: &[REASON] };
