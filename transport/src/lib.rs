// SPDX-License-Identifier: MIT OR Apache-2.0
//! One connection to one peer of a Zonda node: links, handshake, batches, priorities, fragments, lease.
//!
//! [`protocol`] is sans-IO; the other modules move its bytes.
#![forbid(unsafe_code)]

pub mod protocol;
