// SPDX-License-Identifier: MIT OR Apache-2.0

//! Effects of the filters on a message, in words.

use std::sync::Arc;

use zonda_codec::Locator;
use zonda_transport::outbox::{Outbox, PriorityCounts};

use crate::{
    model::LinkStatus,
    node::state::State,
    table::{FaceId, Kind},
};

use super::{
    bind::subject,
    contract::{Effect, Message},
    filters::Filters,
};

/// Most refused declarations that are looked at.
const REFUSED_MAX: usize = 1024;

/// Returns keys of a neighbour's declarations of a kind that the filters have refused.
pub(crate) fn refused_keys(state: &State, face: FaceId, kind: Kind) -> Vec<Box<str>> {
    let face = state.faces.get(&face);
    face.map_or_else(Vec::new, |face| face.refused.keys(kind, REFUSED_MAX))
}

/// Neighbour, and the filters of its messages, copied under the node's lock.
pub(crate) struct Neighbourhood {
    pub(crate) peer: LinkStatus,
    outbox: Arc<Outbox>,
    local: Vec<Locator>,
    filters: Arc<Filters>,
}

impl Neighbourhood {
    /// Copies what is known of the neighbour at `face`; `None` for this node's own session.
    pub(crate) fn of(state: &State, face: FaceId) -> Option<Neighbourhood> {
        let found = state.faces.get(&face)?;
        Some(Neighbourhood {
            peer: found.status.clone(),
            outbox: Arc::clone(&found.outbox),
            local: found
                .places()
                .into_iter()
                .map(|place| place.local)
                .collect(),
            filters: Arc::clone(&state.filters),
        })
    }

    /// Returns the messages that wait for it, and those that were dropped, by priority.
    pub(crate) fn waiting(&self) -> Vec<PriorityCounts> {
        self.outbox.priorities()
    }

    /// Explains the effects on a message, in the order in which the filters decide.
    ///
    /// # Blocking
    /// A system call at most every ten seconds.
    pub(crate) fn effects(&self, message: Message<'_>) -> Vec<Effect> {
        let filters = &self.filters;
        let subject = subject(&self.peer, self.local.iter(), filters.need_interfaces());
        filters.explain(&subject, message)
    }

    /// Returns true if the filters keep all such messages from passing.
    ///
    /// # Blocking
    /// A system call at most every ten seconds.
    pub(crate) fn denies(&self, message: Message<'_>) -> bool {
        let filters = &self.filters;
        let subject = subject(&self.peer, self.local.iter(), filters.need_interfaces());
        filters.deny(&subject, message)
    }
}
