//! When to renew which lease, and when to stop a handler because it could not be renewed. Pure: time and answers come
//! in, orders go out.
//!
//! Always true: a handler is told to stop, and is gone, before the store can give its work away, by this machine's own
//! clock counted from *before* the request that granted or last renewed the lease (L5).

use crate::clock::Moment;
use std::collections::BTreeMap;
use std::time::Duration;
use tenure_core::{LostReason, Token};

/// Parts of a lease after which it is renewed: twice more may fail before anything happens.
const BEAT_AFTER: f64 = 1.0 / 3.0;
/// … after which handlers are told that it is ending.
const TELL_AFTER: f64 = 0.75;
/// … after which they must be gone. What is left covers a clock that runs a little fast, and the last write.
const SAFE_FOR: f64 = 0.9;
/// … after which a heartbeat that failed is sent again.
const ASK_AGAIN: f64 = 1.0 / 12.0;
/// … after which one without any answer is sent again beside it: the connection it went over may be dead.
const ASK_BESIDE: f64 = 1.0 / 4.0;

/// What the heart is told.
#[derive(Debug)]
pub(crate) enum Event {
    /// A lease was granted for `lease`, asked for at `asked_at`, over this many jobs.
    Granted { token: Token, lease: Duration, asked_at: Moment, jobs: usize },
    /// A job of a lease has ended.
    Ended { token: Token },
    /// A heartbeat sent at `sent_at` was accepted.
    Beaten { token: Token, sent_at: Moment },
    /// A heartbeat was refused.
    Refused { token: Token, reason: LostReason },
    /// A heartbeat got no answer.
    Unanswered { token: Token },
    /// Time has passed.
    Tick,
}

/// What the heart must do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Renew these leases.
    Beat(Vec<Token>),
    /// The lease holds until then.
    Renewed(Token, Moment),
    /// Tell the handlers under this lease that it is ending.
    Ending(Token),
    /// The lease is lost.
    Lost(Token, LostReason),
}

#[derive(Debug)]
struct Held {
    lease: Duration,
    granted_at: Moment,
    beat_at: Moment,
    jobs: usize,
    told: bool,
}

impl Held {
    fn safe_until(&self) -> Moment {
        safe_until(self.granted_at, self.lease)
    }
}

/// Until when a lease asked for at `asked_at` can be relied upon.
pub(crate) fn safe_until(asked_at: Moment, lease: Duration) -> Moment {
    asked_at.after(lease.mul_f64(SAFE_FOR))
}

/// The leases a worker holds.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    held: BTreeMap<Token, Held>,
}

