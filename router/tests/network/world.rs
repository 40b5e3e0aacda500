// SPDX-License-Identifier: MIT OR Apache-2.0

//! The network: nodes, links, and a clock that jumps from one event to the next.

use std::time::{Duration, Instant};

use zonda_codec::{LinkStateList, NetworkMessage, Oam, OamBody, Reader, WhatAmI};
use zonda_router::table::{Action, Deadline, FaceId, FaceInfo, FaceKind, ForwardingTable};

use crate::flowing::Publication;
use crate::link::{Link, Message};
use crate::node::Node;
use crate::question::Asked;
use crate::rng::Rng;

/// The keys of declarations.
pub const KEYS: [&str; 10] = [
    "a/b", "a/c", "a/*", "a/**", "**", "b/x", "b/$*x", "b/**/x", "@v/a", "@v/*",
];

/// Longest time that a side considers a cut link alive.
const LEASE: Duration = Duration::from_secs(10);

/// Longest time until a link is restored.
const RETRY: Duration = Duration::from_secs(4);

/// Longest time that a message is under way.
const DELAY: Duration = Duration::from_millis(200);

/// Time after which an answer that never comes is given up, with the next clock event.
const GIVEN_UP: Duration = Duration::from_secs(12);

/// Maximum number of changes before a network comes to rest again.
const CHANGES: u64 = 240;

/// Maximum number of such periods until nothing is under way.
const RESTS_MAX: usize = 4;

pub struct World {
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    /// Sessions that will reply, and the time of their replies.
    pub asked: Vec<(Instant, Asked)>,
    /// Messages that were published during changes, by number.
    pub published: Vec<Publication>,
    /// A lying node: messages of its table are not sent, and messages to it end there.
    pub liar: Option<usize>,
    /// Marks of the messages that reached the liar.
    pub overheard: Vec<u16>,
    /// Number of changes, arrivals and clock events.
    pub steps: u64,
    pub rng: Rng,
    now: Instant,
    ids: u32,
}

impl World {
    pub fn new(seed: u64, (roles, links): (&[WhatAmI], &[(usize, usize)])) -> Self {
        let nodes = roles.iter().zip(1..);
        let mut world = World {
            nodes: nodes
                .map(|(role, number)| Node::new(number, *role))
                .collect(),
            links: links.iter().map(|ends| Link::new(*ends)).collect(),
            asked: Vec::new(),
            published: Vec::new(),
            liar: None,
            overheard: Vec::new(),
            steps: 0,
            rng: Rng::new(seed),
            now: Instant::now(),
            ids: 0,
        };
        for link in 0..world.links.len() {
            world.connect(link);
        }
        world
    }

    /// Makes changes at random times for a while.
    pub fn disturb(&mut self) {
        for _ in 0..self.rng.below(CHANGES) {
            self.change();
            let pause = self.up_to(Duration::from_secs(1));
            self.run_until(self.now + pause);
        }
    }

    /// Runs until nothing is under way. An answer that is given up may cause more messages, a
    /// bounded number of times.
    pub fn rest(&mut self) {
        for _ in 0..RESTS_MAX {
            while let Some(next) = self.next_event() {
                self.run_until(next);
            }
            self.run_until(self.now + GIVEN_UP);
            if self.next_event().is_none() {
                return;
            }
        }
        panic!("something is always under way");
    }

    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the nodes that a node is linked to, whether or not the links are cut.
    pub fn linked(&self, node: usize) -> impl Iterator<Item = usize> {
        self.links.iter().filter_map(move |link| {
            let ends = [link.sides[0].node, link.sides[1].node];
            let at = ends.iter().position(|end| *end == node)?;
            Some(ends[1 - at])
        })
    }

    /// Returns the time of the next event.
    pub fn next_event(&self) -> Option<Instant> {
        let links = self.links.iter().filter_map(Link::next_event);
        let asked = self.asked.iter().map(|(due, _)| *due);
        let nodes = self.nodes.iter().filter_map(|node| node.look);
        links.chain(asked).chain(nodes).min()
    }

    /// Sets the time of a node's next clock event, for work in slices and trees to be computed.
    pub fn plan_look(&mut self, node: usize) {
        let node = &mut self.nodes[node];
        node.look = match node.table.next_deadline() {
            _ if node.table.is_sweeping() => Some(self.now),
            Some(Deadline::Now) => Some(self.now),
            Some(Deadline::At(at)) => Some(at),
            None => None,
        };
    }

