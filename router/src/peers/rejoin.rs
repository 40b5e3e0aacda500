// SPDX-License-Identifier: MIT OR Apache-2.0

//! Return of routers. Zenoh's router computes its trees at most every tenth of a second, and then
//! sends its declarations to neighbours that were not below it before. A neighbour that is lost and
//! back in between is no change to that router, and gets no declarations. So a router does not
//! connect to another one again within a quarter of a second, nor admit it again.

use std::time::Instant;

use zonda_codec::WhatAmI;
use zonda_transport::protocol::parameters::Established;

use crate::{
    model::LinkStatus,
    node::shared::Shared,
    peers::{away::AWAY, state::Peers},
};

impl Peers {
    /// Notes that a node of the role `own` has lost a neighbour.
    pub(super) fn note_away(&mut self, own: WhatAmI, gone: &LinkStatus) {
        if own == WhatAmI::Router && gone.whatami == WhatAmI::Router {
            self.lost_ago.note(gone.zid, Instant::now());
        }
    }
}

/// Waits until a router may come back to this one that has just lost it.
pub(super) async fn wait_for_return(shared: &Shared, established: &Established) {
    if shared.role != WhatAmI::Router || established.whatami != WhatAmI::Router {
        return;
    }
    let rest = || {
        let state = shared.state.lock();
        let lost_ago = &state.peers.lost_ago;
        lost_ago.rest(established.zid, Instant::now())
    };
    while let Some(rest) = rest().filter(|_| !shared.is_closed()) {
        shared.pause(rest).await;
    }
}

/// Waits before this node, if it is a router, connects again after the loss of a link.
pub(super) async fn stay_away(shared: &Shared) {
    if shared.role == WhatAmI::Router {
        shared.pause(AWAY).await;
    }
}
