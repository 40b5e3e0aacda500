// SPDX-License-Identifier: MIT OR Apache-2.0

//! Places of neighbours: their number in all and from one address, the eviction of one in favour of
//! a newcomer, and the choice between two connections with the same id.
//!
//! Places are limited in all (`transport/unicast/max_sessions`, and never more than there are
//! descriptors for) and for each address (`limits/sessions_per_address`). When no place is left, a
//! silent neighbour is evicted: it has declared nothing, asked nothing and sent no data since it
//! was admitted, so it loses nothing. Of the silent neighbours, the oldest from the address with
//! the most neighbours is evicted. A neighbour that has used its connection is never evicted; then
//! the newcomer is refused.
//!
//! Of two connections with the same id the older one stays as long as its peer answers. This node
//! probes it before it refuses the newer one: a machine that has forgotten the connection answers a
//! keep-alive with a reset. Where the probe shows nothing, silence decides, sooner for a newcomer
//! from the same address or with the same user.

use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_codec::{ZenohId, transport::reason};
use zonda_transport::{link::AddressGroup, outbox::Outbox, protocol::parameters::Established};

use crate::{
    node::{
        limits::{Limit, Reached},
        shared::Shared,
        state::{Face, State},
    },
    table::FaceId,
};

/// Longest wait for the result of a probe of an older connection.
const PROBE: Duration = Duration::from_millis(500);

/// Longest wait for the end of an older connection that is not probed: a node that restarts at once
/// may come before its router has read the end of its previous connection.
const END: Duration = Duration::from_millis(200);

/// Age below which a connection is not probed, and time since the last message or probe for which
/// it is not.
const FRESH: Duration = Duration::from_secs(1);

/// Peer that needs a place.
#[derive(Clone, Copy)]
pub(crate) struct ConnectingPeer<'a> {
    pub(crate) established: &'a Established,
    /// Address group it comes from; `None` if this node opened the connection.
    pub(crate) group: Option<AddressGroup>,
}

/// Connection that is evicted.
struct EvictedPeer {
    outbox: Arc<Outbox>,
    who: String,
}

impl EvictedPeer {
    fn of(face: &Face) -> EvictedPeer {
        EvictedPeer {
            outbox: Arc::clone(&face.outbox),
            who: format!("{} at {}", face.status.zid, face.status.remote),
        }
    }
}

/// Reserves a place for a peer that is about to be connected, or returns the close reason that
/// refuses it.
pub(crate) fn reserve(shared: &Shared, newcomer: ConnectingPeer<'_>) -> Result<(), u8> {
    let zid = newcomer.established.zid;
    if shared.is_closed() {
        return Err(reason::GENERIC);
    }
    if zid == shared.zid {
        return Err(reason::CONNECTION_TO_SELF);
    }
    // a known id is one more link, or replaces a silent connection; a new one may evict a
    // silent neighbour
    let mut state = shared.state.lock();
    let (gone, reason, reached) = match state.peers.neighbours.contains(&zid) {
        true => {
            let refused = match state.reserve_link(newcomer.established, shared.settings.max_links)
            {
                Ok(()) => return Ok(()),
                Err(refused) => refused,
            };
            let Some(older) = state.superseded(newcomer, Instant::now()) else {
                return Err(refused);
            };
            (Some(older), reason::MAX_LINKS, Limit::SameId)
        }
        false => match make_room(shared, &mut state, newcomer.group) {
            Ok(gone) => (gone, reason::MAX_SESSIONS, Limit::Dismissed),
            Err(reached) => {
                drop(state);
                shared.limits.note(&reached);
                return Err(reason::MAX_SESSIONS);
            }
        },
    };
    state.peers.neighbours.reserve(zid, newcomer.group);
    drop(state);
    // close the evicted connection without the lock
    if let Some(EvictedPeer { outbox, who }) = gone {
        outbox.dismiss(reason);
        let limit = reached;
        shared.limits.note(&Reached { limit, who });
    }
    Ok(())
}

/// Makes room for one more neighbour. Returns the neighbour to evict, if any; its place is
/// released already.
fn make_room(
    shared: &Shared,
    state: &mut State,
    group: Option<AddressGroup>,
) -> Result<Option<EvictedPeer>, Reached> {
    let (in_all, each) = (
        shared.limits.sessions_max,
        shared.limits.sessions_per_address,
    );
    let is_over = group.is_some_and(|group| state.peers.neighbours.count_of(group) >= each);
    let among = match group {
        Some(group) if is_over => Some(group),
        _ if state.peers.neighbours.len() < in_all => return Ok(None),
        _ => None,
    };
    let limit = match is_over {
        true => Limit::SessionsPerAddress,
        false => Limit::Sessions,
    };
    let Some(gone) = state.silent_neighbour(among) else {
        let who = group.map_or_else(|| "a node".to_owned(), |group| group.to_string());
        return Err(Reached { limit, who });
    };
    state.peers.neighbours.remove(&gone.1);
    Ok(Some(gone.0))
}

