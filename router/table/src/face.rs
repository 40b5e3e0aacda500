// SPDX-License-Identifier: MIT OR Apache-2.0

//! A face: a neighbour, or the session or admin space of the node itself.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_codec::ZenohId;

use crate::{
    announced::AnnouncedIds,
    entity::ANNOUNCED_BYTES,
    face_id::{FaceId, FaceInfo, FaceKind},
    gate::Gate,
    gateways::{Gateways, KnownNode},
    ids::{KeyIds, Learned},
    limits::{BadKey, FaceCounters, Limits, key_memory},
    note::{Note, NoteCause},
    policy::Relation,
    upstream_interests::SentInterests,
};

/// Events of a face that are logged the first time and only counted later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum LoggedOnce {
    /// A key of the face cannot be used.
    BadKey,
    /// The face declares too much.
    Full,
    /// The face has too many keys with wildcards.
    TooWild,
    /// The face sends too many queries.
    Refused,
}

/// One neighbour, or the node's own session.
#[derive(Debug)]
pub(super) struct Face {
    pub(super) id: FaceId,
    pub(super) info: FaceInfo,
    pub(super) relation: Relation,
    /// Filter of the declarations and interests to the face.
    pub(super) gate: Option<Box<dyn Gate>>,
    /// Key expression ids of both directions.
    pub(super) ids: KeyIds,
    /// Entities that were declared to the face.
    pub(super) announced: AnnouncedIds,
    /// Interests that this node sent to the face, if it is a gateway.
    pub(super) sent: SentInterests,
    /// True once the face has declared all that it had when the link came up (peers and routers).
    pub(super) final_zero: bool,
    /// Until then: the time of the first check, and the number of declarations at the last one.
    initial: Option<(Instant, usize)>,
    /// Nodes behind the numbers that the face uses in gossip.
    pub(super) known_nodes: HashMap<u64, KnownNode>,
    /// Nodes that the face has links to, by its own link states.
    pub(super) neighbours: HashSet<ZenohId>,
    /// Routers that the face has as gateways in addition to this node, if it is a served peer.
    pub(super) gateways: Gateways,
    /// True if the table has recorded which kept routes come from the face.
    pub(super) is_noted_as_source: bool,
    /// Bytes of memory of the keys that the face declared.
    key_memory: usize,
    /// Bytes of those keys that have ids.
    id_memory: usize,
    /// Bytes of its refused declarations, which the node remembers.
    refused_memory: usize,
    /// Number of keys with wildcards on which the face declared entities.
    wild_keys: usize,
    /// True if a kept route leads, or led, to the face.
    pub(super) is_on_routes: bool,
    pub(super) counters: FaceCounters,
    /// Events that were logged.
    noted: HashSet<LoggedOnce>,
    /// True if no message passes between this face and other faces that are apart.
    pub(super) is_apart: bool,
}

impl Face {
    pub(super) fn new(id: FaceId, info: FaceInfo, relation: Relation) -> Self {
        Face {
            id,
            info,
            relation,
            gate: None,
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
            refused_memory: 0,
            wild_keys: 0,
            is_on_routes: false,
            counters: FaceCounters::default(),
            noted: HashSet::new(),
            is_apart: false,
        }
    }

    /// Returns the bytes of memory of the keys that have ids.
    pub(super) const fn id_memory(&self) -> usize {
        self.id_memory
    }

    /// Returns the bytes of memory of the refused declarations that the node remembers.
    pub(super) const fn refused_memory(&self) -> usize {
        self.refused_memory
    }

    /// Counts the memory of a refused declaration among that of its keys.
    pub(super) const fn charge_refused(&mut self, memory: usize) {
        self.refused_memory += memory;
        self.charge(memory, false);
    }

    /// Takes back what [`charge_refused`](Self::charge_refused) counted.
    pub(super) const fn discharge_refused(&mut self, memory: usize) {
        self.refused_memory -= memory;
        self.discharge(memory, false);
    }

    /// Returns the bytes of memory of the keys that the face declared, and of what was declared to it.
    pub(super) fn memory(&self) -> usize {
        self.key_memory + self.announced.len() * ANNOUNCED_BYTES
    }

    /// Records an id that the face declared for a key.
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

    /// Removes an id; returns its key, and true if a route is spelled with it.
    pub(super) fn forget_id(&mut self, id: u16) -> Option<(Arc<str>, bool)> {
        let Some((key, is_used)) = self.ids.forget(id) else {
            self.counters.unknown_ids += 1;
            return None;
        };
        self.key_memory -= key_memory(&key);
        self.id_memory -= key_memory(&key);
        Some((key, is_used))
    }

