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
    node::{shared::Shared, state::State},
    peers::away::AWAY,
};

impl Shared {
    /// Notes that a neighbour is lost.
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

    /// Waits before this node, a router, connects again after the loss of a link.
    pub(crate) async fn stay_away(&self) {
        if self.role == WhatAmI::Router {
            self.pause(AWAY).await;
        }
    }
}
