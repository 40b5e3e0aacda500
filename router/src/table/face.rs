// SPDX-License-Identifier: MIT OR Apache-2.0

//! A face: a neighbour, or the session or admin space of the node itself.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_codec::ZenohId;

use crate::table::{
    announced::AnnouncedIds,
    entity::ANNOUNCED_BYTES,
    face_id::{FaceId, FaceInfo, FaceKind},
    gateways::{Gateways, KnownNode},
    ids::{KeyIds, Learned},
    limits::{BadKey, FaceCounters, Limits, key_memory},
    note::{Note, NoteCause},
    policy::Relation,
    wants::SentInterests,
};

/// What is noted of a face the first time, and only counted then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Noted {
    /// One of its keys cannot be used.
    BadKey,
    /// It declares too much.
    Full,
    /// It has too many keys with wildcards.
    TooWild,
    /// It sends too many queries.
    Refused,
}

/// One neighbour, or the node's own session.
#[derive(Debug)]
pub(super) struct Face {
    pub(super) id: FaceId,
    pub(super) info: FaceInfo,
    pub(super) relation: Relation,
    /// Key expression ids of both directions.
    pub(super) ids: KeyIds,
    /// What was declared to it.
    pub(super) announced: AnnouncedIds,
    /// What this node asked it, if it is a gateway.
    pub(super) sent: SentInterests,
    /// It has declared all it had when the link came up (peers and routers).
    pub(super) final_zero: bool,
    /// As long as it has not: when it was asked first, and how much it had declared when that was looked at last.
    initial: Option<(Instant, usize)>,
    /// The nodes behind the numbers it uses in gossip.
    pub(super) known_nodes: HashMap<u64, KnownNode>,
    /// The nodes it says it is linked to.
    pub(super) neighbours: HashSet<ZenohId>,
    /// The routers that it has as gateways beside this node, if it is a served peer.
    pub(super) gateways: Gateways,
    /// It is noted which kept routes come from it.
    pub(super) is_noted_as_source: bool,
    /// Bytes of memory that the keys it declared take.
    key_memory: usize,
    /// Those of them that are behind ids.
    id_memory: usize,
    /// How many of the keys it declared something on have wildcards.
    wild_keys: usize,
    /// Routes that somebody keeps lead, or led, to it.
    pub(super) is_on_routes: bool,
    pub(super) counters: FaceCounters,
    /// Of what there was a note.
    noted: HashSet<Noted>,
    /// Nothing passes between it and others that are apart.
    pub(super) is_apart: bool,
}

impl Face {
    pub(super) fn new(id: FaceId, info: FaceInfo, relation: Relation) -> Self {
        Face {
            id,
            info,
            relation,
            ids: KeyIds::default(),
            announced: AnnouncedIds::default(),
            sent: SentInterests::default(),
            final_zero: false,
            initial: None,
            known_nodes: HashMap::new(),
            neighbours: HashSet::new(),
            gateways: Gateways::default(),
            is_noted_as_source: false,
            key_memory: 0,
            id_memory: 0,
            wild_keys: 0,
            is_on_routes: false,
            counters: FaceCounters::default(),
            noted: HashSet::new(),
            is_apart: false,
        }
    }

    /// Bytes of memory that the keys behind its ids take.
    pub(super) const fn id_memory(&self) -> usize {
        self.id_memory
    }

    /// Bytes of memory that the keys it declared take, and what was declared to it.
    pub(super) fn memory(&self) -> usize {
        self.key_memory + self.announced.len() * ANNOUNCED_BYTES
    }

    /// It declares an id for a key.
    pub(super) fn learn_id(&mut self, id: u16, key: Arc<str>) -> Learned {
        let memory = key_memory(&key);
        let learned = self.ids.learn(id, key);
        match learned {
            Learned::New => {
                self.key_memory += memory;
                self.id_memory += memory;
            }
            Learned::Known => {}
            Learned::Conflict => self.counters.id_conflicts += 1,
        }
        learned
    }

