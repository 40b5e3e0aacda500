// SPDX-License-Identifier: MIT OR Apache-2.0
//! The systems that are compared, and the command line by which each plays each role.

use std::path::{Path, PathBuf};
use std::time::Duration;

use zonda::config::RuntimeKind;
use zonda_program::Failure;

use super::case::{Case, Kind, Manner, Receiving, Topology};
use super::level::Level;
use super::link::Link;
use super::process::{Program, this_program};

/// One of the systems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum System {
    /// This project, as workers of this executable.
    Zonda {
        /// This executable.
        executable: PathBuf,
        /// Value of `--runtime`, if one was asked for.
        runtime: Option<String>,
        /// By a session, or by the node below it.
        level: Level,
        /// Over which link.
        link: Link,
    },
    /// Blocking sockets, as workers of this executable.
    Bare {
        /// This executable.
        executable: PathBuf,
    },
    /// The ping-pong of `perf rtt` by a runtime's own sockets; from peer to peer only.
    Raw {
        /// This executable.
        executable: PathBuf,
        /// Value of `--backend`.
        backend: &'static str,
    },
    /// The reference's programs in a directory.
    Zenoh {
        /// Where `zenohd`, `z_pub_thr`, `z_sub_thr`, `z_ping` and `z_pong` are.
        directory: PathBuf,
    },
}

/// How the receiving program gets its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// It listens on this port of the loopback address, 0 to choose one.
    Listen(u16),
    /// It connects to this address.
    Connect(String),
}

/// How long is measured, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Before recording.
    pub warm_up: f64,
    /// While recording.
    pub seconds: f64,
}

impl Span {
    /// Recorded so long, after a warm-up of half of it, but of 0.05 s at least and 0.5 s at most.
    pub fn after_half(recorded: Duration) -> Self {
        let seconds = recorded.as_secs_f64();
        Span {
            warm_up: (seconds / 2.0).clamp(0.05, 0.5),
            seconds,
        }
    }
}

/// Programs of the reference that a comparison needs.
pub const ZENOH_PROGRAMS: [&str; 5] = ["zenohd", "z_pub_thr", "z_sub_thr", "z_ping", "z_pong"];

/// A count is wanted this often while the reference counts messages by rounds.
const ROUNDS_PER_SECOND: f64 = 100.0;
/// No system known moves payload faster, in bytes per second.
const FASTEST_BYTES: f64 = 4e9;
/// The reference does not go round more often than this in a second.
const FASTEST_ROUND_TRIPS: f64 = 12_000.0;

impl System {
    /// This project at these levels, bare sockets, and the reference if there is a directory with its programs.
    ///
    /// # Errors
    /// The system does not tell where this executable is.
    pub fn all(
        levels: &[Level],
        runtime: Option<&str>,
        zenoh: Option<&Path>,
    ) -> Result<Vec<System>, Failure> {
        let executable = this_program()?;
        let own = levels.iter().map(|level| System::Zonda {
            executable: executable.clone(),
            runtime: runtime.map(str::to_owned),
            level: *level,
            link: Link::Tcp,
        });
        let mut systems: Vec<System> = own.collect();
        systems.push(System::Bare { executable });
        systems.extend(zenoh.map(|directory| System::Zenoh {
            directory: directory.to_owned(),
        }));
        Ok(systems)
    }

    /// The same over another kind of link, if it has one.
    #[must_use]
    pub fn over(mut self, by: Link) -> System {
        if let System::Zonda { link, .. } = &mut self {
            *link = by;
        }
        self
    }

