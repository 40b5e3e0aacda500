// SPDX-License-Identifier: MIT OR Apache-2.0

//! Nodes that are connected or about to be, and the number of incoming connections from each
//! address.

use std::collections::HashMap;

use zonda_codec::ZenohId;
use zonda_transport::link::AddressGroup;

use crate::table::{FaceId, scouting::Link};

/// Place of one neighbour.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Face of the neighbour; `None` while it is admitted and about to be connected.
    face: Option<FaceId>,
    /// Address group it connected from; `None` if this node opened the connection.
    group: Option<AddressGroup>,
}

/// Neighbours by id.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    places: HashMap<ZenohId, Place>,
    /// Number of incoming connections from each address group.
    groups: HashMap<AddressGroup, usize>,
}

impl Neighbours {
    /// Returns the state of a node: unknown, about to be connected (`Some(None)`), or its face.
    pub(crate) fn get(&self, zid: &ZenohId) -> Option<Option<FaceId>> {
        self.places.get(zid).map(|place| place.face)
    }

    /// Returns the face of a node that is connected.
    pub(crate) fn face(&self, zid: &ZenohId) -> Option<FaceId> {
        self.get(zid).flatten()
    }

    /// Returns the address group that a node connected from, if it opened the connection.
    pub(crate) fn group(&self, zid: &ZenohId) -> Option<AddressGroup> {
        self.places.get(zid)?.group
    }

    /// Returns the state of the link to a node.
    pub(crate) fn link_to(&self, zid: &ZenohId) -> Link {
        match self.get(zid) {
            Some(Some(_)) => Link::Up,
            Some(None) => Link::Coming,
            None => Link::None,
        }
    }

    pub(crate) fn contains(&self, zid: &ZenohId) -> bool {
        self.places.contains_key(zid)
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the number of neighbours that connected from this address group.
    pub(crate) fn count_of(&self, group: AddressGroup) -> usize {
        self.groups.get(&group).copied().unwrap_or(0)
    }

    /// Returns the largest number of neighbours that connected from one address group.
    pub(crate) fn largest(&self) -> usize {
        self.groups.values().copied().max().unwrap_or(0)
    }

    /// Reserves a place for a node that is about to be connected. An older connection of that node
    /// loses its place.
    pub(crate) fn reserve(&mut self, zid: ZenohId, group: Option<AddressGroup>) {
        self.remove(&zid);
        if let Some(group) = group {
            *self.groups.entry(group).or_default() += 1;
        }
        self.places.insert(zid, Place { face: None, group });
    }

    /// Notes that the node whose place was reserved is connected.
    pub(crate) fn settle(&mut self, zid: ZenohId, face: FaceId) {
        let fresh = Place {
            face: None,
            group: None,
        };
        self.places.entry(zid).or_insert(fresh).face = Some(face);
    }

    pub(crate) fn remove(&mut self, zid: &ZenohId) {
        let group = self.places.remove(zid).and_then(|place| place.group);
        if let Some(group) = group
            && let Some(count) = self.groups.get_mut(&group)
        {
            *count -= 1;
            if *count == 0 {
                self.groups.remove(&group);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_address_has_is_counted() {
        let mut neighbours = Neighbours::default();
        let group = AddressGroup::of([127, 0, 0, 1].into());
        let other = AddressGroup::of([127, 0, 0, 2].into());
        let zid = |number| ZenohId::random_from(number);
        for number in 1..=3 {
            neighbours.reserve(zid(number), Some(group));
        }
        neighbours.reserve(zid(4), None);
        assert_eq!((neighbours.len(), neighbours.count_of(group)), (4, 3));
        assert_eq!(neighbours.get(&zid(1)), Some(None));
        // a node that connects again from elsewhere is counted there
        neighbours.reserve(zid(3), Some(other));
        assert_eq!((neighbours.len(), neighbours.count_of(group)), (4, 2));
        assert_eq!(neighbours.largest(), 2);
        for number in 1..=4 {
            neighbours.remove(&zid(number));
            neighbours.remove(&zid(number));
        }
        assert!(neighbours.is_empty() && neighbours.groups.is_empty());
    }
}
