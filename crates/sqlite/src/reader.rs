//! A thread that reads, so that lists never wait for the writer nor the writer for lists.
//!
//! Each operation sees one state of the file from its beginning to its end, and of the file that others would open (C17).

use crate::fault::Done;
use crate::identity::Identity;
use crate::inbox::{Attended, Errand, Inbox, Step};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::sync::Arc;
use std::time::Duration;
use tenure_store::Clock;

/// An idle reader has nothing to look after.
const IDLE_WAIT: Duration = Duration::from_secs(60);

/// Works until the inbox is closed and empty.
pub(crate) fn run(conn: &Connection, mut identity: Option<Identity>, inbox: Arc<Inbox>, clock: &Clock) {
    let attended = Attended(inbox);
    while let Some(taken) = attended.0.take(1, 1, IDLE_WAIT) {
        for mut errand in taken {
            if !errand.abandoned() {
                let same = identity.as_mut().map_or(Ok(()), Identity::check);
                let outcome = same.and_then(|()| read(conn, clock, &mut *errand));
                // What only reads is done in one part.
                let _ = errand.answer(outcome);
            }
        }
    }
}

fn read(conn: &Connection, clock: &Clock, errand: &mut dyn Errand) -> Done<()> {
    // Ends with a rollback, which is all a transaction that only read needs.
    let _snapshot = Transaction::new_unchecked(conn, TransactionBehavior::Deferred)?;
    errand.run(&Step::new(conn, clock.now()))
}
