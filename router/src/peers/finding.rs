// SPDX-License-Identifier: MIT OR Apache-2.0

//! Scouting and gossip of a node: nodes that they report are connected to, and reports of
//! neighbours are forwarded.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};
use std::time::Instant;

use zonda_codec::{
    Encode, Hello, LinkStateList, Locator, Locators, PROTOCOL_VERSION, Reader, Roles, Scout,
    WhatAmI, ZenohId, transport::reason,
};
use zonda_transport::driver::Ended;
use zonda_transport::listen::Listening;

use crate::{
    config::{ScoutingConfig, Settings},
    model::LinkStatus,
    node::{
        clock::unix_ms,
        limits::{Limit, Reached},
        shared::Shared,
        state::{Face, State},
    },
    peers::state::Peers,
    scouting::{Options, ScoutHandler, Service, this_host},
    table::{
        FaceId, Gossip,
        scouting::{
            Attempt, Found, HelloBudget, Host, LOCATORS_MAX, Link, LinkEnding, is_loopback,
        },
    },
};

/// Most bytes of link states in one message: the largest mesh takes a fraction of it. Larger
/// messages are ignored and counted.
const STATES_BYTES_MAX: usize = 1 << 20;

/// Default port of a router: the only place to try for a router that sends no locators.
const ROUTER_PORT: u16 = 7447;

impl State {
    /// Queues gossip as the first messages of a new link, in front of `declarations`, the actions
    /// from that index on.
    pub(crate) fn gossip_first(&mut self, face: FaceId, status: &LinkStatus, declarations: usize) {
        let Some(gossip) = &mut self.peers.discovery.gossip else {
            return;
        };
        let at = declarations.min(self.actions.len());
        let declarations = self.actions.split_off(at);
        let remote = address_of(&status.remote);
        gossip.add_link(face, status.zid, status.whatami, remote, &mut self.actions);
        self.actions.extend(declarations);
    }

    /// Removes a lost link from gossip and candidates. Returns true if no link is left, so that
    /// this node should scout again.
    pub(crate) fn lose(&mut self, face: FaceId, zid: ZenohId, ended: &Ended) -> bool {
        let now = Instant::now();
        if let Some(gossip) = &mut self.peers.discovery.gossip {
            gossip.remove_link(face, &mut self.actions);
        }
        if !self.peers.neighbours.contains(&zid) {
            let parting = match ended {
                Ended::Remote(reason::GENERIC) => LinkEnding::Goodbye,
                Ended::Local => LinkEnding::Closed,
                _ => LinkEnding::Broken,
            };
            self.peers.discovery.candidates.lost(&zid, parting, now);
        }
        self.faces.values().all(Face::is_group)
    }

    /// Announces the present listeners in gossip and in the mesh.
    fn tell_own(&mut self, host: Host) {
        let listening = self.peers.listening.iter().flat_map(Listening::locators);
        let listening: Vec<Locator> = listening.collect();
        if let Some(gossip) = &mut self.peers.discovery.gossip {
            let table = &mut self.table;
            table.set_own_locators(&listening, &host, &mut self.actions);
            gossip.set_own(listening, host, &mut self.actions);
        }
    }
}

impl Peers {
    /// Returns the state of the link to a node.
    pub(super) fn link_to(&self, zid: &ZenohId) -> Link {
        self.neighbours.link_to(zid)
    }

    /// Returns the candidates whose time has come, within the limit of failures, and true if that
    /// limit holds some back.
    pub(crate) fn due(&mut self, role: WhatAmI, now: Instant) -> (Vec<Attempt>, bool) {
        // a client has one link; attempts under way count as well
        if role == WhatAmI::Client && !self.neighbours.is_empty() {
            return (Vec::new(), false);
        }
        let Peers {
            discovery,
            neighbours,
            ..
        } = self;
        let held_back = discovery.candidates.counts().failed_too_often;
        let attempts = discovery.candidates.due(now, |zid| neighbours.link_to(zid));
        let is_over = discovery.candidates.counts().failed_too_often > held_back;
        (attempts, is_over)
    }
}

