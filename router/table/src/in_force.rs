// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declarations and interests of one neighbour that are in force, for rules that have changed.

use std::sync::Arc;

use zonda_codec::{InterestOptions, QueryableInfo};

use crate::{
    face_id::FaceId, forwarding::ForwardingTable, interest_records::InterestRef, kind::Kind,
};

/// Declaration of a neighbour that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForce {
    /// The kind of its entity.
    pub kind: Kind,
    /// The neighbour's id of it.
    pub id: u32,
    /// The key.
    pub key: String,
    /// The promise of a queryable.
    pub info: QueryableInfo,
}

/// Interest in tokens of a neighbour that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenInterest {
    /// The neighbour's id of it.
    pub id: u32,
    /// The kinds of entities that it is in, tokens among them.
    pub options: InterestOptions,
    /// The key; `None` for all keys.
    pub key: Option<Arc<str>>,
    /// True if it is about changes only.
    pub future_only: bool,
}

impl ForwardingTable {
    /// Counts the memory of a refused declaration that the node remembers for a neighbour; false if
    /// the neighbour may have no more.
    pub fn charge_refused(&mut self, face: FaceId, memory: usize) -> bool {
        let limits = self.limits;
        self.topology.charge_refused(face, memory, &limits)
    }

    /// Takes back what [`charge_refused`](Self::charge_refused) counted.
    pub fn discharge_refused(&mut self, face: FaceId, memory: usize) {
        self.topology.discharge_refused(face, memory);
    }

    /// Returns the declarations of a neighbour, in the order of their kinds and ids; none of a
    /// router of the mesh, whose declarations are those of the routers behind it.
    pub fn in_force(&self, face: FaceId) -> Vec<InForce> {
        if self.face(face).is_none() {
            return Vec::new();
        }
        let slot = face.index;
        let of = |kind| {
            let entities = self.entities(kind);
            let ids = self.entities.ids_of(slot, kind);
            let all = ids.filter_map(move |(id, entity)| {
                let mut sources = entities.sources(entity).iter();
                let info = sources.find(|source| source.slot == slot)?.info();
                let key = entities.key(entity)?;
                Some(InForce {
                    kind,
                    id,
                    key,
                    info,
                })
            });
            let mut all: Vec<_> = all.collect();
            all.sort_unstable_by_key(|one| one.id);
            all
        };
        Kind::ALL.into_iter().flat_map(of).collect()
    }

    /// Returns true if a declaration that was [in force](Self::in_force) still is.
    pub fn is_in_force(&self, face: FaceId, one: &InForce) -> bool {
        let entity = self.entity_of(face, one.kind, one.id);
        entity.is_some_and(|entity| self.entities(one.kind).has_key(entity, &one.key))
    }

    /// Returns true if an interest that was among the [token interests](Self::token_interests) still
    /// is.
    pub fn has_token_interest(&self, face: FaceId, one: &TokenInterest) -> bool {
        let (slot, id) = (face.index, one.id);
        let kept = self
            .face(face)
            .and(self.interests.get(InterestRef { slot, id }));
        kept.is_some_and(|kept| kept.options == one.options && kept.key == one.key)
    }

    /// Returns the kept interests of a neighbour in tokens, in the order of their ids.
    pub fn token_interests(&self, face: FaceId) -> Vec<TokenInterest> {
        if self.face(face).is_none() {
            return Vec::new();
        }
        let kept = self.interests.of(face.index);
        let kept = kept.filter(|(_, kept)| kept.options.contains(InterestOptions::TOKENS));
        let mut all: Vec<_> = kept
            .map(|(interest, kept)| TokenInterest {
                id: interest.id,
                options: kept.options,
                key: kept.key.clone(),
                future_only: kept.future_only,
            })
            .collect();
        all.sort_unstable_by_key(|one| one.id);
        all
    }
}
