// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declarations between routers. Each belongs to the router whose own side has the entity, and goes
//! down that router's tree. It has no id: an undeclaration names the key.

use zonda_codec::{Declaration, Declare, QueryableInfo, WireExpr};

use crate::{
    entity::Declared,
    face_id::{Action, FaceId},
    forwarding::ForwardingTable,
    gate::GatedKind,
    kind::{EntityRef, Kind},
    limits::key_memory,
    mesh::charges::Item,
    message,
    policy::INITIAL,
};

/// An entity of a router.
struct Sourced<'a> {
    kind: Kind,
    /// Number of the router in the sender's list.
    node_id: u16,
    key: WireExpr<'a>,
    info: QueryableInfo,
}

/// Change on a key, for another router.
#[derive(Clone, Copy)]
pub(super) struct News<'a> {
    pub(super) kind: Kind,
    pub(super) key: &'a str,
    /// The promise on it; `None` if the entity has ended.
    pub(super) info: Option<QueryableInfo>,
}

/// A declaration or an undeclaration by a router.
enum Said<'a> {
    Has(Sourced<'a>),
    HasNoMore(Sourced<'a>),
}

/// Reads a declaration; `None` if it has no meaning between routers.
fn read<'a>(declare: &Declare<'a>) -> Option<Said<'a>> {
    let with = |kind, key, info| Sourced {
        kind,
        node_id: declare.node_id,
        key,
        info,
    };
    let has = |kind, key| Some(Said::Has(with(kind, key, QueryableInfo::default())));
    let no_more = |kind, key: Option<_>| {
        let ended = with(kind, key?, QueryableInfo::default());
        Some(Said::HasNoMore(ended))
    };
    match declare.body {
        Declaration::Subscriber { wire_expr, .. } => has(Kind::Subscriber, wire_expr),
        Declaration::Token { wire_expr, .. } => has(Kind::Token, wire_expr),
        Declaration::Queryable {
            wire_expr, info, ..
        } => Some(Said::Has(with(Kind::Queryable, wire_expr, info))),
        Declaration::UndeclareSubscriber { key, .. } => no_more(Kind::Subscriber, key),
        Declaration::UndeclareQueryable { key, .. } => no_more(Kind::Queryable, key),
        Declaration::UndeclareToken { key, .. } => no_more(Kind::Token, key),
        Declaration::KeyExpr { .. } | Declaration::UndeclareKeyExpr { .. } | Declaration::Final => {
            None
        }
    }
}

impl ForwardingTable {
    /// Handles a DECLARE from another router.
    pub(crate) fn handle_sourced(
        &mut self,
        link: FaceId,
        declare: &Declare<'_>,
        actions: &mut Vec<Action>,
    ) {
        match (declare.body, read(declare)) {
            (Declaration::KeyExpr { id, wire_expr }, _) => self.learn_key(link, id, wire_expr),
            (Declaration::UndeclareKeyExpr { id }, _) => self.forget_key(link, id),
            (_, Some(Said::Has(what))) => self.learn_sourced(link, &what, actions),
            (_, Some(Said::HasNoMore(what))) => self.forget_sourced(link, &what, actions),
            (Declaration::Final, _) if declare.interest_id == Some(INITIAL) => {
                if let Some(router) = self.face_mut(link) {
                    router.final_zero = true;
                }
            }
            (_, None) => self.count_misplaced(link),
        }
    }

    fn learn_sourced(&mut self, link: FaceId, what: &Sourced<'_>, actions: &mut Vec<Action>) {
        let &Sourced { kind, info, .. } = what;
        // Drop what names no known router, has no valid key or does not come along the tree.
        let Some(router) = self.source_of(link, what.node_id) else {
            return self.count_misplaced(link);
        };
        let Some(key) = self.declared_key(link, &what.key) else {
            return;
        };
        let text = key.as_str().to_owned();
        let Some(zid) = self.face(router).map(|face| face.info.zid) else {
            return;
        };
        if !self.mesh.takes_declarations(&zid, link) {
            return self.count_misplaced(link);
        }
        // A new declaration counts against the limits of the link.
        let item = Item {
            kind,
            memory: key_memory(&text),
            is_wild: text.contains('*'),
        };
        let entity = |index| EntityRef { kind, index };
        let known = self.entity_on(router, kind, &text).map(entity);
        let is_told = known.is_some_and(|known| self.mesh.is_told(&zid, known, Some(link)));
        if !is_told && self.is_link_full(link, item) {
            return;
        }
        // Record it, and pass on a change of the router's promise.
        let before = self.sourced_info(router, kind, &text);
        self.add_entity(router, Declared::on_key(kind, info), key, actions);
        if let Some(declared) = self.entity_on(router, kind, &text).map(entity) {
            self.mesh.note_told(&zid, declared, link, item);
        }
        let now = self.sourced_info(router, kind, &text);
        if now != before {
            let (key, info) = (text.as_str(), now);
            self.pass_on_declaration(Some(link), router, News { kind, key, info }, actions);
        }
    }

