// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenarios, independent of the system: a flow of messages, round trips, or great numbers of
//! clients and subscriptions.

pub mod flow;
pub mod rates;
pub mod raw;
pub mod sizes;

use std::fmt;

use clap::Args;

use super::record::X;
use flow::Flow;
use rates::Pace;
use raw::Raw;

/// The connections between the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Directly.
    PeerToPeer,
    /// Through one router.
    Routed,
    /// Directly, both ends on one thread of one program; messages go one way.
    OneThread,
}

/// The topologies to measure.
#[derive(Args, Clone, Debug)]
pub struct Topologies {
    /// Connections between the programs: p2p, routed, or both
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = topology)]
    #[arg(default_value = "p2p,routed")]
    topology: Vec<Topology>,
}

impl Topologies {
    /// Returns each topology once.
    pub fn each(&self) -> Vec<Topology> {
        distinct(self.topology.iter().copied())
    }
}

/// Removes duplicates, keeping the first of equal values in order.
pub fn distinct<T: PartialEq>(of: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for one in of {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

fn topology(text: &str) -> Result<Topology, String> {
    match text {
        "p2p" => Ok(Topology::PeerToPeer),
        "routed" => Ok(Topology::Routed),
        _ => Err("expected p2p or routed".into()),
    }
}

/// The way the asking program receives its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiving {
    /// In the subscriber's callback, which also sends the next message if that is due at once.
    Callback,
    /// In the program's main thread, from the subscriber's queue.
    Queue,
}

/// Round trips of messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trips {
    /// The connections between the programs.
    pub topology: Topology,
    /// Payload of a message in bytes.
    pub size: usize,
    /// The sending pace.
    pub pace: Pace,
    /// The way answers are received, if the name contains it; otherwise the callback.
    pub receiving: Option<Receiving>,
    /// Payload of the samples that saturate the same link, if there is a load.
    pub load: Option<usize>,
    /// True if each message is sent at once.
    pub express: bool,
}

/// The rate up to which messages are sent at once by default; above it they share batches.
const EXPRESS_RATE_MAX: f64 = 10_000.0;

impl Trips {
    /// Creates round trips with answers in the callback, no load, and each message sent at once up
    /// to a rate.
    pub fn new(topology: Topology, size: usize, pace: Pace) -> Self {
        Trips {
            topology,
            size,
            pace,
            receiving: None,
            load: None,
            express: pace.hertz().is_none_or(|rate| rate <= EXPRESS_RATE_MAX),
        }
    }

    /// Returns all parameters but the rate, in words; a rate belongs to the x axis.
    pub fn case(&self) -> String {
        let mut name = format!("{} {}", self.topology, bytes(self.size));
        match (self.receiving, self.pace) {
            (Some(receiving), Pace::BackToBack) => name += &format!(" back-to-back {receiving}"),
            (Some(receiving), pace) => name += &format!(" {pace} {receiving}"),
            (None, Pace::BackToBack) => name += " back to back",
            (None, _) => {}
        }
        if let Some(load) = self.load {
            name += &format!(" beside {}", bytes(load));
        }
        name
    }
}

/// The great numbers of a router's load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Number of idle clients.
    Connections(u32),
    /// Number of distinct subscriptions, and number of their sessions.
    Subscriptions(u32, u32),
}

impl Numbers {
    fn name(self) -> &'static str {
        match self {
            Numbers::Connections(_) => "connections",
            Numbers::Subscriptions(..) => "subscriptions",
        }
    }

    fn count(self) -> u32 {
        let (Numbers::Connections(count) | Numbers::Subscriptions(count, _)) = self;
        count
    }
}

/// A case to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scenario {
    /// The throughput of a flow.
    Flow(Flow),
    /// The latency of a message and its answer.
    Trips(Trips),
    /// The resources of a router with great numbers.
    Numbers(Numbers),
    /// Round trips without the protocol.
    Raw(Raw),
}

impl Scenario {
    /// Returns the connections between the programs.
    pub fn topology(&self) -> Topology {
        match self {
            Scenario::Flow(flow) => flow.topology,
            Scenario::Trips(trips) => trips.topology,
            Scenario::Numbers(_) => Topology::Routed,
            Scenario::Raw(_) => Topology::PeerToPeer,
        }
    }

