//! Which of the store's ids and tokens are which of core's.
//!
//! Always true: both tables keep order. Ids and tokens only grow on either side (L2, X), so an answer that breaks the
//! order is wrong even if it is consistent. What was never drawn stands for itself.

use super::Wrong;
use std::collections::BTreeMap;
use std::fmt::Debug;
use tenure_core::{Epoch, Token};

#[derive(Debug)]
pub(in crate::conformance) struct Tables<I> {
    /// The store's id and core's, in the order in which they were drawn.
    pub(in crate::conformance) ids: Vec<(I, I)>,
    by_store: BTreeMap<I, usize>,
    by_core: BTreeMap<I, usize>,
    tokens: BTreeMap<Token, Token>,
    /// Tokens are beyond the base of this epoch.
    epoch: Epoch,
}

impl<I: Copy + Debug + Ord> Tables<I> {
    pub(in crate::conformance) fn new() -> Tables<I> {
        let (ids, tokens) = (Vec::new(), BTreeMap::new());
        Tables { ids, by_store: BTreeMap::new(), by_core: BTreeMap::new(), tokens, epoch: Epoch::default() }
    }

    pub(in crate::conformance) fn added(&mut self, store: I, core: I) -> Result<(), Wrong> {
        if let Some((last, _)) = self.ids.last().filter(|last| last.0 >= store) {
            return Err(format!("X: id {store:?} after {last:?}"));
        }
        self.by_store.insert(store, self.ids.len());
        self.by_core.insert(core, self.ids.len());
        self.ids.push((store, core));
        Ok(())
    }

    /// Notes a token of a claim, the same for both or new for both.
    pub(in crate::conformance) fn granted(&mut self, store: Token, core: Token) -> Result<(), Wrong> {
        if store <= self.epoch.base {
            return Err(format!("L2: token {store} was drawn before {:?}", self.epoch));
        }
        let known = self.tokens.get(&store).copied();
        let last = self.tokens.last_key_value().map(|(store, core)| (*store, *core));
        match known {
            Some(known) if known == core => Ok(()),
            None if last.is_none_or(|last| store > last.0 && core > last.1) => {
                self.tokens.insert(store, core);
                Ok(())
            }
            _ => Err(format!("L2: token {store} stands for {known:?} and for {core}, after {last:?}")),
        }
    }

    pub(in crate::conformance) fn raised(&mut self, epoch: Epoch) {
        self.epoch = epoch;
    }

    pub(in crate::conformance) fn index(&self, store: I) -> Option<usize> {
        self.by_store.get(&store).copied()
    }

    pub(in crate::conformance) fn core_index(&self, core: I) -> Option<usize> {
        self.by_core.get(&core).copied()
    }

    pub(in crate::conformance) fn to_core(&self, store: I) -> I {
        self.index(store).map_or(store, |index| self.ids[index].1)
    }

    pub(in crate::conformance) fn token_to_core(&self, store: Token) -> Token {
        self.tokens.get(&store).copied().unwrap_or(store)
    }
}