    /// Makes a random change: a declaration, its end, a query, a cut, or a restart.
    pub fn change(&mut self) {
        self.steps += 1;
        let node = self.rng.index(self.nodes.len());
        let key = self.rng.of(&KEYS);
        self.ids += 1;
        let id = self.ids;
        match self.rng.below(32) {
            0 => self.restart(node),
            1 | 2 => {
                let link = self.rng.index(self.links.len());
                self.cut(link);
            }
            3..=7 => self.act(node, |node, actions| node.subscribe(id, key, actions)),
            8..=9 => {
                if let Some(id) = self.one_of(|world| &world.nodes[node].subscribers) {
                    self.act(node, |node, actions| node.unsubscribe(id, actions));
                }
            }
            10..=13 => self.act(node, |node, actions| node.publish(id, key, actions)),
            14..=15 => {
                if let Some(id) = self.one_of(|world| &world.nodes[node].publishers) {
                    self.act(node, |node, actions| node.unpublish(id, actions));
                }
            }
            16..=18 => self.act(node, |node, actions| node.live(id, key, actions)),
            19..=20 => {
                if let Some(id) = self.one_of(|world| &world.nodes[node].tokens) {
                    self.act(node, |node, actions| node.die(id, actions));
                }
            }
            21..=22 => self.act(node, |node, actions| node.watch(id, key, actions)),
            23..=25 => self.act(node, |node, actions| node.answer(id, key, actions)),
            26 => {
                if let Some(id) = self.one_of(|world| &world.nodes[node].queryables) {
                    self.act(node, |node, actions| node.unanswer(id, actions));
                }
            }
            _ => drop(self.ask(node, key)),
        }
    }

    fn one_of<T>(
        &mut self,
        declared: impl Fn(&World) -> &std::collections::BTreeMap<u32, T>,
    ) -> Option<u32> {
        let ids: Vec<u32> = declared(self).keys().copied().collect();
        (!ids.is_empty()).then(|| self.rng.of(&ids))
    }

    /// Restarts a node with an empty table and the same id.
    fn restart(&mut self, node: usize) {
        for link in 0..self.links.len() {
            let sides = &self.links[link].sides;
            if let Some(own) = sides.iter().position(|side| side.node == node) {
                self.cut(link);
                let side = &mut self.links[link].sides[own];
                (side.face, side.notices) = (None, None);
                self.restore_if_noticed(link);
            }
        }
        let (role, starts) = (self.nodes[node].role, self.nodes[node].starts);
        self.nodes[node] = Node::new(node as u128 + 1, role);
        self.nodes[node].starts = starts + 1;
        self.nodes[node].begin_mesh();
        self.plan_look(node);
    }

    fn cut(&mut self, link: usize) {
        if !self.links[link].is_cut {
            let notices = [0, 1].map(|_| self.now + self.up_to(LEASE));
            self.links[link].cut(notices);
        }
    }

    /// Cuts a link, which both sides notice at once.
    pub fn break_now(&mut self, link: usize) {
        let now = self.now;
        self.links[link].cut([now; 2]);
    }

    /// Cuts a link, which both sides notice at once and which returns within this time.
    pub fn drop_and_return(&mut self, link: usize, within: Duration) {
        self.break_now(link);
        self.run_until(self.now);
        let restored = self.now + self.up_to(within);
        let link = &mut self.links[link];
        link.restored = link.restored.and(Some(restored));
    }

    pub fn connect(&mut self, link: usize) {
        self.links[link].is_cut = false;
        self.links[link].restored = None;
        for side in [0, 1] {
            let (node, other) = self.ends(link, side);
            let info = FaceInfo {
                zid: self.nodes[other].zid,
                whatami: self.nodes[other].role,
                kind: FaceKind::Remote,
            };
            let mut actions = Vec::new();
            let found = &mut self.nodes[node];
            let face = found.table.add_face(info, &mut actions);
            if let Some(gossip) = &mut found.gossip {
                gossip.add_link(face, info.zid, info.whatami, None, &mut actions);
            }
            self.links[link].sides[side].face = Some(face);
            self.send(node, actions);
        }
    }

    fn ends(&self, link: usize, side: usize) -> (usize, usize) {
        let sides = &self.links[link].sides;
        (sides[side].node, sides[1 - side].node)
    }

    /// Runs `act` at a node and sends the resulting messages.
    pub fn act(&mut self, node: usize, act: impl FnOnce(&mut Node, &mut Vec<Action>)) {
        let mut actions = Vec::new();
        act(&mut self.nodes[node], &mut actions);
        self.send(node, actions);
    }

    fn send(&mut self, node: usize, actions: Vec<Action>) {
        self.post_all(node, actions);
        self.settle(node);
    }

    /// Sends the messages of a table.
    pub fn post_all(&mut self, node: usize, actions: Vec<Action>) {
        if Some(node) == self.liar {
            return;
        }
        for action in actions {
            match action {
                Action::Send { face, bytes } => self.post(node, face, Message::Control(bytes)),
                Action::Notify { listener, notice } => self.nodes[node].told(listener, &notice),
            }
        }
    }