    /// Its name in the table.
    pub fn name(&self) -> &'static str {
        match self {
            System::Zonda {
                level: Level::Node, ..
            } => "node",
            System::Zonda { .. } => "zonda",
            System::Bare { .. } => "bare",
            System::Raw { .. } => "raw",
            System::Zenoh { .. } => "zenoh",
        }
    }

    /// True if its programs print [`Event`](super::event::Event)s and choose their own ports.
    pub fn tells_events(&self) -> bool {
        !matches!(self, System::Zenoh { .. })
    }

    /// The program between the two others.
    pub fn router(&self, port: u16) -> Program {
        match self {
            System::Bare { .. } | System::Raw { .. } => {
                self.worker("router", "bare-relay", &[format!("127.0.0.1:{port}")])
            }
            System::Zonda { .. } => self.worker("router", "router", &self.listening(port)),
            System::Zenoh { .. } => {
                let mut arguments = self.listening(port);
                arguments.extend(["--rest-http-port", "none"].map(String::from));
                self.program("router", "zenohd", arguments)
            }
        }
    }

    /// The subscriber or the one who answers.
    pub fn receiver(&self, case: &Case, side: &Side) -> Program {
        let (role, bare, own, reference) = match case.kind {
            Kind::Throughput => ("sub", "bare-sub", "sub", "z_sub_thr"),
            Kind::RoundTrip => ("pong", "bare-pong", "pong", "z_pong"),
        };
        match self {
            System::Bare { .. } => self.worker(role, bare, &bare_side(side)),
            System::Raw { backend, .. } => {
                let address = match side {
                    Side::Listen(port) => format!("127.0.0.1:{port}"),
                    Side::Connect(address) => address.clone(),
                };
                self.worker(role, "rtt", &raw_side(backend, "pong", &address))
            }
            System::Zonda { .. } => self.worker(role, own, &self.node_side(case.topology, side)),
            System::Zenoh { .. } => {
                let mut arguments = self.node_side(case.topology, side);
                if case.kind == Kind::Throughput {
                    let n = round_messages(case.size).to_string();
                    arguments.extend(["-s".into(), "1000000000".into(), "-n".into(), n]);
                }
                self.program(role, reference, arguments)
            }
        }
    }

    /// The publisher or the one who asks.
    pub fn sender(&self, case: &Case, to: &str, span: Span) -> Program {
        let (role, bare, own, reference) = match case.kind {
            Kind::Throughput => ("pub", "bare-pub", "pub", "z_pub_thr"),
            Kind::RoundTrip => ("ping", "bare-ping", "ping", "z_ping"),
        };
        let size = case.size.to_string();
        let mut arguments = match self {
            System::Raw { .. } => vec!["--size".into(), size],
            _ => vec![size],
        };
        let side = Side::Connect(to.to_owned());
        arguments.extend(match self {
            System::Bare { .. } => bare_side(&side),
            System::Raw { backend, .. } => raw_side(backend, "ping", to),
            _ => self.node_side(case.topology, &side),
        });
        let Span { warm_up, seconds } = span;
        match (self, case.kind) {
            (_, Kind::Throughput) => {}
            (System::Zenoh { .. }, Kind::RoundTrip) => {
                let n = (seconds * FASTEST_ROUND_TRIPS).ceil().max(1.0);
                arguments.extend(["-n".into(), n.to_string(), "-w".into(), warm_up.to_string()]);
            }
            (_, Kind::RoundTrip) => arguments.extend(self.pace(case.manner, span)),
        }
        match self {
            System::Bare { .. } => self.worker(role, bare, &arguments),
            System::Raw { .. } => self.worker(role, "rtt", &arguments),
            System::Zonda { .. } => self.worker(role, own, &arguments),
            System::Zenoh { .. } => self.program(role, reference, arguments),
        }
    }

    /// How long and how often a worker goes round.
    fn pace(&self, manner: Option<Manner>, span: Span) -> Vec<String> {
        let length = match self {
            System::Raw { .. } => "--duration",
            _ => "--seconds",
        };
        let mut arguments = vec![
            length.to_owned(),
            span.seconds.to_string(),
            "--warm-up".into(),
            span.warm_up.to_string(),
        ];
        if let Some(hertz) = manner.and_then(|m| m.hertz) {
            arguments.extend(["--interval".into(), (1.0 / f64::from(hertz)).to_string()]);
        }
        let is_inline = manner.is_some_and(|m| m.receiving == Receiving::Callback);
        if is_inline && matches!(self, System::Zonda { .. }) {
            arguments.push("--inline".into());
        }
        arguments
    }

    /// Flags of a node that listens, where it has a port on that port of the loopback address.
    pub fn listening(&self, port: u16) -> Vec<String> {
        let link = match self {
            System::Zonda { link, .. } => *link,
            _ => Link::Tcp,
        };
        let endpoint = link.endpoint(port);
        ["-l", &endpoint, "--no-multicast-scouting"]
            .map(String::from)
            .into()
    }

    /// Flags of a node that plays a part in a topology.
    pub fn node_side(&self, topology: Topology, side: &Side) -> Vec<String> {
        let mode = match topology {
            Topology::PeerToPeer => "peer",
            Topology::Routed => "client",
        };
        let mut arguments = vec!["-m".to_owned(), mode.to_owned()];
        match side {
            Side::Listen(port) => arguments.extend(self.listening(*port)),
            Side::Connect(address) => {
                arguments.extend(["-e", address, "--no-multicast-scouting"].map(String::from))
            }
        }
        arguments
    }

    /// A worker of this executable.
    pub fn worker(&self, role: &str, worker: &str, arguments: &[String]) -> Program {
        let mut all = vec!["perf".to_owned(), worker.to_owned()];
        all.extend_from_slice(arguments);
        if let System::Zonda {
            level: Level::Node, ..
        } = self
            && has_levels(worker)
        {
            all.push("--node".into());
        }
        if let System::Zonda {
            runtime: Some(runtime),
            ..
        } = self
        {
            all.extend(["--runtime".to_owned(), runtime.clone()]);
            if runtime == RuntimeKind::Uring.name() {
                // figures of another runtime would stand under its name
                all.extend(["--cfg", "runtime_uring_required:true"].map(String::from));
            }
        }
        self.program(role, worker, all)
    }

    /// One of its programs: a worker, or a file of the reference.
    pub fn program(&self, role: &str, file: &str, arguments: Vec<String>) -> Program {
        let executable = match self {
            System::Zonda { executable, .. }
            | System::Bare { executable }
            | System::Raw { executable, .. } => executable.clone(),
            System::Zenoh { directory } => {
                directory.join(format!("{file}{}", std::env::consts::EXE_SUFFIX))
            }
        };
        Program {
            name: format!("{} {role}", self.name()),
            executable,
            arguments,
        }
    }
}

