// SPDX-License-Identifier: MIT OR Apache-2.0

//! The file that describes a rehearsal.

use serde::Deserialize;

/// Description of a network and its load.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The nodes and their links.
    pub topology: Topology,
    /// Default delay of a message on a link, in milliseconds.
    #[serde(default = "one")]
    pub delay_ms: u64,
    /// Declarations and publications of the nodes.
    #[serde(default)]
    pub load: Load,
    /// Links that are lost after that, by the names of their ends. Default: the link between
    /// routers with the most messages.
    #[serde(default)]
    pub lose: Vec<[String; 2]>,
}

const fn one() -> u64 {
    1
}

/// The nodes and links: a shape, a list, or both.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Links between the routers `r0`, `r1`, ...
    pub shape: Option<Shape>,
    /// Number of routers of the shape.
    #[serde(default)]
    pub routers: usize,
    /// Number of clients of each of these routers: `r0c0`, `r0c1`, ...
    #[serde(default)]
    pub clients: usize,
    /// Number of peers of each of these routers, without links to other peers: `r0p0`, ...
    #[serde(default)]
    pub peers: usize,
    /// Further nodes.
    #[serde(default)]
    pub nodes: Vec<PlannedNode>,
    /// Further links.
    #[serde(default)]
    pub links: Vec<PlannedLink>,
}

/// Pattern of the links between routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A line.
    Line,
    /// A line whose last router is linked to the first.
    Ring,
    /// All routers are linked to the first.
    Star,
    /// A tree in which each router has up to three below it.
    Tree,
    /// A grid of rows and columns.
    Grid,
    /// Each router is linked to each other router.
    Full,
}

/// A node that is not part of the shape.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedNode {
    /// Name in this file.
    pub name: String,
    /// Its role.
    #[serde(default)]
    pub mode: Mode,
}

/// A role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A node that forwards.
    #[default]
    Router,
    /// A node with links to routers or other peers.
    Peer,
    /// A node with one link, to a router or peer.
    Client,
}

/// A link that is not part of the shape.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedLink {
    /// The node that connects.
    pub from: String,
    /// The node that listens.
    pub to: String,
    /// Delay of a message on the link.
    pub delay_ms: Option<u64>,
    /// Weight that both ends set under `routing/router/linkstate/transport_weights`; 0 sets none.
    #[serde(default)]
    pub weight: u16,
}

/// Declarations and publications of the nodes. In a key, `{node}` stands for the node's name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Role of the nodes that have the load.
    #[serde(default = "clients")]
    pub on: Mode,
    /// Keys that each node subscribes to.
    #[serde(default)]
    pub subscribe: Vec<String>,
    /// Keys on which each node has a queryable.
    #[serde(default)]
    pub answer: Vec<String>,
    /// Keys of each node's liveliness tokens.
    #[serde(default)]
    pub live: Vec<String>,
    /// Keys on which each node publishes.
    #[serde(default)]
    pub publish: Vec<String>,
    /// Number of messages that it publishes on each key.
    #[serde(default = "one")]
    pub messages: u64,
}

const fn clients() -> Mode {
    Mode::Client
}

impl Default for Load {
    fn default() -> Self {
        Load {
            on: Mode::Client,
            subscribe: Vec::new(),
            answer: Vec::new(),
            live: Vec::new(),
            publish: Vec::new(),
            messages: 1,
        }
    }
}

/// Reason why a plan was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The text is not JSON5, or has an unknown field.
    #[error("{0}")]
    Syntax(String),
    /// The plan has no nodes, or too many.
    #[error("there are {0} nodes: a plan has 1 to 100 000, of them up to 1024 routers")]
    Size(usize),
    /// Two nodes have the same name.
    #[error("two nodes have the name {0:?}")]
    Twice(String),
    /// A link names an unknown node.
    #[error("a link names node {0:?}, which does not exist")]
    Unknown(String),
    /// A link to be lost does not exist.
    #[error("the link between {0:?} and {1:?} cannot be cut: it does not exist")]
    NoLink(String, String),
    /// A key is not a key expression.
    #[error("{key:?} is not a key expression: {reason}")]
    Key {
        /// The key.
        key: String,
        /// The fault of the key.
        reason: String,
    },
}

impl Plan {
    /// Parses a plan from JSON5 and checks it.
    ///
    /// # Errors
    /// The plan cannot be rehearsed.
    pub fn parse(text: &str) -> Result<Plan, PlanError> {
        let plan: Plan =
            json5::from_str(text).map_err(|error| PlanError::Syntax(error.to_string()))?;
        plan.check()?;
        Ok(plan)
    }
}