    /// It takes an id back; gives back its key, and whether a route is spelled with it.
    pub(super) fn forget_id(&mut self, id: u16) -> Option<(Arc<str>, bool)> {
        let Some((key, is_used)) = self.ids.forget(id) else {
            self.counters.unknown_ids += 1;
            return None;
        };
        self.key_memory -= key_memory(&key);
        self.id_memory -= key_memory(&key);
        Some((key, is_used))
    }

    /// It declares something on a key of this size, or asks for it.
    pub(super) const fn charge(&mut self, memory: usize, is_wild: bool) {
        self.key_memory += memory;
        self.wild_keys += is_wild as usize;
    }

    /// It takes that back.
    pub(super) const fn discharge(&mut self, memory: usize, is_wild: bool) {
        self.key_memory -= memory;
        self.wild_keys -= is_wild as usize;
    }

    /// Whether messages from it may go to `to` at all.
    pub(super) fn reaches(&self, to: &Face) -> bool {
        let relayed = self.relation == Relation::Served && to.relation == Relation::Served;
        let sourced = self.relation == Relation::Routed;
        self.relation.flows_to(to.relation)
            && (self.id != to.id || to.info.kind == FaceKind::Local)
            && !self.gateways.is_left()
            && !(sourced && to.gateways.leave(&self.info.zid))
            && !(relayed && self.is_linked_to(to))
            && !(self.is_apart && to.is_apart)
            && !self.meets(to)
    }

    /// Whether the two hear each other in a multicast group: one is the group, and the other a member or another group.
    /// From one group nothing goes to another, where the same nodes may be.
    fn meets(&self, to: &Face) -> bool {
        match (self.info.kind, to.info.kind) {
            (FaceKind::Group, FaceKind::Group) => true,
            (FaceKind::Group, _) => self.neighbours.contains(&to.info.zid),
            (_, FaceKind::Group) => to.neighbours.contains(&self.info.zid),
            _ => false,
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

    /// The log line about the first key of this neighbour that cannot be used.
    pub(super) fn note_of(&mut self, bad: &BadKey) -> Option<Note> {
        self.note(Noted::BadKey, NoteCause::BadKey, |zid| {
            format!("what {zid} sends on a key is ignored: {bad}; more of this is only counted")
        })
    }

    /// The log line about the first declaration of this neighbour that is one too many.
    pub(super) fn note_of_full(&mut self) -> Option<Note> {
        self.note(Noted::Full, NoteCause::Declarations, |zid| {
            format!(
                "{zid} has declared as much as it may (`zonda info` has the limits): more is ignored and only counted"
            )
        })
    }

    /// The log line about the first query of this neighbour that is one too many.
    pub(super) fn note_of_refused_query(&mut self, limit: usize) -> Option<Note> {
        self.note(Noted::Refused, NoteCause::Queries, |zid| {
            format!(
                "{zid} has {limit} open queries (questions_max): more end at once without an answer, and are only counted"
            )
        })
    }

    /// The log line about the first of something; the others are only counted.
    fn note(
        &mut self,
        what: Noted,
        cause: NoteCause,
        text: impl FnOnce(ZenohId) -> String,
    ) -> Option<Note> {
        let text = self.noted.insert(what).then(|| text(self.info.zid))?;
        Some(Note { cause, text })
    }

    /// Whether one more key with wildcards exceeds what this face may have, beside `others` that count as its own. Counts the
    /// refusal, and gives the log line about the first one.
    pub(super) fn has_too_wild(&mut self, others: usize, limits: &Limits) -> (bool, Option<Note>) {
        let limit = limits.wild_keys_max;
        if self.relation == Relation::Local || self.wild_keys + others < limit {
            return (false, None);
        }
        self.counters.over_limit += 1;
        self.counters.wild_keys_refused += 1;
        let note = self.note(Noted::TooWild, NoteCause::Declarations, |zid| {
            format!(
                "{zid} has declared {limit} keys with wildcards (limits/wild_keys): more are ignored, and only counted"
            )
        });
        (true, note)
    }

    /// Whether it goes on declaring what it has since the link came up: it has `declared` more than when this was asked last,
    /// and may take until `limit` after the first time.
    pub(super) fn goes_on(&mut self, declared: usize, now: Instant, limit: Duration) -> bool {
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
}
