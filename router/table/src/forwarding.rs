// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`ForwardingTable`]: the state, and the insertion and removal of faces. Each kind of message has
//! its own file in this folder.

use std::collections::VecDeque;
use std::sync::Arc;

use zonda_codec::{Declaration, KeyExpr, WhatAmI, WireExpr, ZenohId};

use crate::{
    aggregation::Aggregation,
    announcements::Announcements,
    delayed_finals::DelayedFinals,
    entities::Entities,
    entity::{Declared, EntityTree},
    face::Face,
    face_id::{Action, FaceId, FaceInfo, FaceKind},
    face_removal::FaceRemoval,
    gate::{Gate, GatedKind},
    gateway_updates::GatewayUpdates,
    group::ToldGroups,
    interests::Interests,
    kind::Kind,
    limits::{BadKey, FaceCounters, KeyOverLimit, Limits, Shortage},
    listeners::Listeners,
    mesh::{Charge, Mesh},
    message,
    note::Note,
    own_senders::OwnSenders,
    policy::{INITIAL, Relation},
    query::Queries,
    topology::Topology,
    upstream_interests::UpstreamInterests,
    validity::KeptKeys,
};

/// Bytes of memory that an open query takes.
const QUERY_BYTES: usize = 160;

/// Declarations and interests of all neighbours, and hence the destinations of each message.
///
/// The table owns the parts that hold this state and passes changes between them: a declaration of
/// a neighbour is announced to the faces whose interests cover it, and ends the routes that it changes.
///
/// Calls for a face that is gone do nothing. No input of a neighbour makes a call fail: invalid
/// input is ignored and counted ([`counters`](Self::counters)).
#[derive(Debug)]
pub struct ForwardingTable {
    pub(super) limits: Limits,
    /// The neighbours.
    pub(super) topology: Topology,
    /// The other routers, if this node is one.
    pub(super) mesh: Mesh,
    /// Entities that neighbours, other routers and the session have declared.
    pub(super) entities: Entities,
    /// Interests of the neighbours.
    pub(super) interests: Interests,
    /// Changes that are announced in slices.
    pub(super) announcing: Announcements,
    /// Interests of this node at its gateways.
    pub(super) wants: UpstreamInterests,
    /// Publishers and queriers of the sessions.
    pub(super) senders: OwnSenders,
    /// Keys that the sessions declare in place of others.
    pub(super) aggregation: Aggregation,
    /// The session's listeners.
    pub(super) listeners: Listeners,
    pub(super) queries: Queries,
    /// Ends of answers that wait for a moment.
    pub(super) delayed_finals: DelayedFinals,
    /// The keys on which routes are kept.
    pub(super) kept: KeptKeys,
    /// Faces that are gone, with the state that is still to be removed.
    pub(super) leaving: VecDeque<FaceRemoval>,
    /// Peers whose gateway changes, and the announcements that they are to receive because of that.
    pub(super) retellings: GatewayUpdates,
    admin_key: KeyExpr<'static>,
    pub(super) notes: Vec<Note>,
    /// Subscribers that multicast groups have received.
    pub(super) told_groups: ToldGroups,
}

impl ForwardingTable {
    /// Returns a table without faces for the node `zid` of role `role`.
    pub fn new(zid: ZenohId, role: WhatAmI) -> Self {
        ForwardingTable::with_limits(zid, role, Limits::default())
    }

    /// Returns a table without faces, with limits of its own.
    pub fn with_limits(zid: ZenohId, role: WhatAmI, limits: Limits) -> Self {
        let admin_key = KeyExpr::new(format!("@/{zid}/{role}"))
            .expect("an id is hexadecimal and a role a word");
        let mut table = ForwardingTable {
            limits,
            topology: Topology::new(zid, role),
            mesh: Mesh::new(zid, role),
            entities: Entities::default(),
            interests: Interests::default(),
            announcing: Announcements::default(),
            wants: UpstreamInterests::default(),
            senders: OwnSenders::default(),
            aggregation: Aggregation::default(),
            listeners: Listeners::default(),
            queries: Queries::default(),
            delayed_finals: DelayedFinals::default(),
            kept: KeptKeys::default(),
            leaving: VecDeque::new(),
            retellings: GatewayUpdates::default(),
            admin_key,
            notes: Vec::new(),
            told_groups: ToldGroups::default(),
        };
        // Routers have an admin space, and a face for the rest of the mesh.
        if role == WhatAmI::Router {
            table.add_mesh();
            table.add_admin_space();
        }
        table
    }

