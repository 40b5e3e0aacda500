// SPDX-License-Identifier: MIT OR Apache-2.0

//! The results of a rehearsal.

use serde::Serialize;

/// The results of a rehearsal.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Outcome {
    /// The number of nodes.
    pub nodes: usize,
    /// The number of routers among them.
    pub routers: usize,
    /// The changes of the network: all links come up, the periodic repetitions at rest, and the
    /// loss.
    pub changes: Vec<Change>,
    /// The messages of the load before the loss.
    pub load: Delivery,
    /// The messages of the load after the loss.
    pub after_loss: Delivery,
    /// The traffic of each link until the loss, in the order of the plan.
    pub links: Vec<LinkUse>,
    /// The memory and tables of each router before the loss.
    pub router_use: Vec<RouterUse>,
    /// The links whose loss cuts off nodes.
    pub bridges: Vec<Bridge>,
    /// Number of messages and clock events that the rehearsal processed.
    pub steps: u64,
}

/// A change of the network, and its cost until all nodes have it in their tables.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Change {
    /// The event.
    pub what: String,
    /// Time on the network's clock until the last message about it arrived, in milliseconds.
    pub converged_ms: f64,
    /// DECLARE messages.
    pub declarations: u64,
    /// INTEREST messages.
    pub interests: u64,
    /// Messages with link states.
    pub link_states: u64,
    /// Bytes of all these messages.
    pub bytes: u64,
    /// Number of times that routers computed their trees, in total.
    pub reshaped: u64,
}

impl Change {
    /// Column headings for [`Change::cells`].
    pub const COLUMNS: [&str; 6] = [
        "change",
        "known after",
        "declarations",
        "interests",
        "link states",
        "bytes",
    ];

    /// Formats the change as a row of a table.
    #[must_use]
    pub fn cells(&self) -> [String; 6] {
        [
            self.what.clone(),
            format!("{:.0} ms", self.converged_ms),
            self.declarations.to_string(),
            self.interests.to_string(),
            self.link_states.to_string(),
            self.bytes.to_string(),
        ]
    }
}

/// Delivery of the load's messages.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Delivery {
    /// Publishers whose messages were followed.
    pub publishers: usize,
    /// The number of publishers.
    pub of_publishers: usize,
    /// Messages that these publishers published.
    pub published: u64,
    /// Messages that arrived at a subscriber.
    pub delivered: u64,
    /// Messages that a subscriber to their key did not get.
    pub missing: u64,
    /// Further copies of messages at one subscriber.
    pub repeated: u64,
    /// Messages on all links in total.
    pub hops: u64,
}

impl Delivery {
    /// Column headings for [`Delivery::cells`].
    pub const COLUMNS: [&str; 7] = [
        "messages",
        "publishers",
        "published",
        "delivered",
        "missing",
        "repeated",
        "on links",
    ];

    /// Formats the delivery as a row of a table, with its name.
    #[must_use]
    pub fn cells(&self, name: &str) -> [String; 7] {
        [
            name.to_owned(),
            format!("{} of {}", self.publishers, self.of_publishers),
            self.published.to_string(),
            self.delivered.to_string(),
            self.missing.to_string(),
            self.repeated.to_string(),
            self.hops.to_string(),
        ]
    }
}

impl Outcome {
    /// Returns the rows about the load, before and after the loss.
    #[must_use]
    pub fn deliveries(&self) -> [[String; 7]; 2] {
        [
            self.load.cells("load"),
            self.after_loss.cells("after the loss"),
        ]
    }

    /// Returns the links whose loss cuts off more than one node, the worst first. The link of a
    /// client always cuts off that client, so it is not listed.
    #[must_use]
    pub fn wide_bridges(&self) -> Vec<&Bridge> {
        let mut wide: Vec<_> = self
            .bridges
            .iter()
            .filter(|b| b.cut_off.len() > 1)
            .collect();
        wide.sort_by_key(|bridge| std::cmp::Reverse(bridge.cut_off.len()));
        wide
    }
}

/// The traffic of a link.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LinkUse {
    /// Its two ends.
    pub ends: [String; 2],
    /// DECLARE messages.
    pub declarations: u64,
    /// Messages with link states.
    pub link_states: u64,
    /// Bytes of both, and of interests.
    pub bytes: u64,
    /// Messages of the load.
    pub messages: u64,
}

impl LinkUse {
    /// Column headings for [`LinkUse::cells`].
    pub const COLUMNS: [&str; 4] = ["busiest links", "messages", "declarations", "bytes"];

    /// Formats the link as a row of a table.
    #[must_use]
    pub fn cells(&self) -> [String; 4] {
        [
            self.ends.join(" - "),
            self.messages.to_string(),
            self.declarations.to_string(),
            self.bytes.to_string(),
        ]
    }
}

/// The memory and tables of a router.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RouterUse {
    /// Its name.
    pub name: String,
    /// Bytes of memory of its table, as `limits/memory_bytes` counts them.
    pub memory: usize,
    /// Other routers that it knows.
    pub routers: usize,
    /// Number of times that it computed its trees.
    pub reshaped: u64,
}

/// A link whose loss cuts off nodes.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Bridge {
    /// Its two ends.
    pub ends: [String; 2],
    /// The nodes on its smaller side.
    pub cut_off: Vec<String>,
}
