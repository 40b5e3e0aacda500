// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which of the nodes that were heard of this one connects to.

use zonda_codec::{Roles, WhatAmI, ZenohId};

/// Which of two nodes that hear of each other opens the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Either; when both do at once, one link remains.
    #[default]
    Always,
    /// The one with the greater id.
    GreaterZid,
}

/// The nodes that a node connects to by itself. The default is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Autoconnect {
    /// The roles it connects to.
    pub roles: Roles,
    /// How it connects to routers.
    pub to_router: Strategy,
    /// How it connects to peers.
    pub to_peer: Strategy,
}

impl Autoconnect {
    /// Whether the node `own` connects to this one.
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
