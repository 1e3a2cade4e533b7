//! Workers, as far as the store knows them: who looked for work, where, and of which kinds.
//!
//! Every claim is a sighting in those of its queues that there are, also one that takes nothing. A sighting is rewritten only when it is a minute old, so that
//! a worker that claims a hundred times a second costs one small write a minute; what is shown is that much older than
//! the truth at most. Nobody registers, and nothing depends on a sighting: recovery reads leases (L7).
//!
//! Always true: a sighting bears the store's clock, never a worker's (L5); a claim of other kinds is a sighting of its
//! own; what was not seen for a day is forgotten. Bounded, whatever is claimed: nothing is kept of a queue that was never
//! used, of a claim no more than [`KINDS_KEPT`] kinds, of a queue no more than [`SIGHTINGS_MAX`] sightings, the newest.
//! Pure: a backend brings the rows; [`workers`] and [`Watch::of`] say what they mean.

use super::request::Claim;
use crate::page::Page;
use crate::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// A sighting this old is written again: a minute.
pub const SEEN_EVERY_MS: u64 = 60_000;
/// Whoever was seen within this span counts as being there: five minutes, so that a few missed rewrites mean nothing.
pub const LATELY_MS: u64 = 300_000;
/// A sighting this old is forgotten: a day.
pub const SIGHTING_MS: u64 = 86_400_000;
/// Kinds of a sighting that are kept, the first by name. With so many there may have been more, so that such a sighting
/// counts as one that takes any kind.
pub const KINDS_KEPT: usize = 100;
/// Sightings of a queue that are kept; a new one takes the place of the oldest.
pub const SIGHTINGS_MAX: usize = 1_000;
/// Kinds of a sighting that are shown; the rest is cut.
pub const KINDS_SHOWN: usize = 20;
/// Sightings of a worker that are shown; the rest is cut.
pub const QUEUES_SHOWN: usize = 100;
/// Sightings of a queue that an explanation looks at, newest first: all that are kept.
pub const WATCH_MAX: usize = SIGHTINGS_MAX;
/// Leases that a page of workers counts; with more of them a count is a lower bound.
pub const LEASES_COUNTED: usize = 100_000;
/// Names in a sentence: of holders, takers, and kinds.
pub const HOLDERS_SHOWN: usize = 5;
const FEW: usize = HOLDERS_SHOWN;

/// Whether a sighting is to be written, by the last one that is known of.
#[must_use]
pub fn due(known: Option<Time>, now: Time) -> bool {
    known.is_none_or(|seen_at| seen_at.plus_ms(SEEN_EVERY_MS) <= now)
}

/// Whom a claim makes visible: a sighting in each queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Who looks.
    pub owner: String,
    /// Where, each once.
    pub queues: BTreeSet<String>,
    /// For which kinds, in order and each once, at most [`KINDS_KEPT`]; `None` is all.
    pub kinds: Option<Vec<String>>,
}

/// Whether a sighting of these kinds takes jobs of `kind`.
#[must_use]
pub fn takes(kinds: Option<&[String]>, kind: &str) -> bool {
    kinds.is_none_or(|kinds| kinds.len() >= KINDS_KEPT || kinds.iter().any(|of| of == kind))
}

impl Sight {
    /// The sight of a claim.
    #[must_use]
    pub fn of(claim: &Claim) -> Sight {
        let kinds = claim.kinds.as_ref().map(|kinds| kinds.iter().cloned().collect::<BTreeSet<_>>());
        Sight {
            owner: claim.owner.clone(),
            queues: claim.queues.iter().cloned().collect(),
            kinds: kinds.map(|kinds| kinds.into_iter().take(KINDS_KEPT).collect()),
        }
    }
}

/// Someone who looked for work in one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Sighting {
    /// Who.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub owner: String,
    /// The queue.
    pub queue: String,
    /// Only for these kinds, by name, at most 20 of them; none is all.
    pub kinds: Option<Vec<String>>,
    /// Whether it looked for more kinds.
    pub kinds_capped: bool,
    /// Since when it is remembered.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub first_seen_at: Time,
    /// When it last looked, true to a minute.
    #[cfg_attr(feature = "serde", serde(rename = "last_seen_at"))]
    pub seen_at: Time,
}

/// A worker: what was seen of one owner in the last day.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Worker {
    /// The name it claims under.
    pub name: String,
    /// Jobs it holds now.
    pub running: u64,
    /// Whether the store holds more leases than are counted, so that `running` is a lower bound.
    pub running_capped: bool,
    /// When it was first seen, as far as is remembered.
    pub first_seen_at: Time,
    /// When it last claimed, true to a minute.
    pub last_seen_at: Time,
    /// Where it looked for work, by queue and kinds, at most 100 places.
    #[cfg_attr(feature = "serde", serde(rename = "queues"))]
    pub sightings: Vec<Sighting>,
    /// Whether it looked in more places.
    #[cfg_attr(feature = "serde", serde(rename = "queues_capped"))]
    pub sightings_capped: bool,
}

