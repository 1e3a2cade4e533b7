//! Shapes: the candidates, each a set of SQL files and the statements that drive them.

/// One way to keep leases, ready to be created and drained.
pub(crate) struct Shape {
    /// The name in the table.
    pub(crate) label: String,
    /// Run once in an empty PostgreSQL schema, in this order.
    pub(crate) setup: Vec<String>,
    /// Claims from the head; an empty answer means the queue is empty.
    pub(crate) look: String,
    /// Claims from the caller's cursor, where the shape has one.
    pub(crate) claim: Option<String>,
    /// The same two under an exact W.
    pub(crate) exact: Option<(String, Option<String>)>,
    /// Ends held jobs: (owner, ids, tokens) → (id, accepted).
    pub(crate) finish: String,
    /// Finishes the last grant and claims the next in one call, in place of all of the above but the look of an idle worker.
    pub(crate) turn: Option<String>,
    /// Renews leases.
    pub(crate) heartbeat: String,
    /// Whether a heartbeat names every job rather than every grant.
    pub(crate) beats_jobs: bool,
}

macro_rules! sql {
    ($path:literal) => {
        include_str!(concat!("../../schema/", $path, ".sql")).to_owned()
    };
}

/// Every candidate, in the order of the decision record.
pub(crate) fn all() -> Vec<Shape> {
    let mut shapes = vec![row_lease(), grant_row(), grant_cursor()];
    shapes.extend([50, 70, 85].map(grant_hot));
    shapes.push(range_grant());
    for pinned in [false, true] {
        shapes.push(as_functions(grant_cursor(), sql!("grant_cursor/claim_fn"), pinned));
        shapes.push(as_functions(grant_hot(50), sql!("grant_hot/claim_fn"), pinned));
    }
    shapes.push(in_turns(as_functions(grant_cursor(), sql!("grant_cursor/claim_fn"), true)));
    shapes.push(in_turns(as_functions(grant_hot(50), sql!("grant_hot/claim_fn"), true)));
    shapes
}

fn row_lease() -> Shape {
    Shape {
        label: "A row_lease".into(),
        setup: vec![sql!("row_lease/schema"), sql!("row_lease/claim_exact")],
        look: sql!("row_lease/claim"),
        claim: None,
        exact: Some(("SELECT * FROM claim_exact($1, $2, $3, $4)".into(), None)),
        finish: sql!("row_lease/finish"),
        turn: None,
        heartbeat: sql!("row_lease/heartbeat"),
        beats_jobs: true,
    }
}

fn grant_row() -> Shape {
    Shape {
        label: "B grant_row".into(),
        setup: vec![sql!("grant_row/schema"), sql!("grant_cursor/claim_fn")],
        look: sql!("grant_row/claim"),
        claim: None,
        exact: Some((call_claim(", true").0, None)),
        finish: sql!("grant_row/finish"),
        turn: None,
        heartbeat: sql!("grant_row/heartbeat"),
        beats_jobs: false,
    }
}

fn grant_cursor() -> Shape {
    Shape { label: "C grant_cursor".into(), claim: Some(sql!("grant_cursor/claim")), exact: None, ..grant_row() }
}

fn grant_hot(fillfactor: u8) -> Shape {
    Shape {
        label: format!("D grant_hot ff {fillfactor}"),
        setup: vec![sql!("grant_hot/schema"), format!("ALTER TABLE job SET (fillfactor = {fillfactor})")],
        look: sql!("grant_hot/look"),
        claim: Some(sql!("grant_hot/claim")),
        exact: None,
        ..grant_row()
    }
}

fn range_grant() -> Shape {
    Shape {
        label: "E range_grant (ceiling)".into(),
        setup: vec![sql!("range_grant/schema"), sql!("range_grant/claim")],
        look: "SELECT * FROM claim($1, $2, $3, $4, false)".into(),
        claim: None,
        exact: Some(("SELECT * FROM claim($1, $2, $3, $4, true)".into(), None)),
        finish: sql!("range_grant/finish"),
        turn: None,
        heartbeat: sql!("range_grant/heartbeat"),
        beats_jobs: false,
    }
}

/// The same shape as the product would run it: claim and finish are one function call each.
fn as_functions(raw: Shape, claim: String, pinned: bool) -> Shape {
    let mut setup: Vec<_> = raw.setup.iter().filter(|s| !s.contains("CREATE FUNCTION")).cloned().collect();
    setup.extend([claim, sql!("grant_row/finish_fn")]);
    if pinned {
        setup.push(sql!("pin"));
    }
    let (look, cursor) = call_claim(", false");
    Shape {
        label: format!("{}, functions{}", raw.label, if pinned { ", pinned plans" } else { "" }),
        setup,
        look,
        claim: cursor,
        exact: Some(call_claim(", true")),
        finish: "SELECT * FROM finish($1, $2, $3)".into(),
        ..raw
    }
}

/// The same with finish and the next claim in one call.
fn in_turns(mut shape: Shape) -> Shape {
    shape.label.push_str(", one call");
    shape.setup.push(sql!("grant_row/turn_fn"));
    shape.exact = None;
    shape.turn = Some("SELECT * FROM turn($1, $2, $3, $4, $5, $6, $7, $8, $9)".into());
    shape
}

/// The look and the cursor claim as calls of the function `claim`; `tail` is its last argument.
fn call_claim(tail: &str) -> (String, Option<String>) {
    (
        format!("SELECT * FROM claim($1, $2, $3, $4, NULL, NULL, NULL{tail})"),
        Some(format!("SELECT * FROM claim($1, $2, $3, $4, $5, $6, $7{tail})")),
    )
}
