//! When to renew which lease, and when to stop a handler because it could not be renewed. Pure: time and answers come
//! in, orders go out. `K` names a lease.
//!
//! Always true: a handler is told to stop, and is gone, before the store can give its work away, by this machine's own
//! clock counted from *before* the request that granted or last renewed the lease (L5).

use crate::clock::Moment;
use std::collections::BTreeMap;
use std::time::Duration;
use tenure_core::LostReason;

/// Parts of a lease after which handlers are told that it is ending.
const TELL_AFTER: f64 = 0.75;
/// … after which they must be gone. What is left covers a clock that runs a little fast, and the last write.
const SAFE_FOR: f64 = 0.9;
/// … after which a heartbeat that failed is sent again.
const ASK_AGAIN: f64 = 1.0 / 12.0;
/// … after which one without any answer is sent again beside it: the connection it went over may be dead.
const ASK_BESIDE: f64 = 1.0 / 4.0;

/// How long a lease runs, and after how much of it it is renewed.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    lease: Duration,
    every: Duration,
}

impl Span {
    /// Renewed at a third of it: twice more may fail before anything happens.
    pub(crate) fn of(lease: Duration) -> Span {
        Span::beating(lease, 3)
    }

    /// Renewed so many times while it runs.
    pub(crate) fn beating(lease: Duration, beats: u32) -> Span {
        Span { lease, every: lease / beats }
    }

    /// When a lease was asked for that is to be renewed now.
    pub(crate) fn due(self, now: Moment) -> Moment {
        Moment(now.0.saturating_sub(self.every))
    }
}

/// What the heart is told.
#[derive(Debug)]
pub(crate) enum Event<K> {
    /// A lease was granted, over this many parts.
    Granted { key: K, span: Span, asked_at: Moment, parts: usize },
    /// A part of a lease has ended.
    Ended { key: K },
    /// A heartbeat sent at `sent_at` was accepted.
    Beaten { key: K, sent_at: Moment },
    /// A heartbeat was refused.
    Refused { key: K, reason: LostReason },
    /// A heartbeat got no answer.
    Unanswered { key: K },
    /// Time has passed.
    Tick,
}

/// What the heart must do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Order<K> {
    /// Renew these leases.
    Beat(Vec<K>),
    /// The lease holds until then.
    Renewed(K, Moment),
    /// Tell the handlers under this lease that it is ending.
    Ending(K),
    /// The lease is lost.
    Lost(K, LostReason),
}

#[derive(Debug)]
struct Held {
    span: Span,
    granted_at: Moment,
    beat_at: Moment,
    parts: usize,
    told: bool,
}

impl Held {
    fn safe_until(&self) -> Moment {
        safe_until(self.granted_at, self.span)
    }
}

/// Until when a lease asked for at `asked_at` can be relied upon.
pub(crate) fn safe_until(asked_at: Moment, span: Span) -> Moment {
    asked_at.after(span.lease.mul_f64(SAFE_FOR))
}

/// The leases a worker holds.
#[derive(Debug)]
pub(crate) struct Pulse<K> {
    held: BTreeMap<K, Held>,
}

impl<K> Default for Pulse<K> {
    fn default() -> Pulse<K> {
        Pulse { held: BTreeMap::new() }
    }
}

impl<K: Clone + Ord> Pulse<K> {
    /// Takes an event in, and says what to do.
    pub(crate) fn step(&mut self, event: Event<K>, now: Moment) -> Vec<Order<K>> {
        let mut orders = Vec::new();
        match event {
            Event::Granted { key, span, asked_at, parts } => {
                let beat_at = asked_at.after(span.every);
                self.held.insert(key, Held { span, granted_at: asked_at, beat_at, parts, told: false });
            }
            Event::Ended { key } => {
                if let Some(held) = self.held.get_mut(&key) {
                    held.parts -= 1;
                    if held.parts == 0 {
                        self.held.remove(&key);
                    }
                }
            }
            Event::Beaten { key, sent_at } => {
                if let Some(held) = self.held.get_mut(&key) {
                    held.granted_at = held.granted_at.max(sent_at);
                    held.beat_at = held.granted_at.after(held.span.every);
                    orders.push(Order::Renewed(key, held.safe_until()));
                }
            }
            Event::Refused { key, reason } => {
                if self.held.remove(&key).is_some() {
                    orders.push(Order::Lost(key, reason));
                }
            }
            Event::Unanswered { key } => {
                if let Some(held) = self.held.get_mut(&key) {
                    held.beat_at = now.after(held.span.lease.mul_f64(ASK_AGAIN));
                }
            }
            Event::Tick => {}
        }
        self.look(now, &mut orders);
        orders
    }

    /// When something is due next.
    pub(crate) fn next(&self) -> Option<Moment> {
        self.held.values().map(Held::due).min()
    }

