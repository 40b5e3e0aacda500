// SPDX-License-Identifier: MIT OR Apache-2.0

//! Names of faces between the node and the table, and the actions that the table requests.

use std::fmt;

use zonda_codec::{WhatAmI, ZenohId};

use crate::notice::Notice;

/// One neighbour (or the node's own session) in the table.
///
/// The generation distinguishes a new face from an old one in the same slot, so an outdated id
/// names no face.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaceId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl FaceId {
    /// Returns the face's slot: small, dense, and reused after the face is gone.
    #[inline]
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// Returns the reference to an entity of this session.
    #[inline]
    pub const fn own(self, id: u32) -> OwnRef {
        OwnRef { face: self, id }
    }

    /// Returns the number of faces that had this slot before.
    #[inline]
    pub const fn generation(self) -> u32 {
        self.generation
    }
}

impl fmt::Display for FaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

/// Reference to an entity of a session, such as a publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnRef {
    /// The session.
    pub face: FaceId,
    /// The id that the session gave it.
    pub id: u32,
}

/// Kind of a face: the source and destination of its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaceKind {
    /// The node's own session: its declarations are made by calls, no message is ever sent to it.
    Local,
    /// A connected node.
    Remote,
    /// A multicast group: a message sent to it reaches all its members.
    Group,
    /// A router of the mesh, a neighbour or further off: owner of its declarations, whichever link
    /// they came by. Messages are sent not to this face but to the neighbour that leads to the router.
    Beyond,
    /// All other routers of the mesh together: the entities of this node's own side are declared to them.
    Mesh,
}

/// Node behind a face.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaceInfo {
    /// The neighbour's id; the node's own for a local face.
    pub zid: ZenohId,
    /// The neighbour's role; the node's own for a local face.
    pub whatami: WhatAmI,
    /// A session, a connection, a group, or routers of the mesh.
    pub kind: FaceKind,
}

/// Request of the table to the node. The node carries them out in the order given, per face.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send a message on the face's control lane: reliable, in order, never dropped.
    Send {
        /// The receiving face.
        face: FaceId,
        /// One encoded network message.
        bytes: Vec<u8>,
    },
    /// Notify a listener of the session: in the order given for each listener, with no lock held.
    Notify {
        /// The session's id of the listener.
        listener: u32,
        /// The message.
        notice: Notice,
    },
}

impl Action {
    /// Returns the approximate bytes it takes, for callers that bound the work of one call.
    pub(super) fn weight(&self) -> usize {
        match self {
            Action::Send { bytes, .. } => bytes.len(),
            Action::Notify { notice, .. } => notice.weight(),
        }
    }
}
