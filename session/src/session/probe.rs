// SPDX-License-Identifier: MIT OR Apache-2.0

//! A door for counting instructions: a session over a node that is open already. No part of what a session promises;
//! it exists with the feature `probe` only.

use std::sync::Arc;
use std::time::Duration;

use zonda_router::node::Node;

use crate::listening::Listeners;

use super::{Session, Shared};

impl Session {
    /// A session over this node.
    pub fn over(node: Node) -> Session {
        Session(Arc::new(Shared {
            listeners: Listeners::new(node.clone()),
            node,
            publish_limit: Duration::from_secs(5),
            namespace: None,
            declared: Arc::default(),
        }))
    }
}
