// SPDX-License-Identifier: MIT OR Apache-2.0

//! Peers whose other gateways have changed, and what is still to be looked at for them.

use std::collections::VecDeque;

use crate::table::{
    face_id::FaceId,
    kept::InterestRef,
    kind::{EntityRef, Kind},
    search::Listing,
};

/// What is still to be looked at for one peer; the next of each list is the last.
#[derive(Debug)]
pub(super) struct Rest {
    /// What the peer declared: the mesh hears of it, or no more.
    pub(super) declared: Vec<EntityRef>,
    /// What the peer knows, and is perhaps not to know any more.
    pub(super) known: Vec<EntityRef>,
    /// What the peer asks for: it hears of all that it may know now.
    pub(super) asked: Vec<(InterestRef, Kind)>,
    /// What is left of the last of these; `None` before it is begun.
    pub(super) listing: Option<Listing>,
}

impl Rest {
    pub(super) fn is_done(&self) -> bool {
        self.declared.is_empty() && self.known.is_empty() && self.asked.is_empty()
    }
}

#[derive(Debug)]
pub(super) struct Retelling {
    pub(super) face: FaceId,
    /// `None` before it is begun.
    pub(super) rest: Option<Rest>,
    /// Something has changed again since it began.
    again: bool,
}

/// The peers, each once, whose turn comes one after the other.
#[derive(Debug, Default)]
pub(super) struct Retellings(VecDeque<Retelling>);

impl Retellings {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Something has changed for a peer.
    pub(super) fn add(&mut self, face: FaceId) {
        match self.0.iter_mut().find(|one| one.face == face) {
            Some(one) => one.again |= one.rest.is_some(),
            None => self.0.push_back(Retelling {
                face,
                rest: None,
                again: false,
            }),
        }
    }

    /// The one whose turn it is.
    pub(super) fn take(&mut self) -> Option<Retelling> {
        self.0.pop_front()
    }

    /// It goes on when the others have had their turn.
    pub(super) fn put_back(&mut self, one: Retelling) {
        self.0.push_back(one);
    }

    /// It has come to its end, and begins anew if something has changed meanwhile.
    pub(super) fn end(&mut self, one: Retelling) {
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
        let mut all = Retellings::default();
        all.add(face);
        all.add(face);
        let mut one = all.take().expect("one");
        assert!(all.is_empty(), "a peer waits once");
        one.rest = Some(Rest {
            declared: Vec::new(),
            known: Vec::new(),
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
