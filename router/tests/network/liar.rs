// SPDX-License-Identifier: MIT OR Apache-2.0

//! A router among honest ones that sends any link states and declarations, different ones to each
//! neighbour. While it is there, the honest nodes get each other's messages once each, and no
//! message loops; when it has left, no trace of it remains.
//!
//! No path between two honest routers leads over it: messages on such a path would be lost.

use std::collections::HashMap;
use std::time::Duration;

use zonda_codec::WhatAmI::{Client, Router};
use zonda_codec::{
    Declare, Encode, LinkState, LinkStates, NodeId, Numbers, Oam, OamBody, Qos, QueryableInfo,
    WhatAmI, WireExpr, ZenohId,
};
use zonda_testkit::mesh::declaration;

use crate::link::{Link, Message};
use crate::node::Node;
use crate::world::{KEYS, World};
use crate::{ALL_LINKED, Plan, RING, Replay, mesh_truth, seeds, truth};

const SEEDS: u64 = 40;

/// Time for which it lies.
const LIES: Duration = Duration::from_secs(20);

/// Longest time that an honest message is under way.
const ARRIVES: Duration = Duration::from_secs(5);

/// Number of routers that the liar invents.
const INVENTED: usize = 3;

/// The first count of link-state changes that honest routers use once they know the liar.
const BEGUN: u64 = (1 << 33) + 1000;

/// Weight of the routers' links to the liar, so that no shortest path leads over it.
const FAR: u16 = 20_000;

/// Upper bound of plausible counts.
const CLOCK: u64 = 1 << 36;

const LINE: Plan<'static> = (
    &[Router, Router, Router, Router, Client, Client],
    &[(1, 0), (2, 1), (3, 2), (4, 0), (5, 3)],
);

#[test]
fn a_liar_in_a_line() {
    lies(LINE);
}

#[test]
fn a_liar_in_a_ring() {
    lies(RING);
}

#[test]
fn a_liar_where_all_are_linked() {
    lies(ALL_LINKED);
}

fn lies(plan: Plan<'_>) {
    let (mut copies, mut lost, mut published) = (0, 0, 0);
    for seed in seeds(SEEDS) {
        let _replay = Replay(seed);
        let mut scene = Scene::new(seed, plan);
        scene.lie();
        let now = format!("seed {seed}");
        for publication in &scene.world.published {
            let (mut got, mut expected) =
                (publication.delivered.clone(), publication.expected.clone());
            got.sort_unstable();
            expected.sort_unstable();
            let bound = 4 * scene.world.nodes.len();
            assert!(
                publication.carried <= bound,
                "{now}: {} copies",
                publication.carried
            );
            copies = copies.max(publication.carried);
            lost += usize::from(got.len() < expected.len());
            assert_eq!(got, expected, "{now}: {}", publication.key);
        }
        published += scene.world.published.len();
        let mut world = scene.leave();
        world.rest();
        truth::check(&mut world, &now);
        mesh_truth::check(&world, &now);
    }
    println!("{published} publications, {lost} lost, over {copies} links at most");
}

struct Scene {
    world: World,
    /// Links of the liar.
    links: Vec<usize>,
    honest: usize,
    /// The greatest count that it has used.
    sn: u64,
}

impl Scene {
    /// Creates a network at rest, which the liar joins.
    fn new(seed: u64, plan: Plan<'_>) -> Scene {
        let mut world = World::new(seed, plan);
        let honest = world.nodes.len();
        let liar = ZenohId::random_from(honest as u128 + 1);
        for node in &mut world.nodes {
            node.table.set_mesh(BEGUN, HashMap::from([(liar, FAR)]));
            node.table.set_mesh_clock(CLOCK);
        }
        world.rest();
        for node in 0..honest {
            let id = 1000 + node as u32;
            world.act(node, |node, actions| node.subscribe(id, "a/**", actions));
            world.act(node, |node, actions| node.answer(id, "a/b", actions));
        }
        world.rest();
        let mut scene = Scene {
            links: Vec::new(),
            honest,
            sn: BEGUN,
            world,
        };
        scene.join(liar);
        scene
    }

    fn join(&mut self, zid: ZenohId) {
        let world = &mut self.world;
        world.liar = Some(self.honest);
        world.nodes.push(Node::new(self.honest as u128 + 1, Router));
        assert_eq!(world.nodes[self.honest].zid, zid);
        for node in 0..self.honest {
            let is_router = world.nodes[node].role == Router;
            if is_router && (node == 0 || world.rng.below(3) > 0) {
                world.links.push(Link::new((self.honest, node)));
                self.links.push(world.links.len() - 1);
                world.connect(world.links.len() - 1);
            }
        }
    }

    /// Lets the liar send while the honest nodes continue.
    fn lie(&mut self) {
        let end = self.world.now() + LIES;
        while self.world.now() < end {
            let lies = self.world.rng.below(3);
            for _ in 0..lies {
                let lie = self.invent();
                self.say(lie);
            }
            let node = self.world.rng.index(self.honest);
            self.world.publish(node, "a/b");
            if self.world.rng.below(20) == 0 {
                let node = self.world.rng.index(self.honest);
                self.world.ask(node, "a/b");
            }
            let pause = self.world.up_to(Duration::from_millis(60));
            self.world.run_until(self.world.now() + pause);
        }
        self.world.run_until(end + ARRIVES);
        for (at, node) in self.world.nodes[..self.honest].iter().enumerate() {
            for question in node.questions.values() {
                let honest = question
                    .answers
                    .iter()
                    .filter(|(node, _)| *node < self.honest);
                assert!(
                    honest.count() <= self.honest,
                    "node {at} hears an answer twice"
                );
            }
        }
    }

