//! What happened to a domain, one readable sentence each (L8).
//!
//! Only what went otherwise than well is told. A domain lives for ever, so its events are bounded: the last
//! [`EVENTS_KEPT`], and beside them, for the last [`REFUSALS_KEPT`] tokens that were refused for a reason, one event each,
//! which counts.

use super::answer::Refused;
use super::record::InFlight;
use crate::actor::Actor;
use crate::changes::{Changed, Difference};
use crate::event::times;
use crate::lease::Token;
use crate::time::Time;
use crate::words::words;
use std::collections::VecDeque;
use std::sync::Arc;

/// Events kept of one domain, refusals apart.
pub const EVENTS_KEPT: usize = 100;

/// Refusals kept of one domain: whoever makes tokens up must not fill a store.
pub const REFUSALS_KEPT: usize = 100;

words! {
    /// The kinds of events.
    What {
        /// The lease of the offset in flight ran out.
        Expired = "expired",
        /// Someone acquired an offset whose lease had run out.
        TakenOver = "taken_over",
        /// A try failed; the lease stays.
        Retried = "retried",
        /// The last try failed.
        GaveUp = "gave_up",
        /// Its lease ran out once more than `takeovers_max` allows.
        TakeoversSpent = "takeovers_spent",
        /// An operator skipped an offset.
        Skipped = "skipped",
        /// A setting was changed.
        Changed = "changed",
        /// A write that no longer counted was refused.
        Refused = "refused",
    }
}

words! {
    /// The writes that name a token.
    Verb {
        /// `succeed`.
        Succeed = "succeed",
        /// `fail`.
        Fail = "fail",
        /// `heartbeat`.
        Heartbeat = "heartbeat",
    }
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = DomainEvent))]
pub struct Event {
    /// When, by the store's clock; the last time, where repetitions are counted into one event.
    pub at: Time,
    /// When it happened first, if it happened again.
    pub first_at: Option<Time>,
    /// What: `expired`, `taken_over`, `retried`, `gave_up`, `takeovers_spent`, `skipped`, `changed` or `refused`.
    pub what: What,
    /// To which offset; null for a refused write.
    pub offset: Option<u64>,
    /// Under which token, a decimal string (D5); of a refused write the one it named, if that was a token at all.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::decimal_or_null"))]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub token: Option<Token>,
    /// By or from whom, where it had a name.
    #[cfg_attr(feature = "serde", serde(rename = "owner", serialize_with = "crate::serial::shared_or_null"))]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub holder: Option<Arc<str>>,
    /// Who acted, of an operator's act: `cli:USER@HOST`, `http:ADDRESS`, `sql:ROLE`, `lib:PROGRAM`, or what a program
    /// calls itself.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::shared_or_null"))]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub by: Option<Arc<str>>,
    /// The setting that was changed.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub difference: Option<Difference>,
    /// Of a retry or a give up, how many tries had failed; of a takeover, which one it was.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub nth: Option<u32>,
    /// The write that was refused.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub verb: Option<Verb>,
    /// The code of the refusal.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub refused: Option<&'static str>,
    /// How often, where repetitions are counted into one event.
    pub count: u64,
}

impl Event {
    /// An event of an offset.
    #[must_use]
    pub fn of(at: Time, what: What, offset: u64) -> Event {
        let offset = Some(offset);
        Event {
            at,
            first_at: None,
            what,
            offset,
            token: None,
            holder: None,
            by: None,
            difference: None,
            nth: None,
            verb: None,
            refused: None,
            count: 1,
        }
    }

    /// An event of the offset in flight, under its lease.
    #[must_use]
    pub fn under(at: Time, what: What, flight: &InFlight) -> Event {
        let (token, holder) = (Some(flight.lease.token), flight.holder().map(Into::into));
        Event { token, holder, ..Event::of(at, what, flight.offset) }
    }

