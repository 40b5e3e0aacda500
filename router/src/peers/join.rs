// SPDX-License-Identifier: MIT OR Apache-2.0

//! Further links to a neighbour that is connected already.

use std::sync::Arc;

use zonda_codec::{ZenohId, transport::reason};
use zonda_runtime::{AnyRuntime, with_runtime};
use zonda_transport::{
    driver::{Bundle, JoiningLink},
    link::Link,
    outbox::DirectSocket,
    protocol::{parameters::Established, timers::Timers},
};

use crate::{
    filter::forget_bound,
    flow::inbound::Inbound,
    model::LinkStatus,
    node::{log::log_link, shared::Shared, state::State},
    peers::links::{LinkHandle, LinkPlace, Links, MultilinkConnection},
    table::FaceId,
};

impl MultilinkConnection for Bundle<Inbound> {
    fn standing(&self) -> Vec<u64> {
        self.links()
    }

    fn join(self: Arc<Self>, runtime: &AnyRuntime, joining: JoiningLink) -> Option<u64> {
        with_runtime!(runtime, runtime => Bundle::join(&self, runtime, joining))
    }
}

impl State {
    /// Reserves a place for one more link to a neighbour that is connected already, or returns the
    /// close reason.
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

    /// Releases the place.
    pub(crate) fn release_link(&mut self, zid: ZenohId) {
        if let Some(links) = self.links_of(zid) {
            links.release();
        }
    }

    fn links_of(&mut self, zid: ZenohId) -> Option<&mut Links> {
        let face = self.peers.neighbours.face(&zid)?;
        self.faces.get_mut(&face)?.links.as_mut()
    }

    /// Returns true if a connection stands.
    pub(crate) fn stands(&self, standing: LinkHandle) -> bool {
        let face = self.faces.get(&standing.face);
        face.is_some_and(|face| face.has(standing.link))
    }
}

/// Fate of a link whose place was reserved.
pub(crate) enum Joined {
    /// Part of a connection; `None` if the connection has ended.
    Standing(Option<LinkHandle>),
    /// First link to that neighbour.
    First(Box<Link>),
}

/// Link whose place was reserved.
pub(crate) struct ReservedLink {
    pub(crate) joining: JoiningLink,
    pub(crate) place: LinkPlace,
}

/// Adds an open link to the connection in which its place was reserved, if there is one.
pub(crate) fn join(shared: &Arc<Shared>, link: Link) -> Joined {
    let zid = link.established.zid;
    let joined = join_reserved(shared, link);
    // not before the link stands, or another link could take the same place
    shared.state.lock().release_link(zid);
    joined
}

fn join_reserved(shared: &Arc<Shared>, link: Link) -> Joined {
    let zid = link.established.zid;
    // a neighbour without a connection of several links gets a new one
    let mut state = shared.state.lock();
    let face = state.peers.neighbours.face(&zid);
    let bundle = state.links_of(zid).and_then(|l| l.connection());
    drop(state);
    let (Some(face), Some(bundle)) = (face, bundle) else {
        return Joined::First(Box::new(link));
    };
    // the timers and both ends of this link
    let timers = Timers::new(
        std::time::Instant::now(),
        link.established.lease,
        shared.times.keep_alive_divisor(),
        link.established.remote_lease,
    );
    let direct = DirectSocket::of(&link.stream);
    let places = link.local.locator().zip(link.remote.locator());
    let Some((local, remote)) = places else {
        return Joined::Standing(None);
    };
    // hand it to the connection
    log_link(format_args!("one more link to {zid} at {remote}"));
    let joining = JoiningLink {
        stream: link.stream,
        unread: link.unread,
        timers,
        direct,
        qos_link: link.established.options.qos_link,
    };
    let placed = ReservedLink {
        place: LinkPlace {
            local,
            remote,
            qos_link: joining.qos_link,
        },
        joining,
    };
    Joined::Standing(place(shared, face, bundle, placed))
}

/// Starts a link of a connection and notes its ends.
pub(crate) fn place(
    shared: &Shared,
    face: FaceId,
    connection: Arc<dyn MultilinkConnection>,
    placed: ReservedLink,
) -> Option<LinkHandle> {
    let ReservedLink { joining, place } = placed;
    // the connection gives the link its number
    let link = connection.join(&shared.runtime, joining)?;
    // the face keeps its ends
    let mut state = shared.state.lock();
    let mut joined = None;
    if let Some(face) = state.faces.get_mut(&face) {
        joined = Some(LinkStatus {
            local: place.local.clone(),
            remote: place.remote.clone(),
            options: face.status.options.of_link(place.qos_link),
            ..face.status.clone()
        });
        if let Some(links) = face.links.as_mut() {
            links.note(link, place);
        }
    }
    forget_bound(&mut state, face);
    drop(state);
    // the first link is reported as the connection
    if let Some(status) = joined.filter(|_| link > 0) {
        shared.events.tell_joined(face, link, status);
    }
    shared.changed.notify(usize::MAX);
    let link = Some(link);
    Some(LinkHandle { face, link })
}
