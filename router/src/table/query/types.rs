// SPDX-License-Identifier: MIT OR Apache-2.0

//! A query that arrives, where it goes, and how it ended.

use std::time::Duration;

use zonda_codec::{KeyExpr, Mapping, Qos, Target, WireExpr, ZenohId};

use crate::table::{audience::Locality, face_id::FaceId};

/// A query that arrives.
#[derive(Debug, Clone, Copy)]
pub struct NewQuery<'a> {
    /// Its number; the origin's choice.
    pub rid: u32,
    /// The keys asked for, in full.
    pub key: &'a KeyExpr<'a>,
    /// Which queryables are to be asked.
    pub target: Target,
    /// The quality of service of the query and of its replies.
    pub qos: Qos,
    /// The time for which the origin waits; a week at most.
    pub timeout: Duration,
    /// The id of the declared querier it comes from, if it comes from a local one.
    pub querier: Option<u32>,
    /// The nodes to which it goes, if it comes from the session.
    pub destination: Locality,
    /// The origin understands an error that stands for the replies of a node whose link was lost.
    pub hears_of_losses: bool,
}

/// The fate of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryDispatch {
    /// It is to be sent to these.
    Sent(Branches),
    /// It waits for a destination: see [`release_held`](crate::table::ForwardingTable::release_held).
    Held,
    /// It has ended already, and is among the [ended](crate::table::ForwardingTable::take_ended).
    Ended,
    /// It is ignored, and counted: its number is that of an open query of the same face, or the face may not send queries.
    Ignored,
}

/// The destinations of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Branches {
    /// One per neighbour, ordered by face; never the origin.
    pub hops: Vec<QueryHop>,
    /// The faces of this node itself that are asked: its session, its admin space.
    pub local: Vec<LocalBranch>,
}

/// One neighbour that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryHop {
    /// The neighbour.
    pub face: FaceId,
    /// The query's number there.
    pub rid: u32,
    /// A declared key expression id, or 0.
    pub scope: u16,
    /// The side whose id the scope is.
    pub mapping: Mapping,
    /// From which byte of the key on text follows the scope.
    pub skip: usize,
    /// To another router: the number of the one where the query entered the mesh. Else, and for this node itself, 0.
    pub node_id: u16,
}

impl QueryHop {
    /// `key`, which is the query's, as it is written to this neighbour.
    pub fn wire_expr<'k>(&self, key: &'k str) -> WireExpr<'k> {
        WireExpr {
            scope: self.scope,
            suffix: key.get(self.skip..).unwrap_or(""),
            mapping: self.mapping,
        }
    }
}

/// A face of this node itself that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalBranch {
    /// The session, or the admin space.
    pub face: FaceId,
    /// The query's number there.
    pub rid: u32,
    /// The session's queryables that are asked, each by its id.
    pub queryables: Vec<u32>,
}

/// The origin of a query, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryOrigin {
    /// The face it came from.
    pub face: FaceId,
    /// Its number there.
    pub rid: u32,
    /// Its quality of service, and that of its replies.
    pub qos: Qos,
    /// It understands an error that stands for the replies of a node whose link was lost.
    pub hears_of_losses: bool,
}

impl NewQuery<'_> {
    /// Gives its origin.
    pub(in crate::table) fn origin(&self, face: FaceId) -> QueryOrigin {
        QueryOrigin {
            face,
            rid: self.rid,
            qos: self.qos,
            hears_of_losses: self.hears_of_losses,
        }
    }
}

/// A query that has ended. The node tells the origin so, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Gives its origin.
    pub origin: QueryOrigin,
    /// The end.
    pub how: Ending,
}

/// The end of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Everybody has answered, or there was no destination.
    Complete,
    /// This neighbour was lost before it had answered in full; everybody else has.
    LinkLost(ZenohId),
    /// So many, at least one, had not answered in full when the time was over.
    TimedOut(usize),
}
