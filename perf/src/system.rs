// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compared systems, and the scenarios that each supports.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::link::{DATAGRAM_MAX, Link};
use super::scenario::flow::Care;
use super::scenario::{Scenario, Topology};
use super::workers::{HEADER, is_available};

/// This project by a session, under its name in records.
pub const ZONDA: &str = "zonda";
/// The node of this project, without a session.
pub const NODE: &str = "node";
/// Blocking sockets with the least framing.
pub const BARE: &str = "bare sockets";
/// The reference.
pub const ZENOH: &str = "zenoh";
/// The library of the study of transports.
pub const MESSAGE_IO: &str = "message-io";

/// A system in a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// The system's name in tables and records.
    pub name: String,
    /// The system's programs.
    pub kind: Kind,
    /// The link between its programs.
    pub link: Link,
    /// True for a stream of bytes without any framing; for sockets and message-io.
    pub is_stream: bool,
}

/// The origin and the start of a system's programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// This project, as workers of this executable.
    Zonda(Own),
    /// Blocking sockets, as workers of this executable.
    Bare,
    /// The ping-pong of `perf rtt` by a runtime's own sockets, the value of its `--backend`; peer
    /// to peer only.
    Raw(&'static str),
    /// The reference's programs in a directory.
    Zenoh(PathBuf),
    /// The programs of message-io in a directory; peer to peer, and on one thread.
    MessageIo(PathBuf),
}

/// The start options of this project's nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Value of `--runtime`, if given.
    pub runtime: Option<String>,
    /// True for a node without a session above it.
    pub is_node: bool,
    /// Busy poll in microseconds.
    pub spin_us: Option<u64>,
}

/// The duration of a measurement, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Warm-up before recording.
    pub warm_up: f64,
    /// Recording.
    pub seconds: f64,
    /// The minimum number of payload bytes of a flow, which extends the recording.
    pub bytes: u64,
}

impl Span {
    /// Creates a span of a warm-up and a recording, both in seconds.
    pub fn new(warm_up: f64, seconds: f64) -> Self {
        Span {
            warm_up,
            seconds,
            bytes: 0,
        }
    }

    /// Creates a span with a warm-up of half the recording, but at least 0.05 s and at most 0.5 s.
    pub fn after_half(recorded: Duration) -> Self {
        let seconds = recorded.as_secs_f64();
        Span::new((seconds / 2.0).clamp(0.05, 0.5), seconds)
    }
}

impl System {
    /// Creates a system of that name, over TCP.
    pub fn new(name: impl Into<String>, kind: Kind) -> System {
        System {
            name: name.into(),
            kind,
            link: Link::Tcp,
            is_stream: false,
        }
    }

    /// Returns this project by a session, on that runtime if given.
    pub fn own(name: impl Into<String>, runtime: Option<&str>) -> System {
        let own = Own {
            runtime: runtime.map(str::to_owned),
            ..Own::default()
        };
        System::new(name, Kind::Zonda(own))
    }

    /// Returns this project by the node below the session.
    pub fn node(runtime: Option<&str>) -> System {
        let own = Own {
            runtime: runtime.map(str::to_owned),
            is_node: true,
            ..Own::default()
        };
        System::new(NODE, Kind::Zonda(own))
    }

    /// Returns the reference, if there is a directory with its programs.
    pub fn zenoh(directory: Option<&Path>) -> Option<System> {
        directory.map(|there| System::new(ZENOH, Kind::Zenoh(there.to_owned())))
    }

    /// Returns the yardsticks: bare sockets, and the reference if there is a directory with its
    /// programs.
    pub fn yardsticks(zenoh: Option<&Path>) -> impl Iterator<Item = System> {
        [System::new(BARE, Kind::Bare)]
            .into_iter()
            .chain(System::zenoh(zenoh))
    }

    /// Returns true if it is this project.
    pub fn is_own(&self) -> bool {
        matches!(self.kind, Kind::Zonda(_))
    }

    /// Returns true if its programs print [`Event`](super::event::Event)s and choose their own
    /// ports.
    pub fn prints_events(&self) -> bool {
        !matches!(self.kind, Kind::Zenoh(_))
    }

    /// Returns the reason why it does not support a scenario, if it does not.
    pub fn refusal(&self, scenario: &Scenario) -> Option<&'static str> {
        // the first restriction that applies
        let trips = scenario.trips();
        let is_on = |links: &[Link]| links.contains(&self.link);
        match &self.kind {
            Kind::Zonda(_) | Kind::Bare if !is_available(self.link) => {
                Some("this build does not have the link")
            }
            Kind::Zenoh(_) | Kind::MessageIo(_)
                if scenario
                    .flow()
                    .is_some_and(|flow| flow.service.pace.is_some()) =>
            {
                Some("its programs know no pace")
            }
            Kind::Zenoh(_) => scenario
                .flow()
                .is_some_and(|flow| flow.service.reliability == Care::BestEffort)
                .then_some("its stable API does not choose the reliability"),
            Kind::Bare if trips.is_some_and(|t| t.load.is_some()) => {
                Some("sockets have no priorities")
            }
            Kind::Raw(_) if trips.is_none() || scenario.topology() == Topology::Routed => {
                Some("it goes round from peer to peer only")
            }
            Kind::Raw(_) if !is_on(&[Link::Tcp, Link::Udp]) => Some("it knows TCP and UDP only"),
            Kind::Bare if self.link == Link::Udp && scenario.size() + HEADER > DATAGRAM_MAX => {
                Some("the message is larger than a datagram")
            }
            Kind::MessageIo(_) if !is_on(&[Link::Tcp, Link::Udp, Link::Ws]) => {
                Some("it has no such transport")
            }
            Kind::MessageIo(_)
                if trips.is_some() != (scenario.topology() == Topology::OneThread) =>
            {
                Some("it measures flows from peer to peer, and one way on one thread")
            }
            _ => None,
        }
    }
}
