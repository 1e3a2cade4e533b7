//! What waits behind the offset in flight: first in, first out, each offset once.
//!
//! Always true: the first entry of the queue is alive, so looking at the head costs nothing; an offset taken out of
//! the middle costs the logarithm of the length, and its place is swept when it comes to the front.

use crate::time::Time;
use std::collections::{BTreeSet, VecDeque};

/// Offsets that wait, and since when.
#[derive(Clone, Debug, Default)]
pub struct Backlog {
    /// In order of arrival; an entry whose offset does not wait any more is dead. An offset never comes back, for it
    /// left as the one in flight or as a terminal one.
    queue: VecDeque<(u64, Time)>,
    waiting: BTreeSet<u64>,
}

impl Backlog {
    /// The first, and since when it waits.
    #[must_use]
    pub fn head(&self) -> Option<(u64, Time)> {
        self.queue.front().copied()
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether `offset` waits.
    #[must_use]
    pub fn contains(&self, offset: u64) -> bool {
        self.waiting.contains(&offset)
    }

    /// Puts `offset` at the tail, unless it waits already.
    pub fn push(&mut self, offset: u64, now: Time) {
        if self.waiting.insert(offset) {
            self.queue.push_back((offset, now));
        }
    }

    /// `offset` waits no longer. Whether it did.
    pub fn remove(&mut self, offset: u64) -> bool {
        let waited = self.waiting.remove(&offset);
        while self.queue.front().is_some_and(|(first, _)| !self.waiting.contains(first)) {
            self.queue.pop_front();
        }
        if self.queue.is_empty() {
            // A backlog of a million that was worked off gives its room back.
            self.queue.shrink_to(64);
        }
        waited
    }

    /// Those that wait, in order.
    #[must_use]
    pub fn all(&self) -> Vec<(u64, Time)> {
        self.queue.iter().filter(|(offset, _)| self.waiting.contains(offset)).copied().collect()
    }
}

impl PartialEq for Backlog {
    /// The same offsets in the same order, whatever was taken out between them.
    fn eq(&self, other: &Backlog) -> bool {
        self.all() == other.all()
    }
}

impl Eq for Backlog {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_keeps_its_order_when_one_is_taken_out_of_the_middle() {
        let mut backlog = Backlog::default();
        (1..=5).for_each(|offset| backlog.push(offset, Time(offset as i64)));
        backlog.push(3, Time(9));
        assert!(backlog.remove(2) && backlog.remove(3) && !backlog.remove(3));
        assert_eq!(backlog.all(), [(1, Time(1)), (4, Time(4)), (5, Time(5))]);
        assert!(backlog.remove(1));
        assert_eq!((backlog.head(), backlog.len()), (Some((4, Time(4))), 2));
    }
}
