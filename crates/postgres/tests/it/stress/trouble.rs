//! Trouble: what the run makes on purpose, and how what comes of it is told from a fault.

use super::ledger::{Ledger, Setting};
use super::plan::{End, Engine, LIVE};
use std::sync::Arc;
use tenure_core::queue::Change;
use tenure_postgres::PostgresStore;
use tenure_store::conformance::Chance;
use tenure_store::{QueueStore, StoreError};
use tokio_postgres::{Client as Sql, Error};

/// Why a call was not answered.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Its connection was terminated.
    Killed,
    /// Its statement took longer than it was given.
    TimedOut,
    /// The server found a ring of waiting transactions; counted in its log.
    Deadlocked,
    /// Anything else is a fault.
    Unexpected(String),
}

impl Trouble {
    pub(crate) fn note(self, ledger: &Ledger) {
        match self {
            Trouble::Killed => ledger.count("calls cut off", 1),
            Trouble::TimedOut => ledger.count("calls timed out", 1),
            Trouble::Deadlocked => ledger.count("calls deadlocked", 1),
            Trouble::Unexpected(what) => ledger.fault("error", what),
        }
    }
}

pub(crate) fn code(met: &Error) -> Option<&str> {
    met.code().map(tokio_postgres::error::SqlState::code)
}

impl From<Error> for Trouble {
    fn from(met: Error) -> Trouble {
        match code(&met) {
            // Without a word of the server's, the connection is gone; 57P01 is its last word.
            None | Some("57P01") => Trouble::Killed,
            Some("57014" | "55P03") => Trouble::TimedOut,
            Some("40P01") => Trouble::Deadlocked,
            Some(code) => Trouble::Unexpected(format!("{met:?} ({code})")),
        }
    }
}

impl From<StoreError> for Trouble {
    fn from(met: StoreError) -> Trouble {
        let StoreError::Unavailable { message, .. } = &met else { return Trouble::Unexpected(met.to_string()) };
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        if says(&["terminating connection", "connection closed", "closed", "reset by peer", "Broken pipe", "EOF"]) {
            Trouble::Killed
        // A timeout that strikes as its statement ends is told by the next one, and as a request of the user's.
        } else if says(&["statement timeout", "lock timeout", "due to user request"]) {
            Trouble::TimedOut
        } else if says(&["deadlock detected"]) {
            Trouble::Deadlocked
        } else {
            Trouble::Unexpected(met.to_string())
        }
    }
}

/// Terminates connections of clients, one or two at a time.
pub(crate) async fn kill(sql: Sql, mut chance: Chance, ledger: Arc<Ledger>, mut end: End) {
    while !end.is_here() {
        end.pause(60 + chance.below(340) as u64).await;
        let others = "select pid from pg_stat_activity where datname = current_database()
                         and application_name in ('tenure', 'caller') order by pid";
        let pids = sql.query(others, &[]).await.expect("the own connection is spared");
        for _ in 0..chance.pick(&[1, 1, 2]) {
            if pids.is_empty() {
                continue;
            }
            let pid: i32 = pids[chance.below(pids.len())].get(0);
            sql.execute("select pg_terminate_backend($1)", &[&pid]).await.expect("the own connection is spared");
            ledger.count("connections terminated", 1);
        }
    }
}

/// The one operator who changes limits that are judged, one after the other.
pub(crate) async fn tune(store: PostgresStore, mut chance: Chance, ledger: Arc<Ledger>, engine: Engine, mut end: End) {
    let none = Change::default();
    while !end.is_here() {
        end.pause(50 + chance.below(400) as u64).await;
        let done = match chance.below(if engine == Engine::Live { 4 } else { 3 }) {
            0 => {
                let max = chance.pick(&[None, Some(2), Some(4), Some(8)]);
                set(&store, &ledger, (LIVE, "max_running"), max, Change { max_running: Some(max), ..none }).await
            }
            1 => {
                let max = chance.pick(&[None, Some(1), Some(2)]);
                let change = Change { max_running_per_key: Some(max), ..none };
                set(&store, &ledger, (LIVE, "max_running_per_key"), max, change).await
            }
            2 => {
                let paused = chance.percent(30);
                let change = Change { paused: Some(paused), ..none };
                set(&store, &ledger, (LIVE, "open"), Some(u32::from(!paused)), change).await
            }
            _ => limit(&store, &ledger, chance.pick(&[None, None, Some(5), Some(9)])).await,
        };
        match done {
            Ok(()) => ledger.count("limits changed", 1),
            Err(met) => Trouble::from(met).note(&ledger),
        }
    }
}

/// Changes a judged setting of a queue, and writes down since when it binds.
pub(crate) async fn set(
    store: &PostgresStore,
    ledger: &Ledger,
    setting: Setting,
    value: Option<u32>,
    change: Change,
) -> Result<(), StoreError> {
    ledger.sets(setting, value);
    store.change(setting.0, change).await?;
    ledger.was_set(setting);
    Ok(())
}

/// The same for the engine's W.
pub(crate) async fn limit(store: &PostgresStore, ledger: &Ledger, max: Option<u32>) -> Result<(), StoreError> {
    ledger.sets(("", "max_running"), max);
    store.set_limit(max).await?;
    ledger.was_set(("", "max_running"));
    Ok(())
}
