// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whom a question goes to.

use std::collections::BTreeMap;

use zonda_codec::{KeyExpr, Target, key_expr::includes};

use super::{Ask, distance};
use crate::forwarding::entity::Kind;
use crate::forwarding::face::Face;
use crate::forwarding::policy::Relation;
use crate::forwarding::table::ForwardingTable;
use crate::forwarding::{FaceId, FaceKind};

/// A face that may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) slot: u32,
    /// How far its nearest complete queryable is whose key includes the question's.
    complete_at: Option<u32>,
    /// It declared a queryable that matches, rather than not having said (enough of) what it has.
    pub(super) is_known: bool,
    /// It is a gateway that may know somebody.
    pub(super) is_gateway: bool,
}

impl ForwardingTable {
    /// Whether any queryable, local or remote, is known that a question for `target` on `key` from `from` would reach.
    /// Unlike [`handle_question`](Self::handle_question) it counts only those that were declared.
    pub fn has_matching_queryables(&self, from: FaceId, key: &KeyExpr<'_>, target: Target) -> bool {
        let complete_only = target == Target::AllComplete;
        self.face(from).is_some_and(|source| {
            let known = self.known_queryables(source, key.as_str(), target);
            known
                .values()
                .any(|found| !complete_only || found.complete_at.is_some())
        })
    }

    /// The faces that a question from `from` goes to, ordered, each once.
    pub(super) fn destinations_of_question(&self, from: FaceId, ask: &Ask<'_>) -> Vec<Destination> {
        let Some(source) = self.face(from) else {
            return Vec::new();
        };
        let (key, target) = (ask.key.as_str(), ask.target);
        let mut found = self.known_queryables(source, key, target);
        if target == Target::BestMatching
            && let Some(nearest) = nearest_complete(&found)
        {
            return vec![nearest];
        }
        if target == Target::AllComplete {
            found.retain(|_, destination| destination.complete_at.is_some());
        }
        for &slot in &self.north {
            if let Some(face) = self.faces.get(slot)
                && self.reaches(source, face)
                && self.is_asked_unfiltered(source, face, key, ask.querier)
            {
                found.entry(slot).or_insert(Destination {
                    slot,
                    complete_at: None,
                    is_known: false,
                    is_gateway: face.relation == Relation::Upstream,
                });
            }
        }
        found.into_values().collect()
    }

    /// The session's queryables on keys that intersect `key`.
    pub(super) fn own_queryables(
        &self,
        face: FaceId,
        key: &KeyExpr<'_>,
        complete_only: bool,
    ) -> Vec<u32> {
        let mut ids = Vec::new();
        if Some(face) != self.admin_face {
            self.local_queryables.matches(key.as_str(), &mut |id| {
                if !complete_only || self.complete_queryables.contains(&id) {
                    ids.push(id);
                }
            });
        }
        ids.sort_unstable();
        ids
    }

    /// The faces that declared a queryable which a question from `source` may reach, by place.
    fn known_queryables(
        &self,
        source: &Face,
        key: &str,
        target: Target,
    ) -> BTreeMap<u32, Destination> {
        let entities = self.entities(Kind::Queryable);
        let mut found: BTreeMap<u32, Destination> = BTreeMap::new();
        let mut text = String::new();
        entities.tree.matches(key, &mut |entity| {
            let mut is_included = None;
            for queryable in entities.sources(entity) {
                let Some(face) = self.faces.get(queryable.slot) else {
                    continue;
                };
                if !self.reaches(source, face) {
                    continue;
                }
                let info = queryable.info();
                let is_complete = info.complete && target != Target::All && {
                    *is_included.get_or_insert_with(|| {
                        text.clear();
                        entities.write_key(entity, &mut text) && includes(&text, key)
                    })
                };
                let complete_at = is_complete.then(|| distance(face.relation, info.distance));
                let slot = queryable.slot;
                let destination = found.entry(slot).or_insert(Destination {
                    slot,
                    complete_at: None,
                    is_known: true,
                    is_gateway: false,
                });
                destination.complete_at = match (destination.complete_at, complete_at) {
                    (Some(one), Some(other)) => Some(one.min(other)),
                    (one, other) => one.or(other),
                };
            }
        });
        found
    }

    /// Whether `face` is asked because it did not yet say (enough of) what it has.
    fn is_asked_unfiltered(
        &self,
        source: &Face,
        face: &Face,
        key: &str,
        querier: Option<u32>,
    ) -> bool {
        debug_assert_eq!(face.info.kind, FaceKind::Remote);
        match face.relation {
            Relation::PeerToPeer => !face.final_zero,
            Relation::Upstream => {
                !self.upstream_knows(source, face, (Kind::Queryable, key), querier)
            }
            _ => false,
        }
    }
}

/// The nearest of those that know everything asked for; of several the first.
fn nearest_complete(found: &BTreeMap<u32, Destination>) -> Option<Destination> {
    let complete = found.values().filter_map(|destination| {
        let distance = destination.complete_at?;
        Some((distance, destination))
    });
    let (_, nearest) = complete.min_by_key(|(distance, _)| *distance)?;
    Some(*nearest)
}
