// SPDX-License-Identifier: MIT OR Apache-2.0

//! The route of a message: one hop per neighbour, each with the shortest spelling of the key for it.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use zonda_codec::{KeyExpr, NodeId};

use crate::{
    audience::Reach,
    face::Face,
    face_id::{FaceId, FaceKind},
    forwarding::ForwardingTable,
    hop::{Hop, Suffix},
    key_tree::steps::Steps,
    kind::Kind,
    mesh::{Arrival, ForwardingReach},
    policy::Relation,
    search::{SLICE_STEPS, Search},
    validity::Validity,
};

/// All destinations of a message on one key from one source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Route {
    /// One hop per neighbour, ordered by face; never the source.
    pub hops: Vec<Hop>,
    /// The local subscribers, each by its id.
    pub local: Vec<u32>,
}

/// Search for the route of a push.
#[derive(Debug)]
pub struct RouteSearch {
    from: FaceId,
    /// Its arrival from another router.
    arrival: Option<Arrival>,
    key: KeyExpr<'static>,
    publisher: Option<u32>,
    /// The destination, if it comes from a session of this node.
    destination: Reach,
    /// The validity of the route, if it is kept.
    validity: Option<Arc<Validity>>,
    search: Search,
    /// The faces that declared a matching subscriber, by slot.
    found: BTreeMap<u32, FaceId>,
}

impl RouteSearch {
    pub(super) fn new(from: FaceId, key: KeyExpr<'static>, publisher: Option<u32>) -> Self {
        RouteSearch {
            from,
            arrival: None,
            key,
            publisher,
            destination: Reach::ANY,
            validity: None,
            search: Search::default(),
            found: BTreeMap::new(),
        }
    }

    /// Limits the route to this destination.
    #[must_use]
    #[inline]
    pub fn to(self, destination: Reach) -> Self {
        RouteSearch {
            destination,
            ..self
        }
    }

    /// Returns the validity of the route.
    #[inline]
    pub fn validity(&self) -> Arc<Validity> {
        self.validity.clone().unwrap_or_default()
    }

    /// Returns the key.
    #[inline]
    pub fn key(&self) -> &KeyExpr<'static> {
        &self.key
    }
}

impl ForwardingTable {
    /// Finds the route of a push on `key` from `from`. `publisher` is the id of the declared
    /// publisher it comes from, if it comes from a local one.
    ///
    /// Data goes to a gateway unless the gateway answered the publisher's interest and has no
    /// subscriber (write filtering), and to another peer unless that peer declared all it has and
    /// no subscriber matched. The route is valid now only, and found in one call; callers that keep
    /// it use [`begin_route`](Self::begin_route).
    pub fn route(&self, from: FaceId, key: &KeyExpr<'_>, publisher: Option<u32>) -> Route {
        self.at_one_go(RouteSearch::new(from, key.clone().into_owned(), publisher))
    }

    /// Finds the route of a push that came from a neighbour with a routing context; callers that keep it
    /// use [`begin_route_from`](Self::begin_route_from). `None` if the neighbour has not introduced
    /// the router of that id, which is not counted.
    pub fn route_from(
        &self,
        neighbour: FaceId,
        node_id: NodeId,
        key: &KeyExpr<'_>,
    ) -> Option<Route> {
        let from = self.source_of(neighbour, node_id.router())?;
        Some(self.at_one_go(RouteSearch {
            arrival: Some(Arrival::new(neighbour, node_id)),
            ..RouteSearch::new(from, key.clone().into_owned(), None)
        }))
    }

    fn at_one_go(&self, mut search: RouteSearch) -> Route {
        loop {
            if let Some(route) = self.look_for_route(&mut search) {
                return route;
            }
        }
    }

    /// Begins to search for the route of a push on `key` from `from`.
    pub fn begin_route(
        &mut self,
        from: FaceId,
        key: KeyExpr<'static>,
        publisher: Option<u32>,
    ) -> RouteSearch {
        let validity = Some(self.keep_key(key.as_str()));
        RouteSearch {
            validity,
            ..RouteSearch::new(from, key, publisher)
        }
    }

    /// Begins to search for the route of a push on `key` that came from a neighbour with a routing
    /// context. `None` if the neighbour has not introduced the router that it names. The route of a
    /// message that is marked with trees which this node does not know is valid once only.
    pub fn begin_route_from(
        &mut self,
        neighbour: FaceId,
        node_id: NodeId,
        key: KeyExpr<'static>,
    ) -> Option<RouteSearch> {
        let Some(from) = self.source_of(neighbour, node_id.router()) else {
            self.count_misplaced(neighbour);
            return None;
        };
        let arrival = Arrival::new(neighbour, node_id);
        let is_known = self.find_trees(from, arrival);
        self.note_way(from, arrival);
        let search = match is_known {
            true => self.begin_route(from, key, None),
            false => RouteSearch {
                validity: Some(Validity::over()),
                ..RouteSearch::new(from, key, None)
            },
        };
        Some(RouteSearch {
            arrival: Some(arrival),
            ..search
        })
    }

