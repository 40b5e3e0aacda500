// SPDX-License-Identifier: MIT OR Apache-2.0

//! Access control of clients that are no neighbours: those of a service, whose messages pass the
//! session of that service.

use std::{
    fmt::{self, Display, Formatter},
    sync::Arc,
};

use zonda_codec::{KeyExpr, Qos};
use zonda_transport::text::shown;

use crate::config::{Flow, MessageKind};

use super::{
    access_control::{Denied, Neighbour},
    bound::BoundCache,
    contract::{Message, MessageView, Reason},
    filters::Filters,
};

impl Filters {
    /// Returns true if there are rules of access control.
    pub(crate) fn have_rules(&self) -> bool {
        self.access().is_some()
    }

    /// Returns the reason for which access control denies a message between a client of a service
    /// and this node; it is counted.
    pub(crate) fn refusal_to(&self, client: &Neighbour, message: Message<'_>) -> Option<String> {
        let denied = self.bind_client(client, message.flow, message.key)?;
        self.refused(&denied, message.flow, message.kind)
    }

    fn bind_client(&self, client: &Neighbour, flow: Flow, key: &KeyExpr<'_>) -> Option<Denied> {
        self.access()?.bind_client(client, flow, key)
    }

    /// Returns the reason for which a message is denied, which is counted; `None` if it passes.
    pub(crate) fn refused(&self, denied: &Denied, flow: Flow, kind: MessageKind) -> Option<String> {
        let cause = denied.refusal(kind)?;
        let view = MessageView::of_control(kind, Qos::DATA);
        self.drops().count(Reason::Access, flow, &view);
        Some(cause)
    }
}

/// Decisions about the messages of one client of a service, bound once for each direction and key.
pub(crate) struct ClientVerdicts {
    filters: Arc<Filters>,
    /// Kinds of messages that are denied, by direction and key; `None` if all of them pass.
    each: [BoundCache<Option<Arc<Denied>>>; 2],
}

impl ClientVerdicts {
    pub(crate) fn of(filters: Arc<Filters>) -> ClientVerdicts {
        let each = Default::default();
        ClientVerdicts { filters, each }
    }

    /// Returns true until the node has other rules.
    pub(crate) fn are_current(&self) -> bool {
        self.filters.are_current()
    }

    pub(crate) fn filters(&self) -> &Arc<Filters> {
        &self.filters
    }

    /// Returns the kinds of messages that are denied on a key in one direction; `None` if all pass.
    pub(crate) fn denied(
        &mut self,
        client: &Neighbour,
        flow: Flow,
        key: &KeyExpr<'_>,
    ) -> Option<Arc<Denied>> {
        let known = &mut self.each[flow as usize];
        if let Some(denied) = known.get(key.as_str()) {
            return denied.clone();
        }
        let denied = self.filters.bind_client(client, flow, key).map(Arc::new);
        known.insert(key.as_str(), denied.clone());
        denied
    }
}

impl Display for Neighbour {
    /// Names a client of a service in a log line.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.user {
            Some(user) => write!(f, "user \"{}\"", shown(user))?,
            None => f.write_str("a client without a name")?,
        }
        let over = self.protocols.first();
        over.map_or(Ok(()), |over| write!(f, " over {}", shown(over)))
    }
}
