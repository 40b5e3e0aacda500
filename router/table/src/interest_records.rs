// SPDX-License-Identifier: MIT OR Apache-2.0

//! Kept interests of neighbours, and groups of aggregate interests.

use std::sync::Arc;

use zonda_codec::{InterestMode, InterestOptions};

use crate::{
    kind::{Kind, kinds},
    search::{Listing, Search},
};

/// Reference to a kept interest, from the table's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct InterestRef {
    pub(super) slot: u32,
    /// The neighbour's id of the interest.
    pub(super) id: u32,
}

/// A kept interest.
#[derive(Debug)]
pub(super) struct InterestRecord {
    pub(super) options: InterestOptions,
    pub(super) key: Option<Arc<str>>,
    /// True if one declaration on its own key stands for all entities that match.
    pub(super) aggregate: bool,
    /// True while its D_FINAL waits for the gateways'.
    pub(super) unanswered: bool,
    /// True while its D_FINAL waits for the rest of this node's own answer.
    pub(super) answering: bool,
    /// True if it is about changes only: entities that it covers may exist without a declaration to
    /// the face.
    pub(super) future_only: bool,
    /// Its number among all kept interests.
    pub(super) place: u32,
}

impl InterestRecord {
    /// Returns the key of the one declaration that stands for all entities of `kind`, if this
    /// interest is aggregate.
    pub(super) fn group_key(&self, kind: Kind) -> Option<&Arc<str>> {
        self.key
            .as_ref()
            .filter(|_| self.aggregate && kind != Kind::Token)
    }

    /// Returns the groups that it is a member of.
    pub(super) fn groups(&self) -> impl Iterator<Item = GroupKey> {
        kinds(self.options).filter_map(|kind| {
            let key = self.group_key(kind)?.clone();
            Some(GroupKey { kind, key })
        })
    }
}

/// Key and kind of a group of aggregate interests.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct GroupKey {
    pub(super) kind: Kind,
    pub(super) key: Arc<str>,
}

/// All aggregate interests of a face in one kind on one key.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Number of members.
    pub(super) members: usize,
    /// Id of the group's declaration to the face.
    pub(super) announced: Option<u32>,
    /// True if the declaration promised a queryable that is complete for the whole key.
    pub(super) announced_complete: bool,
    /// An entity that matches.
    pub(super) member: Example,
    /// A queryable that is complete for the whole key.
    pub(super) complete: Example,
}

impl Group {
    pub(super) fn example(&mut self, sought: ExampleProperty) -> &mut Example {
        match sought {
            ExampleProperty::Member => &mut self.member,
            ExampleProperty::Complete => &mut self.complete,
        }
    }
}

/// Entity that stands for a group: one that the group's face may see. As long as it stays, no
/// search is needed.
#[derive(Debug, Default)]
pub(super) struct Example {
    pub(super) entity: Option<u32>,
    /// True while a search for a successor of the entity, which is gone, is under way.
    pub(super) is_looking: bool,
}

/// Property of the entity that an example shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExampleProperty {
    Member,
    Complete,
}

/// Search for another example of a group.
#[derive(Debug)]
pub(super) struct ExampleSearch {
    pub(super) slot: u32,
    pub(super) group: GroupKey,
    pub(super) sought: ExampleProperty,
    pub(super) search: Search,
}

/// An interest with its key resolved.
#[derive(Debug)]
pub(super) struct ResolvedInterest {
    pub(super) id: u32,
    pub(super) mode: InterestMode,
    pub(super) options: InterestOptions,
    pub(super) key: Option<Arc<str>>,
}

/// Answer to an interest that is under way.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) asking: ResolvedInterest,
    /// Kinds that are left of [`Kind::ALL`], the kind under way first.
    pub(super) kinds: &'static [Kind],
    /// Rest of that kind; `None` before it is begun.
    pub(super) rest: Option<Rest>,
}

#[derive(Debug)]
pub(super) enum Rest {
    /// One declaration for each entity that matches.
    Each(Listing),
    /// One declaration for all entities that match this key.
    Group(Arc<str>, Search),
}
