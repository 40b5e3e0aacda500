// SPDX-License-Identifier: MIT OR Apache-2.0

//! Conversion of a plan into nodes and links.

use std::collections::HashMap;

use zonda_codec::{KeyExpr, WhatAmI};

use crate::plan::{Load, Mode, Plan, PlanError, Shape};

/// Maximum number of nodes of a plan.
const NODES_MAX: usize = 100_000;

/// Maximum number of routers of a plan, equal to the limit of a mesh.
const ROUTERS_MAX: usize = 1024;

/// Number of routers below each router of a tree.
const FAN_OUT: usize = 3;

/// All nodes and links.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) names: Vec<String>,
    pub(crate) roles: Vec<WhatAmI>,
    pub(crate) links: Vec<Edge>,
}

/// A link: the node that connects, and the one that listens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) ends: [usize; 2],
    pub(crate) delay_ms: u64,
    pub(crate) weight: u16,
}

impl Mode {
    pub(crate) const fn role(self) -> WhatAmI {
        match self {
            Mode::Router => WhatAmI::Router,
            Mode::Peer => WhatAmI::Peer,
            Mode::Client => WhatAmI::Client,
        }
    }
}

impl Shape {
    /// Returns the links among `count` routers, by their numbers.
    fn links(self, count: usize) -> Vec<[usize; 2]> {
        let others = 1..count;
        match self {
            Shape::Line => others.map(|at| [at, at - 1]).collect(),
            Shape::Ring => {
                let line = Shape::Line.links(count).into_iter();
                line.chain((count > 2).then(|| [0, count - 1])).collect()
            }
            Shape::Star => others.map(|at| [at, 0]).collect(),
            Shape::Tree => others.map(|at| [at, (at - 1) / FAN_OUT]).collect(),
            Shape::Grid => {
                let row = (1..).find(|row| row * row >= count).unwrap_or(1);
                let left = others.clone().filter(move |at| at % row != 0);
                let left = left.map(|at| [at, at - 1]);
                let above = others.filter(|at| *at >= row).map(|at| [at, at - row]);
                left.chain(above).collect()
            }
            Shape::Full => others
                .flat_map(|at| (0..at).map(move |other| [at, other]))
                .collect(),
        }
    }
}

impl Plan {
    /// Checks that the plan has nodes, and that every name is known.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        let graph = self.graph()?;
        let routers = graph.roles.iter();
        let routers = routers.filter(|role| **role == WhatAmI::Router).count();
        let size = graph.names.len();
        if size == 0 || size > NODES_MAX || routers > ROUTERS_MAX {
            return Err(PlanError::Size(size));
        }
        self.lost(&graph)?;
        let Load {
            subscribe,
            answer,
            live,
            publish,
            ..
        } = &self.load;
        // Keys are checked with a sample name.
        for key in [subscribe, answer, live, publish].into_iter().flatten() {
            let key = key.replace("{node}", "node");
            if let Err(error) = KeyExpr::new(key.as_str()) {
                let reason = error.to_string();
                return Err(PlanError::Key { key, reason });
            }
        }
        Ok(())
    }

    /// Returns all nodes and links.
    pub(crate) fn graph(&self) -> Result<Graph, PlanError> {
        let topology = &self.topology;
        let (mut graph, count) = (Graph::default(), topology.routers.min(NODES_MAX));
        // Routers of the shape.
        for router in 0..count {
            graph.add(format!("r{router}"), WhatAmI::Router);
        }
        for ends in topology
            .shape
            .map_or(Vec::new(), |shape| shape.links(count))
        {
            graph.link(ends, (self.delay_ms, 0));
        }
        // Clients and peers of these routers.
        let behind = [
            (topology.clients, "c", WhatAmI::Client),
            (topology.peers, "p", WhatAmI::Peer),
        ];
        for (many, letter, role) in behind {
            for router in 0..count {
                for number in 0..many.min(NODES_MAX / count) {
                    let node = graph.add(format!("r{router}{letter}{number}"), role);
                    graph.link([node, router], (self.delay_ms, 0));
                }
            }
        }
        // Nodes and links of the lists.
        for node in &topology.nodes {
            graph.add(node.name.clone(), node.mode.role());
        }
        let numbers = graph.numbers()?;
        for link in &topology.links {
            let number = |name: &String| {
                let number = numbers.get(name.as_str()).copied();
                number.ok_or_else(|| PlanError::Unknown(name.clone()))
            };
            let ends = [number(&link.from)?, number(&link.to)?];
            graph.link(ends, (link.delay_ms.unwrap_or(self.delay_ms), link.weight));
        }
        Ok(graph)
    }

    /// Returns the numbers of the links to be lost.
    pub(crate) fn lost(&self, graph: &Graph) -> Result<Vec<usize>, PlanError> {
        let numbers = graph.numbers()?;
        let lost = self.lose.iter().map(|[one, other]| {
            let ends = [one, other].map(|name| numbers.get(name.as_str()).copied());
            let mut links = graph.links.iter();
            let link = links.position(|link| {
                let [from, to] = link.ends.map(Some);
                ends == [from, to] || ends == [to, from]
            });
            link.ok_or_else(|| PlanError::NoLink(one.clone(), other.clone()))
        });
        lost.collect()
    }
}

impl Graph {
    fn add(&mut self, name: String, role: WhatAmI) -> usize {
        self.names.push(name);
        self.roles.push(role);
        self.names.len() - 1
    }

    fn link(&mut self, ends: [usize; 2], terms: (u64, u16)) {
        let (delay_ms, weight) = terms;
        self.links.push(Edge {
            ends,
            delay_ms,
            weight,
        });
    }

    fn numbers(&self) -> Result<HashMap<String, usize>, PlanError> {
        let mut numbers = HashMap::new();
        for (number, name) in self.names.iter().enumerate() {
            if numbers.insert(name.clone(), number).is_some() {
                return Err(PlanError::Twice(name.clone()));
            }
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_the_links_that_they_are_known_for() {
        let count = |shape: Shape, routers| shape.links(routers).len();
        assert_eq!(count(Shape::Line, 5), 4);
        assert_eq!(count(Shape::Ring, 5), 5);
        assert_eq!(count(Shape::Ring, 2), 1);
        assert_eq!(count(Shape::Star, 5), 4);
        assert_eq!(count(Shape::Tree, 13), 12);
        assert_eq!(count(Shape::Grid, 9), 12);
        assert_eq!(count(Shape::Full, 5), 10);
        assert_eq!(count(Shape::Full, 1), 0);
    }

    #[test]
    fn what_cannot_be_rehearsed_is_refused_with_a_reason() {
        let refused = |text: &str| {
            Plan::parse(text)
                .expect_err("it makes no sense")
                .to_string()
        };
        assert!(refused("{ topology: {} }").contains("0 nodes"));
        assert!(refused("{ topologie: {} }").contains("topologie"));
        let link = "{ topology: { shape: 'line', routers: 2, links: [{from: 'r0', to: 'x'}] } }";
        assert!(refused(link).contains("\"x\""));
        let twice = "{ topology: { routers: 1, nodes: [{name: 'r0'}] } }";
        assert!(refused(twice).contains("two nodes"));
        let key = "{ topology: { routers: 1 }, load: { publish: ['a//b'] } }";
        assert!(refused(key).contains("a//b"));
        let lost = "{ topology: { shape: 'line', routers: 3 }, lose: [['r0', 'r2']] }";
        assert!(refused(lost).contains("it does not exist"));
    }
}
