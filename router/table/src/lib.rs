// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! Forwarding table of a node: declarations and interests of its neighbours, and the routes of messages.
//!
//! Sans-IO: plain functions of (state, message, now) that change the table and append [`Action`]s
//! for the node to carry out. No socket, no clock, no thread. The session of the node is a face
//! like any other.
//!
//! - [`ForwardingTable`] is the interface: it adds and removes faces, handles messages and returns
//!   routes. It coordinates four parts, each with fields of its own: `topology` (the faces, and
//!   their relations to this node), `entities` (declarations), `interests` (of neighbours; `wants`:
//!   of this node at its gateways) and `queries` (open queries).
//! - A file that only declares data or such a part does not know the [`ForwardingTable`]; the files
//!   that work on several parts (`declare`, `announce`, `interest`, `upstream`, `route`, ...) import
//!   both, and no file imports them.
//! - [`policy`] defines the relations of routers, peers and clients, as data.
//! - [`key_tree`] finds declarations by intersection of key expressions.
//! - `mesh` has the other routers, and the trees that messages between them follow.
//! - `query` forwards queries to the nodes that may answer, and the replies back.
//! - [`Notice`]s notify listeners of the session of tokens and of matching declarations.
//! - [`Gossip`] and [`scouting`] find other nodes.
//! - [`limits`] bounds the memory of one neighbour.

mod aggregation;
mod announce;
mod announced;
mod announcements;
mod announcing;
mod answer;
mod audience;
mod deadline;
mod declare;
mod delayed_finals;
mod entities;
mod entity;
mod face;
mod face_id;
mod face_removal;
mod few;
mod forwarding;
mod gate;
mod gateway_updates;
mod gateways;
mod gossip;
mod group;
pub mod hlc;
mod hop;
mod id_map;
mod ids;
mod in_force;
mod interest;
mod interest_records;
mod interests;
pub mod key_tree;
mod kind;
mod leave;
pub mod limits;
mod link_states;
mod listed;
mod listeners;
mod liveliness;
mod matching;
mod mesh;
mod message;
mod note;
mod notice;
mod onward;
mod outdate;
mod own_senders;
pub mod policy;
mod query;
mod recipients;
mod route;
pub mod scouting;
mod search;
mod session;
mod session_entities;
mod shared_peers;
mod slots;
mod topology;
mod upstream;
mod upstream_interests;
mod usage;
mod validity;

pub use aggregation::Aggregation;
pub use audience::{Audience, Counterpart, Locality, Reach, SessionNumber};
pub use deadline::Deadline;
pub use face_id::{Action, FaceId, FaceInfo, FaceKind, OwnRef};
pub use forwarding::ForwardingTable;
pub use gate::{Gate, GatedKind};
pub use gossip::{Gossip, GossipCounts, GossipOptions};
pub use hop::{Hop, Suffix};
pub use in_force::{InForce, TokenInterest};
pub use kind::Kind;
pub use limits::{FaceCounters, KeyOverLimit, Limits, Shortage};
pub use listed::{Declarers, Listed, ListedPart, SenderPlace};
pub use mesh::{GraphLink, LinkWeights, NetworkGraph, PlaceInTree};
pub use note::{Note, NoteCause};
pub use notice::Notice;
pub use onward::OnwardSearch;
pub use policy::{INITIAL, Relation};
pub use query::{
    Branches, Ended, Ending, LocalBranch, NewQuery, QueryDispatch, QueryHop, QueryOrigin,
    QuerySearch,
};
pub use recipients::Recipients;
pub use route::{Route, RouteSearch};
pub use search::SLICE_STEPS;
pub use session_entities::Own;
pub use usage::{DeclaredCounts, Most};
pub use validity::Validity;
