// SPDX-License-Identifier: MIT OR Apache-2.0

//! Networks of nodes as data: for the admin space.

use zonda_codec::ZenohId;

/// Weights of the link between this router and another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkWeights {
    /// The weight that this router gives it.
    pub own: Option<u16>,
    /// The weight that the other one gives it.
    pub theirs: Option<u16>,
    /// The weight that counts.
    pub actual: u16,
}

/// Nodes and the links between them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NetworkGraph {
    /// The nodes, this one first.
    pub nodes: Vec<ZenohId>,
    /// The links.
    pub links: Vec<GraphLink>,
}

/// Link between two nodes of a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphLink {
    /// The numbers of its ends among the nodes, the smaller one first.
    pub ends: [u16; 2],
    /// Its weight, where links have one.
    pub weight: Option<f64>,
}

impl NetworkGraph {
    /// Adds a node; returns its number.
    pub(super) fn push(&mut self, zid: ZenohId) -> u16 {
        let number = u16::try_from(self.nodes.len()).unwrap_or(u16::MAX);
        self.nodes.push(zid);
        number
    }
}
