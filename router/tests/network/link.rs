// SPDX-License-Identifier: MIT OR Apache-2.0

//! A connection between two nodes: what is on its way, and what each side believes of it.

use std::collections::VecDeque;
use std::time::Instant;

use zonda_router::table::FaceId;

/// A message on a link.
#[derive(Debug)]
pub enum Message {
    /// Something for the table, as bytes.
    Control(Vec<u8>),
    Question {
        rid: u32,
        key: String,
        node_id: u16,
    },
    /// An answer, by a queryable of a node.
    Answer {
        rid: u32,
        by: (usize, u32),
    },
    Final {
        rid: u32,
    },
    /// A publication, by its number.
    Data {
        number: usize,
        node_id: u16,
    },
}

/// One side of a link.
#[derive(Default)]
pub struct Side {
    pub node: usize,
    /// Its face of the link, for as long as it believes in it.
    pub face: Option<FaceId>,
    /// The messages on their way to it, in order.
    pub incoming: VecDeque<(Instant, Message)>,
    /// When it notices that the link is gone.
    pub notices: Option<Instant>,
}

/// Two sides; side 0 is the one that connects.
pub struct Link {
    pub sides: [Side; 2],
    pub is_cut: bool,
    /// When it is restored, once both sides have noticed.
    pub restored: Option<Instant>,
}

impl Link {
    pub fn new((from, to): (usize, usize)) -> Self {
        let side = |node| Side {
            node,
            ..Side::default()
        };
        Link {
            sides: [side(from), side(to)],
            is_cut: true,
            restored: None,
        }
    }

    /// Nothing passes any more; what was on its way is lost.
    pub fn cut(&mut self, notices: [Instant; 2]) {
        self.is_cut = true;
        self.restored = None;
        for (side, notices) in self.sides.iter_mut().zip(notices) {
            side.incoming.clear();
            side.notices = side.face.and(Some(notices));
        }
    }

    /// Which side a face of a node is, if it is one of this link.
    pub fn side_of(&self, node: usize, face: FaceId) -> Option<usize> {
        let mut sides = self.sides.iter();
        sides.position(|side| side.node == node && side.face == Some(face))
    }

    /// When something happens next by itself.
    pub fn next_event(&self) -> Option<Instant> {
        let sides = self.sides.iter();
        sides
            .flat_map(|side| [side.notices, side.incoming.front().map(|first| first.0)])
            .chain([self.restored])
            .flatten()
            .min()
    }
}
