// SPDX-License-Identifier: MIT OR Apache-2.0

//! Access control of clients that are no neighbours: those of a service, whose messages pass the
//! session of that service.

use std::fmt::{self, Display, Formatter};

use zonda_codec::Qos;
use zonda_transport::text::shown;

use super::{
    access_control::Neighbour,
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
        let cause = self.access()?.refusal_to(client, message)?;
        let view = MessageView::of_control(message.kind, Qos::DATA);
        self.drops().count(Reason::Access, message.flow, &view);
        Some(cause)
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
