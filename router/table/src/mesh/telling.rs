// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declarations of each router to the routers that are new below this node in its tree, in slices:
//! each slice takes some of the many trees to compute and declarations to send, and then releases
//! the table.

use zonda_codec::{Declaration, QueryableInfo, ZenohId};

use crate::{
    face_id::{Action, FaceId},
    forwarding::ForwardingTable,
    kind::{EntityRef, Kind},
    mesh::{
        endings::Ending,
        sourced::News,
        unsynced_routers::{RemainingEntities, SyncJob},
    },
    message,
    policy::INITIAL,
    search::SLICE_STEPS,
};

/// Bytes of messages after which a slice ends.
const SLICE_BYTES: usize = 64 * 1024;

/// First entity of the own side to declare.
const FIRST: EntityRef = EntityRef {
    kind: Kind::ALL[0],
    index: 0,
};

/// Budget of a slice that is left.
struct Slice {
    steps: usize,
    declarations: usize,
    bytes: usize,
    /// Number of messages whose bytes were counted.
    weighed: usize,
}

impl Slice {
    fn weigh(&mut self, actions: &[Action]) {
        for action in actions.get(self.weighed..).unwrap_or(&[]) {
            self.bytes = self.bytes.saturating_sub(action.weight());
        }
        self.weighed = actions.len();
    }

    fn is_over(&self) -> bool {
        self.steps == 0 || self.declarations == 0 || self.bytes == 0
    }
}

impl ForwardingTable {
    /// Sends a slice of the pending declarations.
    pub(crate) fn tell_on(&mut self, actions: &mut Vec<Action>) {
        let mut slice = Slice {
            steps: SLICE_STEPS,
            declarations: self.limits.answer_slice_max.max(1),
            bytes: SLICE_BYTES,
            weighed: actions.len(),
        };
        // Unfinished declarations come first, then further trees, then repeated ends, then expired entities.
        while !slice.is_over() {
            if let Some(mut job) = self.mesh.unheard.take_job() {
                self.tell_some(&mut job, &mut slice, actions);
                self.mesh.unheard.put_off(job);
            } else if let Some(root) = self.mesh.unheard.next_root() {
                slice.steps = slice.steps.saturating_sub(1 + self.mesh.tree_cost());
                if let Some(job) = self.begin_telling(root) {
                    self.mesh.unheard.put_off(job);
                }
            } else if let Some(ending) = self.mesh.endings.next() {
                slice.declarations -= 1;
                slice.steps = slice.steps.saturating_sub(1);
                self.tell_ending(&ending, actions);
                slice.weigh(actions);
            } else if let Some((zid, entity)) = self.mesh.unheard.next_ended() {
                slice.declarations -= 1;
                self.end_unconfirmed(&zid, entity, actions);
                slice.weigh(actions);
            } else {
                return self.end_first_declarations(actions);
            }
        }
    }

    /// Ends the first declarations to routers that have connected and received all of them: with
    /// the D_FINAL for interest 0 that ends those between peers as well. An opening node waits for
    /// it; implementations that do not know it between routers ignore it.
    fn end_first_declarations(&mut self, actions: &mut Vec<Action>) {
        let mut unheard = std::mem::take(&mut self.mesh.unheard);
        let own = self.topology.zid();
        let has_heard = |link: FaceId| {
            let zid = self.face(link).map(|face| face.info.zid);
            zid.is_some_and(|zid| self.mesh.towards(&own, &zid, None) == Some(link))
        };
        for link in unheard.take_newcomers(has_heard) {
            message::declare(link, Some(INITIAL), Declaration::Final, actions);
        }
        self.mesh.unheard = unheard;
    }

    /// Collects the entities of a router for the neighbours that have not received them; `None` if
    /// there is no such neighbour.
    fn begin_telling(&mut self, root: ZenohId) -> Option<SyncJob> {
        let links = self.mesh.unheard(root);
        if links.is_empty() {
            return None;
        }
        let face = self.face_of_root(&root)?;
        if Some(face) == self.mesh.whole {
            let rest = RemainingEntities::Own(Some(FIRST));
            return Some(SyncJob { root, links, rest });
        }
        let mut rest = Vec::new();
        for kind in Kind::ALL {
            let mut all: Vec<u32> = self.entities.declared(face.index, kind).collect();
            all.sort_unstable();
            rest.extend(all.into_iter().map(|index| EntityRef { kind, index }));
        }
        rest.reverse();
        let rest = RemainingEntities::These(rest);
        Some(SyncJob { root, links, rest })
    }

