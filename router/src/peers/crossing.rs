// SPDX-License-Identifier: MIT OR Apache-2.0

//! Connections that two nodes open to each other at once.
//!
//! Two nodes of this implementation keep the one that the node of the greater id opened. A node of
//! the reference keeps both as links of one transport, and has declared what it has on the one that
//! it opened or accepted first; it never declares it again on the other one. So the connection on
//! which the peer sends is kept, whichever that is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_codec::{ZenohId, transport::reason};
use zonda_transport::{
    outbox::{CLOSE_GRACE, Outbox},
    protocol::parameters::Established,
};

use crate::{
    node::{shared::Shared, state::State},
    peers::admission::{self, ConnectingPeer},
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

/// Reserves a place for a connection that this node opened. Waits briefly if the peer has
/// opened one as well, and returns the close reason if that one is kept.
pub(crate) async fn reserve_dialed(shared: &Shared, established: &Established) -> Result<(), u8> {
    let newcomer = ConnectingPeer {
        established,
        group: None,
    };
    let Err(refusal) = admission::reserve(shared, newcomer) else {
        return Ok(());
    };
    // wait until the peer has used the other connection, or closed it
    let zid = established.zid;
    let patience = match shared.zid > zid {
        true => GREATER,
        false => LESSER,
    };
    let until = zonda_runtime::after(patience);
    let is_decided = |state: &State| !matches!(state.rival(established), Rival::Silent(_));
    while Instant::now() < until && !shared.is_closed() {
        let step = zonda_runtime::after(INTERVAL).min(until);
        if shared.wait_until(step, is_decided).await {
            break;
        }
    }
    // a silent one is replaced
    let mut state = shared.state.lock();
    match state.rival(established) {
        Rival::Gone => {
            drop(state);
            admission::reserve(shared, newcomer)
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

/// Returns true if this node is about to open a link to that one, and that link is preferred.
pub(super) fn prefers_own_link(shared: &Shared, zid: &ZenohId) -> bool {
    let state = shared.state.lock();
    let candidates = &state.peers.discovery.candidates;
    candidates.prefers_own(zid, Instant::now())
}

/// Waits briefly for the result of this node's own attempt to connect to that node.
pub(super) async fn wait_for_own_attempt(shared: &Shared, zid: ZenohId) {
    let limit = |state: &State| {
        let candidates = &state.peers.discovery.candidates;
        candidates.waits_for_own_until(&zid, Instant::now())
    };
    let until = limit(&shared.state.lock());
    if let Some(until) = until {
        shared
            .wait_until(until, |state| limit(state).is_none())
            .await;
    }
}
