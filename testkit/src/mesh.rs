// SPDX-License-Identifier: MIT OR Apache-2.0
//! A router's table between two routers with arbitrary input and a client: link states and
//! declarations, as any bytes or as bytes choose them, with links that come and go, and time that
//! passes. The table's output goes to linked faces and can be decoded; its trees lead over its
//! links; and once all faces are removed it has no router left.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use zonda_codec::{
    Declaration, Declare, Encode, KeyExpr, LinkState, LinkStateList, LinkStates, NetworkMessage,
    NodeId, Numbers, Qos, QueryableInfo, Reader, Target, WhatAmI, WireExpr, ZenohId,
};
use zonda_table::{
    Action, Deadline, FaceId, FaceInfo, FaceKind, ForwardingTable, Kind, NewQuery, QuerySearch,
    Reach,
};

const KEYS: [&str; 6] = ["a", "a/b", "a/*", "**", "a/$*b", "c/d"];

/// Number of routers that are named. The first two are the neighbours, the third is the router
/// itself.
const ROUTERS: u8 = 8;

/// Maximum number of routers in the table.
const ROUTERS_MAX: usize = 1024;

/// Returns one of the six declarations that routers make of keys: of a subscriber, a queryable or a
/// token, or of its end.
pub fn declaration(
    which: u8,
    id: u32,
    wire_expr: WireExpr<'_>,
    info: QueryableInfo,
) -> Declaration<'_> {
    let key = Some(wire_expr);
    match which {
        0 => Declaration::Subscriber { id, wire_expr },
        1 => Declaration::Queryable {
            id,
            wire_expr,
            info,
        },
        2 => Declaration::Token { id, wire_expr },
        3 => Declaration::UndeclareSubscriber { id, key },
        4 => Declaration::UndeclareQueryable { id, key },
        _ => Declaration::UndeclareToken { id, key },
    }
}

/// Rest of the input; zeros behind its end.
struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn key(&mut self) -> &'static str {
        KEYS[usize::from(self.below(KEYS.len() as u8))]
    }
}

fn zid(number: u8) -> ZenohId {
    ZenohId::random_from(u128::from(number) + 1)
}

/// The table, and the nodes that are linked to it.
struct Scene {
    table: ForwardingTable,
    now: Instant,
    /// Faces of two routers, and of a client.
    faces: [Option<FaceId>; 3],
    questions: u32,
    /// Mark of the last message that entered the mesh here.
    mark: u16,
}

impl Scene {
    fn new() -> Scene {
        let mut table = ForwardingTable::new(zid(2), WhatAmI::Router);
        table.set_mesh(1, HashMap::new());
        let mut scene = Scene {
            table,
            now: Instant::now(),
            faces: [None; 3],
            questions: 0,
            mark: 0,
        };
        for place in 0..3 {
            scene.turn(place);
        }
        scene
    }

    /// Adds or removes a neighbour.
    fn turn(&mut self, place: usize) {
        let mut actions = Vec::new();
        match self.faces[place].take() {
            Some(face) => self.table.remove_face(face, &mut actions),
            None => {
                let (number, whatami) = match place {
                    2 => (100, WhatAmI::Client),
                    _ => (place as u8, WhatAmI::Router),
                };
                let info = FaceInfo {
                    zid: zid(number),
                    whatami,
                    kind: FaceKind::Remote,
                };
                self.faces[place] = Some(self.table.add_face(info, &mut actions));
            }
        }
        self.check(&actions);
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        let (op, place) = (choices.below(11), usize::from(choices.below(3)));
        let Some(face) = self.faces[place] else {
            return self.turn(place);
        };
        let mut actions = Vec::new();
        // Link states, declarations, time, or a query, by one byte.
        match op {
            0 => {
                if let Ok(states) = LinkStateList::decode(&mut Reader::new(choices.bytes())) {
                    self.table.handle_link_states(face, &states, &mut actions);
                }
            }
            1 | 2 => self.hear(face, choices, &mut actions),
            3 | 4 => self.declare(face, choices, &mut actions),
            5 => {
                let message = NetworkMessage::decode(&mut Reader::new(choices.bytes()));
                if let Ok(NetworkMessage::Declare(declare)) = message {
                    self.table.handle_declare(face, &declare, &mut actions);
                }
            }
            6 => return self.pass(Duration::from_millis(10 * u64::from(choices.byte()))),
            7 => drop(self.table.sweep(&mut actions)),
            8 => return self.turn(place),
            10 => self.table.set_mesh_clock(u64::from(choices.byte()) << 32),
            _ => self.ask(face, choices),
        }
        self.check(&actions);
    }

    /// Feeds link states of existing routers, with numbers that are kept or changed.
    fn hear(&mut self, face: FaceId, choices: &mut Choices<'_>, actions: &mut Vec<Action>) {
        let count = usize::from(choices.below(4)) + 1;
        let mut links = Vec::new();
        let mut heads = Vec::new();
        for _ in 0..count {
            let psid = u64::from(choices.below(ROUTERS));
            let named = choices.below(ROUTERS + 1);
            // Small counts, as of routers that count from 1, and large ones, as of routers that
            // count from the time.
            let shift = 8 * u32::from(choices.below(8));
            let head = (psid, u64::from(choices.byte()) << shift, named);
            heads.push(head);
            let bits = choices.byte();
            let listed = (0..8).filter(|bit| bits >> bit & 1 == 1);
            links.push(listed.collect::<Vec<u64>>());
        }
        let states: Vec<LinkState<'_>> = heads
            .iter()
            .zip(&links)
            .map(|(&(psid, sn, named), links)| LinkState {
                psid,
                sn,
                zid: (named < ROUTERS).then(|| zid(named)),
                whatami: Some(WhatAmI::Router),
                links: Numbers::new(links),
                marks_trees: sn & 0xf != 0,
                ..LinkState::default()
            })
            .collect();
        let bytes = LinkStates(&states).to_vec().expect("it has a wire form");
        let states = LinkStateList::decode(&mut Reader::new(&bytes)).expect("as it was written");
        self.table.handle_link_states(face, &states, actions);
    }

