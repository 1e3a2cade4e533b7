//! Who holds what, by the answers alone: what the ledgers of all faces share, by rules written apart from core.
//!
//! A ledger reads requests and answers, never the store's state. An answer that breaks I1 (one holder a unit), I2 (tokens
//! that grow), I3 or I4 (no write without the lease), I11 (attempts that add up), Q3 (a renewal from now by the granted
//! time) or L12 (an ending sent again is answered as the first time) is an error here even where core gives the same.

use super::{Chance, NO_TOKEN, Wrong, nth_of};
use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use tenure_core::bounds::RECEIPT_MS;
use tenure_core::{Time, Token};

/// How far back operations reach for a claim.
const RECENT: usize = 100;
/// Four workers, two of which carry the same name (A2).
pub(in crate::conformance) const OWNERS: [&str; 4] = ["ann", "bob", "ann", "cleo"];

/// Whose claim a write presents, and what is wrong with it.
#[derive(Clone, Copy, Debug)]
pub struct From {
    pick: Pick,
    twist: Twist,
}

/// The nth most recent claim among some.
#[derive(Clone, Copy, Debug)]
enum Pick {
    /// Those that are held.
    Held(usize),
    /// Those that ran out.
    Expired(usize),
    /// All.
    Any(usize),
}

#[derive(Clone, Copy, Debug)]
enum Twist {
    None,
    /// Someone else's name (which may be the same).
    Owner(usize),
    /// A token nobody was ever given.
    MadeUpToken,
    /// The token of the nth most recent claim.
    TokenOf(usize),
    /// A unit that is not on record.
    NoSuchUnit,
}

impl From {
    pub(in crate::conformance) fn draw(c: &mut Chance) -> From {
        let pick = match c.below(10) {
            0..=5 => Pick::Held(c.recent()),
            6..=7 => Pick::Expired(c.recent()),
            _ => Pick::Any(c.recent()),
        };
        let twist = match c.below(16) {
            0 => Twist::Owner(c.below(4)),
            1 => Twist::MadeUpToken,
            2 => Twist::TokenOf(c.recent()),
            3 if c.one_in(3) => Twist::NoSuchUnit,
            _ => Twist::None,
        };
        From { pick, twist }
    }
}

/// A claim as a write presents it.
#[derive(Clone, Debug)]
pub(in crate::conformance) struct Presented<U> {
    /// `None` is a unit that is not on record.
    pub(in crate::conformance) unit: Option<U>,
    pub(in crate::conformance) owner: String,
    pub(in crate::conformance) token: Token,
}

/// What a claim was granted.
#[derive(Clone, Debug)]
pub(in crate::conformance) struct Grant {
    pub(in crate::conformance) owner: String,
    pub(in crate::conformance) token: Token,
    pub(in crate::conformance) until: Time,
    pub(in crate::conformance) lease_ms: u64,
    /// No renewal goes beyond this.
    pub(in crate::conformance) ends_at: Time,
}

impl Grant {
    pub(in crate::conformance) fn new(owner: &str, token: Token, until: Time, lease_ms: u64) -> Grant {
        Grant { owner: owner.to_owned(), token, until, lease_ms, ends_at: Time::MAX }
    }
}

/// An ending that was accepted: what was said, in which state it left the unit, and when.
#[derive(Clone, Debug)]
struct Receipt<V, S> {
    verb: V,
    state: S,
    at: Time,
}

/// How an ending was answered, by the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::conformance) enum Judged<V> {
    Accepted,
    Already,
    /// With the verb that was accepted before, if one was.
    Refused(Option<V>),
}

#[derive(Debug)]
pub(in crate::conformance) struct Ledger<U, V, S> {
    pub(in crate::conformance) now: Time,
    /// Every claim of a unit, in the order of granting.
    claims: Vec<Claimed<U, V, S>>,
    places: BTreeMap<(U, Token), usize>,
    /// The claim each unit is under, whether or not its lease has run out.
    current: BTreeMap<U, usize>,
    largest: Option<Token>,
    attempts: BTreeMap<U, u32>,
}

#[derive(Debug)]
struct Claimed<U, V, S> {
    unit: U,
    grant: Grant,
    receipt: Option<Receipt<V, S>>,
}

