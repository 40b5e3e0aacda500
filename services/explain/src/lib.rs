// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! The way of a message from one node to another, or the first node that stops it and its reason,
//! as the routers on the way tell them.
//!
//! The crate sends nothing itself: a program passes the queries on ([`Admin`]).

mod network;
mod walk;
mod words;

use std::str::FromStr;

use serde_json::{Value, json};

use network::Network;
use walk::Walk;

/// Error of an explanation that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// A query cannot be sent, or its answer is refused.
    #[error("{0}")]
    Ask(String),
    /// No router answers.
    #[error(
        "no router tells its state: it is not reached, does not let its admin space be read (adminspace/*, or a rule of \
         access control), or does not know the question"
    )]
    Untold,
}

/// Sender of queries to the admin spaces of all routers.
pub trait Admin {
    /// Sends a query to all nodes that match. Returns the text of each reply, with the id of its
    /// node.
    ///
    /// # Errors
    /// The query cannot be sent, or the asker has no right to it.
    ///
    /// # Blocking
    /// Until all have answered, or the time for it is over.
    fn ask(&self, selector: &str) -> Result<Vec<(String, String)>, ExplainError>;
}

/// A kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A publication.
    Put,
    /// A deletion.
    Delete,
    /// A query.
    Query,
}

impl Kind {
    /// Its name, as routers read it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Put => "put",
            Kind::Delete => "delete",
            Kind::Query => "query",
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Kind, String> {
        let all = [Kind::Put, Kind::Delete, Kind::Query];
        let found = all.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("kind {name:?} is neither put, delete nor query"))
    }
}

/// Message whose way is explained. The ids and the key have to be valid.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its kind.
    pub kind: Kind,
    /// Its key expression on the wire, with the namespace of its sender.
    pub key: String,
    /// Id of the node that sends it.
    pub from: String,
    /// Id of the node that shall get it; `None` for all.
    pub to: Option<String>,
}

impl Message {
    /// Names the entities that get it.
    fn takers(&self) -> &'static str {
        match self.kind {
            Kind::Query => "queryable",
            Kind::Put | Kind::Delete => "subscriber",
        }
    }
}

/// The way of a message.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// True if a node gets the message.
    pub arrives: bool,
    /// Reports of the routers on the way, in its order.
    pub path: Vec<Value>,
    /// The nodes that get it, or the reasons that stop it, in lines.
    pub outcome: Vec<String>,
    /// The steps of the way, in lines.
    steps: Vec<String>,
}

impl Explanation {
    /// Asks the routers for the way of a message.
    ///
    /// # Errors
    /// No router answers, or a query cannot be sent.
    ///
    /// # Blocking
    /// Until the routers on the way have answered, one after the other.
    pub fn of(message: &Message, admin: &dyn Admin) -> Result<Explanation, ExplainError> {
        let network = Network::ask(admin)?;
        let Walk { reports, outcome } = Walk::of(message, &network)?;
        Ok(Explanation {
            arrives: outcome.arrives(),
            steps: words::path(message, &reports),
            outcome: outcome.lines(message),
            path: reports,
        })
    }

    /// Returns it in lines for people.
    pub fn lines(&self) -> Vec<String> {
        let texts = self.steps.iter().chain(&self.outcome);
        let lines = texts.flat_map(|text| text.lines());
        lines.map(str::to_owned).collect()
    }

    /// Returns it for programs.
    pub fn to_json(&self) -> Value {
        json!({"arrives": self.arrives, "path": self.path, "outcome": self.outcome})
    }
}
