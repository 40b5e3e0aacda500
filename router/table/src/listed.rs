// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lists of declarations with the nodes that made them, for the admin space: copied in parts, so
//! that the caller can release the table's lock in between.

use std::sync::Arc;

use zonda_codec::{InterestOptions, WhatAmI, ZenohId};

use crate::{
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
    /// Returns the number of keys on which entities of a kind are declared, of this node's own
    /// sessions and of all others.
    pub fn count_entities(&self, kind: Kind) -> usize {
        self.entities(kind).len()
    }

    /// Returns entities of a kind from number `from` on, after at most `most` numbers. An entity
    /// that exists all the time is in one part.
    pub fn list_entities(&self, kind: Kind, from: u32, most: u32) -> ListedPart<u32> {
        let entities = self.entities(kind);
        let end = entities.places();
        let next = from.saturating_add(most);
        let mut rows = Vec::new();
        for entity in from..next.min(end) {
            if let Some(key) = entities.key(entity) {
                let by = self.declarers(kind, entity);
                rows.push(Listed { key, by });
            }
        }
        ListedPart {
            rows,
            next: (next < end).then_some(next),
        }
    }

    /// Returns the entity of a kind on exactly this key, if there is one.
    pub fn list_entity(&self, kind: Kind, key: &str) -> Option<Listed> {
        let entity = self.entities(kind).on(key)?;
        Some(Listed {
            key: key.to_owned(),
            by: self.declarers(kind, entity),
        })
    }

    /// Returns the keys on which nodes have publishers (senders to subscribers) or queriers
    /// (senders to queryables), as far as this node knows: its own sessions', and those of
    /// neighbours that have an interest in the other side. At most `most` places are visited.
    pub fn list_senders(
        &self,
        kind: Kind,
        from: &SenderPlace,
        most: u32,
    ) -> ListedPart<SenderPlace> {
        match from {
            SenderPlace::Interest(from) => self.list_interests(kind, *from, most),
            SenderPlace::Own(after) => self.list_own_senders(kind, after.as_ref(), most),
        }
    }

    fn list_interests(&self, kind: Kind, from: u32, most: u32) -> ListedPart<SenderPlace> {
        let end = self.interests.places();
        let next = from.saturating_add(most);
        let mut rows = Vec::new();
        for place in from..next.min(end) {
            // Of several interests on a key, the first one stands for all.
            let Some((interest, key)) = self.sender_at(kind, place) else {
                continue;
            };
            let mut same = self.interests.on(key).iter().copied();
            if same.find(|other| self.is_sender(kind, *other)) == Some(interest) {
                rows.push(self.listed_sender(kind, key));
            }
        }
        ListedPart {
            rows,
            next: Some(match next < end {
                true => SenderPlace::Interest(next),
                false => SenderPlace::Own(None),
            }),
        }
    }

    fn list_own_senders(
        &self,
        kind: Kind,
        after: Option<&Arc<str>>,
        most: u32,
    ) -> ListedPart<SenderPlace> {
        // Keys that a neighbour has, too, were in the first half of the list.
        let mut keys = self.senders.keys(kind, after);
        let part: Vec<_> = keys.by_ref().take(most as usize).collect();
        let next = keys.next().and(part.last());
        let next = next.map(|key| SenderPlace::Own(Some(Arc::clone(key))));
        let is_new = |key: &&Arc<str>| {
            let mut same = self.interests.on(key).iter();
            !same.any(|other| self.is_sender(kind, *other))
        };
        let new = part.into_iter().filter(is_new);
        let rows = new.map(|key| self.listed_sender(kind, key)).collect();
        ListedPart { rows, next }
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
            if source.south {
                by.insert(self.topology.role(), self.topology.zid());
            }
            if let Some(face) = self.topology.at(source.slot) {
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
