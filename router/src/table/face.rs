// SPDX-License-Identifier: MIT OR Apache-2.0

//! Everything the table keeps about one neighbour.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use zonda_codec::{QueryableInfo, ZenohId};

use crate::table::{
    FaceId, FaceInfo,
    answer::Answer,
    entity::{ANNOUNCED_BYTES, Kind, PerKind},
    id_map::IdMap,
    ids::KeyIds,
    interest::{Group, GroupKey, Kept},
    key_tree::KeyTree,
    limits::{BadKey, FaceCounters, Limits},
    note::{Note, NoteCause},
    policy::Relation,
    query::FaceQueries,
    upstream::Asked,
};

/// One neighbour, or the node's own session.
#[derive(Debug)]
pub(super) struct Face {
    pub(super) id: FaceId,
    pub(super) info: FaceInfo,
    pub(super) relation: Relation,
    /// Key expression ids of both directions.
    pub(super) ids: KeyIds,
    /// What it declared: its id to our entity.
    pub(super) declared: PerKind<IdMap>,
    /// Entities whose id it declared again on another key: they stay until the face goes.
    pub(super) orphans: PerKind<Vec<u32>>,
    /// What was declared to it: our entity to the id it knows it by.
    pub(super) announced: PerKind<HashMap<u32, Announced>>,
    /// The highest entity id that was given to it.
    last_announced_id: u32,
    /// Ids from the round before that were in use when this round began. Empty in the first one.
    announced_before: HashSet<u32>,
    /// Its interests, by its ids.
    pub(super) interests: HashMap<u32, Kept>,
    /// The answer to an interest of its that is not sent in full yet.
    pub(super) answer: Option<Box<Answer>>,
    /// Its aggregate interests, by kind and key.
    pub(super) groups: HashMap<GroupKey, Group>,
    /// Its interests that permit D_KEYEXPR, by key.
    pub(super) granting: KeyTree<u32>,
    /// How many of its interests permit D_KEYEXPR for every key.
    pub(super) grants_all: usize,
    /// It has declared all it had when the link came up (peers).
    pub(super) final_zero: bool,
    /// As long as it has not: when it was asked first, and how much it had declared when that was looked at last.
    pub(super) initial: Option<(Instant, usize)>,
    /// What this node asked it (gateways): want to interest.
    pub(super) asked: HashMap<u32, Asked>,
    /// The same by interest id.
    pub(super) asked_by_id: HashMap<u32, u32>,
    /// The highest interest id sent to it.
    last_interest_id: u32,
    /// The nodes behind the numbers it uses in gossip.
    pub(super) known_nodes: HashMap<u64, ZenohId>,
    /// The nodes it says it is linked to.
    pub(super) neighbours: HashSet<ZenohId>,
    /// Bytes of memory that the keys it declared take.
    pub(super) key_memory: usize,
    /// Those of them that are behind ids.
    pub(super) id_memory: usize,
    /// How many of the keys it declared something on have wildcards.
    pub(super) wild_keys: usize,
    /// Routes that somebody keeps lead, or led, to it.
    pub(super) is_on_routes: bool,
    /// The open queries that it asked, and is asked.
    pub(super) queries: FaceQueries,
    pub(super) counters: FaceCounters,
    /// There was a note that one of its keys cannot be used.
    noted_bad_key: bool,
    /// There was a note that it asks too much.
    noted_refused: bool,
    /// There was a note that it declares too much.
    noted_full: bool,
    /// There was a note that it has too many keys with wildcards.
    noted_wild: bool,
}

/// Bytes of memory that an open query takes.
const QUERY_BYTES: usize = 160;

/// What a face knows of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Announced {
    pub(super) id: u32,
    pub(super) info: QueryableInfo,
}

