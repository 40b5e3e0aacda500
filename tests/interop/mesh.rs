// SPDX-License-Identifier: MIT OR Apache-2.0
//! Meshes of routers of both implementations: declarations, messages and queries at one end of a
//! line or the far side of a ring reach the other one, once.

use zonda::config::WhatAmI::{Client, Router as Routing};

use crate::cases;
use crate::environment::python;
use crate::live_cases;
use crate::message::Service;
use crate::party::{Party, Setup};
use crate::query_cases;
use crate::relay::Relay;
use crate::router::free_endpoint;
use crate::scene::Scene;
use crate::wait::until;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Ours,
    Theirs,
}

use Side::{Ours, Theirs};

impl Side {
    pub fn open(self, setup: &Setup) -> Party {
        match self {
            Ours => Party::Ours(setup.ours()),
            Theirs => Party::Theirs(setup.theirs()),
        }
    }
}

/// Routers, each linked to the earlier ones that it names.
pub struct Mesh {
    pub routers: Vec<(Party, String)>,
}

impl Mesh {
    pub fn new() -> Mesh {
        Mesh {
            routers: Vec::new(),
        }
    }

    /// Adds a router, which dials these.
    fn with(self, side: Side, others: &[usize]) -> Mesh {
        self.with_id(side, None, others)
    }

    /// Adds a router with this id, which dials these.
    pub fn with_id(mut self, side: Side, zid: Option<&'static str>, others: &[usize]) -> Mesh {
        let endpoint = free_endpoint();
        let dialled = others.iter().map(|other| &self.routers[*other]);
        let router = side.open(&Setup {
            connect: dialled.clone().map(|(_, at)| at.clone()).collect(),
            zid,
            ..Setup::listening(Routing, &endpoint)
        });
        for (other, _) in dialled {
            let zid = router.zid();
            until("both routers have the link", || {
                other.linked().contains(&zid) && router.linked().contains(&other.zid())
            });
        }
        self.routers.push((router, endpoint));
        self
    }

    fn line(sides: [Side; 3]) -> Mesh {
        let [first, second, third] = sides;
        let line = Mesh::new().with(first, &[]).with(second, &[0]);
        line.with(third, &[1])
    }

    /// Opens a client of one of the routers.
    pub fn client(&self, side: Side, at: usize) -> Party {
        let (router, endpoint) = &self.routers[at];
        let client = side.open(&Setup::client(endpoint));
        until("it has its router", || {
            client.linked().contains(&router.zid())
        });
        client
    }

    /// Opens a client at each of two routers, once a message gets from one to the other.
    fn scene(&self, from: (Side, usize), to: (Side, usize)) -> Scene {
        let (from, to) = (self.client(from.0, from.1), self.client(to.0, to.1));
        carries_a_message(&from, &to, "scene");
        Scene {
            from,
            to,
            router: None,
            role: Client,
        }
    }

    /// Returns the complaints of the reference's routers. Once the mesh has settled our routers
    /// repeat their undeclarations, and theirs log that they know those of queryables already:
    /// these lines are left out.
    pub fn complaints(&self) -> Vec<String> {
        let heard_before = "Queryable undeclaration in router region with no info";
        let theirs = self.routers.iter().filter_map(|(router, _)| match router {
            Party::Theirs(theirs) => Some(theirs.process.complaints()),
            Party::Ours(_) => None,
        });
        let complaints = theirs.flatten();
        complaints
            .filter(|line| !line.contains(heard_before))
            .collect()
    }
}

/// Waits until a message gets from one client to another one. The reference's routers compute their
/// trees some time after the last change of a link, and lose messages on the new paths before.
fn carries_a_message(from: &Party, to: &Party, key: &str) {
    let first = format!("{key}/first");
    let (firsts, probe) = (to.count(&first), from.publisher(&first, Service::BLOCK));
    until("the mesh carries a message", || {
        probe.publish_numbered(1, 8).done();
        firsts.now().count > 0
    });
}

/// Passes data, queries and tokens between a client of the first router and one of the last.
fn from_end_to_end(sides: [Side; 3]) {
    if python().is_none() {
        return;
    }
    let mesh = Mesh::line(sides);
    let scene = mesh.scene((Theirs, 0), (Ours, 2));
    cases::wildcards_match_alike(&scene);
    cases::payloads_of_all_sizes_arrive_whole(&scene);
    cases::subscribers_come_and_go(&scene);
    cases::ten_thousand_arrive_in_order(&scene);
    query_cases::queries_are_answered(&scene);
    query_cases::targets_choose_queryables(&scene);
    live_cases::coming_and_going_is_seen(&scene);
    assert_eq!(scene.complaints(), [""; 0]);
    let back = mesh.scene((Ours, 2), (Theirs, 0));
    cases::wildcards_match_alike(&back);
    query_cases::queries_are_answered(&back);
    assert_eq!(back.complaints(), [""; 0]);
    assert_eq!(mesh.complaints(), [""; 0]);
}

#[test]
fn ours_between_theirs() {
    from_end_to_end([Theirs, Ours, Theirs]);
}

#[test]
fn theirs_between_ours() {
    from_end_to_end([Ours, Theirs, Ours]);
}

/// A ring of four: each message comes once, and by the other path once a router is gone.
#[test]
fn a_ring_finds_another_way() {
    if python().is_none() {
        return;
    }
    let ring = Mesh::new().with(Ours, &[]).with(Theirs, &[0]);
    let mut ring = ring.with(Ours, &[1]).with(Theirs, &[2, 0]);
    let (from, to) = (ring.client(Theirs, 0), ring.client(Ours, 2));
    let comes_once = |key: &str| {
        carries_a_message(&from, &to, key);
        let all = to.count(key);
        let publisher = from.publisher(key, Service::BLOCK);
        until("it is matched", || publisher.is_matched());
        publisher.publish_numbered(1000, 8).done();
        all.reaches(1000);
        assert_eq!((all.now().count, all.now().disorder), (1000, None));
    };
    comes_once("ring/whole");
    let (gone, _) = ring.routers.remove(1);
    let zid = gone.zid();
    gone.close();
    // messages on their way through it are lost with it
    until("it is gone", || {
        let mut left = ring.routers.iter();
        left.all(|(router, _)| !router.linked().contains(&zid))
    });
    comes_once("ring/broken");
}

/// Their router sends a neighbour no declarations any more that is lost and back while it waits to
/// compute its trees anew, as it does when another node has just joined. Ours stays away for long
/// enough.
#[test]
fn a_router_that_comes_back_hears_everything_again() {
    if python().is_none() {
        return;
    }
    let mut mesh = Mesh::new().with(Theirs, &[]);
    let (hub, endpoint) = &mesh.routers[0];
    let relay = Relay::to(endpoint);
    let here = free_endpoint();
    let ours = Ours.open(&Setup {
        connect: vec![relay.endpoint.clone()],
        ..Setup::listening(Routing, &here)
    });
    let zid = hub.zid();
    until("they are linked", || ours.linked().contains(&zid));
    let to = mesh.client(Theirs, 0);
    let from = Ours.open(&Setup::client(&here));
    for round in 1..=3 {
        let key = format!("back/{round}");
        let count = to.count(&key);
        let publisher = from.publisher(&key, Service::BLOCK);
        until("it is matched", || publisher.is_matched());
        mesh = mesh.with(Ours, &[0]);
        relay.cut();
        until("what is sent after the cut comes", || {
            publisher.publish_numbered(1, 8).done();
            count.now().count > 0
        });
    }
}

crate::environment::against_older! {
    ours_between_theirs
    theirs_between_ours
    a_ring_finds_another_way
}
