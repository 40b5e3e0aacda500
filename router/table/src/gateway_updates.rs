// SPDX-License-Identifier: MIT OR Apache-2.0

//! Peers whose other gateways or whose gates have changed, and the announcements that are left to
//! update for them.

use std::collections::VecDeque;

use crate::{
    face_id::FaceId,
    interest_records::{GroupKey, InterestRef},
    kind::{EntityRef, Kind},
    search::Listing,
};

/// Updates that are left for one peer; the next of each list is the last.
#[derive(Debug)]
pub(super) struct RemainingUpdates {
    /// Entities of the peer, to be announced to the mesh or taken back.
    pub(super) declared: Vec<EntityRef>,
    /// Entities announced to the peer, to be taken back if another gateway announces them, or if
    /// the gate does not permit them any more.
    pub(super) known: Vec<EntityRef>,
    /// Entities that the peer is sent without an interest.
    pub(super) unasked: Vec<EntityRef>,
    /// Groups of aggregate interests of the peer.
    pub(super) groups: Vec<GroupKey>,
    /// Interests of the peer, to be sent all entities that it may see now.
    pub(super) asked: Vec<(InterestRef, Kind)>,
    /// Rest of the last of these; `None` before it is begun.
    pub(super) listing: Option<Listing>,
}

impl RemainingUpdates {
    pub(super) fn is_done(&self) -> bool {
        self.declared.is_empty()
            && self.known.is_empty()
            && self.unasked.is_empty()
            && self.groups.is_empty()
            && self.asked.is_empty()
    }
}

#[derive(Debug)]
pub(super) struct GatewayUpdate {
    pub(super) face: FaceId,
    /// `None` before it is begun.
    pub(super) rest: Option<RemainingUpdates>,
    /// True if the gateways have changed again since it began.
    again: bool,
}

/// Queue of peers, each of them once.
#[derive(Debug, Default)]
pub(super) struct GatewayUpdates(VecDeque<GatewayUpdate>);

impl GatewayUpdates {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Queues a peer, or begins its updates again.
    pub(super) fn add(&mut self, face: FaceId) {
        match self.0.iter_mut().find(|one| one.face == face) {
            Some(one) => one.again |= one.rest.is_some(),
            None => self.0.push_back(GatewayUpdate {
                face,
                rest: None,
                again: false,
            }),
        }
    }

    /// Takes the peer that has the next turn.
    pub(super) fn take(&mut self) -> Option<GatewayUpdate> {
        self.0.pop_front()
    }

    /// Puts an unfinished peer back at the end of the queue.
    pub(super) fn put_back(&mut self, one: GatewayUpdate) {
        self.0.push_back(one);
    }

    /// Ends the updates of a peer, or begins again if its gateways have changed since.
    pub(super) fn end(&mut self, one: GatewayUpdate) {
        if one.again {
            self.add(one.face);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_while_it_is_under_way_has_it_begin_anew_once() {
        let face = FaceId {
            index: 3,
            generation: 0,
        };
        let mut all = GatewayUpdates::default();
        all.add(face);
        all.add(face);
        let mut one = all.take().expect("one");
        assert!(all.is_empty(), "a peer waits once");
        one.rest = Some(RemainingUpdates {
            declared: Vec::new(),
            known: Vec::new(),
            unasked: Vec::new(),
            groups: Vec::new(),
            asked: Vec::new(),
            listing: None,
        });
        all.put_back(one);
        all.add(face);
        all.add(face);
        let one = all.take().expect("it is under way");
        all.end(one);
        let one = all.take().expect("it begins anew");
        assert!(one.rest.is_none());
        all.end(one);
        assert!(all.is_empty());
    }
}
