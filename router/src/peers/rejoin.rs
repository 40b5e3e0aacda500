// SPDX-License-Identifier: MIT OR Apache-2.0

//! Routers that come back. Zenoh's router computes its trees at most every tenth of a second, and tells a neighbour what there
//! is if that neighbour was not below it before. One that is lost and back in between is no news to it, and hears
//! nothing any more. So a router does not come back to another one within a quarter of a second, nor lets it in again.

use std::time::Instant;

use zonda_codec::WhatAmI;
use zonda_transport::protocol::parameters::Established;

use crate::{
    model::LinkStatus,
    node::{shared::Shared, state::State},
    peers::away::AWAY,
};

impl Shared {
    /// A neighbour is lost.
    pub(crate) fn note_away(&self, state: &mut State, gone: &LinkStatus) {
        if self.role == WhatAmI::Router && gone.whatami == WhatAmI::Router {
            state.lost_ago.note(gone.zid, Instant::now());
        }
    }

    /// Waits until a router may come back to this one that has just lost it.
    pub(crate) async fn wait_for_return(&self, established: &Established) {
        if self.role != WhatAmI::Router || established.whatami != WhatAmI::Router {
            return;
        }
        let rest = || {
            let state = self.state.lock();
            state.lost_ago.rest(established.zid, Instant::now())
        };
        while let Some(rest) = rest().filter(|_| !self.is_closed()) {
            self.pause(rest).await;
        }
    }

    /// Waits before this node, a router, dials again where it has lost a link.
    pub(crate) async fn stay_away(&self) {
        if self.role == WhatAmI::Router {
            self.pause(AWAY).await;
        }
    }
}
