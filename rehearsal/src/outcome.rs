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
    /// The effort until each node knows what there is: from the moment in which all links come up, when there was a loss, and
    /// what is said once more when all have been at rest for a while.
    pub changes: Vec<Change>,
    /// The messages of the load, before anything is lost.
    pub load: Delivery,
    /// The messages once more, after the loss.
    pub after_loss: Delivery,
    /// The traffic of each link until the loss, in the order of the plan.
    pub links: Vec<LinkUse>,
    /// The memory and tables of each router before the loss.
    pub router_use: Vec<RouterUse>,
    /// The links whose loss cuts somebody off.
    pub bridges: Vec<Bridge>,
    /// Messages that came and looks at clocks: what the rehearsal itself went through.
    pub steps: u64,
}

/// Something happens, and after a while all know of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Change {
    /// The event.
    pub what: String,
    /// Milliseconds on the clock of the network until the last message about it came.
    pub converged_ms: f64,
    /// DECLARE messages.
    pub declarations: u64,
    /// INTEREST messages.
    pub interests: u64,
    /// Messages with link states.
    pub link_states: u64,
    /// Bytes of all these.
    pub bytes: u64,
    /// The number of times that routers computed their trees anew, all together.
    pub reshaped: u64,
}

impl Change {
    /// The headings above [`Change::cells`].
    pub const COLUMNS: [&str; 6] = [
        "change",
        "known after",
        "declarations",
        "interests",
        "link states",
        "bytes",
    ];

    /// A row of a table for people.
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

/// The fate of the messages of the load.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Delivery {
    /// Publishers whose messages were followed.
    pub publishers: usize,
    /// The number of publishers.
    pub of_publishers: usize,
    /// Messages that were published by those.
    pub published: u64,
    /// Messages that came to a subscriber.
    pub delivered: u64,
    /// Messages that did not come to a subscriber to their key.
    pub missing: u64,
    /// Messages that came to a subscriber once more than once.
    pub repeated: u64,
    /// Messages on all links together.
    pub hops: u64,
}

impl Delivery {
    /// The headings above [`Delivery::cells`].
    pub const COLUMNS: [&str; 7] = [
        "messages",
        "publishers",
        "published",
        "delivered",
        "missing",
        "repeated",
        "on links",
    ];

    /// A row of a table for people, with its name.
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
    /// The rows about the load: before anything is lost, and after it.
    #[must_use]
    pub fn deliveries(&self) -> [[String; 7]; 2] {
        [
            self.load.cells("load"),
            self.after_loss.cells("after the loss"),
        ]
    }

    /// The links whose loss cuts off more than one node, the worst first. A link of one client cuts off that client, as a matter of course.
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
    /// The headings above [`LinkUse::cells`].
    pub const COLUMNS: [&str; 4] = ["busiest links", "messages", "declarations", "bytes"];

    /// A row of a table for people.
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
    /// The number of times that it computed its trees.
    pub reshaped: u64,
}

/// A link whose loss cuts somebody off.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Bridge {
    /// Its two ends.
    pub ends: [String; 2],
    /// The nodes on its smaller side.
    pub cut_off: Vec<String>,
}
