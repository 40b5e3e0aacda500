// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`ForwardingTable`]: the state, and the coming and going of faces. What messages do to it stands in the
//! files of this folder named after them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use zonda_codec::{Declaration, KeyExpr, WhatAmI, WireExpr, ZenohId};

use crate::table::{
    Action, FaceId, FaceInfo, FaceKind, INITIAL, OwnRef,
    announcing::Announcements,
    declare::Declared,
    entity::{Entities, Kind, PerKind},
    face::Face,
    interest::{InterestRef, Seeking},
    key_tree::KeyTree,
    leave::Leaving,
    limits::{BadKey, FaceCounters, KeyOverLimit, Limits},
    liveliness::TokenListeners,
    locality::Reserved,
    matching::MatchingListeners,
    message,
    note::Note,
    policy::Relation,
    query::{LeavingQueries, Queries},
    slots::Slots,
    upstream::{Want, WantKey},
    validity::KeptKeys,
};

/// Who declared what, who asked for what, and hence where each message goes.
///
/// Calls for a face that is gone do nothing. Nothing a neighbour sends makes a call fail: what makes no
/// sense is ignored and counted ([`counters`](Self::counters)).
#[derive(Debug)]
pub struct ForwardingTable {
    zid: ZenohId,
    pub(super) role: WhatAmI,
    pub(super) limits: Limits,
    pub(super) faces: Slots<Face>,
    /// Faces that are gone, with what is left to forget of them.
    pub(super) leaving: VecDeque<Leaving>,
    /// How many faces there were in each place.
    generations: Vec<u32>,
    /// The faces that every entity of the own side is declared to: gateways and fellow peers. Sorted.
    pub(super) north: Vec<u32>,
    /// The gateways among them.
    pub(super) gateways: Vec<u32>,
    entities: PerKind<Entities>,
    /// The session's subscribers.
    pub(super) local_subscribers: KeyTree<u32>,
    /// The kept interests of all faces, by key; those in all keys.
    pub(super) interests: KeyTree<InterestRef>,
    pub(super) interests_in_all: HashSet<InterestRef>,
    /// The kept interests of all faces, by number.
    pub(super) kept_interests: Slots<InterestRef>,
    /// Changes that are announced in slices.
    pub(super) announcing: Announcements,
    /// Groups for which something to stand for is being looked for.
    pub(super) seeking: VecDeque<Seeking>,
    /// What this node wants to hear of from its gateways.
    pub(super) wants: Slots<Want>,
    pub(super) wants_by_key: HashMap<WantKey, u32>,
    pub(super) wants_tree: KeyTree<u32>,
    pub(super) wants_in_all: HashSet<u32>,
    /// What the session's publishers want.
    pub(super) publishers: HashMap<OwnRef, u32>,
    /// Interests sent and not yet answered by D_FINAL: (face, interest id) to when to give up.
    pub(super) unanswered: HashMap<(FaceId, u32), Option<Instant>>,
    /// Queries of served nodes for the tokens that exist, passed on to a gateway: (gateway, interest id) to
    /// (asker, its interest id).
    pub(super) relays: HashMap<(FaceId, u32), (FaceId, u32)>,
    pub(super) token_listeners: TokenListeners,
    pub(super) matching: MatchingListeners,
    /// The session's queryables, and which of them are complete.
    pub(super) local_queryables: KeyTree<u32>,
    pub(super) complete_queryables: HashSet<u32>,
    /// Which of them, and of the subscribers, are not for everybody.
    pub(super) reserved: Reserved,
    pub(super) queries: Queries,
    /// What is left to end of the queries of neighbours that are gone.
    pub(super) leaving_queries: VecDeque<LeavingQueries>,
    /// Bytes of memory that the keys behind all neighbours' ids take.
    pub(super) id_memory: usize,
    pub(super) kept: KeptKeys,
    /// The face of the node's admin space.
    pub(super) admin_face: Option<FaceId>,
    admin_key: KeyExpr<'static>,
    pub(super) notes: Vec<Note>,
}

impl ForwardingTable {
    /// A table without faces for the node `zid` of role `role`.
    pub fn new(zid: ZenohId, role: WhatAmI) -> Self {
        ForwardingTable::with_limits(zid, role, Limits::default())
    }

