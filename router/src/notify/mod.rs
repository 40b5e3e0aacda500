// SPDX-License-Identifier: MIT OR Apache-2.0

//! Notices of the table for the node's own session: tokens that come and go, subscribers that match
//! a publisher.
//!
//! `listeners` and `notices` queue the notices in the table's order and call the session without a
//! lock; `liveliness` and `matching` declare the listeners.

mod ending;
pub(crate) mod listeners;
pub(crate) mod liveliness;
pub(crate) mod matching;
pub(crate) mod notices;
