// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lists of declarations with the nodes that made them, for the admin space: copied in parts, so
//! that the caller can release the table's lock in between.

use std::{ops::Range, sync::Arc};

use zonda_codec::{InterestOptions, WhatAmI, ZenohId};

use crate::{
    face_id::FaceKind,
    forwarding::ForwardingTable,
    interest_records::{InterestRecord, InterestRef},
    kind::Kind,
};

/// Nodes that have declared something on one key, by role, each in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declarers {
    /// The routers: this node too, if it is one and its own side has declared it.
    pub routers: Vec<ZenohId>,
    /// The peers.
    pub peers: Vec<ZenohId>,
    /// The clients.
    pub clients: Vec<ZenohId>,
}

impl Declarers {
    /// Inserts a node, once.
    fn insert(&mut self, role: WhatAmI, zid: ZenohId) {
        let list = match role {
            WhatAmI::Router => &mut self.routers,
            WhatAmI::Peer => &mut self.peers,
            WhatAmI::Client => &mut self.clients,
        };
        if let Err(at) = list.binary_search(&zid) {
            list.insert(at, zid);
        }
    }
}

/// One key on which something is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The key.
    pub key: String,
    /// The nodes that declared it.
    pub by: Declarers,
}

/// Part of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedPart<P> {
    /// The rows.
    pub rows: Vec<Listed>,
    /// The place at which the next part begins; `None` at the end of the list.
    pub next: Option<P>,
}

/// Place in the list of publishers or queriers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderPlace {
    /// At the neighbours' interest of this number.
    Interest(u32),
    /// At the session's senders behind this key.
    Own(Option<Arc<str>>),
}

impl SenderPlace {
    /// The first place.
    pub const FIRST: SenderPlace = SenderPlace::Interest(0);
}

impl ForwardingTable {
    /// Returns entities of a kind from number `from` on. The part ends after about `steps` entities
    /// and nodes that declared them. An entity that exists all the time is in one part.
    pub fn list_entities(&self, kind: Kind, from: u32, steps: usize) -> ListedPart<u32> {
        let entities = self.entities(kind);
        let mut slice = Slice::new(from..entities.places(), steps);
        let mut rows = Vec::new();
        while let Some(entity) = slice.next() {
            if let Some(key) = entities.key(entity) {
                slice.spend(entities.sources(entity).len());
                let by = self.declarers(kind, entity);
                if by != Declarers::default() {
                    rows.push(Listed { key, by });
                }
            }
        }
        ListedPart {
            rows,
            next: slice.rest(),
        }
    }

    /// Returns the keys on which nodes have publishers (senders to subscribers) or queriers
    /// (senders to queryables), as far as this node knows: its own sessions', and those of
    /// neighbours that have an interest in the other side. The part ends after about `steps`
    /// interests and senders.
    pub fn list_senders(
        &self,
        kind: Kind,
        from: &SenderPlace,
        steps: usize,
    ) -> ListedPart<SenderPlace> {
        match from {
            SenderPlace::Interest(from) => self.list_interests(kind, *from, steps),
            SenderPlace::Own(after) => self.list_own_senders(kind, after.as_ref(), steps),
        }
    }

    fn list_interests(&self, kind: Kind, from: u32, steps: usize) -> ListedPart<SenderPlace> {
        let mut slice = Slice::new(from..self.interests.places(), steps);
        let mut rows = Vec::new();
        while let Some(place) = slice.next() {
            let Some((interest, key)) = self.sender_at(kind, place) else {
                continue;
            };
            // Of several interests on a key, the first one stands for all.
            let same = self.interests.on(key);
            let first = same.iter().position(|other| self.is_sender(kind, *other));
            slice.spend(first.unwrap_or(0));
            if first.and_then(|first| same.get(first)) == Some(&interest) {
                slice.spend(same.len());
                rows.push(self.listed_sender(kind, key));
            }
        }
        let next = slice.rest().map(SenderPlace::Interest);
        ListedPart {
            rows,
            next: Some(next.unwrap_or(SenderPlace::Own(None))),
        }
    }

    fn list_own_senders(
        &self,
        kind: Kind,
        after: Option<&Arc<str>>,
        mut steps: usize,
    ) -> ListedPart<SenderPlace> {
        let (mut rows, mut last) = (Vec::new(), None);
        for key in self.senders.keys(kind, after) {
            if steps == 0 {
                let next = last.map(|key| SenderPlace::Own(Some(key)));
                return ListedPart { rows, next };
            }
            // Keys that a neighbour has, too, were in the first half of the list.
            let same = self.interests.on(key);
            if !same.iter().any(|other| self.is_sender(kind, *other)) {
                rows.push(self.listed_sender(kind, key));
            }
            steps = steps.saturating_sub(1 + same.len());
            last = Some(Arc::clone(key));
        }
        ListedPart { rows, next: None }
    }

    /// Returns the interest of a number and its key, if it is one of a sender.
    fn sender_at(&self, kind: Kind, place: u32) -> Option<(InterestRef, &Arc<str>)> {
        let interest = self.interests.at(place)?;
        let record = self.interests.get(interest)?;
        let key = record.key.as_ref()?;
        is_of_sender(record, kind).then_some((interest, key))
    }

    fn is_sender(&self, kind: Kind, interest: InterestRef) -> bool {
        let record = self.interests.get(interest);
        record.is_some_and(|record| is_of_sender(record, kind))
    }

    fn listed_sender(&self, kind: Kind, key: &Arc<str>) -> Listed {
        let mut by = Declarers::default();
        let all = self.interests.on(key).iter();
        for interest in all.filter(|interest| self.is_sender(kind, **interest)) {
            if let Some(face) = self.topology.at(interest.slot) {
                by.insert(face.info.whatami, face.info.zid);
            }
        }
        if self.senders.has(kind, key) {
            by.insert(self.topology.role(), self.topology.zid());
        }
        Listed {
            key: key.to_string(),
            by,
        }
    }

    /// Returns the nodes that declared an entity: this one, too, if its own side did.
    fn declarers(&self, kind: Kind, entity: u32) -> Declarers {
        let mut by = Declarers::default();
        for source in self.entities(kind).sources(entity) {
            let face = self.topology.at(source.slot);
            // A multicast group is no node: the table sends it everything, without a declaration.
            if face.is_some_and(|face| face.info.kind == FaceKind::Group) {
                continue;
            }
            if source.south {
                by.insert(self.topology.role(), self.topology.zid());
            }
            if let Some(face) = face {
                by.insert(face.info.whatami, face.info.zid);
            }
        }
        by
    }
}

/// Returns true for an interest that a node has because it sends to entities of `kind`. One in
/// tokens is that of a listener.
fn is_of_sender(record: &InterestRecord, kind: Kind) -> bool {
    let options = record.options;
    options.contains(kind.option())
        && (kind == Kind::Queryable || !options.contains(InterestOptions::TOKENS))
}

/// Numbers that a part of a list visits, until its steps are used up.
struct Slice {
    left: Range<u32>,
    steps: usize,
}

impl Slice {
    fn new(left: Range<u32>, steps: usize) -> Slice {
        Slice { left, steps }
    }

    /// Returns the next number, for one step.
    fn next(&mut self) -> Option<u32> {
        self.steps = self.steps.checked_sub(1)?;
        self.left.next()
    }

    /// Subtracts the steps of a visited number.
    fn spend(&mut self, steps: usize) {
        self.steps = self.steps.saturating_sub(steps);
    }

    /// Returns the number at which the next part begins, if there is one.
    fn rest(mut self) -> Option<u32> {
        self.left.next()
    }
}