    /// A table without faces, with limits of its own.
    pub fn with_limits(zid: ZenohId, role: WhatAmI, limits: Limits) -> Self {
        let admin_key = KeyExpr::new(format!("@/{zid}/{role}"))
            .expect("an id is hexadecimal and a role a word");
        let mut table = ForwardingTable {
            zid,
            role,
            limits,
            faces: Slots::new(),
            leaving: VecDeque::new(),
            generations: Vec::new(),
            north: Vec::new(),
            gateways: Vec::new(),
            entities: PerKind::default(),
            local_subscribers: KeyTree::new(),
            interests: KeyTree::new(),
            interests_in_all: HashSet::new(),
            kept_interests: Slots::new(),
            announcing: Announcements::default(),
            seeking: VecDeque::new(),
            wants: Slots::new(),
            wants_by_key: HashMap::new(),
            wants_tree: KeyTree::new(),
            wants_in_all: HashSet::new(),
            publishers: HashMap::new(),
            unanswered: HashMap::new(),
            relays: HashMap::new(),
            token_listeners: TokenListeners::default(),
            matching: MatchingListeners::default(),
            local_queryables: KeyTree::new(),
            complete_queryables: HashSet::new(),
            reserved: Reserved::default(),
            queries: Queries::default(),
            leaving_queries: VecDeque::new(),
            id_memory: 0,
            kept: KeptKeys::default(),
            admin_face: None,
            admin_key,
            notes: Vec::new(),
        };
        if role == WhatAmI::Router {
            table.add_admin_space();
        }
        table
    }

