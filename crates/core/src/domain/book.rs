//! The books of a domain: which offsets ended, which wait, what happened.
//!
//! The rules ask and write through [`Books`], so that they are the same rules on a map and on tables. Processed and
//! failed offsets are kept as *all that ended* and, of these, *those that failed*: a failure now and then then leaves
//! the long range whole.

use super::backlog::Backlog;
use super::event::{Event, Told};
use super::ranges::Ranges;
use crate::time::Time;
use std::convert::Infallible;

/// How an offset ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Terminal {
    /// Its holder succeeded.
    Processed,
    /// It failed for good, or was skipped.
    Failed,
}

/// Where the rules look things up and write them down.
pub trait Books {
    /// What a lookup can fail with.
    type Error;

    /// How `offset` ended, if it did.
    fn terminal(&mut self, offset: u64) -> Result<Option<Terminal>, Self::Error>;

    /// The first offset that waits.
    fn head(&mut self) -> Result<Option<u64>, Self::Error>;

    /// Puts `offset` at the tail of the backlog, unless it waits already.
    fn wait(&mut self, offset: u64, now: Time) -> Result<(), Self::Error>;

    /// `offset` waits no longer, if it did.
    fn leave(&mut self, offset: u64) -> Result<(), Self::Error>;

    /// `offset` ended.
    fn end(&mut self, offset: u64, how: Terminal) -> Result<(), Self::Error>;

    /// Something happened (L8).
    fn tell(&mut self, event: Event) -> Result<(), Self::Error>;
}

/// Books in memory. An idle domain that only ever saw contiguous offsets keeps nothing outside of this value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    /// Everything that ended.
    pub ended: Ranges,
    /// Of these, what failed.
    pub failed: Option<Box<Ranges>>,
    /// What waits.
    pub backlog: Option<Box<Backlog>>,
    /// What happened.
    pub told: Option<Box<Told>>,
}

impl Books for Book {
    type Error = Infallible;

    fn terminal(&mut self, offset: u64) -> Result<Option<Terminal>, Infallible> {
        Ok(self.ended.contains(offset).then(|| match &self.failed {
            Some(failed) if failed.contains(offset) => Terminal::Failed,
            _ => Terminal::Processed,
        }))
    }

    fn head(&mut self) -> Result<Option<u64>, Infallible> {
        Ok(self.backlog.as_ref().and_then(|backlog| backlog.head()).map(|(offset, _)| offset))
    }

    fn wait(&mut self, offset: u64, now: Time) -> Result<(), Infallible> {
        self.backlog.get_or_insert_default().push(offset, now);
        Ok(())
    }

    fn leave(&mut self, offset: u64) -> Result<(), Infallible> {
        if let Some(backlog) = &mut self.backlog {
            backlog.remove(offset);
        }
        Ok(())
    }

    fn end(&mut self, offset: u64, how: Terminal) -> Result<(), Infallible> {
        self.ended.insert(offset);
        if how == Terminal::Failed {
            self.failed.get_or_insert_default().insert(offset);
        }
        Ok(())
    }

    fn tell(&mut self, event: Event) -> Result<(), Infallible> {
        self.told.get_or_insert_default().add(event);
        Ok(())
    }
}