/// Waits briefly until it is known if an older connection of a node that connects again is
/// alive.
pub(crate) async fn probe_older(shared: &Shared, newcomer: &Established) {
    let zid = newcomer.zid;
    let Some(patience) = rival_of(shared, newcomer) else {
        return;
    };
    let is_clear = |state: &State| match state.peers.neighbours.face(&zid) {
        // the older connection has ended, or the newcomer is one more link of it
        Some(_) => state.older(newcomer).is_none(),
        None => !state.peers.neighbours.contains(&zid),
    };
    shared.wait_until(Instant::now() + patience, is_clear).await;
}

/// Returns how long to wait for the end of an older connection with a newcomer's id, if there
/// is one. Probes it unless there was a sign of life recently.
fn rival_of(shared: &Shared, newcomer: &Established) -> Option<Duration> {
    let mut state = shared.state.lock();
    if !state.peers.neighbours.contains(&newcomer.zid) {
        return None;
    }
    // a node whose handshake has just ended has a place and no face yet
    let Some(face) = state.peers.neighbours.face(&newcomer.zid) else {
        return Some(END);
    };
    state.older(newcomer)?;
    let probed = state.worth_a_probe(face, Instant::now());
    drop(state);
    let Some(outbox) = probed else {
        return Some(END);
    };
    outbox.probe();
    Some(PROBE)
}

impl State {
    /// Returns the neighbour to evict for a newcomer: of the silent ones, from this address if one
    /// is given, the oldest of the address with the most neighbours.
    fn silent_neighbour(&self, among: Option<AddressGroup>) -> Option<(EvictedPeer, ZenohId)> {
        let silent = self.faces.iter().filter_map(|(id, face)| {
            let zid = face.status.zid;
            let group = self.peers.neighbours.group(&zid)?;
            let counts = self.peers.neighbours.face(&zid) == Some(*id) && !face.has_spoken();
            (counts && among.is_none_or(|among| among == group)).then_some((group, face))
        });
        let (_, face) = silent.max_by_key(|(group, face)| {
            let size = self.peers.neighbours.count_of(*group);
            (size, std::cmp::Reverse(face.since))
        })?;
        Some((EvictedPeer::of(face), face.status.zid))
    }

    /// Returns the older connection with a newcomer's id, if it has been silent for so long that
    /// the newcomer takes its place.
    fn superseded(&self, newcomer: ConnectingPeer<'_>, now: Instant) -> Option<EvictedPeer> {
        let ConnectingPeer { established, group } = newcomer;
        let zid = established.zid;
        let face = self.older(established)?;
        let user = |established: &Established| established.options.user().map(str::to_owned);
        let is_same_user =
            user(established).is_some_and(|user| face.status.options.user() == Some(user.as_str()));
        let is_same_address = group.is_some() && group == self.peers.neighbours.group(&zid);
        // a live neighbour sends something four times in each lease
        let patience = match is_same_user || is_same_address {
            true => face.lease * 3 / 8,
            false => face.lease / 2,
        };
        let silence = now.saturating_duration_since(face.outbox.last_received());
        (silence > patience).then(|| EvictedPeer::of(face))
    }

    /// Returns the outbox of an older connection that is to be probed now.
    fn worth_a_probe(&mut self, face: FaceId, now: Instant) -> Option<Arc<Outbox>> {
        let face = self.faces.get_mut(&face)?;
        let is_fresh = |at: Instant| now.saturating_duration_since(at) < FRESH;
        if is_fresh(face.since) || is_fresh(face.outbox.last_received()) || is_fresh(face.probed) {
            return None;
        }
        face.probed = now;
        Some(Arc::clone(&face.outbox))
    }

    /// Returns the older connection with a newcomer's id, unless the newcomer has proved to be that
    /// very node, which opens one more link.
    fn older(&self, newcomer: &Established) -> Option<&Face> {
        let face = self
            .faces
            .get(&self.peers.neighbours.face(&newcomer.zid)?)?;
        let key = newcomer.options.multilink();
        let is_same_node = key.is_some() && key == face.status.options.multilink();
        (!is_same_node).then_some(face)
    }
}