    /// Continues a search for [`SLICE_STEPS`]; `None` if more is left. The table may change between
    /// two slices: subscribers declared or undeclared in between may be on the route or not, and if
    /// it matters the route is not [valid](RouteSearch::validity).
    pub fn search_route(&mut self, search: &mut RouteSearch) -> Option<Route> {
        let route = self.look_for_route(search)?;
        if let Some(validity) = &search.validity {
            self.note_route(search.from, search.key.as_str(), validity, &route.hops);
        }
        Some(route)
    }

    pub(super) fn look_for_route(&self, search: &mut RouteSearch) -> Option<Route> {
        // No route begins at a peer that another gateway forwards for, or where the mesh drops the message.
        let source = self.face(search.from);
        let is_heard =
            |source: &&Face| source.relation.conduct().open && !source.gateways.is_left();
        let comes =
            |source: &&Face| self.passage(source, search.arrival) != ForwardingReach::Nothing;
        let Some(source) = source.filter(is_heard).filter(comes) else {
            return Some(Route::default());
        };
        // Collect the faces with a matching subscriber, for a slice.
        let entities = self.entities(Kind::Subscriber);
        let steps = Steps::new(SLICE_STEPS);
        let key = search.key.as_str();
        let done = entities.search(key, &mut search.search, &steps, &mut |entity| {
            let sources = entities.sources(entity);
            steps.spend(sources.len());
            for source in sources {
                if let Some(face) = self.topology.at(source.slot) {
                    search.found.insert(source.slot, face.id);
                }
            }
            ControlFlow::Continue(())
        });
        if !done {
            return None;
        }
        // Subscribers of this node's sessions come from their own list.
        let is_own = source.info.kind == FaceKind::Local;
        let own = &self.entities.session;
        let mut route = Route {
            hops: Vec::new(),
            local: own.matching(
                Kind::Subscriber,
                key,
                is_own.then_some(search.destination),
                false,
            ),
        };
        if !search.destination.is_beyond() {
            return Some(route);
        }
        // All hops with a suffix share its text.
        let (whole, nothing) = (LazyCell::new(|| Arc::from(key)), Arc::default());
        for slot in self.destinations(source, search) {
            if let Some(face) = self.topology.at(slot) {
                let node_id = self.node_id(source, search.arrival, face);
                let spelling = face.ids.spell(key);
                route.hops.push(Hop {
                    face: face.id,
                    scope: spelling.scope,
                    mapping: spelling.mapping,
                    suffix: Suffix {
                        key: match spelling.skip < key.len() {
                            true => Arc::clone(&whole),
                            false => Arc::clone(&nothing),
                        },
                        skip: spelling.skip,
                    },
                    node_id,
                });
            }
        }
        Some(route)
    }

    /// Returns the remote faces that get a message, ordered, each once.
    fn destinations(&self, source: &Face, search: &RouteSearch) -> Vec<u32> {
        let (key, publisher) = (search.key.as_str(), search.publisher);
        let is_there = |(slot, id): (&u32, &FaceId)| self.face(*id).map(|_| *slot);
        let mut slots: Vec<u32> = search.found.iter().filter_map(is_there).collect();
        for &slot in self.topology.north() {
            if let Some(face) = self.topology.at(slot)
                && self.sends_unfiltered(source, face, key, publisher)
            {
                slots.push(slot);
            }
        }
        let wanting = slots.iter().filter_map(|slot| self.topology.at(*slot));
        let others = wanting.filter(|face| face.info.kind != FaceKind::Local);
        let ways = others.filter_map(|face| self.way(source, search.arrival, face));
        let mut slots: Vec<u32> = ways.map(|face| face.index).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// Returns true if `face` gets data because it has not declared (enough of) its subscribers yet.
    fn sends_unfiltered(
        &self,
        source: &Face,
        face: &Face,
        key: &str,
        publisher: Option<u32>,
    ) -> bool {
        match face.relation {
            Relation::PeerToPeer => !face.final_zero,
            Relation::Upstream => {
                !self.upstream_knows(source, face, Kind::Subscriber, key, publisher)
            }
            _ => false,
        }
    }
}