    pub fn post(&mut self, node: usize, face: FaceId, message: Message) {
        let Some((link, side)) = self.link_of(node, face) else {
            panic!("node {node} sends to {face}, which is no link of its own: {message:?}");
        };
        let delay = self.up_to(DELAY);
        let link = &mut self.links[link];
        if !link.is_cut {
            // Messages stay in order, whatever the delay of each.
            let queue = &mut link.sides[1 - side].incoming;
            let earliest = queue.back().map_or(self.now, |last| last.0);
            queue.push_back((earliest.max(self.now + delay), message));
        }
    }

    /// Returns the link and side of a node's face.
    pub fn link_of(&self, node: usize, face: FaceId) -> Option<(usize, usize)> {
        let mut links = self.links.iter().enumerate();
        links.find_map(|(at, link)| Some((at, link.side_of(node, face)?)))
    }

    pub fn run_until(&mut self, until: Instant) {
        while let Some(next) = self.next_event().filter(|next| *next <= until) {
            self.now = self.now.max(next);
            for link in 0..self.links.len() {
                self.step(link);
            }
            let now = self.now;
            while let Some(at) = self.asked.iter().position(|(due, _)| *due <= now) {
                let (_, asked) = self.asked.remove(at);
                self.steps += 1;
                self.answer(asked);
            }
            for node in 0..self.nodes.len() {
                if self.nodes[node].look.is_some_and(|at| at <= now) {
                    self.steps += 1;
                    self.act(node, |node, actions| {
                        node.table.expire(now, actions);
                        node.table.sweep(actions);
                    });
                }
            }
        }
        self.now = until;
    }

    /// Processes what is due on a link.
    fn step(&mut self, link: usize) {
        let now = self.now;
        if self.links[link].restored.is_some_and(|at| at <= now) {
            self.connect(link);
        }
        for side in [0, 1] {
            let found = &mut self.links[link].sides[side];
            if found.notices.is_some_and(|at| at <= now) {
                found.notices = None;
                let (face, node) = (found.face.take(), found.node);
                let (_, other) = self.ends(link, side);
                let other = self.nodes[other].zid;
                if let Some(face) = face {
                    self.act(node, |node, actions| {
                        node.table.expect_back(other, now);
                        node.table.remove_face(face, actions);
                        if let Some(gossip) = &mut node.gossip {
                            gossip.remove_link(face, actions);
                        }
                    });
                }
                self.restore_if_noticed(link);
            }
            while let Some((node, face, message)) = self.arrived(link, side) {
                self.steps += 1;
                match message {
                    Message::Control(bytes) => self.act(node, |node, actions| {
                        hand_over(&mut node.table, face, &bytes, actions);
                    }),
                    Message::Data { node_id, .. } if Some(node) == self.liar => {
                        self.overheard.push(node_id.trees());
                    }
                    _ if Some(node) == self.liar => {}
                    other => self.asked_or_told(node, face, other),
                }
            }
        }
    }

    fn restore_if_noticed(&mut self, link: usize) {
        let restored = self.now + self.up_to(RETRY);
        let link = &mut self.links[link];
        if link.is_cut && link.sides.iter().all(|side| side.face.is_none()) {
            link.restored = Some(restored);
        }
    }

    fn arrived(&mut self, link: usize, side: usize) -> Option<(usize, FaceId, Message)> {
        let now = self.now;
        let side = &mut self.links[link].sides[side];
        let face = side.face?;
        if side.incoming.front()?.0 > now {
            return None;
        }
        let (_, message) = side.incoming.pop_front()?;
        Some((side.node, face, message))
    }

    pub fn up_to(&mut self, limit: Duration) -> Duration {
        Duration::from_millis(self.rng.below(limit.as_millis() as u64 + 1))
    }
}

fn hand_over(table: &mut ForwardingTable, face: FaceId, bytes: &[u8], actions: &mut Vec<Action>) {
    let message = NetworkMessage::decode(&mut Reader::new(bytes)).expect("a message");
    match &message {
        NetworkMessage::Declare(declare) => table.handle_declare(face, declare, actions),
        NetworkMessage::Interest(interest) => {
            table.handle_interest(face, interest, actions);
            while table.answer_on(face, actions) {}
        }
        NetworkMessage::Oam(oam) => hear_oam(table, face, oam, actions),
        other => panic!("{other:?} is no control message"),
    }
}

/// Handles an OAM message; the table uses link states only.
fn hear_oam(table: &mut ForwardingTable, face: FaceId, oam: &Oam<'_>, actions: &mut Vec<Action>) {
    if let (Oam::LINK_STATE, OamBody::Buf(body)) = (oam.id, oam.body)
        && let Ok(states) = LinkStateList::decode(&mut Reader::new(body))
    {
        table.handle_link_states(face, &states, actions);
    }
}
