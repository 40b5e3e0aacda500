// SPDX-License-Identifier: MIT OR Apache-2.0

//! Who gets a place: how many neighbours there may be, in all and from one address, who gives way to a newcomer, and
//! what becomes of two that have the same id.
//!
//! Places are limited in all (`transport/unicast/max_sessions`, and never more than there are descriptors for) and for each
//! address (`limits/sessions_per_address`). When there is none left, a neighbour that has said nothing since it was let in
//! gives way: it declared nothing, asked nothing and sent no data, so it loses nothing. Of these the address that has most
//! loses its oldest. One that has said anything never gives way; then the newcomer is turned away.
//!
//! Of two with the same id the older one stays as long as it answers. It is probed before the newer one is turned away: a
//! keep-alive to a machine that has forgotten the connection is answered with a reset. Where that shows nothing, silence
//! decides, sooner for a newcomer from the same address or with the same user.

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

/// How long a probe of an older connection is waited for.
const PROBE: Duration = Duration::from_millis(500);

/// How long the end of an older connection that is not probed is waited for: a node that is started again at once comes
/// before its router has read the end of the connection it had.
const END: Duration = Duration::from_millis(200);

/// A connection that is younger, or was heard or probed within this time, is not probed.
const FRESH: Duration = Duration::from_secs(1);

/// Somebody who wants a place.
#[derive(Clone, Copy)]
pub(crate) struct Newcomer<'a> {
    pub(crate) established: &'a Established,
    /// Where it comes from; `None` if this node opened the connection.
    pub(crate) group: Option<AddressGroup>,
}

/// A connection that has to go.
struct Gone {
    outbox: Arc<Outbox>,
    who: String,
}

impl Gone {
    fn of(face: &Face) -> Gone {
        Gone {
            outbox: Arc::clone(&face.outbox),
            who: format!("{} at {}", face.status.zid, face.status.remote),
        }
    }
}

impl Shared {
    /// Keeps a place for a peer that is about to be connected, or gives the close reason that turns it away.
    pub(crate) fn reserve(&self, newcomer: Newcomer<'_>) -> Result<(), u8> {
        let zid = newcomer.established.zid;
        if self.is_closed() {
            return Err(reason::GENERIC);
        }
        if zid == self.zid {
            return Err(reason::CONNECTION_TO_SELF);
        }
        let mut state = self.state.lock();
        let (gone, reason, reached) = match state.neighbours.contains(&zid) {
            true => {
                let refused =
                    match state.reserve_link(newcomer.established, self.settings.max_links) {
                        Ok(()) => return Ok(()),
                        Err(refused) => refused,
                    };
                let Some(older) = state.superseded(newcomer, Instant::now()) else {
                    return Err(refused);
                };
                (Some(older), reason::MAX_LINKS, Limit::SameId)
            }
            false => match self.make_room(&mut state, newcomer.group) {
                Ok(gone) => (gone, reason::MAX_SESSIONS, Limit::Dismissed),
                Err(reached) => {
                    drop(state);
                    self.limits.note(&reached);
                    return Err(reason::MAX_SESSIONS);
                }
            },
        };
        state.neighbours.reserve(zid, newcomer.group);
        drop(state);
        if let Some(Gone { outbox, who }) = gone {
            outbox.dismiss(reason);
            let limit = reached;
            self.limits.note(&Reached { limit, who });
        }
        Ok(())
    }

    /// Finds a place for one more neighbour; gives the one that has to go for it, which is forgotten already.
    fn make_room(
        &self,
        state: &mut State,
        group: Option<AddressGroup>,
    ) -> Result<Option<Gone>, Reached> {
        let (in_all, each) = (self.limits.sessions_max, self.limits.sessions_per_address);
        let is_over = group.is_some_and(|group| state.neighbours.count_of(group) >= each);
        let among = match group {
            Some(group) if is_over => Some(group),
            _ if state.neighbours.len() < in_all => return Ok(None),
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
        state.neighbours.remove(&gone.1);
        Ok(Some(gone.0))
    }

    /// Waits, but not for long, until it is clear whether an older connection of a node that connects again is alive.
    pub(crate) async fn probe_older(&self, newcomer: &Established) {
        let zid = newcomer.zid;
        let Some(patience) = self.rival_of(newcomer) else {
            return;
        };
        let is_clear = |state: &State| match state.neighbours.face(&zid) {
            // it has ended, or is the newcomer's own other link
            Some(_) => state.older(newcomer).is_none(),
            None => !state.neighbours.contains(&zid),
        };
        self.wait_until(Instant::now() + patience, is_clear).await;
    }

    /// How long the end of an older connection of a newcomer's id is worth waiting for, if there is one. Probes it if
    /// that makes sense.
    fn rival_of(&self, newcomer: &Established) -> Option<Duration> {
        let mut state = self.state.lock();
        if !state.neighbours.contains(&newcomer.zid) {
            return None;
        }
        // one whose introduction has just ended has a place and no face yet
        let Some(face) = state.neighbours.face(&newcomer.zid) else {
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
}

impl State {
    /// The neighbour that gives way to a newcomer: of those that have said nothing, from this address if one is given,
    /// the oldest of the address that has most.
    fn silent_neighbour(&self, among: Option<AddressGroup>) -> Option<(Gone, ZenohId)> {
        let silent = self.faces.iter().filter_map(|(id, face)| {
            let zid = face.status.zid;
            let group = self.neighbours.group(&zid)?;
            let counts = self.neighbours.face(&zid) == Some(*id) && !face.has_spoken();
            (counts && among.is_none_or(|among| among == group)).then_some((group, face))
        });
        let (_, face) = silent.max_by_key(|(group, face)| {
            let size = self.neighbours.count_of(*group);
            (size, std::cmp::Reverse(face.since))
        })?;
        Some((Gone::of(face), face.status.zid))
    }

    /// The older connection of a newcomer's id, if it has been silent for so long that the newcomer takes its place.
    fn superseded(&self, newcomer: Newcomer<'_>, now: Instant) -> Option<Gone> {
        let Newcomer { established, group } = newcomer;
        let zid = established.zid;
        let face = self.older(established)?;
        let user = |established: &Established| established.options.user().map(str::to_owned);
        let is_same_user =
            user(established).is_some_and(|user| face.status.options.user() == Some(user.as_str()));
        let is_same_address = group.is_some() && group == self.neighbours.group(&zid);
        // A neighbour that lives says something four times in each lease.
        let patience = match is_same_user || is_same_address {
            true => face.lease * 3 / 8,
            false => face.lease / 2,
        };
        let silence = now.saturating_duration_since(face.outbox.last_received());
        (silence > patience).then(|| Gone::of(face))
    }

    /// The way to an older connection that is to be probed now.
    fn worth_a_probe(&mut self, face: FaceId, now: Instant) -> Option<Arc<Outbox>> {
        let face = self.faces.get_mut(&face)?;
        let is_fresh = |at: Instant| now.saturating_duration_since(at) < FRESH;
        if is_fresh(face.since) || is_fresh(face.outbox.last_received()) || is_fresh(face.probed) {
            return None;
        }
        face.probed = now;
        Some(Arc::clone(&face.outbox))
    }

    /// The older connection of a newcomer's id, unless the newcomer has shown to be that very node, which wants one more
    /// link.
    fn older(&self, newcomer: &Established) -> Option<&Face> {
        let face = self.faces.get(&self.neighbours.face(&newcomer.zid)?)?;
        let key = newcomer.options.multilink();
        let is_same_node = key.is_some() && key == face.status.options.multilink();
        (!is_same_node).then_some(face)
    }
}
