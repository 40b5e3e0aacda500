// SPDX-License-Identifier: MIT OR Apache-2.0

//! Data messages: from a publisher of this node or a connection's reading task, along a route, to subscribers and neighbours.
//!
//! - `publisher`, `publish`, `plain`: what a publishing thread does, with `head`, `label`, `passing` and `way`; `tally` counts it;
//! - `inbound`: what a connection's reading task does with each message, `run` with many that are alike, `sheet`: how
//!   their copies are written once for several neighbours;
//! - `route`: the table's answers, resolved to outboxes and callbacks, valid until something happens on their key;
//!   `resolve`, `looking`: how they are found without keeping the node's lock; `key_cache`: those of keys without a declaration;
//! - `early`: messages that wait for the declaration of their key's id;
//! - `stamp`: the policy of timestamps;
//! - `receiving`: how the node's own subscribers are called;
//! - `deliver`: where messages enter the outboxes of neighbours, and on what terms;
//! - `burst`, `backpressure`, `congestion`, `outboxes`: what a source waits for when a neighbour does not take its messages.
//!
//! A message of a declared publisher, or one that a connection brings for a known key, takes no lock but the lane's.

pub(crate) mod backpressure;
pub(crate) mod burst;
pub(crate) mod congestion;
pub(crate) mod deliver;
pub(crate) mod early;
pub(crate) mod head;
pub(crate) mod inbound;
pub(crate) mod key_cache;
pub(crate) mod label;
pub(crate) mod looking;
pub(crate) mod outboxes;
pub(crate) mod passing;
pub(crate) mod plain;
pub(crate) mod publish;
pub(crate) mod publisher;
pub(crate) mod receiving;
pub(crate) mod resolve;
pub(crate) mod route;
pub(crate) mod run;
pub(crate) mod sheet;
pub(crate) mod stamp;
pub(crate) mod tally;
pub(crate) mod way;
