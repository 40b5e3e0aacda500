// SPDX-License-Identifier: MIT OR Apache-2.0

//! Several links to one neighbour: whether one more may join, and which there are.

use std::sync::{Arc, Weak};

use zonda_codec::{Locator, ZenohId, transport::reason};
use zonda_runtime::with_runtime;
use zonda_transport::{
    driver::{Bundle, Joining},
    link::Link,
    outbox::DirectSocket,
    protocol::{parameters::Established, timers::Timers},
};

use crate::{
    flow::inbound::Inbound,
    node::shared::{Face, Shared, State},
    table::FaceId,
};

/// A connection that stands: the face, and which of its links if there may be several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) face: FaceId,
    pub(crate) link: Option<u64>,
}

/// The links of a face that may have several.
pub(crate) struct Links {
    bundle: Weak<Bundle<Inbound>>,
    /// What the first link agreed on; the others must have agreed on the same.
    agreed: Established,
    /// Admitted and about to join.
    joining: usize,
    /// Every link that has joined, with its two ends; those that are gone included until the next one joins.
    places: Vec<(u64, Locator, Locator)>,
}

impl Links {
    pub(crate) fn new(bundle: &Arc<Bundle<Inbound>>, agreed: Established) -> Self {
        Links {
            bundle: Arc::downgrade(bundle),
            agreed,
            joining: 0,
            places: Vec::new(),
        }
    }

    /// Keeps a place for one more link, or gives the close reason that turns it away.
    fn reserve(&mut self, newcomer: &Established, links_max: usize) -> Result<(), u8> {
        if !is_alike(&self.agreed, newcomer) {
            return Err(reason::INVALID);
        }
        let standing = self.bundle.upgrade().map_or(0, |b| b.links().len());
        if standing == 0 || standing + self.joining >= links_max {
            return Err(reason::MAX_LINKS);
        }
        self.joining += 1;
        Ok(())
    }

    fn note(&mut self, link: u64, local: Locator, remote: Locator) {
        let alive = self.alive();
        self.places.retain(|(id, ..)| alive.contains(id));
        self.places.push((link, local, remote));
    }

    fn alive(&self) -> Vec<u64> {
        self.bundle.upgrade().map_or_else(Vec::new, |b| b.links())
    }

    /// Both ends of each link that stands, oldest first.
    fn places(&self) -> impl Iterator<Item = &(u64, Locator, Locator)> {
        let alive = self.alive();
        self.places
            .iter()
            .filter(move |(id, ..)| alive.contains(id))
    }
}

/// Whether two links come from the same node and may carry the same connection.
fn is_alike(first: &Established, newcomer: &Established) -> bool {
    let fixed = |e: &Established| (e.whatami, e.sn_mask, e.qos, e.patch);
    newcomer.options.multilink().is_some()
        && first.options == newcomer.options
        && fixed(first) == fixed(newcomer)
        && first.batch_size <= newcomer.batch_size
}

impl Face {
    /// Whether this link of it stands.
    fn has(&self, link: Option<u64>) -> bool {
        match (link, &self.links) {
            (Some(link), Some(links)) => links.alive().contains(&link),
            _ => true,
        }
    }

    /// Both ends of each of its links.
    pub(crate) fn places(&self) -> Vec<(Locator, Locator)> {
        let several = self.links.iter().flat_map(Links::places);
        let mut places: Vec<_> = several
            .map(|(_, local, remote)| (local.clone(), remote.clone()))
            .collect();
        if places.is_empty() {
            places.push((self.status.local.clone(), self.status.remote.clone()));
        }
        places
    }
}

impl State {
    /// Keeps a place for one more link to a neighbour that is connected already, or gives the close reason.
    pub(crate) fn reserve_link(
        &mut self,
        newcomer: &Established,
        links_max: usize,
    ) -> Result<(), u8> {
        match self.links_of(newcomer.zid) {
            Some(links) => links.reserve(newcomer, links_max),
            None => Err(reason::MAX_LINKS),
        }
    }

    /// Gives the place back.
    pub(crate) fn release_link(&mut self, zid: ZenohId) {
        if let Some(links) = self.links_of(zid) {
            links.joining = links.joining.saturating_sub(1);
        }
    }

    fn links_of(&mut self, zid: ZenohId) -> Option<&mut Links> {
        let face = self.neighbours.face(&zid)?;
        self.faces.get_mut(&face)?.links.as_mut()
    }

    /// Whether a connection stands.
    pub(crate) fn stands(&self, standing: Standing) -> bool {
        let face = self.faces.get(&standing.face);
        face.is_some_and(|face| face.has(standing.link))
    }
}

/// What becomes of a link whose place was reserved.
pub(crate) enum Joined {
    /// It is part of a connection; `None` if nothing came of that.
    Standing(Option<Standing>),
    /// It is the first to that neighbour.
    First(Box<Link>),
}

/// A link whose place was reserved, and its two ends.
pub(crate) struct Placed {
    pub(crate) joining: Joining,
    pub(crate) local: Locator,
    pub(crate) remote: Locator,
}

impl Shared {
    /// Makes an open link part of the connection that it was reserved a place in, if it was.
    pub(crate) fn join(shared: &Arc<Self>, link: Link) -> Joined {
        let zid = link.established.zid;
        let joined = Self::join_reserved(shared, link);
        // Not before the link stands, or another one would be let into the same place.
        shared.state.lock().release_link(zid);
        joined
    }

    fn join_reserved(shared: &Arc<Self>, link: Link) -> Joined {
        let zid = link.established.zid;
        let mut state = shared.state.lock();
        let face = state.neighbours.face(&zid);
        let bundle = state.links_of(zid).and_then(|l| l.bundle.upgrade());
        drop(state);
        let (Some(face), Some(bundle)) = (face, bundle) else {
            return Joined::First(Box::new(link));
        };
        let parameters = shared.parameters();
        let timers = Timers::new(
            std::time::Instant::now(),
            parameters.lease,
            parameters.keep_alive_divisor,
            link.established.remote_lease,
        );
        let direct = match DirectSocket::beside(&link.stream) {
            Ok(direct) => direct,
            Err(error) => {
                crate::node::shared::log_lost_link(zid, &link.remote, &error);
                return Joined::Standing(None);
            }
        };
        let places = link.local.locator().zip(link.remote.locator());
        let Some((local, remote)) = places else {
            return Joined::Standing(None);
        };
        tracing::info!("one more link to {zid} at {remote}");
        let joining = Joining {
            stream: link.stream,
            unread: link.unread,
            timers,
            direct,
        };
        let placed = Placed {
            joining,
            local,
            remote,
        };
        Joined::Standing(shared.place(face, &bundle, placed))
    }

    /// Starts a link of a connection and notes where it leads.
    pub(crate) fn place(
        &self,
        face: FaceId,
        bundle: &Arc<Bundle<Inbound>>,
        placed: Placed,
    ) -> Option<Standing> {
        let Placed {
            joining,
            local,
            remote,
        } = placed;
        let link = with_runtime!(&self.runtime, runtime => bundle.join(runtime, joining))?;
        let mut state = self.state.lock();
        if let Some(links) = state.faces.get_mut(&face).and_then(|f| f.links.as_mut()) {
            links.note(link, local, remote);
        }
        drop(state);
        self.changed.notify(usize::MAX);
        let link = Some(link);
        Some(Standing { face, link })
    }
}