    /// Returns true if one more entity exceeds the limits of all routers behind a link together.
    /// Counts the refusal.
    fn is_link_full(&mut self, link: FaceId, item: Item) -> bool {
        let limits = self.limits;
        let charge = self.mesh.charge(link);
        let (count, memory, wild_keys) = charge.map_or((0, 0, 0), |charge| {
            (charge.count(item.kind), charge.memory(), charge.wild_keys())
        });
        let Some(face) = self.topology.face_mut(link) else {
            return true;
        };
        let (most, memory) = (limits.entities_max(item.kind), memory + item.memory);
        if face.is_full(count, most, memory, &limits) {
            self.notes.extend(face.note_of_full());
            return true;
        }
        let (refused, note) = match item.is_wild {
            true => face.has_too_wild(wild_keys, &limits),
            false => (false, None),
        };
        self.notes.extend(note);
        refused
    }

    fn forget_sourced(&mut self, link: FaceId, what: &Sourced<'_>, actions: &mut Vec<Action>) {
        let kind = what.kind;
        let router = self.source_of(link, what.node_id);
        let key = self.declared_key(link, &what.key);
        let (Some(router), Some(key)) = (router, key) else {
            return;
        };
        let zid = self.face(router).map(|face| face.info.zid);
        if zid.is_some_and(|zid| !self.mesh.takes_declarations(&zid, link)) {
            return self.count_misplaced(link);
        }
        let index = self.entity_on(router, kind, key.as_str());
        let Some((zid, index)) = zid.zip(index) else {
            if let Some(link) = self.face_mut(link) {
                link.counters.unknown_ids += 1;
            }
            return;
        };
        let entity = EntityRef { kind, index };
        if self.mesh.note_ended(&zid, entity, link) {
            self.end_sourced(Some(link), router, entity, actions);
        }
    }

    /// Removes an entity of a router that a neighbour has undeclared or no neighbour has confirmed.
    pub(super) fn end_sourced(
        &mut self,
        link: Option<FaceId>,
        router: FaceId,
        EntityRef { kind, index }: EntityRef,
        actions: &mut Vec<Action>,
    ) {
        let Some(key) = self.entities(kind).key(index) else {
            return;
        };
        self.note_ending(router, kind, key.as_str());
        self.remove_entity(router, kind, index, actions);
        let (key, info) = (key.as_str(), None);
        self.pass_on_declaration(link, router, News { kind, key, info }, actions);
    }

    /// Returns the promise of a router on a key; `None` if it has no entity there.
    pub(super) fn sourced_info(
        &self,
        router: FaceId,
        kind: Kind,
        key: &str,
    ) -> Option<QueryableInfo> {
        let entity = self.entity_on(router, kind, key)?;
        let sources = self.entities(kind).sources(entity);
        let own = sources.iter().find(|source| source.slot == router.index);
        own.map(|source| source.info())
    }

    /// Declares an entity of a router, or its end, to the neighbours below this node in the
    /// router's tree.
    fn pass_on_declaration(
        &mut self,
        link: Option<FaceId>,
        router: FaceId,
        news: News<'_>,
        actions: &mut Vec<Action>,
    ) {
        let Some(root) = self.face(router).map(|face| face.info.zid) else {
            return;
        };
        let number = self.mesh.number(&root);
        for child in self.mesh.children(&root) {
            if Some(child) != link {
                self.declare_sourced(child, number, news, actions);
            }
        }
    }

    /// Declares an entity of the router of this number, or its end, to a neighbour.
    pub(super) fn declare_sourced(
        &mut self,
        link: FaceId,
        number: u16,
        News { kind, key, info }: News<'_>,
        actions: &mut Vec<Action>,
    ) {
        if !self.permits(link.index, GatedKind::Entity(kind), key) {
            return;
        }
        let spelling = self.spell_for(kind, link.index, key, actions);
        let expr = spelling.wire_expr(key);
        let body = match info {
            Some(info) => message::declaration(kind, 0, expr, info),
            None => message::undeclaration_of(kind, expr),
        };
        message::declare_of(link, number, body, actions);
    }

    /// Declares an entity of this node's own side, or its end, to the other routers, if that has changed.
    pub(crate) fn refresh_in_mesh(
        &mut self,
        entity: EntityRef,
        info: Option<QueryableInfo>,
        actions: &mut Vec<Action>,
    ) {
        let (EntityRef { kind, index }, Some(whole)) = (entity, self.mesh.whole) else {
            return;
        };
        // Only a changed promise is declared.
        let before = self.entities_mut(kind).set_in_mesh(index, info);
        if before == info {
            return;
        }
        let children = self.mesh.children(&self.topology.zid());
        let is_noted = info.is_none() && !self.mesh.is_quiet();
        if children.is_empty() && !is_noted {
            return;
        }
        let Some(key) = self.entities(kind).key(index) else {
            return;
        };
        // While the network changes, the end is repeated later.
        if is_noted {
            self.note_ending(whole, kind, &key);
        }
        for child in children {
            let key = key.as_str();
            self.declare_sourced(child, 0, News { kind, key, info }, actions);
        }
    }
}
