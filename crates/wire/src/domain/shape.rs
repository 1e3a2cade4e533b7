//! What requests about domains may hold.

use crate::shape::{Field, Holds, Shape, lease, optional, required, setting};
use tenure::domain::RETRIES_MAX;

const OFFSET: Field = required("offset", Holds::Int(0, i64::MAX), "Which offset of the domain.");
const TOKEN: Field = required("token", Holds::Text, "The token told at acquire, a decimal string.");

/// Asks for an offset.
pub(crate) static ACQUIRE: Shape = Shape {
    name: "DomainAcquire",
    fields: &[
        OFFSET,
        optional("holder", Holds::Text, "Who asks; then no other is told the token."),
        lease("How long the lease lasts without a heartbeat; for ever if left out."),
    ],
};

/// A write under a token.
pub(crate) static HELD: Shape = Shape { name: "DomainHeld", fields: &[TOKEN] };

/// Skips an offset.
pub(crate) static SKIP: Shape = Shape { name: "DomainSkip", fields: &[OFFSET] };

/// Changes settings.
pub(crate) static CHANGE: Shape = Shape {
    name: "DomainChange",
    fields: &[
        setting("max_retries", Holds::Int(0, RETRIES_MAX as i64), "Tries after the first; default 3."),
        setting(
            "takeovers_max",
            Holds::Int(1, RETRIES_MAX as i64),
            "How often one offset may be acquired again after its lease ran out; default without limit.",
        ),
    ],
};
