//! Sets of offsets, kept as ranges: what is contiguous costs as much as one.
//!
//! Always true: ranges neither overlap nor touch; a question costs the logarithm of the number of ranges, whatever the
//! number of offsets (D6).

use std::collections::BTreeMap;

/// A set of offsets.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    /// The range that grew last, from and to: most offsets end in order, and never look further.
    hot: Option<(u64, u64)>,
    /// The others, by where they begin.
    rest: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Whether the set holds `offset`.
    #[must_use]
    pub fn contains(&self, offset: u64) -> bool {
        self.hot.is_some_and(|(from, to)| (from..=to).contains(&offset))
            || self.rest.range(..=offset).next_back().is_some_and(|(_, to)| *to >= offset)
    }

    /// Puts `offset` into the set.
    pub fn insert(&mut self, offset: u64) {
        if let Some((_, to)) = &mut self.hot
            && *to + 1 == offset
        {
            // No other range holds it or ends before it, for that one would touch this; one may begin after it.
            *to = self.rest.remove(&(offset + 1)).unwrap_or(offset);
            return;
        }
        if self.contains(offset) {
            return;
        }
        if let Some((from, to)) = self.hot.take() {
            self.rest.insert(from, to);
        }
        let below = self.rest.range(..offset).next_back().map(|(from, to)| (*from, *to));
        let from = match below {
            Some((from, to)) if to + 1 == offset => {
                self.rest.remove(&from);
                from
            }
            _ => offset,
        };
        // Offsets end below 2^63: one more is still a number.
        let to = self.rest.remove(&(offset + 1)).unwrap_or(offset);
        self.hot = Some((from, to));
    }

    /// How many ranges it takes to say what the set holds.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rest.len() + usize::from(self.hot.is_some())
    }

    /// How many offsets the set holds.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.all().iter().map(|(from, to)| to - from + 1).sum()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hot.is_none()
    }

    /// The ranges, in order: from and to, both inside.
    #[must_use]
    pub fn all(&self) -> Vec<(u64, u64)> {
        let mut all: Vec<(u64, u64)> = self.rest.iter().map(|(from, to)| (*from, *to)).chain(self.hot).collect();
        all.sort_unstable();
        all
    }
}

impl PartialEq for Ranges {
    /// The same offsets, whichever range grew last.
    fn eq(&self, other: &Ranges) -> bool {
        self.all() == other.all()
    }
}

impl Eq for Ranges {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn d6_ten_million_contiguous_offsets_are_one_range() {
        let mut ranges = Ranges::default();
        (0..10_000_000).for_each(|offset| ranges.insert(offset));
        assert_eq!((ranges.all(), ranges.len()), (vec![(0, 9_999_999)], 10_000_000));
        assert!(ranges.contains(0) && ranges.contains(9_999_999) && !ranges.contains(10_000_000));
    }

    #[test]
    fn the_last_offset_there_is_fits() {
        let mut ranges = Ranges::default();
        let last = i64::MAX as u64;
        [last, last - 2, last - 1].into_iter().for_each(|offset| ranges.insert(offset));
        assert_eq!(ranges.all(), [(last - 2, last)]);
    }

    #[test]
    fn ranges_hold_what_a_plain_set_holds() {
        let mut draw = 1_u64;
        for _ in 0..200 {
            let (mut ranges, mut plain) = (Ranges::default(), BTreeSet::new());
            for _ in 0..300 {
                draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let offset = (draw >> 40) % 160;
                ranges.insert(offset);
                plain.insert(offset);
            }
            (0..170).for_each(|offset| assert_eq!(ranges.contains(offset), plain.contains(&offset), "{offset}"));
            assert_eq!(ranges.len(), plain.len() as u64);
            let all = ranges.all();
            assert!(all.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0), "ranges touch: {all:?}");
        }
    }
}
