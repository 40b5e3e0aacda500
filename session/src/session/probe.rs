// SPDX-License-Identifier: MIT OR Apache-2.0

//! Access for counting instructions: a session over a node that is open already. It is no part of a
//! session's API and exists with the feature `probe` only.

use zonda_router::node::Node;

use super::Session;
use crate::config::Config;

impl Session {
    /// Creates a session over this node.
    pub fn over(node: Node) -> Session {
        Session::new(node, Config::default())
    }
}
