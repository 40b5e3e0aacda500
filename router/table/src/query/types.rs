// SPDX-License-Identifier: MIT OR Apache-2.0

//! Types of a query: arrival, destinations and end.

use std::time::Duration;

use zonda_codec::{KeyExpr, Mapping, NodeId, Qos, Target, WireExpr, ZenohId};

use crate::{audience::Reach, face_id::FaceId};

/// Query that arrives.
#[derive(Debug, Clone, Copy)]
pub struct NewQuery<'a> {
    /// Its id, which the origin chose.
    pub rid: u32,
    /// Its key expression, in full.
    pub key: &'a KeyExpr<'a>,
    /// The queryables that it is for.
    pub target: Target,
    /// The quality of service of the query and of its replies.
    pub qos: Qos,
    /// Time for which the origin waits; a week at most.
    pub timeout: Duration,
    /// Id of the declared querier it comes from, if it comes from a local one.
    pub querier: Option<u32>,
    /// Destination, if it comes from a session of this node.
    pub destination: Reach,
    /// True if the origin understands an error in place of the replies of a node whose link was lost.
    pub hears_of_losses: bool,
}

/// Outcome of a query's arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryDispatch {
    /// It is to be sent to these.
    Sent(Branches),
    /// It waits for a destination: see [`release_held`](crate::ForwardingTable::release_held).
    Held,
    /// It has ended already, and is among the [ended](crate::ForwardingTable::take_ended).
    Ended,
    /// It is ignored, and counted: its id is that of an open query of the same face, or the face
    /// may not send queries.
    Ignored,
}

/// Destinations of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Branches {
    /// One per neighbour, ordered by face; never the origin.
    pub hops: Vec<QueryHop>,
    /// Destinations on this node itself: its session, its admin space.
    pub local: Vec<LocalBranch>,
}

/// One neighbour that the query is sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryHop {
    /// The neighbour.
    pub face: FaceId,
    /// The query's id there.
    pub rid: u32,
    /// A declared key expression id, or 0.
    pub scope: u16,
    /// The side whose id the scope is.
    pub mapping: Mapping,
    /// Byte offset in the key where the text behind the scope begins.
    pub skip: usize,
    /// The routing context of the query, towards another router.
    pub node_id: NodeId,
}

impl QueryHop {
    /// Returns `key`, which is the query's, as it is written to this neighbour.
    #[inline]
    pub fn wire_expr<'k>(&self, key: &'k str) -> WireExpr<'k> {
        WireExpr {
            scope: self.scope,
            suffix: key.get(self.skip..).unwrap_or(""),
            mapping: self.mapping,
        }
    }
}

/// Destination on this node itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalBranch {
    /// The session, or the admin space.
    pub face: FaceId,
    /// The query's id there.
    pub rid: u32,
    /// Ids of the session's queryables that get the query.
    pub queryables: Vec<u32>,
}

/// Origin of a query, and its id there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryOrigin {
    /// The face it came from.
    pub face: FaceId,
    /// The query's id there.
    pub rid: u32,
    /// Its quality of service, and that of its replies.
    pub qos: Qos,
    /// True if it understands an error in place of the replies of a node whose link was lost.
    pub hears_of_losses: bool,
}

impl NewQuery<'_> {
    /// Returns its origin.
    pub(crate) fn origin(&self, face: FaceId) -> QueryOrigin {
        QueryOrigin {
            face,
            rid: self.rid,
            qos: self.qos,
            hears_of_losses: self.hears_of_losses,
        }
    }
}

/// Query that has ended. The node notifies the origin, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its origin.
    pub origin: QueryOrigin,
    /// Its ending.
    pub how: Ending,
}

/// Ending of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All branches have replied in full, or there was no destination.
    Complete,
    /// This neighbour was lost before it had replied in full; all other branches have.
    LinkLost(ZenohId),
    /// So many branches, at least one, had not replied in full at the timeout.
    TimedOut(usize),
}
