// SPDX-License-Identifier: MIT OR Apache-2.0

//! Interests of neighbours that are kept, and the groups of those that want one declaration for all that matches.

use std::sync::Arc;

use zonda_codec::{InterestMode, InterestOptions};

use crate::table::{
    kind::{Kind, kinds},
    search::{Listing, Search},
};

/// A kept interest, from the table's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct InterestRef {
    pub(super) slot: u32,
    /// The neighbour's id for it.
    pub(super) id: u32,
}

/// A kept interest.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) options: InterestOptions,
    pub(super) key: Option<Arc<str>>,
    /// One declaration on its own key stands for all.
    pub(super) aggregate: bool,
    /// Its D_FINAL waits for the gateways'.
    pub(super) unanswered: bool,
    /// Its D_FINAL waits for the rest of this node's own answer.
    pub(super) answering: bool,
    /// It is about changes only: what it covers may exist without having been declared.
    pub(super) future_only: bool,
    /// Its number among all that are kept.
    pub(super) place: u32,
}

impl Kept {
    /// The key of the one declaration that stands for all of `kind`, if this interest asks for that.
    pub(super) fn group_key(&self, kind: Kind) -> Option<&Arc<str>> {
        self.key
            .as_ref()
            .filter(|_| self.aggregate && kind != Kind::Token)
    }

    /// The groups it is a member of.
    pub(super) fn groups(&self) -> impl Iterator<Item = GroupKey> {
        kinds(self.options).filter_map(|kind| {
            let key = self.group_key(kind)?.clone();
            Some(GroupKey { kind, key })
        })
    }
}

/// What the aggregate interests of a group have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct GroupKey {
    pub(super) kind: Kind,
    pub(super) key: Arc<str>,
}

/// All aggregate interests of a face in one kind on one key.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// How many there are.
    pub(super) members: usize,
    /// The id under which the face knows that something matches.
    pub(super) announced: Option<u32>,
    /// The face knows that a queryable is complete for the whole key.
    pub(super) announced_complete: bool,
    /// An entity that matches.
    pub(super) member: Example,
    /// A queryable that is complete for the whole key.
    pub(super) complete: Example,
}

impl Group {
    pub(super) fn example(&mut self, sought: Sought) -> &mut Example {
        match sought {
            Sought::Member => &mut self.member,
            Sought::Complete => &mut self.complete,
        }
    }
}

/// An entity that the face of a group may know of, while there is one: as long as it stays, no others are looked at.
#[derive(Debug, Default)]
pub(super) struct Example {
    pub(super) entity: Option<u32>,
    /// This one is gone, and another one is being looked for.
    pub(super) is_looking: bool,
}

/// What an entity is an example of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sought {
    Member,
    Complete,
}

/// The search for another example of a group.
#[derive(Debug)]
pub(super) struct Seeking {
    pub(super) slot: u32,
    pub(super) group: GroupKey,
    pub(super) sought: Sought,
    pub(super) search: Search,
}

/// An interest whose key is resolved.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) id: u32,
    pub(super) mode: InterestMode,
    pub(super) options: InterestOptions,
    pub(super) key: Option<Arc<str>>,
}

/// The answer to an interest that is under way.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) asking: Asking,
    /// What is left of [`Kind::ALL`], the kind under way first.
    pub(super) kinds: &'static [Kind],
    /// What is left of that kind; `None` before it is begun.
    pub(super) rest: Option<Rest>,
}

#[derive(Debug)]
pub(super) enum Rest {
    /// Each that matches.
    Each(Listing),
    /// One declaration for all that match this key.
    Group(Arc<str>, Search),
}
