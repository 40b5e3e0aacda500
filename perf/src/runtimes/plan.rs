// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is measured in which case, and in which order.

use std::fmt;
use std::path::Path;

use zonda::config::RuntimeKind;

use crate::case::{Case, Kind, Manner, Receiving, Topology};
use crate::level::Level;
use crate::link::Link;
use crate::result::Cell;
use crate::run::turns;
use crate::system::System;

/// Payload of the round trips in bytes, as in the studies.
const ROUND_TRIP_SIZE: usize = 64;
/// The rate of the round trips that are not back to back.
const SLOW_HERTZ: u32 = 1000;

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// The whole node on a runtime.
    Node(RuntimeKind),
    /// The ping-pong of `perf rtt` by the same runtime's own sockets.
    Raw(RuntimeKind),
    /// Blocking sockets with the least framing, as in `perf quick`.
    Bare,
}

impl Contender {
    /// The runtime, or what stands in its place.
    pub fn runtime(self) -> &'static str {
        match self {
            Contender::Node(kind) | Contender::Raw(kind) => kind.name(),
            Contender::Bare => "bare",
        }
    }

    /// Its part in reports.
    pub fn role(self) -> &'static str {
        match self {
            Contender::Node(_) => "node",
            Contender::Raw(_) => "raw",
            Contender::Bare => "bare",
        }
    }

    /// Its programs.
    pub fn system(self, executable: &Path) -> System {
        let executable = executable.to_owned();
        match self {
            Contender::Node(kind) => System::Zonda {
                executable,
                runtime: Some(kind.name().to_owned()),
                level: Level::Session,
                link: Link::Tcp,
            },
            // blocking sockets have another name there
            Contender::Raw(RuntimeKind::Threads) => System::Raw {
                executable,
                backend: "std",
            },
            Contender::Raw(kind) => System::Raw {
                executable,
                backend: kind.name(),
            },
            Contender::Bare => System::Bare { executable },
        }
    }

    /// Whether it has a figure there. The yardsticks know no queues, and the raw ones no router.
    fn takes_part(self, case: &Case) -> bool {
        let by_queue = case.manner.is_some_and(|m| m.receiving == Receiving::Queue);
        match self {
            Contender::Node(_) => true,
            Contender::Raw(_) => {
                case.kind == Kind::RoundTrip && case.topology == Topology::PeerToPeer && !by_queue
            }
            Contender::Bare => !by_queue,
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Contender::Raw(kind) => write!(f, "raw {kind}"),
            other => f.write_str(other.runtime()),
        }
    }
}

/// One contender in one case, and what came of it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Who.
    pub contender: Contender,
    /// Its rounds.
    pub cell: Cell,
}

impl Entry {
    /// What is measured, for progress and reports.
    pub fn name(&self) -> String {
        format!("{} {}", self.cell.case, self.contender)
    }
}

/// Every case with those who take part in it, in the order of the tables.
pub fn entries(kinds: &[RuntimeKind], only: &[String]) -> Vec<Entry> {
    let mut contenders: Vec<Contender> = Vec::new();
    contenders.extend(kinds.iter().copied().map(Contender::Node));
    contenders.extend(kinds.iter().copied().map(Contender::Raw));
    contenders.push(Contender::Bare);
    let is_wanted = |case: &Case, contender: &Contender| {
        let name = contender.to_string();
        only.is_empty() || only.iter().any(|words| case.is_wanted(&name, words))
    };
    let mut all = Vec::new();
    for case in cases() {
        let of_case = contenders
            .iter()
            .filter(|c| c.takes_part(&case) && is_wanted(&case, c));
        all.extend(of_case.map(|&contender| Entry {
            contender,
            cell: Cell {
                case,
                system: contender.runtime(),
                rounds: Vec::new(),
                trouble: None,
            },
        }));
    }
    all
}

/// The order of a round: case by case, and in each another contender first, so that nobody always has
/// the same neighbour in front.
pub fn order(entries: &[Entry], round: usize) -> Vec<usize> {
    turns(entries, round, |a, b| a.cell.case == b.cell.case)
}

/// Throughput as in `perf quick`, then the round trips.
fn cases() -> Vec<Case> {
    let mut cases = Case::quick();
    cases.retain(|case| case.kind == Kind::Throughput);
    for topology in [Topology::PeerToPeer, Topology::Routed] {
        for receiving in [Receiving::Callback, Receiving::Queue] {
            // what the queue adds is the same behind a router
            if (topology, receiving) == (Topology::Routed, Receiving::Queue) {
                continue;
            }
            cases.extend([None, Some(SLOW_HERTZ)].map(|hertz| Case {
                kind: Kind::RoundTrip,
                topology,
                size: ROUND_TRIP_SIZE,
                manner: Some(Manner { hertz, receiving }),
            }));
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [RuntimeKind; 2] = [RuntimeKind::Smol, RuntimeKind::Threads];

    #[test]
    fn yardsticks_stand_beside_what_they_can_do() {
        let all = entries(&KINDS, &[]);
        let count = |role| all.iter().filter(|e| e.contender.role() == role).count();
        // 8 of throughput and 6 of round trips for each runtime; the yardsticks have no queues
        assert_eq!((count("node"), count("raw"), count("bare")), (28, 4, 12));
    }

    #[test]
    fn words_choose() {
        let names = |only: &str| {
            let all = entries(&KINDS, &[only.to_owned()]);
            all.iter().map(Entry::name).collect::<Vec<_>>()
        };
        assert_eq!(
            names("p2p back-to-back callback smol"),
            [
                "ping p2p 64B back-to-back callback smol",
                "ping p2p 64B back-to-back callback raw smol"
            ]
        );
        assert_eq!(names("8B routed bare"), ["throughput routed 8B bare"]);
        assert!(names("udp").is_empty());
    }

    #[test]
    fn each_round_begins_with_another() {
        let all = entries(&KINDS, &["throughput p2p 8B".into(), "1KiB p2p".into()]);
        assert_eq!(all.len(), 6);
        assert_eq!(order(&all, 0), [0, 1, 2, 3, 4, 5]);
        assert_eq!(order(&all, 1), [1, 2, 0, 4, 5, 3]);
        assert_eq!(order(&all, 3), order(&all, 0));
    }
}
