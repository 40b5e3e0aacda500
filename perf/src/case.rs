// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured: kind, topology and message size.

use std::fmt;

use clap::Args;

/// What is being measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One publisher sends as fast as one subscriber receives.
    Throughput,
    /// One message at a time goes there and back.
    RoundTrip,
}

/// How the two programs are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Directly.
    PeerToPeer,
    /// Through one router.
    Routed,
}

/// The topologies to measure.
#[derive(Args, Clone, Debug)]
pub struct Topologies {
    /// How the programs are connected: p2p, routed, or both
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = topology)]
    #[arg(default_value = "p2p,routed")]
    topology: Vec<Topology>,
}

impl Topologies {
    /// Each once.
    pub fn each(&self) -> Vec<Topology> {
        let mut topologies = Vec::new();
        for topology in &self.topology {
            if !topologies.contains(topology) {
                topologies.push(*topology);
            }
        }
        topologies
    }
}

/// A topology by its name.
fn topology(text: &str) -> Result<Topology, String> {
    match text {
        "p2p" => Ok(Topology::PeerToPeer),
        "routed" => Ok(Topology::Routed),
        _ => Err("expected p2p or routed".into()),
    }
}

/// How a node goes round, where that is to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Round trips begun per second; `None` is back to back.
    pub hertz: Option<u32>,
    /// Where the asking side takes its answers.
    pub receiving: Receiving,
}

/// Where the asking side takes its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiving {
    /// In the subscriber's callback, which also sends the next message if that is due at once.
    Callback,
    /// In the program's main thread, from the subscriber's queue.
    Queue,
}

/// One line of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// What is measured.
    pub kind: Kind,
    /// How the programs are connected.
    pub topology: Topology,
    /// Payload of a message in bytes.
    pub size: usize,
    /// How round trips are made, if not back to back and by the queue as a matter of course.
    pub manner: Option<Manner>,
}

/// Payload sizes of the throughput cases in bytes.
const THROUGHPUT_SIZES: [usize; 4] = [8, 1024, 64 * 1024, 1024 * 1024];
/// Payload sizes of the round-trip cases in bytes.
const ROUND_TRIP_SIZES: [usize; 1] = [64];

impl Case {
    /// The cases of `perf quick`, in the order of the table.
    pub fn quick() -> Vec<Case> {
        let mut cases = Vec::new();
        for (kind, sizes) in [
            (Kind::Throughput, THROUGHPUT_SIZES.as_slice()),
            (Kind::RoundTrip, &ROUND_TRIP_SIZES),
        ] {
            for topology in [Topology::PeerToPeer, Topology::Routed] {
                cases.extend(sizes.iter().map(|&size| Case {
                    kind,
                    topology,
                    size,
                    manner: None,
                }));
            }
        }
        cases
    }

    /// True if every word of `filter` is part of the case's or the system's name.
    pub fn is_wanted(&self, system: &str, filter: &str) -> bool {
        let name = format!("{self} {system}").to_lowercase();
        filter
            .split_whitespace()
            .all(|word| name.contains(&word.to_lowercase()))
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Topology::PeerToPeer => "p2p",
            Topology::Routed => "routed",
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Throughput => "throughput",
            Kind::RoundTrip => "ping",
        })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.kind, self.topology, bytes(self.size))?;
        self.manner.map_or(Ok(()), |manner| write!(f, " {manner}"))
    }
}

impl fmt::Display for Manner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hertz {
            None => write!(f, "back-to-back {}", self.receiving),
            Some(hertz) if hertz.is_multiple_of(1000) => {
                write!(f, "{}kHz {}", hertz / 1000, self.receiving)
            }
            Some(hertz) => write!(f, "{hertz}Hz {}", self.receiving),
        }
    }
}

impl fmt::Display for Receiving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Receiving::Callback => "callback",
            Receiving::Queue => "queue",
        })
    }
}

/// A size as people write it.
pub fn bytes(size: usize) -> String {
    match size {
        s if s >= 1 << 30 && s.is_multiple_of(1 << 30) => format!("{}GiB", s >> 30),
        s if s >= 1 << 20 && s.is_multiple_of(1 << 20) => format!("{}MiB", s >> 20),
        s if s >= 1 << 10 && s.is_multiple_of(1 << 10) => format!("{}KiB", s >> 10),
        s => format!("{s}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_holds_ten_cases() {
        let names: Vec<String> = Case::quick().iter().map(Case::to_string).collect();
        assert_eq!(names.len(), 10);
        assert_eq!(names.first().map(String::as_str), Some("throughput p2p 8B"));
        assert_eq!(names.last().map(String::as_str), Some("ping routed 64B"));
    }

    #[test]
    fn filters_look_at_case_and_system() {
        let case = Case {
            kind: Kind::Throughput,
            topology: Topology::Routed,
            size: 1 << 20,
            manner: None,
        };
        assert!(case.is_wanted("zonda", ""));
        assert!(case.is_wanted("zonda", "ROUTED 1mib"));
        assert!(case.is_wanted("zonda", "zonda"));
        assert!(!case.is_wanted("bare", "zonda"));
        assert!(!case.is_wanted("zonda", "ping"));
    }

    #[test]
    fn a_manner_is_part_of_the_name() {
        let manner = |hertz, receiving| {
            let manner = Some(Manner { hertz, receiving });
            let case = Case {
                kind: Kind::RoundTrip,
                topology: Topology::PeerToPeer,
                size: 64,
                manner,
            };
            case.to_string()
        };
        assert_eq!(
            manner(None, Receiving::Queue),
            "ping p2p 64B back-to-back queue"
        );
        assert_eq!(
            manner(Some(1000), Receiving::Callback),
            "ping p2p 64B 1kHz callback"
        );
    }
}