    /// Counts the memory of a key on which the face declared an entity or an interest.
    pub(super) const fn charge(&mut self, memory: usize, is_wild: bool) {
        self.key_memory += memory;
        self.wild_keys += is_wild as usize;
    }

    /// Takes back what [`charge`](Self::charge) counted.
    pub(super) const fn discharge(&mut self, memory: usize, is_wild: bool) {
        self.key_memory -= memory;
        self.wild_keys -= is_wild as usize;
    }

    /// Returns true if messages from this face may go to `to` at all.
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

    /// Returns true if the two exchange messages in a multicast group: one is the group, and the
    /// other a member or another group. No message passes from one group to another, as both may
    /// have the same members.
    fn meets(&self, to: &Face) -> bool {
        match (self.info.kind, to.info.kind) {
            (FaceKind::Group, FaceKind::Group) => true,
            (FaceKind::Group, _) => self.neighbours.contains(&to.info.zid),
            (_, FaceKind::Group) => to.neighbours.contains(&self.info.zid),
            _ => false,
        }
    }

    /// Returns true if one more key that takes `memory` exceeds what this face may occupy, where
    /// `count` is the number of entities of its kind. Counts the refusal. Sessions of this node
    /// have no such limit.
    pub(super) fn is_full(
        &mut self,
        count: usize,
        limit: usize,
        memory: usize,
        limits: &Limits,
    ) -> bool {
        let full = self.relation != Relation::Local
            && (count >= limit
                || self.key_memory.saturating_add(memory) > limits.key_memory_of(self.relation));
        self.counters.over_limit += u64::from(full);
        full
    }

    /// Returns the log line about the first key of this neighbour that cannot be used.
    pub(super) fn note_of(&mut self, bad: &BadKey) -> Option<Note> {
        self.note(LoggedOnce::BadKey, NoteCause::BadKey, |zid| {
            format!("what {zid} sends on a key is ignored: {bad}; more of this is only counted")
        })
    }

    /// Returns the log line about the first declaration of this neighbour beyond its limits.
    pub(super) fn note_of_full(&mut self) -> Option<Note> {
        self.note(LoggedOnce::Full, NoteCause::Declarations, |zid| {
            format!(
                "{zid} has declared as much as it may (`zonda info` has the limits): more is ignored and only counted"
            )
        })
    }

    /// Returns the log line about the first query of this neighbour beyond its limit.
    pub(super) fn note_of_refused_query(&mut self, limit: usize) -> Option<Note> {
        self.note(LoggedOnce::Refused, NoteCause::Queries, |zid| {
            format!(
                "{zid} has {limit} open queries (questions_max): more end at once without an answer, and are only counted"
            )
        })
    }

    /// Returns the log line about the first event of a kind; later ones are only counted.
    fn note(
        &mut self,
        what: LoggedOnce,
        cause: NoteCause,
        text: impl FnOnce(ZenohId) -> String,
    ) -> Option<Note> {
        let text = self.noted.insert(what).then(|| text(self.info.zid))?;
        Some(Note { cause, text })
    }

    /// Returns true if one more key with wildcards exceeds what this face may have, including those
    /// of the routers behind it. Counts the refusal, and returns the log line about the first one.
    pub(super) fn has_too_wild(&mut self, others: usize, limits: &Limits) -> (bool, Option<Note>) {
        let limit = limits.wild_keys_max;
        if self.relation == Relation::Local || self.wild_keys + others < limit {
            return (false, None);
        }
        self.counters.over_limit += 1;
        self.counters.wild_keys_refused += 1;
        let note = self.note(LoggedOnce::TooWild, NoteCause::Declarations, |zid| {
            format!(
                "{zid} has declared {limit} keys with wildcards (limits/wild_keys): more are ignored, and only counted"
            )
        });
        (true, note)
    }

    /// Returns true if the face still declares what it has had since the link came up: `declared`
    /// has grown since the last call, and the first call is less than `limit` ago.
    pub(super) fn goes_on(&mut self, declared: usize, now: Instant, limit: Duration) -> bool {
        let (since, before) = self.initial.unwrap_or((now, 0));
        self.initial = Some((since, declared));
        declared > before && now.saturating_duration_since(since) < limit
    }

    /// Returns true if this face delivers to the other one itself, as the two are linked directly.
    /// The link states of this face decide; those of the other face count if this one never sent any.
    pub(super) fn is_linked_to(&self, other: &Face) -> bool {
        let is_silent = self.known_nodes.is_empty();
        self.neighbours.contains(&other.info.zid)
            || (is_silent && other.neighbours.contains(&self.info.zid))
    }
}
