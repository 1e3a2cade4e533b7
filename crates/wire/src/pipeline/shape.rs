//! What requests about pipelines, runs and units may hold.

use crate::shape::{
    CLAIM_WORKER, Field, HELD, Holds, LEASE, OWN_BACKOFF, PRIORITY, PROGRESS, REASON, Shape, WAIT, WORKER, lease,
    optional, required,
};
use tenure::bounds;
use tenure::pipeline::{ARTIFACTS_MAX, SEGMENTS_MAX, STAGES_MAX};

/// A stage of a pipeline.
pub(crate) static STAGE: Shape = Shape {
    name: "NewStage",
    fields: &[
        required("name", Holds::Text, "Its name, unlike any other of the pipeline."),
        optional("needs", Holds::Texts((0, STAGES_MAX)), "The stages that must be DONE before it."),
        LEASE,
        optional(
            "attempts_max",
            Holds::Int(1, bounds::ATTEMPTS_MAX as i64),
            "Attempts it may have; its split, its join and each segment have as many of their own; default 5.",
        ),
        OWN_BACKOFF,
        PRIORITY,
        optional("segmented", Holds::Bool, "Whether its holder may split it; default false."),
    ],
};
/// A version of a pipeline.
pub(crate) static PIPELINE: Shape = Shape {
    name: "NewPipeline",
    fields: &[
        required("name", Holds::Text, "Its name."),
        required("version", Holds::Int(1, i32::MAX as i64), "Which version; runs go on under theirs."),
        required(
            "stages",
            Holds::List((1, STAGES_MAX), &[&STAGE]),
            "1 to 1,000 stages, in the order in which they are shown.",
        ),
    ],
};
/// A run to start.
pub(crate) static RUN: Shape = Shape {
    name: "NewRun",
    fields: &[
        optional("input", Holds::Json, "What its first stages work on, at most 1 MiB; default null."),
        optional("version", Holds::Int(1, i32::MAX as i64), "Under which version; default the highest."),
        optional(
            "key",
            Holds::Text,
            "The same key and input is the same run, as long as it is kept; another input is refused.",
        ),
    ],
};
/// A claim of units of a stage.
pub(crate) static CLAIM_UNITS: Shape = Shape {
    name: "ClaimUnits",
    fields: &[
        CLAIM_WORKER,
        optional("max", Holds::Int(1, bounds::CLAIM_MAX as i64), "How many units at most; default 1."),
        lease("How long the lease runs unless renewed; default what the stage says."),
        WAIT,
    ],
};
/// A file that a unit made.
pub(crate) static ARTIFACT: Shape = Shape {
    name: "NewArtifact",
    fields: &[
        required(
            "path",
            Holds::Text,
            "Where it is, below the root of the artifacts: RUN/STAGE/vVERSION/SEGMENT/NAME, `_` for no segment.",
        ),
        required("size", Holds::Int(0, (1 << 53) - 1), "Its bytes."),
        required("blake3", Holds::Text, "Its BLAKE3 hash, in 64 lower-case hexadecimal digits."),
    ],
};
static ARTIFACT_ONLY: [&Shape; 1] = [&ARTIFACT];
const ARTIFACTS: Field =
    optional("artifacts", Holds::List((0, ARTIFACTS_MAX), &ARTIFACT_ONLY), "What was made, at most 1,000 files.");
/// Renews the lease of a unit.
pub(crate) static UNIT_HEARTBEAT: Shape = Shape { name: "UnitHeartbeat", fields: &[WORKER, HELD, PROGRESS, ARTIFACTS] };
/// Ends a claim of a unit as done.
pub(crate) static UNIT_COMPLETE: Shape = Shape {
    name: "UnitComplete",
    fields: &[
        WORKER,
        HELD,
        optional("output", Holds::Json, "The input of the stages that need it, at most 1 MiB."),
        ARTIFACTS,
    ],
};
/// A segment to be made.
pub(crate) static SEGMENT: Shape = Shape {
    name: "NewSegment",
    fields: &[
        required("name", Holds::Text, "Its name, unlike any other of the stage."),
        optional("input", Holds::Json, "What it works on; default null."),
    ],
};
/// Cuts a stage into segments.
pub(crate) static UNIT_SPLIT: Shape = Shape {
    name: "UnitSplit",
    fields: &[
        WORKER,
        HELD,
        required("segments", Holds::List((1, SEGMENTS_MAX), &[&SEGMENT]), "1 to 100,000 segments, in this order."),
    ],
};
/// An operator ends a run. There is nothing to ask of its holders: they are told.
pub(crate) static CANCEL_RUN: Shape = Shape { name: "CancelRun", fields: &[REASON] };
/// An operator tries a run again.
pub(crate) static RETRY_RUN: Shape = Shape {
    name: "RetryRun",
    fields: &[optional(
        "stage",
        Holds::Text,
        "Begin again from this stage, and do what follows from it; default what failed for good.",
    )],
};