    /// Stops messages between any two served peers that connect from now on. By default two peers
    /// that are linked to each other are excluded only.
    pub const fn keep_peers_apart(&mut self) {
        self.topology.keep_peers_apart();
    }

    /// Sets the keys that the sessions declare in place of others, from now on. It is called before
    /// any session declares something.
    pub fn set_aggregation(&mut self, aggregation: Aggregation) {
        self.aggregation = aggregation;
    }

    /// Returns the key under which the node describes itself: `@/<zid>/<role>`. On routers
    /// everything below it counts as a queryable that neighbours can see.
    pub fn admin_key(&self) -> &KeyExpr<'static> {
        &self.admin_key
    }

    /// Returns the approximate bytes of memory that it holds: declarations, interests and announced ids.
    pub fn memory(&self) -> usize {
        let keys = self.interests.memory() + self.wants.memory() + self.topology.id_memory();
        let refused = self.topology.refused_memory();
        self.entities.memory() + keys + self.kept.memory() + self.mesh.memory() + refused
    }

    /// Returns the bytes of memory that it holds because of one neighbour and of the routers behind
    /// it, as if that neighbour were alone. The sum exceeds [`memory`](Self::memory) if many
    /// declare the same.
    pub fn memory_of(&self, face: FaceId) -> usize {
        let queries = self.queries.count(face.index) * QUERY_BYTES;
        let behind = self.mesh.charge(face).map_or(0, Charge::memory);
        let own = self.face(face).map(Face::memory);
        own.map_or(0, |own| own + queries + behind)
    }

    /// Returns true if neighbours that have declared much may not declare more.
    #[inline]
    pub fn is_short_of_memory(&self) -> bool {
        self.limits.shortage.is_some()
    }

    /// Sets the memory that neighbours may have for declarations and interests while the node is
    /// short of it; `None` ends the shortage.
    #[inline]
    pub fn set_shortage(&mut self, shortage: Option<Shortage>) {
        self.limits.shortage = shortage;
    }

    /// Adds a new neighbour. Appends the messages of a new link: to a gateway the live interests
    /// and all entities of this side, to a fellow peer all entities and the D_FINAL that ends them,
    /// from router to router the state of the mesh.
    pub fn add_face(&mut self, info: FaceInfo, actions: &mut Vec<Action>) -> FaceId {
        self.add_gated_face(info, None, actions)
    }

    /// Adds a new neighbour like [`add_face`](Self::add_face), to which the table sends no
    /// declaration or interest that the gate does not permit.
    pub fn add_gated_face(
        &mut self,
        info: FaceInfo,
        gate: Option<Box<dyn Gate>>,
        actions: &mut Vec<Action>,
    ) -> FaceId {
        let relation = Relation::between(self.topology.role(), &info);
        let conduct = relation.conduct();
        let id = self.topology.add(info);
        if let Some(face) = self.face_mut(id) {
            face.gate = gate;
        }
        if relation == Relation::RouterToRouter {
            // Queries that wait for a gateway are retried, and every route may have a new hop.
            self.link_router(id, info.zid, actions);
        }
        self.queries.welcome(info.zid, conduct.ask);
        if conduct.announces_unasked {
            // Every message goes to the neighbour unless it declares that it does not want it.
            self.outdate_all();
        }
        // Ask first, so that the answers are under way while the declarations are sent.
        if conduct.ask {
            self.ask_everything(id.index, actions);
            self.ask_held_queries(actions);
        }
        if conduct.announces_unasked {
            self.announce_everything(id.index, actions);
        }
        // Peers end their initial declarations with a D_FINAL, and wait for the neighbour's.
        if conduct.initial_exchange {
            message::declare(id, Some(0), Declaration::Final, actions);
            self.wants.wait_for(id, INITIAL);
        }
        id
    }

    /// Returns true if the gate of the face at `slot` permits a message on `key`, or there is no
    /// gate.
    pub(super) fn permits(&mut self, slot: u32, kind: GatedKind, key: &str) -> bool {
        let face = self.topology.at_mut(slot);
        let gate = face.and_then(|face| face.gate.as_mut());
        gate.is_none_or(|gate| gate.permits(kind, key))
    }

    /// Allows for data to a neighbour that overtakes declarations sent before it.
    pub fn expect_reordering(&mut self, face: FaceId) {
        if let Some(face) = self.face_mut(face) {
            face.ids.expect_reordering();
        }
    }

    /// Removes a neighbour: no route leads to it any more. Its declarations and interests are
    /// removed by [`sweep`](Self::sweep).
    pub fn remove_face(&mut self, face: FaceId, actions: &mut Vec<Action>) {
        let Some(gone) = self.topology.remove(face) else {
            return;
        };
        let slot = face.index;
        // Each part releases the face now; the rest is removed in slices.
        let interests = self.interests.remove_face(slot);
        let declared = self.entities.remove_face(slot);
        self.queries.remove_face(slot, gone.info.zid);
        self.outdate_towards(&gone);
        self.forget_session(&gone, actions);
        self.forget_current(face);
        self.delayed_finals.forget(face);
        self.wants.stop_waiting(face, INITIAL);
        self.forget_upstream(&gone, actions);
        self.stop_waiting_for(face, actions);
        let (relation, announced) = (gone.relation, gone.announced);
        let leaving = FaceRemoval::new(slot, interests, announced, declared);
        self.leaving.push_back(leaving);
        if relation == Relation::RouterToRouter {
            self.unlink_router(face, actions);
        }
    }

    /// Returns the full key of an expression from `face`. `None` if it uses an undeclared id, is no
    /// canonical key expression, or exceeds the [`Limits`] of keys.
    pub fn key(&self, face: FaceId, expr: &WireExpr<'_>) -> Option<KeyExpr<'static>> {
        let key = self.resolve(self.face(face)?, expr).ok()?;
        Some(key.into_owned())
    }

    /// Returns the full key of a push from `face`: a key that cannot be used is counted, and the
    /// first one of a neighbour [noted](Self::take_notes).
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

    /// Returns the full key of a declaration, query or reply from `face`; counts and notes one that
    /// cannot be used.
    pub fn declared_key<'e>(&mut self, face: FaceId, expr: &WireExpr<'e>) -> Option<KeyExpr<'e>> {
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

    /// Returns the lines for the log since the last call, for the node's operator. The caller logs
    /// them without the table's lock, as the logger may be user code.
    #[inline]
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Checks a key of the node's own session against the limits; neighbours would ignore a key
    /// that exceeds them.
    ///
    /// # Errors
    /// The first limit that it exceeds.
    #[inline]
    pub fn check_key(&self, key: &KeyExpr<'_>) -> Result<(), KeyOverLimit> {
        self.limits.check(key.as_str())
    }

    /// Returns the cost of all searches in its tables so far, in steps: one for each place that is
    /// visited, and one more for each 64 chunks of the key that is searched.
    pub fn steps(&self) -> u64 {
        let keys = self.interests.steps() + self.wants.steps();
        self.entities.steps() + keys + self.kept.steps()
    }

    /// Returns the counts of input from a neighbour that the table ignored; `None` if the neighbour
    /// is gone.
    pub fn counters(&self, face: FaceId) -> Option<FaceCounters> {
        Some(self.face(face)?.counters)
    }

    /// Returns the relation of the node behind a face to this node; `None` if the face is gone.
    pub fn relation(&self, face: FaceId) -> Option<Relation> {
        Some(self.face(face)?.relation)
    }

    pub(super) fn face(&self, face: FaceId) -> Option<&Face> {
        self.topology.face(face)
    }

    pub(super) fn face_mut(&mut self, face: FaceId) -> Option<&mut Face> {
        self.topology.face_mut(face)
    }

    pub(super) fn entities(&self, kind: Kind) -> &EntityTree {
        self.entities.of(kind)
    }

    pub(super) fn entities_mut(&mut self, kind: Kind) -> &mut EntityTree {
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

    /// Adds the admin space, a local face of its own, so that its ids never mix with the session's.
    pub fn add_admin_space(&mut self) {
        let info = FaceInfo {
            zid: self.topology.zid(),
            whatami: self.topology.role(),
            kind: FaceKind::Local,
        };
        let nothing = &mut Vec::new();
        let face = self.add_face(info, nothing);
        self.topology.set_admin(face);
        if let Ok(key) = self.admin_key.join("**") {
            self.add_entity(face, Declared::plain(Kind::Queryable, 0), key, nothing);
        }
    }
}