impl Pulse {
    /// Takes an event in, and says what to do.
    pub(crate) fn step(&mut self, event: Event, now: Moment) -> Vec<Order> {
        let mut orders = Vec::new();
        match event {
            Event::Granted { token, lease, asked_at, jobs } => {
                let beat_at = asked_at.after(lease.mul_f64(BEAT_AFTER));
                self.held.insert(token, Held { lease, granted_at: asked_at, beat_at, jobs, told: false });
            }
            Event::Ended { token } => {
                if let Some(held) = self.held.get_mut(&token) {
                    held.jobs -= 1;
                    if held.jobs == 0 {
                        self.held.remove(&token);
                    }
                }
            }
            Event::Beaten { token, sent_at } => {
                if let Some(held) = self.held.get_mut(&token) {
                    held.granted_at = held.granted_at.max(sent_at);
                    held.beat_at = held.granted_at.after(held.lease.mul_f64(BEAT_AFTER));
                    orders.push(Order::Renewed(token, held.safe_until()));
                }
            }
            Event::Refused { token, reason } => {
                if self.held.remove(&token).is_some() {
                    orders.push(Order::Lost(token, reason));
                }
            }
            Event::Unanswered { token } => {
                if let Some(held) = self.held.get_mut(&token) {
                    held.beat_at = now.after(held.lease.mul_f64(ASK_AGAIN));
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

    fn look(&mut self, now: Moment, orders: &mut Vec<Order>) {
        let mut due = Vec::new();
        let mut over = Vec::new();
        for (token, held) in &mut self.held {
            if now >= held.granted_at.after(held.lease) {
                over.push(*token);
                continue;
            }
            if !held.told && now >= held.tell_at() {
                held.told = true;
                orders.push(Order::Ending(*token));
            }
            if now >= held.beat_at {
                held.beat_at = now.after(held.lease.mul_f64(ASK_BESIDE));
                due.push(*token);
            }
        }
        if !due.is_empty() {
            orders.push(Order::Beat(due));
        }
        for token in over {
            self.held.remove(&token);
            orders.push(Order::Lost(token, LostReason::Expired));
        }
    }
}

impl Held {
    fn tell_at(&self) -> Moment {
        self.granted_at.after(self.lease.mul_f64(TELL_AFTER))
    }

    fn due(&self) -> Moment {
        let end = self.granted_at.after(self.lease);
        let tell = if self.told { end } else { self.tell_at() };
        tell.min(self.beat_at).min(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_millis(1_200);
    const TOKEN: Token = Token(7);

    fn at(ms: u64) -> Moment {
        Moment(Duration::from_secs(1_000) + Duration::from_millis(ms))
    }

    fn granted(jobs: usize) -> Pulse {
        let mut pulse = Pulse::default();
        let orders = pulse.step(Event::Granted { token: TOKEN, lease: LEASE, asked_at: at(0), jobs }, at(50));
        assert_eq!(orders, []);
        pulse
    }

    #[test]
    fn q3_a_lease_is_renewed_at_a_third_of_it() {
        let mut pulse = granted(1);
        assert_eq!(pulse.next(), Some(at(400)));
        assert_eq!(pulse.step(Event::Tick, at(399)), []);
        assert_eq!(pulse.step(Event::Tick, at(400)), [Order::Beat(vec![TOKEN])]);
        assert_eq!(pulse.step(Event::Tick, at(401)), [], "asked once");
        assert_eq!(pulse.step(Event::Tick, at(700)), [Order::Beat(vec![TOKEN])], "and again over another connection");
        let renewed = pulse.step(Event::Beaten { token: TOKEN, sent_at: at(400) }, at(750));
        assert_eq!(renewed, [Order::Renewed(TOKEN, at(400 + 1_080))]);
        assert_eq!(pulse.next(), Some(at(800)), "counted from before it was sent");
    }

    #[test]
    fn l5_handlers_are_told_and_gone_before_the_store_gives_the_work_away() {
        let mut pulse = granted(1);
        pulse.step(Event::Tick, at(400));
        pulse.step(Event::Unanswered { token: TOKEN }, at(800));
        assert_eq!(pulse.step(Event::Tick, at(900)), [Order::Ending(TOKEN), Order::Beat(vec![TOKEN])]);
        assert!(safe_until(at(0), LEASE) < at(1_200));
        assert_eq!(pulse.step(Event::Tick, at(1_200)), [Order::Lost(TOKEN, LostReason::Expired)]);
        assert_eq!(pulse.next(), None);
    }

    #[test]
    fn a8_after_a_long_sleep_the_lease_is_known_to_be_lost_at_the_first_tick() {
        let mut pulse = granted(2);
        assert_eq!(pulse.step(Event::Tick, at(3_600_000)), [Order::Lost(TOKEN, LostReason::Expired)]);
    }

    #[test]
    fn an_unanswered_heartbeat_is_asked_again_soon() {
        let mut pulse = granted(1);
        pulse.step(Event::Tick, at(400));
        pulse.step(Event::Unanswered { token: TOKEN }, at(410));
        assert_eq!(pulse.next(), Some(at(510)));
        assert_eq!(pulse.step(Event::Tick, at(510)), [Order::Beat(vec![TOKEN])]);
    }

    #[test]
    fn a_lease_is_kept_while_any_of_its_jobs_is_left() {
        let mut pulse = granted(2);
        pulse.step(Event::Ended { token: TOKEN }, at(10));
        assert!(pulse.next().is_some());
        pulse.step(Event::Ended { token: TOKEN }, at(20));
        assert_eq!(pulse.next(), None);
        assert_eq!(pulse.step(Event::Beaten { token: TOKEN, sent_at: at(15) }, at(30)), []);
    }

    #[test]
    fn l3_a_refused_heartbeat_loses_the_lease_at_once() {
        let mut pulse = granted(1);
        let lost = pulse.step(Event::Refused { token: TOKEN, reason: LostReason::Superseded }, at(10));
        assert_eq!(lost, [Order::Lost(TOKEN, LostReason::Superseded)]);
        assert_eq!(pulse.step(Event::Tick, at(5_000)), []);
    }
}
