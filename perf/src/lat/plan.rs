// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is measured in which case: the cells of the record, and in which order.

use std::fmt;

use super::rates::Rate;
use crate::case::{Topology, bytes};
use crate::record::Cell;
use crate::system::System;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// How the programs are connected.
    pub topology: Topology,
    /// Payload of a message in bytes.
    pub size: usize,
    /// How often messages are sent.
    pub rate: Rate,
    /// Payload of the samples that saturate the same link, if there is that.
    pub load: Option<usize>,
}

/// The name of a curve's points together: the rate is left to the x axis.
impl Case {
    /// The name that points of one curve share.
    pub fn curve(&self) -> String {
        let mut name = format!("{} {}", self.topology, bytes(self.size));
        if self.rate.0.is_none() {
            name += " back to back";
        }
        if let Some(load) = self.load {
            name += &format!(" beside {}", bytes(load));
        }
        name
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.curve())?;
        match self.rate.0 {
            Some(_) => write!(f, " {}", self.rate),
            None => Ok(()),
        }
    }
}

/// Who takes part.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// The system.
    pub system: System,
    /// Its name in the record.
    pub name: String,
    /// Busy poll of its nodes in microseconds.
    pub spin_us: Option<u64>,
}

/// One contender in one case.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Who.
    pub contender: Contender,
    /// In what.
    pub case: Case,
    /// The figures so far.
    pub cell: Cell,
    /// Whether it could not be measured.
    pub has_failed: bool,
}

impl Entry {
    /// Nothing measured yet.
    pub fn new(contender: &Contender, case: Case) -> Self {
        let cell = Cell::new(contender.name.as_str(), case.curve());
        let cell = match case.rate.0 {
            Some(rate) => cell.at("rate", "msg/s", rate),
            None => cell,
        };
        Entry {
            contender: contender.clone(),
            case,
            cell,
            has_failed: false,
        }
    }

    /// Its name in lists.
    pub fn name(&self) -> String {
        format!("{} {}", self.case, self.contender.name)
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// How the programs are connected.
    pub topologies: Vec<Topology>,
    /// Payloads in bytes.
    pub sizes: Vec<usize>,
    /// How often.
    pub rates: Vec<Rate>,
    /// Payload of the load, if there is that.
    pub load: Option<usize>,
}

/// All entries: what is compared stands together. Bare sockets have no priorities, so there is no load beside them.
pub fn entries(wanted: &Wanted, contenders: &[Contender]) -> Vec<Entry> {
    let mut all = Vec::new();
    for &topology in &wanted.topologies {
        for &size in &wanted.sizes {
            for &rate in &wanted.rates {
                for load in [None].into_iter().chain(wanted.load.map(Some)) {
                    let case = Case {
                        topology,
                        size,
                        rate,
                        load,
                    };
                    let able = contenders
                        .iter()
                        .filter(|c| load.is_none() || !matches!(c.system, System::Bare { .. }));
                    all.extend(able.map(|contender| Entry::new(contender, case)));
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Level;
    use crate::link::Link;

    fn bare() -> Contender {
        Contender {
            system: System::Bare {
                executable: "zonda".into(),
            },
            name: "bare sockets".into(),
            spin_us: None,
        }
    }

    fn node() -> Contender {
        Contender {
            system: System::Zonda {
                executable: "zonda".into(),
                runtime: None,
                level: Level::Session,
                link: Link::Tcp,
            },
            name: "zonda".into(),
            spin_us: None,
        }
    }

    #[test]
    fn each_contender_is_in_each_case_but_bare_sockets_in_no_load() {
        let wanted = Wanted {
            topologies: vec![Topology::PeerToPeer, Topology::Routed],
            sizes: vec![64],
            rates: vec![Rate(Some(1e4)), Rate(None)],
            load: Some(10 << 20),
        };
        let all = entries(&wanted, &[node(), bare()]);
        let names: Vec<String> = all.iter().map(Entry::name).collect();
        let expected = [
            "p2p 64B 10k/s zonda",
            "p2p 64B 10k/s bare sockets",
            "p2p 64B beside 10MiB 10k/s zonda",
            "p2p 64B back to back zonda",
            "p2p 64B back to back bare sockets",
            "p2p 64B back to back beside 10MiB zonda",
        ];
        assert_eq!(names.len(), 12);
        assert_eq!(names[..6], expected);
        let (open, closed) = (&all[0].cell, &all[3].cell);
        assert_eq!(open.to_string(), "zonda p2p 64B rate 10000 msg/s");
        assert_eq!(
            (closed.case.as_str(), &closed.x),
            ("p2p 64B back to back", &None)
        );
    }
}