    fn say(&mut self, lie: Message) {
        let link = self.links[self.world.rng.index(self.links.len())];
        if let Some(face) = self.world.links[link].sides[0].face {
            self.world.post(self.honest, face, lie);
        }
    }

    fn invent(&mut self) -> Message {
        match self.world.rng.below(8) {
            0 => self.declare(),
            1 => self.republish(),
            _ => self.states(),
        }
    }

    /// Returns a declaration in the name of any router.
    fn declare(&mut self) -> Message {
        let node_id = self.world.rng.below(self.named()) as u16;
        let wire_expr = WireExpr::full(self.world.rng.of(&KEYS));
        let info = QueryableInfo {
            complete: true,
            distance: 0,
        };
        let which = self.world.rng.below(6) as u8;
        let declare = Declare {
            node_id,
            ..Declare::new(declaration(which, 0, wire_expr, info))
        };
        Message::Control(declare.to_vec().expect("it has a wire form"))
    }

    /// Returns a publication of its own in the name of any router.
    fn republish(&mut self) -> Message {
        let number = self.world.published.len();
        let router = self.world.rng.below(self.named()) as u16;
        // The mark is none, one of its own, or one that it has overheard.
        let trees = match self.world.rng.below(3) {
            0 => 0,
            1 => self.world.rng.below(1 << 16) as u16,
            _ => self.world.overheard.last().copied().unwrap_or(1),
        };
        let node_id = NodeId::marked(router, trees);
        self.world.published.push(crate::flowing::Publication {
            key: "forged",
            delivered: Vec::new(),
            expected: Vec::new(),
            carried: 0,
        });
        Message::Data { number, node_id }
    }

    /// Returns the number of routers that the liar names: itself with number 0, the existing ones,
    /// and the invented ones.
    fn named(&self) -> u64 {
        (1 + self.honest + INVENTED) as u64
    }

    fn zid(&self, number: usize) -> ZenohId {
        let own = self.honest as u128 + 1;
        match number {
            0 => ZenohId::random_from(own),
            _ if number <= self.honest => ZenohId::random_from(number as u128),
            _ => ZenohId::random_from(own + number as u128),
        }
    }

    /// Returns link states of any routers, with any links.
    fn states(&mut self) -> Message {
        let count = 1 + self.world.rng.index(3);
        let mut said = Vec::new();
        for _ in 0..count {
            let number = self.world.rng.below(self.named());
            let sn = match self.world.rng.below(8) {
                0 => self.world.rng.below(1 << 34),
                1 => u64::MAX - self.world.rng.below(3),
                2 => CLOCK,
                // A count that a router has seen in a lie is used again.
                3 => self.sn,
                _ => {
                    self.sn += 1 + self.world.rng.below(9);
                    self.sn
                }
            };
            let links = (0..self.named()).filter(|_| self.world.rng.below(3) == 0);
            said.push((number, sn, links.collect::<Vec<u64>>()));
        }
        let weights: Vec<u64> = (0..self.named())
            .map(|_| self.world.rng.below(300))
            .collect();
        let mut states: Vec<LinkState<'_>> = (1..self.named())
            .map(|number| self.head(number, 0, &[], &[]))
            .collect();
        for (number, sn, links) in &said {
            let weights = &weights[..links.len()];
            states.push(self.head(*number, *sn, links, weights));
        }
        let body = LinkStates(&states).to_vec().expect("it has a wire form");
        let oam = Oam {
            id: Oam::LINK_STATE,
            qos: Qos::DECLARE,
            timestamp: None,
            body: OamBody::Buf(&body),
        };
        Message::Control(oam.to_vec().expect("it has a wire form"))
    }

    fn head<'a>(
        &self,
        number: u64,
        sn: u64,
        links: &'a [u64],
        weights: &'a [u64],
    ) -> LinkState<'a> {
        LinkState {
            psid: number,
            sn,
            zid: Some(self.zid(number as usize)),
            whatami: Some(WhatAmI::Router),
            links: Numbers::new(links),
            weights: Some(Numbers::new(weights)),
            // Half of its claims let the mesh go on to mark messages.
            marks_trees: sn.is_multiple_of(2),
            ..LinkState::default()
        }
    }

    /// Cuts the links of the liar, and removes it from the world.
    fn leave(mut self) -> World {
        // A link that returns at once is cut again.
        loop {
            for link in &self.links {
                self.world.break_now(*link);
            }
            self.world.run_until(self.world.now());
            let mut links = self.links.iter().map(|link| &self.world.links[*link]);
            if links.all(|link| link.is_cut) {
                break;
            }
        }
        let first = self.links.first().copied();
        self.world.links.truncate(first.expect("it had one"));
        self.world.nodes.truncate(self.honest);
        self.world.liar = None;
        self.world
    }
}
