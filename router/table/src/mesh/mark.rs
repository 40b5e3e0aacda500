// SPDX-License-Identifier: MIT OR Apache-2.0

//! Marks of trees: a hash of the links that they are computed from. All routers give the same trees
//! the same mark, and a router finds trees that it has not had itself by their mark, among those
//! over some of the links that have changed lately.

use std::collections::BTreeSet;

use zonda_codec::ZenohId;

/// Mark of messages without a mark, and of the trees of a mesh in which a router does not know marks.
pub(super) const UNMARKED: u16 = 0;

/// Largest number of changed links of which some are tried.
const CHANGED_MAX: usize = 6;

/// A link between two routers, as marks count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MarkedLink {
    ends: [ZenohId; 2],
    /// Bits of the weight.
    weight: u64,
}

impl MarkedLink {
    /// Creates a link, whichever end is named first.
    pub(super) fn new(mut ends: [ZenohId; 2], weight: f64) -> Option<Self> {
        ends.sort_unstable();
        let weight = weight.to_bits();
        (ends[0] != ends[1]).then_some(MarkedLink { ends, weight })
    }

    pub(super) const fn ends(&self) -> [ZenohId; 2] {
        self.ends
    }

    pub(super) const fn weight(&self) -> f64 {
        f64::from_bits(self.weight)
    }
}

/// Sum of the hashes of links, in whatever order they are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mark(u64);

impl Mark {
    /// Adds a link. Its weight depends on the ids of both its ends, so that it stands for the link.
    pub(super) const fn add(&mut self, weight: f64) {
        // The finish of SplitMix64, as the weights of different links differ in few bits.
        let mut bits = weight.to_bits();
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = self.0.wrapping_add(bits ^ (bits >> 31));
    }

    /// Returns the mark of the trees over the links, which is never [`UNMARKED`].
    pub(super) fn folded(self) -> u16 {
        let folded = self.0 ^ (self.0 >> 32);
        let low = (folded ^ (folded >> 16)) & 0xffff;
        u16::try_from(low).unwrap_or(UNMARKED).max(1)
    }
}

/// Returns the links that a mark stands for: those that all of `known` have, and some of those that
/// only some of them have. `None` if there are none, or if too many links differ.
pub(super) fn links_of(mark: u16, known: &[&BTreeSet<MarkedLink>]) -> Option<BTreeSet<MarkedLink>> {
    let (first, rest) = known.split_first()?;
    let is_common = |link: &&MarkedLink| rest.iter().all(|links| links.contains(link));
    let common: BTreeSet<MarkedLink> = first.iter().filter(is_common).copied().collect();
    let all = known.iter().flat_map(|links| links.iter());
    let changed: BTreeSet<MarkedLink> = all.filter(|l| !common.contains(l)).copied().collect();
    if common.is_empty() || changed.len() > CHANGED_MAX {
        return None;
    }
    let mut sum = Mark::default();
    common.iter().for_each(|link| sum.add(link.weight()));
    // Try each choice of the changed links, one bit for each of them.
    (0..1_u32 << changed.len()).find_map(|choice| {
        let chosen = changed.iter().zip(0..);
        let chosen = chosen.filter(|(_, bit)| choice >> bit & 1 == 1);
        let chosen = chosen.map(|(link, _)| *link);
        let mut sum = sum;
        chosen.clone().for_each(|link| sum.add(link.weight()));
        (sum.folded() == mark).then(|| common.iter().copied().chain(chosen).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(one: u128, other: u128) -> MarkedLink {
        let ends = [one, other].map(ZenohId::random_from);
        let weight = 100.0 + (one * 100 + other) as f64 / 1e6;
        MarkedLink::new(ends, weight).expect("two ends")
    }

    fn mark(links: &BTreeSet<MarkedLink>) -> u16 {
        let mut sum = Mark::default();
        links.iter().for_each(|link| sum.add(link.weight()));
        sum.folded()
    }

    #[test]
    fn links_are_found_that_no_known_trees_have() {
        let base = || (1..6).map(|one| link(one, one + 1));
        let before: BTreeSet<_> = base().collect();
        // One link is lost and two come up; another router has heard of the second only.
        let now = base().skip(1).chain([link(1, 4), link(2, 5)]).collect();
        let other: BTreeSet<_> = base().chain([link(2, 5)]).collect();
        let found = links_of(mark(&other), &[&before, &now]);
        assert_eq!(found, Some(other));
        assert_eq!(links_of(mark(&now), &[&before, &now]), Some(now.clone()));
        let foreign: BTreeSet<_> = base().chain([link(7, 8)]).collect();
        assert_eq!(links_of(mark(&foreign), &[&before, &now]), None);
    }

    #[test]
    fn too_many_changes_are_not_tried() {
        let before = BTreeSet::from([link(1, 2)]);
        let many: BTreeSet<_> = (2..10)
            .map(|one| link(one, one + 1))
            .chain(before.clone())
            .collect();
        assert_eq!(links_of(mark(&many), &[&before, &many]), None);
    }
}
