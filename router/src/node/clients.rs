// SPDX-License-Identifier: MIT OR Apache-2.0

//! Clients of a service on this node, which are no neighbours.

use std::{
    fmt::{self, Debug, Formatter},
    sync::Arc,
};

use zonda_transport::sync::Mutex;

use crate::{
    admin::tracing::is_trace,
    config::{Flow, MessageKind},
    filter::{ClientVerdicts, Filters, Message, Neighbour},
};

use super::{handle::Node, shared::Shared};

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
        refusal_of_trace(&filters, message).or_else(|| filters.refusal_to(client, message))
    }

    /// Returns the rights of a client that sends many messages.
    #[must_use]
    pub fn rights_of(&self, client: Neighbour) -> ClientRights {
        let shared = Arc::clone(&self.shared);
        let verdicts = ClientVerdicts::of(Arc::clone(&shared.state.lock().filters));
        ClientRights {
            shared,
            client,
            verdicts: Mutex::new(verdicts),
        }
    }
}

/// Returns the reason for which a client gets no trace; `None` for another message, and without
/// rules.
fn refusal_of_trace(filters: &Filters, message: Message<'_>) -> Option<String> {
    let Message { flow, kind, key } = message;
    let is_query = (flow, kind) == (Flow::Ingress, MessageKind::Query);
    let is_refused = filters.have_rules() && is_query && is_trace(key);
    is_refused.then(|| "traces are for neighbours: use `zonda trace`".to_owned())
}

/// Rights of a client of a service, decided once for each direction and key as long as the rules
/// are the same.
pub struct ClientRights {
    shared: Arc<Shared>,
    client: Neighbour,
    verdicts: Mutex<ClientVerdicts>,
}

impl Debug for ClientRights {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut rights = f.debug_struct("ClientRights");
        rights.field("client", &self.client).finish_non_exhaustive()
    }
}

impl ClientRights {
    /// Returns the reason like [`Node::refusal_to`]. Takes the lock of the node only for the first
    /// message after a change of the rules.
    #[must_use]
    pub fn refusal(&self, message: Message<'_>) -> Option<String> {
        let mut verdicts = self.verdicts.lock();
        if !verdicts.are_current() {
            // the node's lock is never taken behind this one
            drop(verdicts);
            let current = ClientVerdicts::of(Arc::clone(&self.shared.state.lock().filters));
            verdicts = self.verdicts.lock();
            *verdicts = current;
        }
        let of_trace = refusal_of_trace(verdicts.filters(), message);
        if of_trace.is_some() {
            return of_trace;
        }
        let Message { flow, kind, key } = message;
        let denied = verdicts.denied(&self.client, flow, key)?;
        // a denial is logged, with no lock held
        let filters = Arc::clone(verdicts.filters());
        drop(verdicts);
        filters.refused(&denied, flow, kind)
    }
}