/// Starts to answer and to ask by multicast, as configured. A failure, such as no free thread,
/// is logged only: the node works without scouting.
pub(crate) fn start_scouting(shared: &Arc<Shared>) {
    let scouting = shared.settings.scouting();
    let asks = scouts(&shared.settings);
    let listens = scouting.listen && shared.role != WhatAmI::Client;
    if !scouting.enabled || !(asks || listens) {
        return;
    }
    let options = Options {
        group: scouting.address,
        ttl: scouting.ttl,
        interfaces: scouting.interfaces.clone(),
        listen: listens,
    };
    let scouted = Scouted {
        node: Arc::downgrade(shared),
        scouting,
        answering: RefCell::default(),
        host: RefCell::default(),
    };
    match Service::start(options, asks, scouted) {
        Ok(service) => shared.state.lock().peers.discovery.service = Some(service),
        Err(error) => tracing::warn!("no scouting: {error}"),
    }
}

/// Announces this node's listeners to neighbours if they have changed. Reads the addresses of
/// the host.
pub(crate) fn tell_own(shared: &Shared) {
    let host = this_host();
    shared.update(|state| state.tell_own(host));
}

/// Handles link states of a neighbour: the nodes it knows, their locators, and the links
/// between them.
pub(crate) fn hear_link_states(shared: &Arc<Shared>, face: FaceId, body: &[u8]) {
    let now = Instant::now();
    let (mut found, mut who) = (Vec::new(), None);
    let is_due = shared.update(|state| {
        // the body must be a list of link states of a sane size
        if body.len() > STATES_BYTES_MAX {
            state.table.count_misplaced(face);
            return false;
        }
        let Ok(states) = LinkStateList::decode(&mut Reader::new(body)) else {
            state.table.count_misplaced(face);
            return false;
        };
        // trees and gossip read it, and gossip finds nodes
        let State {
            table,
            peers,
            actions,
            ..
        } = state;
        let discovery = &mut peers.discovery;
        table.set_mesh_clock(unix_ms());
        table.handle_link_states(face, &states, actions);
        if let Some(gossip) = &mut discovery.gossip {
            gossip.handle(face, &states, now, &mut found, actions);
        }
        // of these this node connects to those that the policy permits
        let (own, policy) = (shared.zid, discovery.policy);
        found.retain(|found| policy.permits(own, found.zid, found.whatami));
        let over_limit = discovery.candidates.counts().over_limit;
        let heard = found.into_iter().map(|found| discovery.hear(found, now));
        // `fold`, so that every node is added
        let is_due = heard.fold(false, |any, is_due| any | is_due);
        if discovery.candidates.counts().over_limit > over_limit {
            let teller = state.faces.get(&face);
            who = teller.map(|face| face.status.zid.to_string());
        }
        is_due
    });
    // report and connect without the lock
    if let Some(who) = who {
        let limit = Limit::FoundNodes;
        shared.limits.note(&Reached { limit, who });
    }
    if is_due {
        Shared::connect_to_found(shared);
    }
}

/// Does the work that is due about once a second.
pub(crate) fn discover_on(shared: &Arc<Shared>) {
    let state = shared.state.lock();
    let now = Instant::now();
    let due = state.peers.discovery.candidates.deadline();
    let is_due = due.is_some_and(|at| at <= now);
    let gossips = state.peers.discovery.gossip.as_ref();
    let is_late = gossips.is_some_and(Gossip::has_late_news);
    drop(state);
    if is_late {
        shared.update(|state| {
            if let Some(gossip) = &mut state.peers.discovery.gossip {
                gossip.tick(&mut state.actions);
            }
        });
    }
    if is_due {
        Shared::connect_to_found(shared);
    }
}

/// Scouts again, because no neighbour is left.
pub(crate) fn ask_again(shared: &Shared) {
    let state = shared.state.lock();
    if let Some(service) = &state.peers.discovery.service
        && !shared.is_closed()
        && scouts(&shared.settings)
    {
        service.ask();
    }
}