impl<U: Clone + Debug + Ord, V: Copy + Display + PartialEq, S: Copy + Display + PartialEq> Ledger<U, V, S> {
    pub(in crate::conformance) fn new(now: Time) -> Ledger<U, V, S> {
        let (places, current, attempts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Ledger { now, claims: Vec::new(), places, current, largest: None, attempts }
    }

    /// A unit was granted to a claimer. A claim that `joins` others of its call has their token.
    pub(in crate::conformance) fn grant(&mut self, unit: U, grant: Grant, joins: bool) -> Result<(), Wrong> {
        if let Some(holder) = self.holder(&unit) {
            return Err(format!("I1: {unit:?} was granted while {} holds it", holder.owner));
        }
        if !joins && self.largest.is_some_and(|largest| grant.token <= largest) {
            return Err(format!("I2: {unit:?} was granted {} after {:?}", grant.token, self.largest));
        }
        let until = self.now.plus_ms(grant.lease_ms).min(grant.ends_at);
        if grant.until != until {
            return Err(format!("L1: the lease of {unit:?} runs until {:?}, not {until:?}", grant.until));
        }
        self.largest = self.largest.max(Some(grant.token));
        self.current.insert(unit.clone(), self.claims.len());
        self.places.insert((unit.clone(), grant.token), self.claims.len());
        self.claims.push(Claimed { unit, grant, receipt: None });
        Ok(())
    }

    /// A claim counts an attempt.
    pub(in crate::conformance) fn attempt(&mut self, unit: &U, told: u32, max: u32) -> Result<(), Wrong> {
        let attempt = self.attempts.entry(unit.clone()).or_default();
        *attempt += 1;
        if told != *attempt || told > max {
            return Err(format!("I11: attempt {told} of {unit:?}, expected {attempt} of {max}"));
        }
        Ok(())
    }

    pub(in crate::conformance) fn attempts(&self, unit: &U) -> u32 {
        self.attempts.get(unit).copied().unwrap_or(0)
    }

    /// Every unit of which attempts are counted.
    pub(in crate::conformance) fn attempted(&self) -> impl Iterator<Item = &U> {
        self.attempts.keys()
    }

    /// An attempt that does not count after all.
    pub(in crate::conformance) fn uncount(&mut self, unit: &U) {
        self.attempts.entry(unit.clone()).and_modify(|attempt| *attempt -= 1);
    }

    /// Attempts are counted anew.
    pub(in crate::conformance) fn recount(&mut self, unit: &U) {
        self.attempts.remove(unit);
    }

    /// The claim a unit is under, though its lease may have run out.
    pub(in crate::conformance) fn under(&self, unit: &U) -> Option<&Grant> {
        self.current.get(unit).map(|place| &self.claims[*place].grant)
    }

    /// Who holds a unit now (L4).
    pub(in crate::conformance) fn holder(&self, unit: &U) -> Option<&Grant> {
        self.under(unit).filter(|grant| grant.until > self.now)
    }

    /// Every unit that is under a claim.
    pub(in crate::conformance) fn claimed(&self) -> impl Iterator<Item = (&U, &Grant)> {
        self.current.iter().map(|(unit, place)| (unit, &self.claims[*place].grant))
    }

    /// The presented claim, if it was ever granted.
    pub(in crate::conformance) fn granted(&self, of: &Presented<U>) -> Option<&Grant> {
        self.place(of).map(|place| &self.claims[place].grant)
    }

    fn place(&self, of: &Presented<U>) -> Option<usize> {
        let place = self.places.get(&(of.unit.clone()?, of.token)).copied();
        place.filter(|place| self.claims[*place].grant.owner == of.owner)
    }

    pub(in crate::conformance) fn holds(&self, of: &Presented<U>) -> bool {
        self.place(of).is_some_and(|place| self.is_held(place))
    }

    /// Whether a claim ended without its holder's word.
    pub(in crate::conformance) fn lapsed(&self, of: &Presented<U>) -> bool {
        self.place(of).is_some_and(|place| self.has_lapsed(place))
    }

    fn is_held(&self, place: usize) -> bool {
        let Claimed { unit, grant, .. } = &self.claims[place];
        grant.until > self.now && self.current.get(unit) == Some(&place)
    }

    fn has_lapsed(&self, place: usize) -> bool {
        self.claims[place].receipt.is_none() && !self.is_held(place)
    }

    /// Nobody holds a unit any more.
    pub(in crate::conformance) fn free(&mut self, unit: &U) {
        self.current.remove(unit);
    }

    /// The answer to a heartbeat: the new deadline, or that it was refused.
    pub(in crate::conformance) fn beaten(&mut self, of: &Presented<U>, until: Option<Time>) -> Result<(), Wrong> {
        match (self.holds(of), until) {
            (true, Some(until)) => self.renewed(of.token, until),
            (false, None) => Ok(()),
            (true, None) => Err(format!("Q3: a heartbeat of the holder was refused: {of:?}")),
            (false, Some(_)) => Err(format!("I4: a heartbeat without the lease was accepted: {of:?}")),
        }
    }

    /// A lease was renewed, for all that is under it.
    pub(in crate::conformance) fn renewed(&mut self, token: Token, until: Time) -> Result<(), Wrong> {
        for place in self.current.values() {
            let grant = &mut self.claims[*place].grant;
            if grant.token != token {
                continue;
            }
            let expected = grant.until.max(self.now.plus_ms(grant.lease_ms)).min(grant.ends_at);
            if until != expected {
                return Err(format!("Q3: renewed until {until:?}, expected {expected:?}"));
            }
            grant.until = until;
        }
        Ok(())
    }

    /// The answer to a write: whether it came under the lease, and is answered so.
    pub(in crate::conformance) fn written(&self, of: &Presented<U>, verb: V, accepted: bool) -> Result<bool, Wrong> {
        match (self.holds(of), accepted) {
            (true, false) => Err(format!("L3: {verb} of the holder was refused: {of:?}")),
            (false, true) => Err(format!("I3: {verb} without the lease was accepted: {of:?}")),
            (held, _) => Ok(held),
        }
    }

    /// The answer to an ending: the state it left and whether it had been accepted before, or that it was refused.
    pub(in crate::conformance) fn ended(
        &mut self,
        of: &Presented<U>,
        verb: V,
        answer: Option<(S, bool)>,
    ) -> Result<Judged<V>, Wrong> {
        let place = self.place(of);
        let receipt = place.and_then(|place| self.claims[place].receipt.as_ref());
        if let Some((state, true)) = answer {
            if receipt.is_none_or(|receipt| receipt.verb != verb || receipt.state != state) {
                return Err(format!("L12: {verb} was never accepted as {state}, and is `already`: {of:?}"));
            }
            return Ok(Judged::Already);
        }
        self.written(of, verb, answer.is_some())?;
        match (answer, place) {
            (Some((state, _)), Some(place)) => {
                let claimed = &mut self.claims[place];
                claimed.receipt = Some(Receipt { verb, state, at: self.now });
                self.current.remove(&claimed.unit);
                Ok(Judged::Accepted)
            }
            _ => {
                let young = |receipt: &&Receipt<V, S>| receipt.at.plus_ms(RECEIPT_MS) > self.now;
                if receipt.filter(young).is_some_and(|receipt| receipt.verb == verb) {
                    return Err(format!("L12: {verb} was accepted before and is refused now: {of:?}"));
                }
                Ok(Judged::Refused(receipt.map(|receipt| receipt.verb)))
            }
        }
    }

    /// The places of the most recent claims.
    fn recent(&self) -> impl Iterator<Item = usize> {
        (0..self.claims.len()).rev().take(RECENT)
    }

    /// The deadline of the nth most recent claim that is held.
    pub(in crate::conformance) fn deadline(&self, n: usize) -> Option<Time> {
        let held = nth_of(self.recent().filter(|place| self.is_held(*place)).collect(), n);
        held.map(|place| self.claims[place].grant.until)
    }

    /// The claim a write presents, twisted.
    pub(in crate::conformance) fn present(&self, from: From) -> Option<Presented<U>> {
        let picked = match from.pick {
            Pick::Held(n) => nth_of(self.recent().filter(|place| self.is_held(*place)).collect(), n),
            Pick::Expired(n) => nth_of(self.recent().filter(|place| self.has_lapsed(*place)).collect(), n),
            Pick::Any(n) => nth_of(self.recent().collect(), n),
        };
        let Claimed { unit, grant, .. } = &self.claims[picked.or_else(|| self.recent().next())?];
        let mut of = Presented { unit: Some(unit.clone()), owner: grant.owner.clone(), token: grant.token };
        match from.twist {
            Twist::None => {}
            Twist::Owner(i) => of.owner = OWNERS[i].to_owned(),
            Twist::MadeUpToken => of.token = NO_TOKEN,
            Twist::TokenOf(n) => of.token = self.claims[nth_of(self.recent().collect(), n)?].grant.token,
            Twist::NoSuchUnit => of.unit = None,
        }
        Some(of)
    }
}