    /// Declares some entities of a job's router to the job's links.
    fn tell_some(&mut self, job: &mut SyncJob, slice: &mut Slice, actions: &mut Vec<Action>) {
        // Without a link or the router the job has nothing left to send.
        job.links.retain(|link| self.face(*link).is_some());
        let Some(face) = self
            .face_of_root(&job.root)
            .filter(|_| !job.links.is_empty())
        else {
            job.rest = RemainingEntities::Own(None);
            return;
        };
        let number = self.mesh.number(&job.root);
        // Entities that have ended since the job began are left out.
        while let Some(EntityRef { kind, index }) = self.next_of(&mut job.rest) {
            slice.steps = slice.steps.saturating_sub(1);
            let entity = EntityRef { kind, index };
            let has = self.root_has(face, entity);
            if let Some((info, key)) = has.zip(self.entities(kind).key(index)) {
                let (key, info) = (key.as_str(), Some(info));
                for &link in &job.links {
                    let news = News { kind, key, info };
                    self.declare_sourced(link, number, news, actions);
                }
                slice.declarations = slice.declarations.saturating_sub(job.links.len());
                slice.weigh(actions);
            }
            if slice.is_over() {
                return;
            }
        }
    }

    /// Takes the next entity of the rest; of the own side every entity of the table, even one that
    /// is not declared.
    fn next_of(&self, rest: &mut RemainingEntities) -> Option<EntityRef> {
        let next = match rest {
            RemainingEntities::These(rest) => return rest.pop(),
            RemainingEntities::Own(next) => next,
        };
        let mut at = (*next)?;
        // Continue with the next kind behind the last entity of one.
        while at.index >= self.entities(at.kind).places() {
            let mut kinds = Kind::ALL.into_iter().skip_while(|kind| *kind != at.kind);
            let Some(kind) = kinds.nth(1) else {
                *next = None;
                return None;
            };
            at = EntityRef { kind, index: 0 };
        }
        let EntityRef { kind, index } = at;
        *next = Some(EntityRef {
            kind,
            index: index + 1,
        });
        Some(at)
    }

    /// Records the end of a router's entity, unless the network is quiet and each router is sure to
    /// receive it.
    pub(super) fn note_ending(&mut self, router: FaceId, kind: Kind, key: &str) {
        let root = match Some(router) == self.mesh.whole {
            true => Some(self.topology.zid()),
            false => self.face(router).map(|face| face.info.zid),
        };
        if let Some(root) = root.filter(|_| !self.mesh.is_quiet()) {
            let key = Box::from(key);
            self.mesh.endings.note(Ending { root, kind, key });
        }
    }

    /// Records the end of all entities of a router that is gone. It may return before other routers notice.
    pub(super) fn note_endings(&mut self, router: FaceId) {
        let Some(root) = self.face(router).map(|face| face.info.zid) else {
            return;
        };
        for kind in Kind::ALL {
            let declared: Vec<u32> = self.entities.declared(router.index, kind).collect();
            for index in declared {
                if let Some(key) = self.entities(kind).key(index) {
                    let key = Box::from(key.as_str());
                    self.mesh.endings.note(Ending { root, kind, key });
                }
            }
        }
    }

    /// Repeats the end of a router's entity, if the entity has not been declared again.
    fn tell_ending(&mut self, ending: &Ending, actions: &mut Vec<Action>) {
        let Ending {
            root,
            kind,
            ref key,
        } = *ending;
        let Some(face) = self.face_of_root(&root) else {
            return;
        };
        let index = self.entities(kind).on(key);
        let has = index.and_then(|index| self.root_has(face, EntityRef { kind, index }));
        if has.is_some() {
            return;
        }
        let number = self.mesh.number(&root);
        let (key, info) = (&**key, None);
        for link in self.mesh.children(&root) {
            self.declare_sourced(link, number, News { kind, key, info }, actions);
        }
    }

    /// Returns the face of a router; for this node the face of all other routers, which its own
    /// side is declared to.
    fn face_of_root(&self, root: &ZenohId) -> Option<FaceId> {
        match *root == self.topology.zid() {
            true => self.mesh.whole,
            false => self.mesh.face_of(root),
        }
    }

    /// Returns the promise of the router of this face, or of this node's own side; `None` if it has
    /// not declared the entity.
    fn root_has(&self, face: FaceId, entity: EntityRef) -> Option<QueryableInfo> {
        if Some(face) == self.mesh.whole {
            return self.entities(entity.kind).in_mesh(entity.index);
        }
        let sources = self.entities(entity.kind).sources(entity.index);
        let own = sources.iter().find(|source| source.slot == face.index);
        own.map(|source| source.info())
    }

    /// Removes an entity of a router, unless a neighbour has declared it again.
    fn end_unconfirmed(&mut self, zid: &ZenohId, entity: EntityRef, actions: &mut Vec<Action>) {
        let Some(router) = self.mesh.face_of(zid) else {
            return;
        };
        let EntityRef { kind, index } = entity;
        let is_declared = self.entity_of(router, kind, index).is_some();
        if is_declared && !self.mesh.is_told(zid, entity, None) {
            self.end_sourced(None, router, entity, actions);
        }
    }
}
