//! The one thread that writes, and groups what it writes into commits.
//!
//! Always true:
//! - an operation is answered only after the commit that holds it, and after the file was seen to be the same (C17); it
//!   is not begun in a file that is not;
//! - what one operation of a group fails at is undone for it alone;
//! - the time of an operation is read after the write lock was taken (L5), however long that took.
//!
//! Grouping is what makes a synced disk fast: while one commit waits for the disk, everything that arrives becomes the
//! next one. Nobody is made to wait for company.

use crate::fault::{Done, Fault};
use crate::identity::Identity;
use crate::inbox::{Attended, Errand, Inbox, Rung, Step};
use crate::savepoint::execute;
use crate::{caller, connection};
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tenure_store::{Clock, Signals};

/// Operations in one commit.
const GROUP_MAX: usize = 256;
/// Rows in one commit, roughly: a commit should stay well below a second, for the sake of other processes.
const GROUP_WEIGHT_MAX: usize = 10_000;
/// How long the lock is taken before it is asked whether a caller waits for its own transaction: longer than others hold
/// it while all is well.
const OWN_WAIT: Duration = Duration::from_millis(250);
/// How often another process's commits are looked for, while somebody waits for work.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often it is looked whether somebody has begun to wait.
const IDLE_WAIT: Duration = Duration::from_millis(250);

/// Everything the thread owns.
pub(crate) struct Writer {
    pub(crate) conn: Connection,
    /// By the name it goes by among callers' transactions; `None` in memory.
    pub(crate) file: Option<PathBuf>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) clock: Clock,
    pub(crate) signals: Signals,
    /// `None` in memory.
    pub(crate) identity: Option<Identity>,
    /// How often the write lock was found taken by another process.
    pub(crate) lock_waits: Arc<AtomicU64>,
    /// The state of the file when it was last looked at.
    pub(crate) data_version: i64,
}

impl Writer {
    /// Works until the inbox is closed and empty.
    pub(crate) fn run(mut self) {
        let _attended = Attended(Arc::clone(&self.inbox));
        let mut looked_at = Instant::now();
        loop {
            let wait = if self.signals.waited_for() { LOOK_EVERY } else { IDLE_WAIT };
            let Some(group) = self.inbox.take(GROUP_MAX, GROUP_WEIGHT_MAX, wait) else { return };
            if !group.is_empty() {
                self.serve(group);
            }
            if looked_at.elapsed() >= LOOK_EVERY && self.signals.waited_for() {
                self.look();
                looked_at = Instant::now();
            }
        }
    }

    /// Commits a group and answers it.
    fn serve(&mut self, mut group: Vec<Box<dyn Errand>>) {
        group.retain(|errand| !errand.abandoned());
        if group.is_empty() {
            return;
        }
        let outcome = self.begin(&mut group).and_then(|()| {
            self.welcome_late(&mut group);
            self.commit(&mut group)
        });
        // Whoever came meanwhile would only wait as long again, and longer than his caller does. With nobody left who
        // waited to the end, the wait was cut short, and he has his own before him.
        if matches!(outcome, Err(Fault::Busy(_))) && !group.is_empty() {
            self.welcome_late(&mut group);
        }
        match outcome {
            // The whole transaction is gone, for the sake of one operation perhaps: a heartbeat must not fail because
            // the new jobs beside it found the disk full (C11). So each is tried by itself.
            Err(Fault::Full(_) | Fault::Io(_) | Fault::Broken(_)) if group.len() > 1 && self.intact() => {
                for errand in group {
                    let mut alone = vec![errand];
                    let outcome = self.begin(&mut alone).and_then(|()| self.commit(&mut alone));
                    self.answer(alone, outcome);
                }
            }
            outcome => self.answer(group, outcome),
        }
    }

    fn answer(&self, group: impl IntoIterator<Item = Box<dyn Errand>>, outcome: Done<Rung>) {
        // Rung before the answers, so that a caller who was answered knows that the waiters were woken.
        let outcome = outcome.map(|rung| rung.ring(&self.signals));
        group.into_iter().filter_map(|errand| errand.answer(outcome.clone())).for_each(|rest| self.inbox.again(rest));
    }