    /// A write under `token` that was refused.
    #[must_use]
    pub fn refused(at: Time, verb: Verb, token: Token, refused: Refused) -> Event {
        Event {
            offset: None,
            token: (token.0 > 0).then_some(token),
            verb: Some(verb),
            refused: Some(refused.code()),
            ..Event::of(at, What::Refused, 0)
        }
    }

    /// A change of the domain's settings.
    #[must_use]
    pub fn changed(changed: Changed) -> Event {
        let by = Some(changed.by.into());
        Event { offset: None, by, difference: changed.difference, ..Event::of(changed.at, What::Changed, 0) }
    }

    /// By this operator.
    #[must_use]
    pub fn acted(mut self, actor: &Actor) -> Event {
        self.by = Some(actor.as_str().into());
        self
    }

    /// Which of its kind it was.
    #[must_use]
    pub fn nth(mut self, nth: u32) -> Event {
        self.nth = Some(nth);
        self
    }

    /// Whether `other` is the same refusal once more (L8).
    fn is_again(&self, other: &Event) -> bool {
        (self.refused, self.token) == (other.refused, other.token)
    }

    /// By when it happened; of refusals at one instant by code and token.
    fn rank(&self) -> (Time, Option<&'static str>, Option<Token>) {
        (self.at, self.refused, self.token.filter(|_| self.refused.is_some()))
    }

    /// The event as a sentence for an operator.
    #[must_use]
    pub fn message(&self) -> String {
        let offset = self.offset.map_or("-".to_owned(), |offset| offset.to_string());
        let holder = self.holder.as_deref().unwrap_or("someone unnamed");
        let token = self.token.map_or("that is none".to_owned(), |token| token.to_string());
        let nth = self.nth.unwrap_or(0);
        let operator = self.by.as_deref().unwrap_or("an operator");
        match self.what {
            What::Expired => format!("the lease of {holder} on offset {offset} (token {token}) ran out"),
            What::TakenOver => format!("{holder} took over offset {offset} under token {token}, takeover {nth}"),
            What::Retried => format!("try {nth} of offset {offset} failed at {holder}; the lease stays"),
            What::GaveUp => format!("gave up offset {offset} after {nth} retries; it was last tried by {holder}"),
            What::TakeoversSpent => {
                format!("gave up offset {offset}: its lease ran out again after {nth} takeovers, last at {holder}")
            }
            What::Skipped => format!("{operator} skipped offset {offset}"),
            What::Changed => match &self.difference {
                Some(difference) => format!("{operator} changed {difference}"),
                None => format!("{operator} changed it"),
            },
            What::Refused => {
                let verb = self.verb.map_or("write", Verb::as_str);
                let times = times(self.count, self.first_at, self.at);
                let code = self.refused.unwrap_or("refused");
                format!("refused a {verb} under token {token}: {code}{times}")
            }
        }
    }
}

/// The events of one domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    events: VecDeque<Event>,
    /// One for each token and code.
    refusals: Vec<Event>,
}

impl Told {
    /// One more. Refusals of one token and code are counted into one; those of the longest ago give way.
    pub fn add(&mut self, event: Event) {
        if event.what != What::Refused {
            self.events.push_back(event);
            if self.events.len() > EVENTS_KEPT {
                self.events.pop_front();
            }
        } else if let Some(known) = self.refusals.iter_mut().find(|known| known.is_again(&event)) {
            *known = Event { count: known.count + 1, first_at: known.first_at.or(Some(known.at)), ..event };
        } else {
            self.refusals.push(event);
            if self.refusals.len() > REFUSALS_KEPT {
                self.refusals.sort_by_key(Event::rank);
                self.refusals.remove(0);
            }
        }
    }

    /// All of them, oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<Event> {
        in_order(self.events.iter().chain(&self.refusals).cloned().collect())
    }
}

/// Events that were written in this order, refusals last, by when they happened.
#[must_use]
pub fn in_order(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by_key(Event::rank);
    events
}
