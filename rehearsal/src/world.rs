// SPDX-License-Identifier: MIT OR Apache-2.0

//! The network on a virtual clock: nodes, links, and messages under way. The clock jumps from one
//! event to the next.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use zonda_codec::{LinkStateList, NetworkMessage, Oam, OamBody, Reader, WhatAmI, ZenohId};
use zonda_table::{Action, Deadline, FaceId, FaceInfo, FaceKind, ForwardingTable};

use crate::topology::{Edge, Graph};

/// A node: the table that it routes with, and its faces.
pub(crate) struct Node {
    pub(crate) table: ForwardingTable,
    pub(crate) role: WhatAmI,
    pub(crate) zid: ZenohId,
    /// Face of its session.
    pub(crate) local: FaceId,
    /// Link and side of each face.
    faces: HashMap<FaceId, (usize, usize)>,
    /// Time of its next clock event.
    look: Option<Instant>,
    /// True while it has unfinished work, or its trees wait to be computed.
    is_busy: bool,
}

/// Traffic of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) declarations: u64,
    pub(crate) interests: u64,
    pub(crate) link_states: u64,
    pub(crate) bytes: u64,
    /// Messages of the load.
    pub(crate) data: u64,
}

/// One side of a link.
pub(crate) struct Side {
    pub(crate) node: usize,
    pub(crate) face: Option<FaceId>,
    incoming: VecDeque<(Instant, Vec<u8>)>,
}

/// A link between two nodes.
pub(crate) struct Link {
    pub(crate) sides: [Side; 2],
    delay: Duration,
    pub(crate) counts: Counts,
}

/// An event.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Link(usize),
    Node(usize),
}

/// All nodes and links, and the events to come.
pub(crate) struct World {
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<Link>,
    agenda: BinaryHeap<Reverse<(Instant, Due)>>,
    /// Number of messages under way.
    under_way: u64,
    /// Number of busy nodes.
    busy: usize,
    pub(crate) now: Instant,
    /// Time of the last arrival of a message.
    pub(crate) last: Instant,
    /// Number of arrivals and clock events.
    pub(crate) steps: u64,
}

