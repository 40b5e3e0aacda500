// SPDX-License-Identifier: MIT OR Apache-2.0

//! Connections that two nodes open to each other at once.
//!
//! Two nodes of this implementation keep the one that the node of the greater id opened. A node of
//! the reference keeps both as links of one transport, and has declared what it has on the one that
//! it opened or accepted first; it never declares it again on the other one. So the connection on
//! which the peer sends is kept, whichever that is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_codec::transport::reason;
use zonda_transport::{
    outbox::{CLOSE_GRACE, Outbox},
    protocol::parameters::Established,
};

use crate::{
    node::{shared::Shared, state::State},
    peers::admission::ConnectingPeer,
};

/// Longest wait of the node with the greater id for the first message on the connection that its
/// peer opened.
const GREATER: Duration = Duration::from_millis(500);

/// Longest wait of the node with the lesser id: the peer has chosen by then, and has sent something
/// on the connection that it keeps.
const LESSER: Duration = Duration::from_millis(1500);

/// Time between two looks at a connection: its reader notifies no task of a first message.
const INTERVAL: Duration = Duration::from_millis(10);

/// Other connection with the peer of a connection that this node has just opened.
enum Rival {
    /// There is none.
    Gone,
    /// The peer is about to open it, or has opened it and sent nothing on it.
    Silent(Option<Arc<Outbox>>),
    /// The peer has sent something on it, or this node opened it too.
    InUse,
}

impl State {
    fn rival(&self, newcomer: &Established) -> Rival {
        let zid = newcomer.zid;
        let Some(face) = self.peers.neighbours.face(&zid) else {
            return match self.peers.neighbours.contains(&zid) {
                true => Rival::Silent(None),
                false => Rival::Gone,
            };
        };
        match self.faces.get(&face) {
            Some(face) if face.dialed || face.outbox.has_received() => Rival::InUse,
            Some(face) if face.links.is_some() => Rival::InUse,
            Some(face) => Rival::Silent(Some(Arc::clone(&face.outbox))),
            None => Rival::Silent(None),
        }
    }
}

impl Shared {
    /// Reserves a place for a connection that this node opened. Waits briefly if the peer has
    /// opened one as well, and returns the close reason if that one is kept.
    pub(crate) async fn reserve_dialed(&self, established: &Established) -> Result<(), u8> {
        let newcomer = ConnectingPeer {
            established,
            group: None,
        };
        let Err(refusal) = self.reserve(newcomer) else {
            return Ok(());
        };
        // wait until the peer has used the other connection, or closed it
        let zid = established.zid;
        let patience = match self.zid > zid {
            true => GREATER,
            false => LESSER,
        };
        let until = zonda_runtime::after(patience);
        let is_decided = |state: &State| !matches!(state.rival(established), Rival::Silent(_));
        while Instant::now() < until && !self.is_closed() {
            let step = zonda_runtime::after(INTERVAL).min(until);
            if self.wait_until(step, is_decided).await {
                break;
            }
        }
        // a silent one is replaced
        let mut state = self.state.lock();
        match state.rival(established) {
            Rival::Gone => {
                drop(state);
                self.reserve(newcomer)
            }
            Rival::Silent(Some(silent)) => {
                state.peers.neighbours.reserve(zid, None);
                drop(state);
                silent.close(reason::MAX_LINKS, zonda_runtime::after(CLOSE_GRACE));
                Ok(())
            }
            Rival::Silent(None) | Rival::InUse => Err(refusal),
        }
    }
}