    /// Returns the payload of a message in bytes.
    pub fn size(&self) -> usize {
        match self {
            Scenario::Flow(flow) => flow.size,
            Scenario::Trips(trips) => trips.size,
            Scenario::Numbers(_) | Scenario::Raw(_) => 0,
        }
    }

    /// Returns the numbers of sending and of receiving programs.
    pub fn programs(&self) -> [u16; 2] {
        match self {
            Scenario::Flow(flow) => [flow.publishers, flow.subscribers],
            _ if self.topology() == Topology::OneThread => [1, 0],
            _ => [1, 1],
        }
    }

    /// Returns the flow, if it is one.
    pub fn flow(&self) -> Option<&Flow> {
        match self {
            Scenario::Flow(flow) => Some(flow),
            _ => None,
        }
    }

    /// Returns the round trips, if it is those.
    pub fn trips(&self) -> Option<&Trips> {
        match self {
            Scenario::Trips(trips) => Some(trips),
            _ => None,
        }
    }

    /// Returns the raw round trips, if it is those.
    pub fn raw(&self) -> Option<&Raw> {
        match self {
            Scenario::Raw(raw) => Some(raw),
            _ => None,
        }
    }

    /// Returns the name that the points of one curve share.
    pub fn case(&self) -> String {
        match self {
            Scenario::Flow(flow) => flow.case(),
            Scenario::Trips(trips) => trips.case(),
            Scenario::Numbers(numbers) => numbers.name().to_owned(),
            Scenario::Raw(raw) => raw.case(),
        }
    }

    /// Returns the place on the x axis of a curve.
    pub fn x(&self) -> Option<X> {
        match self {
            Scenario::Flow(flow) => Some(X::new("size", "B", flow.size as f64)),
            Scenario::Trips(trips) => match trips.pace {
                Pace::Rate(rate) => Some(X::new("rate", "msg/s", rate)),
                _ => None,
            },
            Scenario::Raw(raw) => raw.rate.hertz().map(|rate| X::new("rate", "msg/s", rate)),
            Scenario::Numbers(numbers) => {
                let count = f64::from(numbers.count());
                Some(X::new(numbers.name(), "", count))
            }
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scenario::Flow(flow) => flow.fmt(f),
            Scenario::Numbers(numbers) => write!(f, "{} {}", numbers.count(), numbers.name()),
            Scenario::Raw(raw) => raw.fmt(f),
            Scenario::Trips(trips) => match trips.pace {
                Pace::Rate(_) => write!(f, "{} {}", trips.case(), trips.pace),
                _ => f.write_str(&trips.case()),
            },
        }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Topology::PeerToPeer => "p2p",
            Topology::Routed => "routed",
            Topology::OneThread => "one thread",
        })
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

/// Formats a size in the usual notation.
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
    fn a_name_says_how_messages_go_round() {
        let trips = |pace, receiving, load| {
            let trips = Scenario::Trips(Trips {
                topology: Topology::PeerToPeer,
                size: 64,
                pace,
                receiving,
                load,
                express: true,
            });
            (trips.to_string(), trips.case(), trips.x().is_some())
        };
        let text = |display: &str, case: &str, has_x| (display.to_owned(), case.to_owned(), has_x);
        for (pace, receiving, expected) in [
            (
                Pace::BackToBack,
                Some(Receiving::Queue),
                "p2p 64B back-to-back queue",
            ),
            (
                Pace::Paced(1000),
                Some(Receiving::Callback),
                "p2p 64B 1kHz callback",
            ),
            (Pace::BackToBack, None, "p2p 64B back to back"),
        ] {
            assert_eq!(
                trips(pace, receiving, None),
                text(expected, expected, false)
            );
        }
        assert_eq!(
            trips(Pace::Rate(1e4), None, Some(10 << 20)),
            text("p2p 64B beside 10MiB 10k/s", "p2p 64B beside 10MiB", true)
        );
    }
}
