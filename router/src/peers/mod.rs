// SPDX-License-Identifier: MIT OR Apache-2.0

//! Neighbours of a node: how they are found, connected, admitted and lost.
//!
//! - `listen`, `connect`, `attempt`, `dials`: connections that come in, and those that this node
//!   opens;
//! - `admit`, `admission`, `neighbours`, `crossing`: which of them may stay; `removal`: their end;
//!   `links`, `join`: several to one neighbour;
//! - `discovery`, `finding`, `found`: scouting and gossip, and the connections that they cause;
//! - `events`, `telling`, `reasons`, `refusals`, `ended`, `notes`: the fate of connections,
//!   reported and counted;
//! - `groups`: multicast groups, whose members have no connections;
//! - `oam`: messages about the network itself, dispatched by id;
//! - `slow`: neighbours that did not keep pace;
//! - `wanted`, `renewal`: endpoints and certificates that a reload changes;
//! - `state`: the part of the node's state for all of these.

pub(crate) mod admission;
pub(crate) mod admit;
pub(crate) mod attempt;
pub(crate) mod away;
pub(crate) mod connect;
pub(crate) mod connection_log;
mod crossing;
pub(crate) mod dials;
pub(crate) mod discovery;
pub(crate) mod ended;
pub(crate) mod events;
pub(crate) mod finding;
pub(crate) mod found;
pub(crate) mod groups;
pub(crate) mod join;
pub(crate) mod lines;
pub(crate) mod links;
pub(crate) mod listen;
pub(crate) mod neighbours;
pub(crate) mod notes;
pub(crate) mod oam;
pub(crate) mod reasons;
mod recent;
pub(crate) mod refusals;
mod rejoin;
pub(crate) mod removal;
pub(crate) mod renewal;
pub(crate) mod slow;
pub(crate) mod state;
mod telling;
mod trust;
mod wanted;