impl Face {
    pub(super) fn new(id: FaceId, info: FaceInfo, relation: Relation) -> Self {
        Face {
            id,
            info,
            relation,
            ids: KeyIds::default(),
            declared: PerKind::default(),
            orphans: PerKind::default(),
            announced: PerKind::default(),
            last_announced_id: 0,
            announced_before: HashSet::new(),
            interests: HashMap::new(),
            answer: None,
            groups: HashMap::new(),
            granting: KeyTree::new(),
            grants_all: 0,
            final_zero: false,
            initial: None,
            asked: HashMap::new(),
            asked_by_id: HashMap::new(),
            last_interest_id: 0,
            known_nodes: HashMap::new(),
            neighbours: HashSet::new(),
            key_memory: 0,
            id_memory: 0,
            wild_keys: 0,
            is_on_routes: false,
            queries: FaceQueries::default(),
            counters: FaceCounters::default(),
            noted_bad_key: false,
            noted_refused: false,
            noted_full: false,
            noted_wild: false,
        }
    }

    /// A fresh id for an entity that is declared to it: none that it knows an entity by.
    pub(super) fn next_announced_id(&mut self) -> u32 {
        loop {
            let id = self.last_announced_id.wrapping_add(1).max(1);
            if id < self.last_announced_id {
                self.note_announced_ids();
            }
            self.last_announced_id = id;
            if !self.announced_before.contains(&id) {
                return id;
            }
        }
    }

    /// All ids were given out once: those that are in use now are left out of the next round.
    #[cold]
    fn note_announced_ids(&mut self) {
        let groups = self.groups.values().filter_map(|group| group.announced);
        self.announced_before = groups.collect();
        for kind in Kind::ALL {
            let announced = self.announced.of(kind).values();
            self.announced_before
                .extend(announced.map(|announced| announced.id));
        }
    }

    /// A fresh id for an interest sent to it: none of one that has not ended.
    pub(super) fn next_interest_id(&mut self) -> u32 {
        loop {
            self.last_interest_id = self.last_interest_id.wrapping_add(1).max(1);
            if !self.asked_by_id.contains_key(&self.last_interest_id) {
                return self.last_interest_id;
            }
        }
    }

    /// Whether one more key that takes `memory` exceeds what this face may occupy, `count` being how many of its kind
    /// there are. Counts the refusal. A session of this node may declare what it likes.
    pub(super) fn is_full(
        &mut self,
        count: usize,
        limit: usize,
        memory: usize,
        limits: &Limits,
    ) -> bool {
        let full = self.relation != Relation::Local
            && (count >= limit
                || limits.is_short_of_memory
                || self.key_memory.saturating_add(memory) > limits.key_memory_max);
        self.counters.over_limit += u64::from(full);
        full
    }

    /// The log line about the first key of this neighbour that cannot be used; the others are only
    /// counted.
    pub(super) fn note_of(&mut self, bad: &BadKey) -> Option<Note> {
        let zid = self.info.zid;
        let first = !std::mem::replace(&mut self.noted_bad_key, true);
        first.then(|| Note {
            cause: NoteCause::BadKey,
            text: format!(
                "what {zid} sends on a key is ignored: {bad}; more of this is only counted"
            ),
        })
    }

    /// The log line about the first declaration of this neighbour that is one too many; the
    /// others are only counted.
    pub(super) fn note_of_full(&mut self) -> Option<Note> {
        let zid = self.info.zid;
        let first = !std::mem::replace(&mut self.noted_full, true);
        first.then(|| Note {
            cause: NoteCause::Declarations,
            text: format!(
                "{zid} has declared as much as it may (`zonda info` has the limits): more is ignored and only counted"
            ),
        })
    }

    /// The log line about the first query of this neighbour that is one too many; the others
    /// are only counted.
    pub(super) fn note_of_refused_query(&mut self, limit: usize) -> Option<Note> {
        let zid = self.info.zid;
        let first = !std::mem::replace(&mut self.noted_refused, true);
        first.then(|| Note {
            cause: NoteCause::Queries,
            text: format!(
                "{zid} has {limit} open queries (questions_max): more end at once without an answer, and are only counted"
            ),
        })
    }

