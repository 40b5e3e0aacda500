// SPDX-License-Identifier: MIT OR Apache-2.0

//! A connection between two nodes: messages under way, and the state at each side.

use std::collections::VecDeque;
use std::time::Instant;

use zonda_codec::NodeId;
use zonda_router::table::FaceId;

/// A message on a link.
#[derive(Debug)]
pub enum Message {
    /// A control message for the table, as bytes.
    Control(Vec<u8>),
    Question {
        rid: u32,
        key: String,
        node_id: NodeId,
    },
    /// A reply of a node's queryable.
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
        node_id: NodeId,
    },
}

/// One side of a link.
#[derive(Default)]
pub struct Side {
    pub node: usize,
    /// Face of the link, while the side considers it alive.
    pub face: Option<FaceId>,
    /// Messages under way to this side, in order.
    pub incoming: VecDeque<(Instant, Message)>,
    /// Time at which the side notices that the link is gone.
    pub notices: Option<Instant>,
}

/// A link of two sides; side 0 is the one that connects.
pub struct Link {
    pub sides: [Side; 2],
    pub is_cut: bool,
    /// Time at which the link is restored, once both sides have noticed its loss.
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

    /// Cuts the link; messages under way are lost.
    pub fn cut(&mut self, notices: [Instant; 2]) {
        self.is_cut = true;
        self.restored = None;
        for (side, notices) in self.sides.iter_mut().zip(notices) {
            side.incoming.clear();
            side.notices = side.face.and(Some(notices));
        }
    }

    /// Returns the side of a node's face, if the face belongs to this link.
    pub fn side_of(&self, node: usize, face: FaceId) -> Option<usize> {
        let mut sides = self.sides.iter();
        sides.position(|side| side.node == node && side.face == Some(face))
    }

    /// Returns the time of the next event on the link.
    pub fn next_event(&self) -> Option<Instant> {
        let sides = self.sides.iter();
        sides
            .flat_map(|side| [side.notices, side.incoming.front().map(|first| first.0)])
            .chain([self.restored])
            .flatten()
            .min()
    }
}
