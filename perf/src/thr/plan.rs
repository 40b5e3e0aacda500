// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is measured in which flow, and in which order.

use std::fmt;

use zonda_program::table;

use super::command::Command;
use super::flow::Flow;
use crate::case::bytes;
use crate::record::Cell;
use crate::run::turns;
use crate::system::System;

/// One system in one flow, and what came of it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Whose programs.
    pub system: System,
    /// What they do.
    pub flow: Flow,
    /// The figures so far.
    pub cell: Cell,
    /// Whether it could not be measured.
    pub had_trouble: bool,
}

impl Entry {
    /// Nothing measured yet.
    pub fn new(system: &System, flow: &Flow) -> Self {
        let cell = Cell::new(system_name::of(system), flow.case());
        Entry {
            system: system.clone(),
            flow: *flow,
            cell: cell.at("size", "B", flow.size as f64),
            had_trouble: false,
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.flow, self.cell.system)
    }
}

/// What systems are called in records.
pub mod system_name {
    use super::System;
    use crate::level::Level;

    /// This project.
    pub const ZONDA: &str = "zonda";
    /// The node of this project, without a session.
    pub const NODE: &str = "node";
    /// Blocking sockets with the least framing.
    pub const BARE: &str = "bare sockets";
    /// The reference.
    pub const ZENOH: &str = "zenoh";

    /// The name of one.
    pub fn of(system: &System) -> &'static str {
        match system {
            System::Zonda {
                level: Level::Node, ..
            } => NODE,
            System::Zonda { .. } => ZONDA,
            System::Bare { .. } => BARE,
            System::Zenoh { .. } => ZENOH,
            System::Raw { .. } => system.name(),
        }
    }
}

/// Every flow with every system that has a part in it; and each system that has none somewhere, once,
/// with the reason.
pub fn entries(
    flows: &[Flow],
    systems: &[System],
) -> (Vec<Entry>, Vec<(&'static str, &'static str)>) {
    let (mut entries, mut refused) = (Vec::new(), Vec::new());
    for flow in flows {
        for system in systems {
            match (Command { system, flow }).refusal() {
                None => entries.push(Entry::new(system, flow)),
                Some(why) => refused.push((system_name::of(system), why)),
            }
        }
    }
    refused.dedup();
    (entries, refused)
}

/// The order of a round: flow by flow, and in each another system first, so that nobody always has the
/// same neighbour in front.
pub fn order(entries: &[Entry], round: usize) -> Vec<usize> {
    turns(entries, round, |a, b| a.flow == b.flow)
}

/// What would be measured.
pub fn list(entries: &[Entry]) -> String {
    let mut flows: Vec<&Flow> = entries.iter().map(|e| &e.flow).collect();
    flows.dedup();
    let rows = flows.into_iter().map(|flow| {
        let of_flow = entries.iter().filter(|e| e.flow == *flow);
        let systems: Vec<&str> = of_flow.map(|e| e.cell.system.as_str()).collect();
        [flow.case(), bytes(flow.size), systems.join(", ")]
    });
    table(["case", "size", "systems"], rows, 3..)
}

#[cfg(test)]
mod tests {
    use super::super::flow::Service;
    use super::*;
    use crate::case::Topology;
    use crate::level::Level;
    use crate::link::Link;

    #[test]
    fn each_round_begins_with_another() {
        let flow = |size| Flow {
            topology: Topology::PeerToPeer,
            publishers: 1,
            subscribers: 1,
            keys: None,
            service: Service::default(),
            size,
        };
        let executable = std::path::PathBuf::from("zonda");
        let systems = [
            System::Bare {
                executable: executable.clone(),
            },
            System::Zonda {
                executable,
                runtime: None,
                level: Level::Session,
                link: Link::Tcp,
            },
            System::Zenoh {
                directory: "/ref".into(),
            },
        ];
        let (entries, refused) = entries(&[flow(8), flow(64)], &systems);
        assert_eq!((entries.len(), refused.len()), (6, 0));
        assert_eq!(order(&entries, 0), [0, 1, 2, 3, 4, 5]);
        assert_eq!(order(&entries, 1), [1, 2, 0, 4, 5, 3]);
        assert_eq!(order(&entries, 3), order(&entries, 0));
        assert_eq!(entries[1].to_string(), "p2p 8B zonda");
        let list = list(&entries);
        assert!(list.contains("bare sockets, zonda, zenoh"), "{list}");
    }
}