/// Returns true if a node scouts for other nodes by multicast: a client only if it was given no
/// endpoint.
pub(crate) fn scouts(settings: &Settings) -> bool {
    let scouting = settings.scouting();
    let is_told = || settings.connect_endpoints().next().is_some();
    let needs_none = settings.mode == WhatAmI::Client && is_told();
    scouting.enabled && !scouting.autoconnect.roles.is_empty() && !needs_none
}

/// Node as seen by its scouting thread, which does not keep it alive.
struct Scouted {
    node: Weak<Shared>,
    scouting: ScoutingConfig,
    answering: RefCell<HelloBudget>,
    host: RefCell<Host>,
}

impl Scouted {
    fn node(&self) -> Option<Arc<Shared>> {
        self.node.upgrade().filter(|node| !node.is_closed())
    }

    /// Returns the locators of a HELLO that this host can reach.
    fn usable(&self, hello: &Hello<'_>, source: SocketAddr) -> Vec<Locator> {
        let is_here = self.host.borrow().is_here(source.ip());
        let parsed = hello.locators.iter().filter_map(|text| text.parse().ok());
        let usable = parsed.filter(|locator| is_here || !is_loopback(locator));
        let mut usable: Vec<Locator> = usable.take(LOCATORS_MAX).collect();
        if hello.locators.is_empty() && hello.whatami == WhatAmI::Router {
            let guess = SocketAddr::new(source.ip().to_canonical(), ROUTER_PORT);
            usable.extend(Locator::new("tcp", &guess.to_string()).ok());
        }
        usable
    }

    /// Returns the HELLO for a node that asks from `source`; `None` if no locator can be reached
    /// from there. A node that listens nowhere sends a HELLO without locators, which shows that the
    /// node is there.
    fn greeting(&self, node: &Shared, source: IpAddr, host: &Host) -> Option<Vec<u8>> {
        let listening: Vec<Locator> = node.locators();
        let locators = host.locators_for(source, &listening);
        if locators.is_empty() && !listening.is_empty() {
            return None;
        }
        let texts: Vec<&str> = locators.iter().map(Locator::as_str).collect();
        let hello = Hello {
            version: PROTOCOL_VERSION,
            whatami: node.role,
            zid: node.zid,
            locators: Locators::new(&texts),
        };
        hello.to_vec().ok()
    }
}

impl ScoutHandler for Scouted {
    fn asks(&self) -> Option<Roles> {
        let node = self.node()?;
        let is_served = node.role == WhatAmI::Client && !node.state.lock().faces.is_empty();
        (!is_served).then_some(self.scouting.autoconnect.roles)
    }

    fn hello(&self, hello: &Hello<'_>, source: SocketAddr) {
        let Some(node) = self.node() else {
            return;
        };
        let policy = self.scouting.autoconnect;
        if !policy.permits(node.zid, hello.zid, hello.whatami) {
            return;
        }
        let found = Found {
            zid: hello.zid,
            whatami: hello.whatami,
            locators: self.usable(hello, source),
            teller: None,
        };
        let now = Instant::now();
        let is_due = node.state.lock().peers.discovery.hear(found, now);
        if is_due {
            Shared::connect_to_found(&node);
        }
    }

    fn answer(&self, scout: &Scout, source: SocketAddr, host: &Host) -> Option<Vec<u8>> {
        let node = self.node()?;
        if !scout.what.contains(node.role) {
            return None;
        }
        let may = self.answering.borrow_mut().may_answer(Instant::now());
        let hello = match may {
            true => self.greeting(&node, source.ip(), host),
            false => None,
        };
        let mut state = node.state.lock();
        let counts = &mut state.peers.discovery.scouts;
        match (may, &hello) {
            (false, _) => counts.over_limit += 1,
            (true, None) => counts.unreachable += 1,
            (true, Some(_)) => counts.answered += 1,
        }
        drop(state);
        hello
    }

    fn host_changed(&self, host: &Host) {
        self.host.borrow_mut().clone_from(host);
        if let Some(node) = self.node() {
            node.update(|state| state.tell_own(host.clone()));
        }
    }
}

/// Returns the address in a locator.
fn address_of(locator: &Locator) -> Option<IpAddr> {
    let at: SocketAddr = locator.address().parse().ok()?;
    Some(at.ip())
}
