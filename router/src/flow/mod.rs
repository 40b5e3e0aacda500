// SPDX-License-Identifier: MIT OR Apache-2.0

//! Data messages: from a publisher of this node or a connection's reading task, along a route, to
//! subscribers and neighbours.
//!
//! - `publisher`, `publish`, `plain`: the path of a publishing thread, with `head`, `numbering` and
//!   `cached_route`; `send_result`: the result of a send; `tally` counts the messages;
//! - `inbound`: the handler of a connection's reading task, for one message at a time; `run`: for
//!   many messages of one kind; `encoded_run`: encodes their copies once for several neighbours;
//! - `route`: the table's answers, resolved to outboxes and callbacks, valid until a declaration
//!   changes their key; `resolve`, `lookup`: the search for a route without holding the node's
//!   lock throughout; `key_cache`: the routes of keys without a declaration; `local_routes`: the part of
//!   the node's state for the data of its own sessions;
//! - `early`: messages that wait for the declaration of their key's id;
//! - `stamp`: the policy of timestamps; `stacked`: the time-stamp stacks of publications;
//! - `receiving`: the calls of the node's own subscribers;
//! - `deliver`: the entry of messages into the outboxes of neighbours, and its terms;
//! - `read_cycle`, `backpressure`, `congestion`, `outboxes`: the pause of a source while a neighbour
//!   does not take its messages.
//!
//! A message of a declared publisher, or one that a connection brings for a known key, takes no
//! lock but the lane's.

pub(crate) mod backpressure;
pub(crate) mod cached_route;
pub(crate) mod congestion;
pub(crate) mod deliver;
pub(crate) mod early;
pub(crate) mod encoded_run;
pub(crate) mod head;
pub(crate) mod inbound;
pub(crate) mod key_cache;
pub(crate) mod local_routes;
pub(crate) mod lookup;
pub(crate) mod numbering;
pub(crate) mod outboxes;
pub(crate) mod plain;
pub(crate) mod publish;
pub(crate) mod publisher;
pub(crate) mod read_cycle;
pub(crate) mod receiving;
pub(crate) mod resolve;
pub(crate) mod route;
pub(crate) mod run;
pub(crate) mod send_result;
pub(crate) mod stacked;
pub(crate) mod stamp;
pub(crate) mod tally;