impl World {
    /// Creates the nodes of a graph, with all links down.
    pub(crate) fn new(graph: &Graph) -> World {
        let zid = |number: usize| ZenohId::random_from(number as u128 + 1);
        // Weights of links, for both ends.
        let mut weights: Vec<HashMap<ZenohId, u16>> = vec![HashMap::new(); graph.roles.len()];
        for &Edge { ends, weight, .. } in graph.links.iter().filter(|edge| edge.weight > 0) {
            for (end, other) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                weights[end].insert(zid(other), weight);
            }
        }
        // Nodes and links.
        let nodes = graph.roles.iter().zip(weights).enumerate();
        let nodes = nodes.map(|(number, (role, weights))| Node::new(zid(number), *role, weights));
        let links = graph.links.iter().map(|edge| Link {
            sides: edge.ends.map(|node| Side {
                node,
                face: None,
                incoming: VecDeque::new(),
            }),
            delay: Duration::from_millis(edge.delay_ms),
            counts: Counts::default(),
        });
        let now = Instant::now();
        World {
            nodes: nodes.collect(),
            links: links.collect(),
            agenda: BinaryHeap::new(),
            under_way: 0,
            busy: 0,
            now,
            last: now,
            steps: 0,
        }
    }

    /// Brings a link up at both of its sides.
    pub(crate) fn connect(&mut self, link: usize) {
        for side in [0, 1] {
            let (node, other) = self.ends(link, side);
            let info = FaceInfo {
                zid: self.nodes[other].zid,
                whatami: self.nodes[other].role,
                kind: FaceKind::Remote,
            };
            let mut actions = Vec::new();
            let face = self.nodes[node].table.add_face(info, &mut actions);
            self.nodes[node].faces.insert(face, (link, side));
            self.links[link].sides[side].face = Some(face);
            self.send(node, actions);
        }
    }

    /// Cuts a link, which both sides notice at once. Messages under way on it are lost.
    pub(crate) fn cut(&mut self, link: usize) {
        for side in [0, 1] {
            let (node, _) = self.ends(link, side);
            let lost = &mut self.links[link].sides[side];
            self.under_way -= lost.incoming.len() as u64;
            lost.incoming.clear();
            if let Some(face) = lost.face.take() {
                self.nodes[node].faces.remove(&face);
                self.act(node, |node, actions| node.table.remove_face(face, actions));
            }
        }
    }

    /// Runs `act` at a node and sends the resulting messages.
    pub(crate) fn act(&mut self, node: usize, act: impl FnOnce(&mut Node, &mut Vec<Action>)) {
        let mut actions = Vec::new();
        act(&mut self.nodes[node], &mut actions);
        self.send(node, actions);
    }

    /// Returns the link and side of a node's face.
    pub(crate) fn link_of(&self, node: usize, face: FaceId) -> Option<(usize, usize)> {
        self.nodes[node].faces.get(&face).copied()
    }

    /// Runs until the network is at rest: no message is under way, no node has unfinished work, and
    /// no trees wait to be computed. Periodic repetitions come later.
    pub(crate) fn run(&mut self, progress: &mut dyn FnMut(u64)) {
        while !self.is_at_rest() && self.step() {
            if self.steps.is_multiple_of(10_000) {
                progress(self.steps);
            }
        }
    }

    /// Runs the events of a period of time.
    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(Reverse((at, _))) = self.agenda.peek()
            && *at <= until
        {
            self.step();
        }
        self.now = until;
    }

    const fn is_at_rest(&self) -> bool {
        self.under_way == 0 && self.busy == 0
    }

    /// Processes the next event; returns false if there is none.
    fn step(&mut self) -> bool {
        let Some(Reverse((at, due))) = self.agenda.pop() else {
            return false;
        };
        self.now = self.now.max(at);
        match due {
            Due::Link(link) => self.deliver(link),
            Due::Node(node) if self.nodes[node].look == Some(at) => {
                self.nodes[node].look = None;
                self.steps += 1;
                let now = self.now;
                self.act(node, |node, actions| {
                    node.table.expire(now, actions);
                    node.table.sweep(actions);
                });
            }
            // The node's clock event was moved to an earlier time and has passed.
            Due::Node(_) => {}
        }
        true
    }

    fn deliver(&mut self, link: usize) {
        for side in [0, 1] {
            while let Some(bytes) = self.arrived(link, side) {
                let found = &self.links[link].sides[side];
                let (node, Some(face)) = (found.node, found.face) else {
                    continue;
                };
                self.steps += 1;
                self.last = self.now;
                let mut actions = Vec::new();
                let counts = &mut self.links[link].counts;
                hand_over(
                    &mut self.nodes[node].table,
                    face,
                    &bytes,
                    counts,
                    &mut actions,
                );
                self.send(node, actions);
            }
        }
    }

    fn arrived(&mut self, link: usize, side: usize) -> Option<Vec<u8>> {
        let queue = &mut self.links[link].sides[side].incoming;
        if queue.front()?.0 > self.now {
            return None;
        }
        self.under_way -= 1;
        queue.pop_front().map(|(_, bytes)| bytes)
    }

    fn send(&mut self, node: usize, actions: Vec<Action>) {
        for action in actions {
            if let Action::Send { face, bytes } = action
                && let Some((link, side)) = self.link_of(node, face)
            {
                let at = self.now + self.links[link].delay;
                let to = &mut self.links[link].sides[1 - side];
                to.incoming.push_back((at, bytes));
                self.under_way += 1;
                self.agenda.push(Reverse((at, Due::Link(link))));
            }
        }
        self.plan_look(node);
    }

    /// Updates whether the node is busy, and the time of its next clock event. Called after every
    /// action at the node.
    fn plan_look(&mut self, node: usize) {
        let (now, found) = (self.now, &mut self.nodes[node]);
        let is_busy = found.table.is_sweeping() || found.table.is_mesh_pending();
        self.busy += usize::from(is_busy);
        self.busy -= usize::from(std::mem::replace(&mut found.is_busy, is_busy));
        let due = match found.table.next_deadline() {
            _ if found.table.is_sweeping() => now,
            Some(Deadline::Now) => now,
            Some(Deadline::At(at)) => at,
            None => return,
        };
        if found.look.is_none_or(|look| due < look) {
            found.look = Some(due);
            self.agenda.push(Reverse((due, Due::Node(node))));
        }
    }

    fn ends(&self, link: usize, side: usize) -> (usize, usize) {
        let sides = &self.links[link].sides;
        (sides[side].node, sides[1 - side].node)
    }
}

impl Node {
    fn new(zid: ZenohId, role: WhatAmI, weights: HashMap<ZenohId, u16>) -> Node {
        let mut table = ForwardingTable::new(zid, role);
        let info = FaceInfo {
            zid,
            whatami: role,
            kind: FaceKind::Local,
        };
        let local = table.add_face(info, &mut Vec::new());
        // A first count of link-state changes like that of a real node, which begins with the time.
        table.set_mesh(1 << 33, weights);
        Node {
            table,
            role,
            zid,
            local,
            faces: HashMap::new(),
            look: None,
            is_busy: false,
        }
    }
}

fn hand_over(
    table: &mut ForwardingTable,
    face: FaceId,
    bytes: &[u8],
    counts: &mut Counts,
    actions: &mut Vec<Action>,
) {
    counts.bytes += bytes.len() as u64;
    match NetworkMessage::decode(&mut Reader::new(bytes)) {
        Ok(NetworkMessage::Declare(declare)) => {
            counts.declarations += 1;
            table.handle_declare(face, &declare, actions);
        }
        Ok(NetworkMessage::Interest(interest)) => {
            counts.interests += 1;
            table.handle_interest(face, &interest, actions);
            while table.answer_on(face, actions) {}
        }
        Ok(NetworkMessage::Oam(Oam {
            id: Oam::LINK_STATE,
            body: OamBody::Buf(body),
            ..
        })) => {
            counts.link_states += 1;
            if let Ok(states) = LinkStateList::decode(&mut Reader::new(body)) {
                table.handle_link_states(face, &states, actions);
            }
        }
        // A table sends no other messages.
        _ => {}
    }
}