    /// The key under which the node describes itself: `@/<zid>/<role>`. On routers everything below it counts as
    /// a queryable that neighbours can see.
    pub fn admin_key(&self) -> &KeyExpr<'static> {
        &self.admin_key
    }

    /// Bytes of memory that it holds, about: what was declared and asked for, and who knows of it.
    pub fn memory(&self) -> usize {
        let entities = Kind::ALL.map(|kind| self.entities(kind).memory());
        let keys = self.interests.memory()
            + self.wants_tree.memory()
            + self.id_memory
            + self.kept.memory();
        entities.iter().sum::<usize>() + keys
    }

    /// Bytes of memory that it holds because of one neighbour, as if that were alone. More than all of
    /// [`memory`](Self::memory) if many declare the same.
    pub fn memory_of(&self, face: FaceId) -> usize {
        self.face(face).map_or(0, Face::memory)
    }

    /// Whether neighbours may declare nothing more.
    pub fn is_short_of_memory(&self) -> bool {
        self.limits.is_short_of_memory
    }

    /// From now on neighbours may declare or ask for nothing more, or may again.
    pub fn set_short_of_memory(&mut self, is_short: bool) {
        self.limits.is_short_of_memory = is_short;
    }

    /// A new neighbour. Appends what is sent over a new link: to a gateway the live interests and everything this side has,
    /// to a fellow peer everything and the D_FINAL that ends it.
    pub fn add_face(&mut self, info: FaceInfo, actions: &mut Vec<Action>) -> FaceId {
        let relation = Relation::between(self.role, &info);
        let id = FaceId {
            index: 0,
            generation: 0,
        };
        let index = self.faces.insert(Face::new(id, info, relation));
        if self.generations.len() <= index as usize {
            self.generations.resize(index as usize + 1, 0);
        }
        let generation = self.generations.get(index as usize).map_or(0, |g| *g);
        let id = FaceId { index, generation };
        if let Some(face) = self.faces.get_mut(index) {
            face.id = id;
        }
        self.welcome(info.zid, relation.conduct().ask);
        if relation.conduct().announces_unasked {
            // Everything goes there that it has not said it does not want.
            self.outdate_all();
            let at = self.north.partition_point(|&other| other < index);
            self.north.insert(at, index);
        }
        if relation.conduct().ask {
            self.gateways.push(index);
            self.ask_everything(index, actions);
            self.ask_held_queries(actions);
        }
        if relation.conduct().announces_unasked {
            self.announce_everything(index, actions);
        }
        if relation.conduct().initial_exchange {
            message::declare(id, Some(0), Declaration::Final, actions);
            self.unanswered.insert((id, INITIAL), None);
        }
        id
    }

    /// A neighbour is gone: nothing is routed to it any more. What it declared and asked is forgotten by
    /// [`sweep`](Self::sweep).
    pub fn remove_face(&mut self, face: FaceId, actions: &mut Vec<Action>) {
        if self.face(face).is_none() {
            return;
        }
        let slot = face.index;
        let Some(mut gone) = self.faces.reserve(slot) else {
            return;
        };
        self.id_memory -= gone.id_memory;
        self.outdate_towards(&gone);
        if let Some(generation) = self.generations.get_mut(slot as usize) {
            *generation = generation.wrapping_add(1);
        }
        self.north.retain(|&other| other != slot);
        self.gateways.retain(|&other| other != slot);
        self.forget_local(&gone, actions);
        self.forget_current(gone.id);
        self.unanswered.remove(&(gone.id, INITIAL));
        self.forget_upstream(&gone, actions);
        self.stop_waiting_for(gone.id, actions);
        let queries = std::mem::take(&mut gone.queries);
        self.leaving_queries
            .extend(LeavingQueries::new(slot, gone.info.zid, queries));
        self.leaving.push_back(Leaving::new(slot, gone));
    }

    /// The full key of what `face` wrote. `None` if it uses an id that was not declared, or is no canonical
    /// key expression, or exceeds what [`Limits`] say of keys.
    pub fn key(&self, face: FaceId, expr: &WireExpr<'_>) -> Option<KeyExpr<'static>> {
        let key = self.resolve(self.face(face)?, expr).ok()?;
        Some(key.into_owned())
    }

    /// The same for what `face` pushes: a key that cannot be used is counted, and the first one of a neighbour
    /// [noted](Self::take_notes).
    pub fn push_key(&mut self, face: FaceId, expr: &WireExpr<'_>) -> Option<KeyExpr<'static>> {
        let key = self.resolve(self.face(face)?, expr);
        key.map(KeyExpr::into_owned)
            .map_err(|bad| {
                if let Some(source) = self.face_mut(face) {
                    source.counters.bad_pushes += 1;
                    let note = source.note_of(&bad);
                    self.notes.extend(note);
                }
            })
            .ok()
    }

    /// The same for what `face` declares or asks.
    pub(super) fn declared_key<'e>(
        &mut self,
        face: FaceId,
        expr: &WireExpr<'e>,
    ) -> Option<KeyExpr<'e>> {
        let key = self.resolve(self.face(face)?, expr);
        key.map_err(|bad| {
            if let Some(source) = self.face_mut(face) {
                source.counters.bad_keys += 1;
                let note = source.note_of(&bad);
                self.notes.extend(note);
            }
        })
        .ok()
    }

    /// Lines for the log since the last call, for the node's operator. They are not logged in here, as a log may be
    /// user code, and the table may be locked.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Whether the table takes a key of the node's own session; the neighbours would have to ignore what exceeds these
    /// limits.
    ///
    /// # Errors
    /// The first limit that it exceeds.
    pub fn check_key(&self, key: &KeyExpr<'_>) -> Result<(), KeyOverLimit> {
        self.limits.check(key.as_str())
    }

    /// The key that `face` asks for, in full. `None`, and counted, if it cannot be resolved; such a query ends at once.
    pub fn query_key(&mut self, face: FaceId, expr: &WireExpr<'_>) -> Option<KeyExpr<'static>> {
        Some(self.declared_key(face, expr)?.into_owned())
    }

    /// The key of an answer from `face`, in full. `None`, and counted, if it cannot be resolved.
    pub fn reply_key<'e>(&mut self, face: FaceId, expr: &WireExpr<'e>) -> Option<KeyExpr<'e>> {
        self.declared_key(face, expr)
    }

    /// What all searches in its tables have cost so far, in steps: one for each place that is looked at, and one more for
    /// each 64 chunks of the key that is searched.
    pub fn steps(&self) -> u64 {
        let entities = Kind::ALL
            .into_iter()
            .map(|kind| self.entities(kind).tree.steps());
        let others = [
            self.local_subscribers.steps(),
            self.local_queryables.steps(),
            self.interests.steps(),
            self.wants_tree.steps(),
            self.kept.steps(),
        ];
        entities.chain(others).sum()
    }

    /// What a neighbour sent and the table ignored; `None` if it is gone.
    pub fn counters(&self, face: FaceId) -> Option<FaceCounters> {
        Some(self.face(face)?.counters)
    }

    /// What the node behind a face is to this node; `None` if it is gone.
    pub fn relation(&self, face: FaceId) -> Option<Relation> {
        Some(self.face(face)?.relation)
    }

    pub(super) fn face(&self, face: FaceId) -> Option<&Face> {
        self.faces.get(face.index).filter(|found| found.id == face)
    }

    pub(super) fn face_mut(&mut self, face: FaceId) -> Option<&mut Face> {
        self.faces
            .get_mut(face.index)
            .filter(|found| found.id == face)
    }

    pub(super) fn entities(&self, kind: Kind) -> &Entities {
        self.entities.of(kind)
    }

    pub(super) fn entities_mut(&mut self, kind: Kind) -> &mut Entities {
        self.entities.of_mut(kind)
    }

    fn resolve<'e>(&self, face: &Face, expr: &WireExpr<'e>) -> Result<KeyExpr<'e>, BadKey> {
        if expr.scope == 0 {
            self.limits.check(expr.suffix)?;
            return Ok(KeyExpr::new(expr.suffix)?);
        }
        let Some(text) = face.ids.text(expr.scope, expr.mapping) else {
            return Err(BadKey::UnknownId { scope: expr.scope });
        };
        let text: Arc<str> = if expr.suffix.is_empty() {
            text.clone()
        } else {
            format!("{text}{}", expr.suffix).into()
        };
        self.limits.check(&text)?;
        Ok(KeyExpr::from_shared(text)?)
    }

    /// The admin space is a local face of its own, so that it never mixes with the session's ids.
    pub fn add_admin_space(&mut self) {
        let info = FaceInfo {
            zid: self.zid,
            whatami: self.role,
            kind: FaceKind::Local,
        };
        let nobody = &mut Vec::new();
        let face = self.add_face(info, nobody);
        self.admin_face = Some(face);
        if let Ok(key) = self.admin_key.join("**") {
            self.add_entity(face, Declared::plain(Kind::Queryable, 0), key, nobody);
        }
    }
}
