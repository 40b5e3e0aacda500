// SPDX-License-Identifier: MIT OR Apache-2.0
//! A flow of messages: publishers, subscribers, their connections, and the quality of service.

use std::fmt;

use clap::{Args, ValueEnum};
use zonda::qos::{CongestionControl, Priority, Reliability};
use zonda_program::priority;

use super::rates::rate;
use super::{Topology, bytes};

/// Quality of service of the messages.
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Priority of the messages, 1 (most urgent) to 7 (least) [default: 5]
    #[arg(short, long, value_name = "1..7", value_parser = priority)]
    pub priority: Option<Priority>,
    /// Send each message at once instead of batching
    #[arg(long)]
    pub express: bool,
    /// Permission of a hop to lose messages
    #[arg(long, value_name = "HOW", default_value = "reliable")]
    pub reliability: Care,
    /// Treatment of a slow receiver; with block, one lost message fails the run
    #[arg(long, value_name = "HOW", default_value = "block")]
    pub congestion: Congestion,
    /// Messages per second of each publisher, such as 10k [default: as many as the link takes]. A moment that was missed is
    /// not made up for. With --link udp, where nothing holds a publisher back, this finds what arrives without loss
    #[arg(long, value_name = "RATE", value_parser = pace)]
    pub pace: Option<u32>,
}

/// Reads a number of messages per second.
fn pace(text: &str) -> Result<u32, String> {
    Ok(rate(text)?.max(1.0) as u32)
}

/// Value of `--reliability`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Care {
    /// No hop loses anything.
    Reliable,
    /// A hop may lose messages.
    BestEffort,
}

/// Value of `--congestion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Congestion {
    /// The publisher waits.
    Block,
    /// Messages are dropped and counted.
    Drop,
}

/// A flow of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The connections between the programs.
    pub topology: Topology,
    /// Publishing programs.
    pub publishers: u16,
    /// Subscribing programs, each of which gets every message.
    pub subscribers: u16,
    /// Keys that are put to in turn without a declared publisher.
    pub keys: Option<u32>,
    /// The quality of service.
    pub service: Service,
    /// Payload of a message in bytes.
    pub size: usize,
}

impl Default for Service {
    /// Returns the defaults of the flags.
    fn default() -> Self {
        Service {
            priority: None,
            express: false,
            reliability: Care::Reliable,
            congestion: Congestion::Block,
            pace: None,
        }
    }
}

impl Service {
    /// Returns the equivalent flags.
    pub fn arguments(&self) -> Vec<String> {
        let mut all = Vec::new();
        if let Some(priority) = self.priority {
            all.extend(["--priority".to_owned(), (priority as u8).to_string()]);
        }
        if self.express {
            all.push("--express".into());
        }
        if self.reliability == Care::BestEffort {
            all.extend(["--reliability", "best-effort"].map(String::from));
        }
        if self.congestion == Congestion::Drop {
            all.extend(["--congestion", "drop"].map(String::from));
        }
        all.extend(self.pace());
        all
    }

    /// Returns the flag of the rate.
    pub fn pace(&self) -> Vec<String> {
        let pace = self
            .pace
            .map(|pace| ["--pace".to_owned(), pace.to_string()]);
        pace.into_iter().flatten().collect()
    }
}

impl From<Care> for Reliability {
    fn from(care: Care) -> Self {
        match care {
            Care::Reliable => Reliability::Reliable,
            Care::BestEffort => Reliability::BestEffort,
        }
    }
}

impl From<Congestion> for CongestionControl {
    fn from(congestion: Congestion) -> Self {
        match congestion {
            Congestion::Block => CongestionControl::Block,
            Congestion::Drop => CongestionControl::Drop,
        }
    }
}

impl Flow {
    /// Returns all parameters but the size, in words: `p2p`, `routed fan-in 3 keys 1000 express`.
    pub fn case(&self) -> String {
        let mut name = self.topology.to_string();
        // numbers of programs and keys
        for (what, count) in [("fan-in", self.publishers), ("fan-out", self.subscribers)] {
            if count > 1 {
                name += &format!(" {what} {count}");
            }
        }
        if let Some(keys) = self.keys {
            name += &format!(" keys {keys}");
        }
        // quality of service, where it differs from the default
        if let Some(priority) = self.service.priority {
            name += &format!(" priority {}", priority as u8);
        }
        for (holds, word) in [
            (self.service.express, " express"),
            (self.service.reliability == Care::BestEffort, " best-effort"),
            (self.service.congestion == Congestion::Drop, " drop"),
        ] {
            if holds {
                name += word;
            }
        }
        if let Some(pace) = self.service.pace {
            name += &format!(" at {pace}/s");
        }
        name
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.case(), bytes(self.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_is_not_usual() {
        let mut flow = Flow {
            topology: Topology::PeerToPeer,
            publishers: 1,
            subscribers: 1,
            keys: None,
            service: Service::default(),
            size: 8,
        };
        assert_eq!(flow.to_string(), "p2p 8B");
        flow.size = 1 << 30;
        assert_eq!(flow.to_string(), "p2p 1GiB");
        assert!(flow.service.arguments().is_empty());
        flow.topology = Topology::Routed;
        (flow.publishers, flow.subscribers, flow.keys) = (3, 50, Some(10_000));
        flow.service = Service {
            priority: Some(Priority::RealTime),
            express: true,
            reliability: Care::BestEffort,
            congestion: Congestion::Drop,
            pace: Some(10_000),
        };
        assert_eq!(
            flow.case(),
            "routed fan-in 3 fan-out 50 keys 10000 priority 1 express best-effort drop at 10000/s"
        );
        assert_eq!(
            flow.service.arguments().join(" "),
            "--priority 1 --express --reliability best-effort --congestion drop --pace 10000"
        );
    }
}