/// A page of workers by name: `sightings` of the first `limit` owners, and of one more if there is one.
#[must_use]
pub fn workers(
    sightings: impl IntoIterator<Item = Sighting>,
    running: &BTreeMap<String, u64>,
    running_capped: bool,
    limit: usize,
) -> Page<Worker> {
    let mut of_owner: BTreeMap<String, Vec<Sighting>> = BTreeMap::new();
    for sighting in sightings {
        of_owner.entry(sighting.owner.clone()).or_default().push(sighting);
    }
    let more = of_owner.len() > limit;
    let items = of_owner.into_iter().take(limit).filter_map(|(name, mut sightings)| {
        let first_seen_at = sightings.iter().map(|one| one.first_seen_at).min()?;
        let last_seen_at = sightings.iter().map(|one| one.seen_at).max()?;
        sightings.sort_by(|a, b| (&a.queue, &a.kinds).cmp(&(&b.queue, &b.kinds)));
        let sightings_capped = sightings.len() > QUEUES_SHOWN;
        sightings.truncate(QUEUES_SHOWN);
        let running = running.get(&name).copied().unwrap_or(0);
        Some(Worker { name, first_seen_at, last_seen_at, running, running_capped, sightings, sightings_capped })
    });
    Page { items: items.collect(), more }
}

/// Who looked for work of one kind in one queue lately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// A few of those who would take the job, by name.
    pub takers: Vec<String>,
    /// With nobody to take it: a few of those who look for other kinds alone, and for which.
    pub others: Vec<(String, Vec<String>)>,
    /// Who was last seen in the queue at all, and when, within the day that is remembered.
    pub last: Option<(String, Time)>,
}

impl Watch {
    /// From the sightings of a queue within [`LATELY_MS`]: owner, whether the kind is among its kinds, and a few of them.
    #[must_use]
    pub fn of(lately: impl IntoIterator<Item = (String, bool, Vec<String>)>, last: Option<(String, Time)>) -> Watch {
        let mut takers = BTreeSet::new();
        let mut others: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (owner, takes, kinds) in lately {
            if takes {
                takers.insert(owner);
            } else {
                others.entry(owner).or_default().extend(kinds.into_iter().take(FEW));
            }
        }
        let few = |kinds: BTreeSet<String>| kinds.into_iter().take(FEW).collect();
        let others = others.into_iter().filter(|_| takers.is_empty()).take(FEW);
        let others = others.map(|(owner, kinds)| (owner, few(kinds))).collect();
        Watch { takers: takers.into_iter().take(FEW).collect(), others, last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn y_a_sighting_is_written_again_when_it_is_a_minute_old() {
        let seen = Time(1_000_000);
        assert!(due(None, seen));
        assert!(!due(Some(seen), Time(seen.0 + 59_999_999)));
        assert!(due(Some(seen), Time(seen.0 + 60_000_000)));
        // A clock that was set back writes nothing older.
        assert!(!due(Some(seen), Time(0)));
    }

    #[test]
    fn y_the_same_kinds_in_any_order_are_one_sight() {
        let sight = |kinds: &[&str]| Sight::of(&Claim::new("q", "w").also("q").kinds(kinds.iter().copied()));
        assert_eq!(sight(&["b", "a", "b"]), sight(&["a", "b"]));
        assert_eq!(sight(&["a"]).queues.len(), 1);
        assert_eq!(Sight::of(&Claim::new("q", "w")).kinds, None);
    }

    #[test]
    fn y_of_many_kinds_the_first_are_kept_and_the_rest_may_be_any() {
        let kinds = |n: usize| (0..n).map(|n| format!("k{n:0>4}"));
        let sight = |n: usize| Sight::of(&Claim::new("q", "w").kinds(kinds(n))).kinds;
        assert_eq!(sight(1_000), Some(kinds(KINDS_KEPT).collect()));
        assert!(takes(sight(KINDS_KEPT).as_deref(), "other"));
        assert!(!takes(sight(KINDS_KEPT - 1).as_deref(), "other"));
        assert!(takes(sight(KINDS_KEPT - 1).as_deref(), "k0000"));
        assert!(takes(None, "other"));
    }

    #[test]
    fn y_others_are_told_only_where_nobody_takes_the_job() {
        let row = |owner: &str, takes: bool| (owner.to_owned(), takes, vec!["x".to_owned()]);
        let watch = Watch::of([row("b", false), row("a", true), row("a", false)], None);
        assert_eq!((watch.takers.as_slice(), watch.others.len()), (&["a".to_owned()][..], 0));
        let watch = Watch::of([row("b", false), row("a", false)], None);
        assert_eq!(watch.others.iter().map(|(owner, _)| owner.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }
}