/// Whether a worker can do without a session. A router never has one.
fn has_levels(worker: &str) -> bool {
    matches!(worker, "thr-pub" | "thr-sub" | "lat-ping" | "lat-pong")
}

/// Messages in one round of the reference's subscriber: few enough for several rounds in the time of
/// a measurement, many enough that printing them costs nothing.
pub fn round_messages(size: usize) -> u64 {
    (FASTEST_BYTES / ROUNDS_PER_SECOND / size.max(1000) as f64).clamp(20.0, 100_000.0) as u64
}

/// Flags of a worker of bare sockets.
pub fn bare_side(side: &Side) -> Vec<String> {
    match side {
        Side::Listen(port) => vec!["--listen".into(), format!("127.0.0.1:{port}")],
        Side::Connect(address) => vec!["--connect".into(), address.clone()],
    }
}

fn raw_side(backend: &str, mode: &str, address: &str) -> Vec<String> {
    let words = ["--json", "--end-with-input", "--mode", mode];
    let more = ["--backend", backend, "--address", address];
    [words, more]
        .concat()
        .into_iter()
        .map(String::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: Case = Case {
        kind: Kind::RoundTrip,
        topology: Topology::Routed,
        size: 64,
        manner: None,
    };

    fn words(program: &Program) -> String {
        program.arguments.join(" ")
    }

    #[test]
    fn the_reference_gets_its_own_flags() {
        let zenoh = System::Zenoh {
            directory: "/ref".into(),
        };
        let span = Span {
            warm_up: 0.5,
            seconds: 1.0,
        };
        let ping = zenoh.sender(&PING, "tcp/127.0.0.1:9", span);
        assert!(ping.executable.starts_with("/ref"));
        let expected = "64 -m client -e tcp/127.0.0.1:9 --no-multicast-scouting -n 12000 -w 0.5";
        assert_eq!(words(&ping), expected);
        let throughput = Case {
            kind: Kind::Throughput,
            topology: Topology::PeerToPeer,
            size: 8,
            manner: None,
        };
        let sub = zenoh.receiver(&throughput, &Side::Listen(9));
        let expected = "-m peer -l tcp/127.0.0.1:9 --no-multicast-scouting -s 1000000000 -n 40000";
        assert_eq!(words(&sub), expected);
    }

    #[test]
    fn workers_pass_the_runtime_on() {
        let zonda = System::Zonda {
            executable: "zonda".into(),
            runtime: Some("tokio".into()),
            level: Level::Session,
            link: Link::Tcp,
        };
        assert!(words(&zonda.router(0)).starts_with("perf router -l tcp/127.0.0.1:0"));
        assert!(words(&zonda.router(0)).ends_with("--runtime tokio"));
        let pong = zonda.receiver(&PING, &Side::Connect("tcp/127.0.0.1:9".into()));
        let expected =
            "perf pong -m client -e tcp/127.0.0.1:9 --no-multicast-scouting --runtime tokio";
        assert_eq!(words(&pong), expected);
    }

    #[test]
    fn a_manner_becomes_flags() {
        let executable = PathBuf::from("zonda");
        let case = Case {
            topology: Topology::PeerToPeer,
            manner: Some(Manner {
                hertz: Some(1000),
                receiving: Receiving::Callback,
            }),
            ..PING
        };
        let span = Span {
            warm_up: 0.1,
            seconds: 0.2,
        };
        let node = System::Zonda {
            executable: executable.clone(),
            runtime: Some("uring".into()),
            level: Level::Session,
            link: Link::Tcp,
        };
        let expected = "perf ping 64 -m peer -e a:1 --no-multicast-scouting --seconds 0.2 --warm-up 0.1 \
                        --interval 0.001 --inline --runtime uring --cfg runtime_uring_required:true";
        assert_eq!(words(&node.sender(&case, "a:1", span)), expected);
        let raw = System::Raw {
            executable,
            backend: "smol",
        };
        let expected = "perf rtt --size 64 --json --end-with-input --mode ping --backend smol --address a:1 \
                        --duration 0.2 --warm-up 0.1 --interval 0.001";
        assert_eq!(words(&raw.sender(&case, "a:1", span)), expected);
        let expected =
            "perf rtt --json --end-with-input --mode pong --backend smol --address 127.0.0.1:0";
        assert_eq!(words(&raw.receiver(&case, &Side::Listen(0))), expected);
    }

    #[test]
    fn rounds_shrink_as_messages_grow() {
        assert_eq!(
            [8, 1024, 65536, 1 << 20].map(round_messages),
            [40_000, 39_062, 610, 38]
        );
    }
}