    fn declare(&mut self, face: FaceId, choices: &mut Choices<'_>, actions: &mut Vec<Action>) {
        let (what, id) = (choices.below(6), u32::from(choices.below(4)));
        let node_id = u16::from(choices.below(ROUTERS));
        let wire_expr = WireExpr::full(choices.key());
        let info = QueryableInfo {
            complete: id == 1,
            distance: 0,
        };
        let declare = Declare {
            node_id,
            ..Declare::new(declaration(what, id, wire_expr, info))
        };
        self.table.handle_declare(face, &declare, actions);
    }

    /// Routes a message and a query from the router that a neighbour names as the source.
    fn ask(&mut self, face: FaceId, choices: &mut Choices<'_>) {
        let key = KeyExpr::new(choices.key()).expect("a key expression");
        // The mark is none, or that of trees which this node may have had.
        let router = u16::from(choices.below(ROUTERS));
        let trees = match choices.below(2) {
            0 => 0,
            _ => self.mark,
        };
        let node_id = NodeId::marked(router, trees);
        let search = self
            .table
            .begin_route_from(face, node_id, key.clone().into_owned());
        // The search of a route ends, and its hops lead to other faces that exist.
        if let Some(mut search) = search {
            let route = loop {
                if let Some(route) = self.table.search_route(&mut search) {
                    break route;
                }
            };
            for hop in &route.hops {
                assert_ne!(hop.face, face, "nothing goes back to where it came from");
                match self.faces[2] == Some(face) {
                    true => self.mark = hop.node_id.trees(),
                    false => assert_eq!(hop.node_id.trees(), trees, "the mark stays"),
                }
                assert!(self.is_there(hop.face));
            }
        }
        // The search of a query ends as well.
        self.questions += 1;
        let ask = NewQuery {
            rid: self.questions,
            key: &key,
            target: Target::All,
            qos: Qos::REQUEST,
            timeout: Duration::from_secs(5),
            querier: None,
            destination: Reach::ANY,
            hears_of_losses: true,
        };
        let mut search = QuerySearch::with_node_id(node_id);
        while self
            .table
            .search_query(face, &ask, self.now, &mut search)
            .is_none()
        {}
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        let mut actions = Vec::new();
        for _ in 0..100 {
            let due = self.table.next_deadline().is_some_and(|due| match due {
                Deadline::Now => true,
                Deadline::At(at) => at <= self.now,
            });
            if !due {
                break;
            }
            self.table.expire(self.now, &mut actions);
        }
        drop(self.table.take_ended());
        self.check(&actions);
    }

    fn is_there(&self, face: FaceId) -> bool {
        self.faces.contains(&Some(face))
    }

    fn check(&self, actions: &[Action]) {
        for action in actions {
            if let Action::Send { face, bytes } = action {
                assert!(
                    self.is_there(*face),
                    "nothing is sent to a face that is gone"
                );
                let message = NetworkMessage::decode(&mut Reader::new(bytes));
                message.expect("what is sent can be read");
            }
        }
        assert!(self.table.routers().count() < ROUTERS_MAX);
    }

    /// Asserts that the trees lead over links of this router.
    fn check_trees(&self) {
        let neighbours = [zid(0), zid(1)];
        for root in (0..ROUTERS).map(zid) {
            let place = self.table.place_in_tree(&root);
            let around = place
                .parent
                .into_iter()
                .chain(place.children.iter().copied());
            for near in around {
                assert!(neighbours.contains(&near), "{near} is no neighbour");
                assert_ne!(near, self.own());
            }
            if let Some(parent) = place.parent {
                assert!(!place.children.contains(&parent));
            }
        }
    }

    fn own(&self) -> ZenohId {
        zid(2)
    }

    /// Removes all faces, and asserts that the table keeps nothing of them.
    fn end(mut self) {
        self.check_trees();
        for place in 0..3 {
            if self.faces[place].is_some() {
                self.turn(place);
            }
        }
        let mut actions = Vec::new();
        for _ in 0..20 {
            self.pass(Duration::from_secs(4));
            while self.table.sweep(&mut actions) {}
        }
        self.check(&actions);
        assert_eq!(self.table.routers().count(), 0);
        assert_eq!(self.table.open_queries(), 0);
        let left = Kind::Subscriber;
        assert!((0..ROUTERS).all(|n| self.table.keys_of_router(&zid(n), left).is_empty()));
        assert_eq!(self.table.next_deadline(), None, "nothing is waited for");
    }
}

/// Runs one input, and asserts the table's invariants.
pub fn mesh(data: &[u8]) {
    let (mut scene, mut choices) = (Scene::new(), Choices(data));
    while !choices.0.is_empty() {
        scene.step(&mut choices);
    }
    scene.end();
}
