// SPDX-License-Identifier: MIT OR Apache-2.0

//! Clients of a service on this node, which are no neighbours.

use std::sync::Arc;

use crate::{
    admin::tracing::is_trace,
    config::{Flow, MessageKind},
    filter::{Message, Neighbour},
};

use super::handle::Node;

impl Node {
    /// Returns the reason for which the rules of access control deny a message between a client of
    /// a service and this node; `None` if it passes. A denied message is counted and logged as one
    /// of a neighbour. The service asks for each message of the client, since the node sees its
    /// own session only.
    ///
    /// A query for a trace is denied under any rules: its replies have messages on all keys.
    #[must_use]
    pub fn refusal_to(&self, client: &Neighbour, message: Message<'_>) -> Option<String> {
        let filters = Arc::clone(&self.shared.state.lock().filters);
        let Message { flow, kind, key } = message;
        let is_query = (flow, kind) == (Flow::Ingress, MessageKind::Query);
        match filters.have_rules() && is_query && is_trace(key) {
            true => Some("traces are for neighbours: use `zonda trace`".to_owned()),
            false => filters.refusal_to(client, message),
        }
    }
}
