// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the table reports to the node's own session: tokens that come and go, subscribers that match a publisher.
//!
//! `listeners` and `queueing` queue the notices in the order in which the table decided and calls the session outside every lock;
//! `liveliness` and `matching` say about what.

pub(crate) mod listeners;
pub(crate) mod liveliness;
pub(crate) mod matching;
mod queueing;
