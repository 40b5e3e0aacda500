// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rules for the found nodes that this one connects to.

use zonda_codec::{Roles, WhatAmI, ZenohId};

/// Choice of the node that opens the link, of two that find each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Either; when both do at once, one link remains.
    #[default]
    Always,
    /// The node with the greater id.
    GreaterZid,
}

/// Nodes that a node connects to by itself. The default is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Autoconnect {
    /// Roles it connects to.
    pub roles: Roles,
    /// Strategy for routers.
    pub to_router: Strategy,
    /// Strategy for peers.
    pub to_peer: Strategy,
}

impl Autoconnect {
    /// Returns true if the node `own` connects to this one.
    pub fn permits(&self, own: ZenohId, other: ZenohId, whatami: WhatAmI) -> bool {
        let strategy = match whatami {
            WhatAmI::Router => self.to_router,
            WhatAmI::Peer => self.to_peer,
            WhatAmI::Client => Strategy::Always,
        };
        own != other
            && self.roles.contains(whatami)
            && (strategy == Strategy::Always || own > other)
    }
}
