// SPDX-License-Identifier: MIT OR Apache-2.0

//! How the node names a face to the table, what it says about it, and what the table asks of the node.

use std::fmt;

use zonda_codec::{WhatAmI, ZenohId};

use crate::table::notice::Notice;

/// One neighbour (or the node's own session) as the table knows it.
///
/// The generation tells a new face from an old one in the same place, so an id kept too long names nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaceId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl FaceId {
    /// The face's place: small, dense, and reused after the face is gone.
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// What a session calls by this id.
    pub const fn own(self, id: u32) -> OwnRef {
        OwnRef { face: self, id }
    }

    /// How many faces stood in this place before.
    pub const fn generation(self) -> u32 {
        self.generation
    }
}

impl fmt::Display for FaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

/// Something of a session, such as a publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnRef {
    /// The session.
    pub face: FaceId,
    /// The id that the session gives it.
    pub id: u32,
}

/// Where a face's messages come from and go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaceKind {
    /// The node's own session: its declarations are made by calls, nothing is ever sent to it.
    Local,
    /// A connected node.
    Remote,
    /// A multicast group: whatever is sent to it, all its members hear.
    Group,
    /// A router of the mesh, be it a neighbour or further off: what it declared is its own, by whichever link it came. Nothing
    /// is sent to it, but to the neighbour that leads there.
    Beyond,
    /// All other routers of the mesh together: what this node's own side has is declared to them.
    Mesh,
}

/// Who stands behind a face.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaceInfo {
    /// The neighbour's id; the node's own for a local face.
    pub zid: ZenohId,
    /// The neighbour's role; the node's own for a local face.
    pub whatami: WhatAmI,
    /// A session, a connection, a group, or something of the mesh.
    pub kind: FaceKind,
}

/// Something the node must do for the table. In the order given, per face.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Send a message on the face's control lane: reliable, in order, never dropped.
    Send {
        /// The receiving face.
        face: FaceId,
        /// One encoded network message.
        bytes: Vec<u8>,
    },
    /// Tell a listener of the session something: in the order given for each listener, with no lock held.
    Notify {
        /// The session's id of the listener.
        listener: u32,
        /// The message.
        notice: Notice,
    },
}

impl Action {
    /// About how many bytes it takes, for callers that bound how much is done in one go.
    pub(super) fn weight(&self) -> usize {
        match self {
            Action::Send { bytes, .. } => bytes.len(),
            Action::Notify { notice, .. } => notice.weight(),
        }
    }
}
