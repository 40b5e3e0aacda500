// SPDX-License-Identifier: MIT OR Apache-2.0
//! The systems that are compared, and where each takes part.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::link::{DATAGRAM_MAX, Link};
use super::scenario::flow::Care;
use super::scenario::{Scenario, Topology};
use super::workers::{HEADER, is_available};

/// This project by a session, as records name it.
pub const ZONDA: &str = "zonda";
/// The node of this project, without a session.
pub const NODE: &str = "node";
/// Blocking sockets with the least framing.
pub const BARE: &str = "bare sockets";
/// The reference.
pub const ZENOH: &str = "zenoh";
/// The library of the study of transports.
pub const MESSAGE_IO: &str = "message-io";

/// One of the systems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// Its name in tables and records.
    pub name: String,
    /// Its programs.
    pub kind: Kind,
    /// Over which link they are connected.
    pub link: Link,
    /// Of sockets and of message-io: a stream of bytes without any framing.
    pub is_stream: bool,
}

/// Whose programs, and how they are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// This project, as workers of this executable.
    Zonda(Own),
    /// Blocking sockets, as workers of this executable.
    Bare,
    /// The ping-pong of `perf rtt` by a runtime's own sockets, the value of its `--backend`; from peer to peer only.
    Raw(&'static str),
    /// The reference's programs in a directory.
    Zenoh(PathBuf),
    /// The programs on message-io in a directory; from peer to peer, and on one thread.
    MessageIo(PathBuf),
}

/// How the nodes of this project are started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Value of `--runtime`, if one was asked for.
    pub runtime: Option<String>,
    /// Without a session above the node.
    pub is_node: bool,
    /// Busy poll in microseconds.
    pub spin_us: Option<u64>,
}

/// How long is measured, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Before recording.
    pub warm_up: f64,
    /// While recording.
    pub seconds: f64,
    /// And until so many bytes of payload have come, of a flow.
    pub bytes: u64,
}

impl Span {
    /// Recorded so long after such a warm-up, both in seconds.
    pub fn new(warm_up: f64, seconds: f64) -> Self {
        Span {
            warm_up,
            seconds,
            bytes: 0,
        }
    }

    /// Recorded so long, after a warm-up of half of it, but of 0.05 s at least and 0.5 s at most.
    pub fn after_half(recorded: Duration) -> Self {
        let seconds = recorded.as_secs_f64();
        Span::new((seconds / 2.0).clamp(0.05, 0.5), seconds)
    }
}

impl System {
    /// A system of that name, over TCP.
    pub fn new(name: impl Into<String>, kind: Kind) -> System {
        System {
            name: name.into(),
            kind,
            link: Link::Tcp,
            is_stream: false,
        }
    }

    /// This project by a session, on that runtime if one is asked for.
    pub fn own(name: impl Into<String>, runtime: Option<&str>) -> System {
        let own = Own {
            runtime: runtime.map(str::to_owned),
            ..Own::default()
        };
        System::new(name, Kind::Zonda(own))
    }

    /// This project by the node below the session.
    pub fn node(runtime: Option<&str>) -> System {
        let own = Own {
            runtime: runtime.map(str::to_owned),
            is_node: true,
            ..Own::default()
        };
        System::new(NODE, Kind::Zonda(own))
    }

    /// The reference, if there is a directory with its programs.
    pub fn zenoh(directory: Option<&Path>) -> Option<System> {
        directory.map(|there| System::new(ZENOH, Kind::Zenoh(there.to_owned())))
    }

    /// The yardsticks: bare sockets, and the reference if there is a directory with its programs.
    pub fn yardsticks(zenoh: Option<&Path>) -> impl Iterator<Item = System> {
        [System::new(BARE, Kind::Bare)]
            .into_iter()
            .chain(System::zenoh(zenoh))
    }

    /// Whether it is this project.
    pub fn is_own(&self) -> bool {
        matches!(self.kind, Kind::Zonda(_))
    }

    /// True if its programs print [`Event`](super::event::Event)s and choose their own ports.
    pub fn prints_events(&self) -> bool {
        !matches!(self.kind, Kind::Zenoh(_))
    }

    /// Why it has no part in a scenario, if it has none.
    pub fn refusal(&self, scenario: &Scenario) -> Option<&'static str> {
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
