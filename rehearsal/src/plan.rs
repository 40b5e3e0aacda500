// SPDX-License-Identifier: MIT OR Apache-2.0

//! The file that says what is rehearsed.

use serde::Deserialize;

/// What is rehearsed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Who there is, and which of them are linked.
    pub topology: Topology,
    /// How long a message is on its way over a link, in milliseconds, where the link says nothing else.
    #[serde(default = "one")]
    pub delay_ms: u64,
    /// What nodes declare and publish.
    #[serde(default)]
    pub load: Load,
    /// What is lost after that: the names of the two ends of links. Without any, the link that carries most.
    #[serde(default)]
    pub lose: Vec<[String; 2]>,
}

const fn one() -> u64 {
    1
}

/// Who there is: a shape, or nodes and links one by one, or both.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// How the routers `r0`, `r1`, ... are linked.
    pub shape: Option<Shape>,
    /// How many routers the shape has.
    #[serde(default)]
    pub routers: usize,
    /// How many clients each of these routers has: `r0c0`, `r0c1`, ...
    #[serde(default)]
    pub clients: usize,
    /// How many peers each of these routers has, each of them linked to no other peer: `r0p0`, ...
    #[serde(default)]
    pub peers: usize,
    /// Further nodes.
    #[serde(default)]
    pub nodes: Vec<PlannedNode>,
    /// Further links.
    #[serde(default)]
    pub links: Vec<PlannedLink>,
}

/// How routers are linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// One behind the other.
    Line,
    /// The same, and the last one to the first.
    Ring,
    /// All to the first.
    Star,
    /// Each to up to three below it.
    Tree,
    /// In rows and columns.
    Grid,
    /// Each to each.
    Full,
}

/// A node of its own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedNode {
    /// What it is called in this file.
    pub name: String,
    /// Its role.
    #[serde(default)]
    pub mode: Mode,
}

/// A role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It forwards.
    #[default]
    Router,
    /// It is linked to routers or to other peers.
    Peer,
    /// It has one router or peer.
    Client,
}

/// A link of its own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedLink {
    /// The node that connects.
    pub from: String,
    /// The node that listens.
    pub to: String,
    /// How long a message is on its way.
    pub delay_ms: Option<u64>,
    /// What both ends set it to under `routing/router/linkstate/transport_weights`; 0 is nothing.
    #[serde(default)]
    pub weight: u16,
}

/// What nodes declare and publish. In a key `{node}` stands for the node's own name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// On which nodes it is: on all of this role.
    #[serde(default = "clients")]
    pub on: Mode,
    /// Keys that each of them subscribes to.
    #[serde(default)]
    pub subscribe: Vec<String>,
    /// Keys on which each of them answers.
    #[serde(default)]
    pub answer: Vec<String>,
    /// Keys of liveliness tokens of each of them.
    #[serde(default)]
    pub live: Vec<String>,
    /// Keys on which each of them publishes.
    #[serde(default)]
    pub publish: Vec<String>,
    /// How many messages it publishes on each.
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

/// What is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// It is no JSON5, or has something else than a plan has.
    #[error("{0}")]
    Syntax(String),
    /// There is nobody, or too many.
    #[error("there are {0} nodes: a plan has 1 to 100 000, of them up to 1024 routers")]
    Size(usize),
    /// Two nodes have the same name.
    #[error("two nodes are called {0:?}")]
    Twice(String),
    /// A link leads to nobody.
    #[error("a link names {0:?}, and no node is called that")]
    Unknown(String),
    /// What is to be lost is not there.
    #[error("{0:?} and {1:?} are to lose their link, and have none")]
    NoLink(String, String),
    /// A key makes no sense.
    #[error("{key:?} is no key expression: {reason}")]
    Key {
        /// The key.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Plan {
    /// Reads a plan from JSON5, and checks it.
    ///
    /// # Errors
    /// If it says nothing that can be rehearsed.
    pub fn parse(text: &str) -> Result<Plan, PlanError> {
        let plan: Plan =
            json5::from_str(text).map_err(|error| PlanError::Syntax(error.to_string()))?;
        plan.check()?;
        Ok(plan)
    }
}
