// SPDX-License-Identifier: MIT OR Apache-2.0

//! Who wants what: the forwarding table of a node with many neighbours.
//!
//! Sans-IO: plain functions of (state, message, now) that change the table and append [`Action`]s for the
//! node to carry out. No socket, no clock, no thread. The session of the node is a face like any other.
//!
//! - [`ForwardingTable`] is the door: faces come and go, messages arrive, routes are asked.
//! - [`policy`] says what routers, peers and clients are to each other, as data.
//! - [`key_tree`] finds declarations by intersection of key expressions.
//! - `query` leads queries to the nodes that may answer, and the answers back.
//! - [`Notice`]s are what it tells listeners of the session: who is alive, and whether anybody matches.
//! - [`Gossip`] and [`scouting`] are how nodes find each other.
//! - [`limits`] bounds what one neighbour may occupy.

mod announce;
mod announcing;
mod answer;
mod declare;
mod entity;
mod face;
mod face_id;
mod forwarding;
mod gossip;
mod id_map;
mod ids;
mod interest;
pub mod key_tree;
mod leave;
pub mod limits;
mod liveliness;
mod local;
mod locality;
mod matching;
mod message;
mod note;
mod notice;
pub mod policy;
mod query;
mod route;
pub mod scouting;
mod search;
mod slots;
mod upstream;
mod usage;
mod validity;

pub use face_id::{Action, FaceId, FaceInfo, FaceKind};
pub use forwarding::ForwardingTable;
pub use gossip::{Gossip, GossipCounts, GossipOptions};
pub use limits::{FaceCounters, KeyOverLimit, Limits};
pub use local::OwnRef;
pub use locality::Locality;
pub use matching::{Audience, Counterpart};
pub use note::{Note, NoteCause};
pub use notice::Notice;
pub use policy::Relation;
pub use query::{
    Branches, Ended, Ending, LocalBranch, NewQuery, QueryDispatch, QueryHop, QueryOrigin,
    QuerySearch,
};
pub use route::{Hop, Route, RouteSearch, Suffix};
pub use search::SLICE_STEPS;
pub use upstream::{Deadline, INITIAL};
pub use usage::Most;
pub use validity::Validity;

use entity::Kind;