    /// Takes the write lock for a group. Whoever in it turns out to wait for a transaction of his own is answered, and
    /// is in it no more.
    fn begin(&self, group: &mut Vec<Box<dyn Errand>>) -> Done<()> {
        let mut version = None;
        connection::begin(&self.conn, |waited| {
            self.lock_waits.fetch_add(1, Ordering::Relaxed);
            if version.is_none() {
                version = data_version(&self.conn).ok();
            }
            if waited >= OWN_WAIT {
                self.refuse_own(group, version);
            }
            !group.is_empty()
        })?;
        // Whoever had the lock has it no more.
        self.file.iter().for_each(|file| caller::forget(file));
        Ok(())
    }

    /// Refuses what waits for the transaction of its own caller. `version` is the state of the file when the wait began:
    /// if others have committed since, it is not that transaction that holds the lock.
    fn refuse_own(&self, group: &mut Vec<Box<dyn Errand>>, version: Option<i64>) {
        let Some((file, seen)) = self.file.as_ref().and_then(|file| Some((file, caller::last_seen(file)?))) else {
            return;
        };
        self.welcome_late(group);
        if !group.iter().any(|errand| errand.caller() == seen.by) {
            return;
        }
        if data_version(&self.conn).ok() != version || !seen.may_be_open(&self.conn).unwrap_or(false) {
            return caller::forget(file);
        }
        let message = format!(
            "it is open on {}; commit or roll it back before this call, or take part in it with `enqueue_in`, \
             `complete_in`, `fail_in` or `held_in`",
            file.display()
        );
        let own: Vec<_> = group.extract_if(.., |errand| errand.caller() == seen.by).collect();
        self.answer(own, Err(Fault::Own(message)));
    }

    /// Whoever arrived while the lock was awaited comes along.
    fn welcome_late(&self, group: &mut Vec<Box<dyn Errand>>) {
        let weight: usize = group.iter().map(|errand| errand.weight()).sum();
        let (count_left, weight_left) =
            (GROUP_MAX.saturating_sub(group.len()), GROUP_WEIGHT_MAX.saturating_sub(weight));
        let late = self.inbox.take(count_left, weight_left, Duration::ZERO).unwrap_or_default();
        group.extend(late.into_iter().filter(|errand| !errand.abandoned()));
    }

    /// Runs a group in the transaction that was begun, and commits it; whom to wake.
    fn commit(&mut self, group: &mut Vec<Box<dyn Errand>>) -> Done<Rung> {
        // The lock may have been long in coming: what nobody waits for any more is not done.
        group.retain(|errand| !errand.abandoned());
        let same = self.identity.as_mut().map_or(Ok(()), Identity::check);
        let done = same.and_then(|()| self.run_all(group)).and_then(|rung| {
            execute(&self.conn, "COMMIT").map_err(Fault::at_commit)?;
            Ok(rung)
        });
        if done.is_err() && !self.conn.is_autocommit() {
            // If even this fails, the next BEGIN says so.
            let _ = execute(&self.conn, "ROLLBACK");
        }
        let rung = done?;
        self.identity.as_mut().map_or(Ok(1), Identity::check_same).map_err(Fault::at_commit)?;
        Ok(rung)
    }

    fn run_all(&self, group: &mut [Box<dyn Errand>]) -> Done<Rung> {
        let alone = group.len() == 1;
        let mut rung = Rung::default();
        for errand in group {
            // Alone, the transaction is savepoint enough.
            if !alone {
                execute(&self.conn, "SAVEPOINT operation")?;
            }
            let step = Step::new(&self.conn, self.clock.now());
            match errand.run(&step) {
                Ok(()) => rung.add(step.rung()),
                // SQLite has rolled everything back by itself, the operations before this one too.
                Err(fault) if alone || self.conn.is_autocommit() => return Err(fault),
                Err(_) => execute(&self.conn, "ROLLBACK TO operation")?,
            }
            if !alone {
                execute(&self.conn, "RELEASE operation")?;
            }
        }
        Ok(rung)
    }

    /// Whether the file is still ours.
    fn intact(&mut self) -> bool {
        self.identity.as_mut().is_none_or(|identity| identity.check().is_ok())
    }

    /// Rings everyone if another process has committed since the last look: `data_version` moves for the commits of
    /// others only.
    fn look(&mut self) {
        match data_version(&self.conn) {
            Ok(found) if found != self.data_version => {
                self.data_version = found;
                self.signals.ring_all();
            }
            Ok(_) => {}
            Err(fault) => tracing::debug!(?fault, "could not look for new work of other processes"),
        }
    }
}

/// A number that moves with every commit of another connection.
pub(crate) fn data_version(conn: &Connection) -> Done<i64> {
    Ok(conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
}