    fn look(&mut self, now: Moment, orders: &mut Vec<Order<K>>) {
        let mut due = Vec::new();
        let mut over = Vec::new();
        for (key, held) in &mut self.held {
            if now >= held.granted_at.after(held.span.lease) {
                over.push(key.clone());
                continue;
            }
            if !held.told && now >= held.tell_at() {
                held.told = true;
                orders.push(Order::Ending(key.clone()));
            }
            if now >= held.beat_at {
                held.beat_at = now.after(held.span.lease.mul_f64(ASK_BESIDE));
                due.push(key.clone());
            }
        }
        if !due.is_empty() {
            orders.push(Order::Beat(due));
        }
        for key in over {
            self.held.remove(&key);
            orders.push(Order::Lost(key, LostReason::Expired));
        }
    }
}

impl Held {
    fn tell_at(&self) -> Moment {
        self.granted_at.after(self.span.lease.mul_f64(TELL_AFTER))
    }

    fn due(&self) -> Moment {
        let end = self.granted_at.after(self.span.lease);
        let tell = if self.told { end } else { self.tell_at() };
        tell.min(self.beat_at).min(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_millis(1_200);
    const KEY: u8 = 7;

    fn at(ms: u64) -> Moment {
        Moment(Duration::from_secs(1_000) + Duration::from_millis(ms))
    }

    fn granted(parts: usize) -> Pulse<u8> {
        let mut pulse = Pulse::default();
        let orders = pulse.step(Event::Granted { key: KEY, span: Span::of(LEASE), asked_at: at(0), parts }, at(50));
        assert_eq!(orders, []);
        pulse
    }

    #[test]
    fn q3_a_lease_is_renewed_at_a_third_of_it() {
        let mut pulse = granted(1);
        assert_eq!(pulse.next(), Some(at(400)));
        assert_eq!(pulse.step(Event::Tick, at(399)), []);
        assert_eq!(pulse.step(Event::Tick, at(400)), [Order::Beat(vec![KEY])]);
        assert_eq!(pulse.step(Event::Tick, at(401)), [], "asked once");
        assert_eq!(pulse.step(Event::Tick, at(700)), [Order::Beat(vec![KEY])], "and again over another connection");
        let renewed = pulse.step(Event::Beaten { key: KEY, sent_at: at(400) }, at(750));
        assert_eq!(renewed, [Order::Renewed(KEY, at(400 + 1_080))]);
        assert_eq!(pulse.next(), Some(at(800)), "counted from before it was sent");
    }

    #[test]
    fn l5_handlers_are_told_and_gone_before_the_store_gives_the_work_away() {
        let mut pulse = granted(1);
        pulse.step(Event::Tick, at(400));
        pulse.step(Event::Unanswered { key: KEY }, at(800));
        assert_eq!(pulse.step(Event::Tick, at(900)), [Order::Ending(KEY), Order::Beat(vec![KEY])]);
        assert!(safe_until(at(0), Span::of(LEASE)) < at(1_200));
        assert_eq!(pulse.step(Event::Tick, at(1_200)), [Order::Lost(KEY, LostReason::Expired)]);
        assert_eq!(pulse.next(), None);
    }

    #[test]
    fn a8_after_a_long_sleep_the_lease_is_known_to_be_lost_at_the_first_tick() {
        let mut pulse = granted(2);
        assert_eq!(pulse.step(Event::Tick, at(3_600_000)), [Order::Lost(KEY, LostReason::Expired)]);
    }

    #[test]
    fn an_unanswered_heartbeat_is_asked_again_soon() {
        let mut pulse = granted(1);
        pulse.step(Event::Tick, at(400));
        pulse.step(Event::Unanswered { key: KEY }, at(410));
        assert_eq!(pulse.next(), Some(at(510)));
        assert_eq!(pulse.step(Event::Tick, at(510)), [Order::Beat(vec![KEY])]);
    }

    #[test]
    fn a_lease_is_kept_while_any_of_its_parts_is_left() {
        let mut pulse = granted(2);
        pulse.step(Event::Ended { key: KEY }, at(10));
        assert!(pulse.next().is_some());
        pulse.step(Event::Ended { key: KEY }, at(20));
        assert_eq!(pulse.next(), None);
        assert_eq!(pulse.step(Event::Beaten { key: KEY, sent_at: at(15) }, at(30)), []);
    }

    #[test]
    fn l3_a_refused_heartbeat_loses_the_lease_at_once() {
        let mut pulse = granted(1);
        let lost = pulse.step(Event::Refused { key: KEY, reason: LostReason::Superseded }, at(10));
        assert_eq!(lost, [Order::Lost(KEY, LostReason::Superseded)]);
        assert_eq!(pulse.step(Event::Tick, at(5_000)), []);
    }
}
