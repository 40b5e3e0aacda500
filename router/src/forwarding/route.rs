// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where a message goes: one hop per neighbour, each with the shortest spelling of the key for it.

use std::cell::LazyCell;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use zonda_codec::{KeyExpr, Mapping, WireExpr};

use super::face::Face;
use super::policy::Relation;
use super::table::ForwardingTable;
use super::{Counterpart, FaceId, FaceKind, Kind};

/// Everybody a message on one key from one source goes to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Route {
    /// One per neighbour, ordered by face; never the source.
    pub hops: Vec<Hop>,
    /// The local subscribers, each by its id.
    pub local: Vec<u32>,
}

/// One neighbour a message goes to, and how to write the key for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// The neighbour.
    pub face: FaceId,
    /// A declared key expression id, or 0.
    pub scope: u16,
    /// Whose id the scope is.
    pub mapping: Mapping,
    /// Text behind the scope.
    pub suffix: Suffix,
}

/// The end of a key. All hops of a route share its text.
#[derive(Clone, Default)]
pub struct Suffix {
    key: Arc<str>,
    skip: usize,
}

impl Deref for Suffix {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.key.get(self.skip..).unwrap_or("")
    }
}

impl PartialEq for Suffix {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Suffix {}

impl fmt::Debug for Suffix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl Hop {
    /// The key as it is written to this neighbour.
    pub fn wire_expr(&self) -> WireExpr<'_> {
        WireExpr {
            scope: self.scope,
            suffix: &self.suffix,
            mapping: self.mapping,
        }
    }
}

impl ForwardingTable {
    /// Where a push on `key` from `from` goes. `publisher` is the id of the declared publisher it comes
    /// from, if it comes from a local one.
    ///
    /// Data goes to a gateway unless the gateway answered the publisher's interest and knows no subscriber
    /// (write filtering), and to another peer unless that peer told all it has and no subscriber matched.
    /// The answer holds as long as [`generation`](Self::generation) does.
    pub fn route(&self, from: FaceId, key: &KeyExpr<'_>, publisher: Option<u32>) -> Route {
        let mut route = Route::default();
        let Some(source) = self.face(from) else {
            return route;
        };
        if !source.relation.conduct().open {
            return route;
        }
        let is_own = source.info.kind == FaceKind::Local;
        self.local_subscribers.matches(key.as_str(), &mut |id| {
            if !is_own || self.reserved.is_for_session(id) {
                route.local.push(id);
            }
        });
        if is_own {
            let mut add = |id, _| route.local.push(id);
            self.reserved
                .private(Kind::Subscriber, key.as_str(), &mut add);
        }
        route.local.sort_unstable();
        let (whole, nothing) = (LazyCell::new(|| Arc::from(key.as_str())), Arc::default());
        for slot in self.destinations(source, key.as_str(), publisher) {
            if let Some(face) = self.faces.get(slot) {
                let spelling = face.ids.spell(key.as_str());
                route.hops.push(Hop {
                    face: face.id,
                    scope: spelling.scope,
                    mapping: spelling.mapping,
                    suffix: Suffix {
                        key: match spelling.skip < key.as_str().len() {
                            true => Arc::clone(&whole),
                            false => Arc::clone(&nothing),
                        },
                        skip: spelling.skip,
                    },
                });
            }
        }
        route
    }

    /// Whether any subscriber, local or remote, is known that a push on `key` from `from` would reach.
    /// Unlike [`route`](Self::route) it counts only subscribers that were declared.
    pub fn has_matching_subscribers(
        &self,
        from: FaceId,
        key: &KeyExpr<'_>,
        _publisher: Option<u32>,
    ) -> bool {
        self.has_counterpart(from, key.as_str(), Counterpart::Subscribers)
    }

    /// The remote faces that get a message, ordered, each once.
    fn destinations(&self, source: &Face, key: &str, publisher: Option<u32>) -> Vec<u32> {
        let entities = self.entities(Kind::Subscriber);
        let mut slots = Vec::new();
        entities.tree.matches(key, &mut |entity| {
            slots.extend(entities.sources(entity).iter().map(|source| source.slot));
        });
        for &slot in &self.north {
            if let Some(face) = self.faces.get(slot)
                && self.sends_unfiltered(source, face, key, publisher)
            {
                slots.push(slot);
            }
        }
        slots.sort_unstable();
        slots.dedup();
        slots.retain(|&slot| {
            self.faces.get(slot).is_some_and(|face| {
                face.info.kind == FaceKind::Remote && self.reaches(source, face)
            })
        });
        slots
    }

    /// Whether messages from `source` may go to `face` at all.
    pub(super) fn reaches(&self, source: &Face, face: &Face) -> bool {
        let relayed = source.relation == Relation::Served && face.relation == Relation::Served;
        source.relation.flows_to(face.relation)
            && (source.id != face.id || face.info.kind == FaceKind::Local)
            && !(relayed && source.is_linked_to(face))
    }

    /// Whether `face` gets data because it did not yet say (enough of) what it has.
    fn sends_unfiltered(
        &self,
        source: &Face,
        face: &Face,
        key: &str,
        publisher: Option<u32>,
    ) -> bool {
        match face.relation {
            Relation::PeerToPeer => !face.final_zero,
            Relation::Upstream => {
                !self.upstream_knows(source, face, (Kind::Subscriber, key), publisher)
            }
            _ => false,
        }
    }
}