    /// Bytes of memory that the table holds because of it.
    pub(super) fn memory(&self) -> usize {
        let announced: usize = Kind::ALL
            .map(|kind| self.announced.of(kind).len())
            .iter()
            .sum();
        self.key_memory + announced * ANNOUNCED_BYTES + self.queries.count() * QUERY_BYTES
    }

    /// Whether one more key with wildcards exceeds what this face may have. Counts the refusal, and gives the log
    /// line about the first one.
    pub(super) fn has_too_wild(&mut self, limits: &Limits) -> (bool, Option<Note>) {
        let limit = limits.wild_keys_max;
        if self.relation == Relation::Local || self.wild_keys < limit {
            return (false, None);
        }
        self.counters.over_limit += 1;
        self.counters.wild_keys_refused += 1;
        let first = !std::mem::replace(&mut self.noted_wild, true);
        let zid = self.info.zid;
        let note = first.then(|| Note {
            cause: NoteCause::Declarations,
            text: format!(
                "{zid} has declared {limit} keys with wildcards (limits/wild_keys): more are ignored, and only counted"
            ),
        });
        (true, note)
    }

    /// How many entities of a kind it occupies, and how many it may.
    pub(super) fn occupancy(&self, kind: Kind, limits: &Limits) -> (usize, usize) {
        let limit = match kind {
            Kind::Subscriber => limits.subscribers_max,
            Kind::Queryable => limits.queryables_max,
            Kind::Token => limits.tokens_max,
        };
        (
            self.declared.of(kind).len() + self.orphans.of(kind).len(),
            limit,
        )
    }

    /// Whether it goes on telling what it has since the link came up: it has declared more since this was asked last, and
    /// may take until `limit` after the first time.
    pub(super) fn goes_on(&mut self, now: Instant, limit: Duration) -> bool {
        let kinds = [Kind::Subscriber, Kind::Queryable, Kind::Token];
        let declared = kinds.map(|kind| self.declared.of(kind).len());
        let declared = declared.into_iter().sum();
        let (since, before) = self.initial.unwrap_or((now, 0));
        self.initial = Some((since, declared));
        declared > before && now.saturating_duration_since(since) < limit
    }

    /// Whether it delivers to the other face by itself, as the two are linked directly. It knows best, and says so on
    /// the link that its data comes by; the other face's word counts if it never says anything.
    pub(super) fn is_linked_to(&self, other: &Face) -> bool {
        let is_silent = self.known_nodes.is_empty();
        self.neighbours.contains(&other.info.zid)
            || (is_silent && other.neighbours.contains(&self.info.zid))
    }

    /// Whether one of its interests permits declaring an id for `prefix` to it.
    pub(super) fn grants(&self, prefix: &str) -> bool {
        self.grants_all > 0 || self.granting.any(prefix, &mut |_| true)
    }
}

#[cfg(test)]
mod tests {
    use zonda_codec::WhatAmI;

    use super::*;
    use crate::table::FaceKind;

    #[test]
    fn ids_in_use_are_not_given_out_again() {
        let info = FaceInfo {
            zid: ZenohId::random_from(1),
            whatami: WhatAmI::Client,
            kind: FaceKind::Remote,
        };
        let id = FaceId {
            index: 0,
            generation: 0,
        };
        let mut face = Face::new(id, info, Relation::Served);
        for (entity, kind) in Kind::ALL.into_iter().enumerate() {
            let announced = Announced {
                id: face.next_announced_id(),
                info: QueryableInfo::default(),
            };
            face.announced.of_mut(kind).insert(entity as u32, announced);
        }
        let asked = face.next_interest_id();
        face.asked_by_id.insert(asked, 7);
        for last in [&mut face.last_announced_id, &mut face.last_interest_id] {
            *last = u32::MAX - 1;
        }
        let ids: Vec<u32> = (0..3).map(|_| face.next_announced_id()).collect();
        assert_eq!(ids, [u32::MAX, 4, 5]);
        assert_eq!(
            (face.next_interest_id(), face.next_interest_id()),
            (u32::MAX, 2)
        );
    }
}
