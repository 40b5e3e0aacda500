// SPDX-License-Identifier: MIT OR Apache-2.0
//! The roles of a scenario, router, receivers and senders, and the command line by which a system plays each.

use std::path::PathBuf;
use std::time::Duration;

use zonda::config::RuntimeKind;
use zonda_program::Interrupt;

use super::link::Link;
use super::process::Program;
use super::scenario::flow::{Congestion, Flow};
use super::scenario::rates::Pace;
use super::scenario::{Receiving, Scenario, Topology, Trips};
use super::system::{Kind, Own, Span, System};
use super::workers::flow::key_of_all;
use super::workers::reporter::PERIOD;

/// The maximum rate of counts, of all receivers together.
const COUNTS_PER_SECOND: f64 = 200.0;
/// An upper bound of any system's payload rate, in bytes per second.
const FASTEST_BYTES: f64 = 4e9;
/// An upper bound of the reference's round trips per second.
const FASTEST_ROUND_TRIPS: f64 = 12_000.0;
/// The size from which nodes get longer deadlines: see [`Roles::patience`].
const HUGE: usize = 16 << 20;
/// The size limit of messages that nodes accept by default: a payload must be smaller.
const MESSAGE_MAX: usize = 1 << 30;
/// The priority of messages sent along with a load: real time.
const URGENT: &str = "1";

/// The source of a program's connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// The program listens on this endpoint, whose port may be 0 to choose one.
    Listen(String),
    /// The program connects to these addresses.
    Connect(Vec<String>),
}

/// One system in one scenario.
#[derive(Clone, Copy, Debug)]
pub struct Roles<'a> {
    /// The system whose programs run.
    pub system: &'a System,
    /// The work of the programs.
    pub scenario: &'a Scenario,
    /// Duration and warm-up.
    pub span: Span,
    /// The user's interrupt.
    pub interrupt: &'a Interrupt,
}

impl Roles<'_> {
    /// Returns the program between senders and receivers.
    pub fn router(&self, endpoint: &str) -> Program {
        let [senders, receivers] = self.scenario.programs().map(|count| count.to_string());
        match (&self.system.kind, self.scenario.flow()) {
            (Kind::Zonda(_), flow) => {
                let worker = flow.map_or("router", |_| "thr-router");
                let arguments = [listening(endpoint), self.settings()].concat();
                self.program("router", worker, arguments)
            }
            (Kind::Zenoh(_), _) => {
                let no_rest = words(["--rest-http-port", "none"]);
                let arguments = [listening(endpoint), no_rest, self.settings()].concat();
                self.program("router", "zenohd", arguments)
            }
            (_, flow) => {
                // bare sockets: a relay for trips, a fan for flows
                let (mut worker, mut arguments) = ("bare-relay", words([endpoint]));
                if flow.is_some() {
                    let counts = ["--senders", &senders, "--receivers", &receivers];
                    arguments.extend(words(counts));
                    worker = "bare-fan";
                }
                arguments.extend(self.means());
                self.program("router", worker, arguments)
            }
        }
    }

    /// Returns the only program of messages that go one way on one thread.
    pub fn both_ends(&self, endpoint: &str) -> Program {
        let size = self.scenario.size().to_string();
        let [seconds, warm_up] = [self.span.seconds, self.span.warm_up].map(|s| s.to_string());
        let timing = words(["--seconds", &seconds, "--warm-up", &warm_up]);
        let (file, more) = match self.system.kind {
            Kind::MessageIo(_) => {
                let arguments = [&size, &self.transport(endpoint), &seconds, &warm_up];
                return self.program("one way", "mio_one_way", words(arguments.map(|a| &**a)));
            }
            Kind::Zonda(_) => (
                "lat-one-way",
                [listening(endpoint), self.settings()].concat(),
            ),
            Kind::Zenoh(_) => ("z_one_way", [listening(endpoint), self.settings()].concat()),
            Kind::Bare | Kind::Raw(_) => {
                let listen = words(["--listen", endpoint]);
                (
                    "bare-one-way",
                    [listen, self.stream(), self.means()].concat(),
                )
            }
        };
        self.program("one way", file, [vec![size], timing, more].concat())
    }

    /// Returns a subscriber, or the answering program.
    pub fn receiver(&self, side: &Side) -> Program {
        match self.scenario {
            Scenario::Flow(flow) => self.subscriber(flow, side),
            Scenario::Trips(trips) => self.answering(trips, side),
            Scenario::Numbers(_) | Scenario::Raw(_) => {
                unreachable!("its sides are started elsewhere")
            }
        }
    }

    /// Returns the publisher of that number, or the asking program.
    pub fn sender(&self, number: u16, to: Vec<String>) -> Program {
        let side = Side::Connect(to);
        match self.scenario {
            Scenario::Flow(flow) => self.publisher(flow, number, &side),
            Scenario::Trips(trips) => self.asking(trips, &side),
            Scenario::Numbers(_) | Scenario::Raw(_) => {
                unreachable!("its sides are started elsewhere")
            }
        }
    }

    fn subscriber(&self, flow: &Flow, side: &Side) -> Program {
        let (size, publishers) = (flow.size.to_string(), flow.publishers.to_string());
        // many subscribers report less often
        let apart = f64::from(flow.subscribers) / COUNTS_PER_SECOND;
        let period = PERIOD.max(Duration::from_secs_f64(apart));
        let period = period.as_millis().to_string();
        // size and counts, in each system's flags
        let arguments = match self.system.kind {
            Kind::Zenoh(_) => {
                let round = round_messages(flow).to_string();
                let mut arguments = words(["-s", "1000000000", "-n", &round]);
                if flow.keys.is_some() {
                    arguments.extend(words(["-k", key_of_all(true)]));
                }
                arguments
            }
            Kind::Zonda(_) => {
                let mut arguments =
                    words([&size, "--publishers", &publishers, "--period", &period]);
                arguments.extend(flow.keys.map(|_| "--keys".to_owned()));
                arguments
            }
            _ => {
                let mut arguments = words([&size, "--links", &publishers, "--period", &period]);
                arguments.extend(self.stream());
                arguments
            }
        };
        self.play("sub", ["bare-sub", "thr-sub", "z_sub_thr"], arguments, side)
    }

    fn publisher(&self, flow: &Flow, number: u16, side: &Side) -> Program {
        let (mut arguments, service) = (vec![flow.size.to_string()], &flow.service);
        let keys = flow.keys.map(|keys| words(["--keys", &keys.to_string()]));
        match self.system.kind {
            Kind::Zonda(_) => {
                arguments.extend(words(["--number", &number.to_string()]));
                arguments.extend(keys.into_iter().flatten());
                arguments.extend(service.arguments());
            }
            Kind::Zenoh(_) => {
                arguments.extend(keys.into_iter().flatten());
                if let Some(priority) = service.priority {
                    arguments.extend(words(["-p", &(priority as u8).to_string()]));
                }
                arguments.extend(service.express.then(|| "--express".to_owned()));
                let drops = service.congestion == Congestion::Drop;
                arguments.extend(drops.then(|| "--drop".to_owned()));
            }
            _ => arguments.extend([self.stream(), service.pace()].concat()),
        }
        self.play("pub", ["bare-pub", "thr-pub", "z_pub_thr"], arguments, side)
    }

    fn answering(&self, trips: &Trips, side: &Side) -> Program {
        let arguments = match self.system.kind {
            // the reference's own example always sends at once
            Kind::Zenoh(_) if trips.receiving.is_some() => Vec::new(),
            Kind::Zonda(_) | Kind::Zenoh(_) => quality(trips),
            _ => Vec::new(),
        };
        self.play("pong", ["bare-pong", "lat-pong", "z_pong"], arguments, side)
    }

    fn asking(&self, trips: &Trips, side: &Side) -> Program {
        let size = trips.size.to_string();
        let [seconds, warm_up] = [self.span.seconds, self.span.warm_up].map(|s| s.to_string());
        // size and duration
        let mut arguments = match self.system.kind {
            Kind::Raw(_) => words([
                "--size",
                &size,
                "--duration",
                &seconds,
                "--warm-up",
                &warm_up,
            ]),
            // the reference's own example is limited by a number of samples only
            Kind::Zenoh(_) if trips.receiving.is_some() => {
                let samples = (self.span.seconds * FASTEST_ROUND_TRIPS).ceil().max(1.0);
                words([&size, "-n", &samples.to_string(), "-w", &warm_up])
            }
            _ => words([&size, "--seconds", &seconds, "--warm-up", &warm_up]),
        };
        // pace
        match trips.pace {
            Pace::BackToBack => {}
            Pace::Paced(hertz) => {
                let interval = 1.0 / f64::from(hertz);
                arguments.extend(words(["--interval", &interval.to_string()]));
            }
            Pace::Rate(rate) => arguments.extend(words(["--rate", &rate.to_string()])),
        }
        // quality of service, load and the way of receiving
        let has_quality = match self.system.kind {
            Kind::Zonda(_) => true,
            Kind::Zenoh(_) => trips.receiving.is_none(),
            _ => false,
        };
        if has_quality {
            arguments.extend(quality(trips));
        }
        if self.system.is_own() && trips.receiving == Some(Receiving::Queue) {
            arguments.push("--queue".into());
        }
        if let Some(load) = trips.load {
            arguments.extend(words(["--load", &load.to_string()]));
        }
        self.play(
            "ping",
            ["lat-bare-ping", "lat-ping", "z_ping"],
            arguments,
            side,
        )
    }

    /// Returns the program of a role; `files` are its names for bare sockets, for this project and
    /// for the reference.
    fn play(
        &self,
        role: &str,
        files: [&str; 3],
        mut arguments: Vec<String>,
        side: &Side,
    ) -> Program {
        let [bare, own, reference] = files;
        // yardsticks have their own flags
        let file = match &self.system.kind {
            Kind::Raw(backend) => {
                let address = match side {
                    Side::Listen(endpoint) => endpoint.clone(),
                    Side::Connect(addresses) => addresses.concat(),
                };
                // its kind of link is another option
                let address = address
                    .split_once('/')
                    .map_or(&*address, |(_, place)| place);
                arguments.extend(words(["--json", "--end-with-input", "--mode", role]));
                arguments.extend(words(["--backend", backend, "--address", address]));
                if self.system.link == Link::Udp {
                    arguments.extend(words(["--protocol", "udp"]));
                }
                return self.program(role, "rtt", arguments);
            }
            Kind::MessageIo(_) => {
                let (file, to) = match side {
                    Side::Listen(endpoint) => ("mio_sub", self.transport(endpoint)),
                    Side::Connect(addresses) => ("mio_pub", addresses.concat()),
                };
                let size = self.scenario.size().to_string();
                return self.program(role, file, vec![size, to]);
            }
            Kind::Bare => {
                match side {
                    Side::Listen(endpoint) => arguments.extend(words(["--listen", endpoint])),
                    Side::Connect(addresses) => arguments.extend(each("--connect", addresses)),
                }
                arguments.extend(self.means());
                return self.program(role, bare, arguments);
            }
            Kind::Zonda(_) => own,
            Kind::Zenoh(_) => reference,
        };
        // nodes have a mode, endpoints and settings
        let mode = match self.scenario.topology() {
            Topology::Routed => "client",
            Topology::PeerToPeer | Topology::OneThread => "peer",
        };
        arguments.extend(words(["-m", mode]));
        match side {
            Side::Listen(endpoint) => arguments.extend(listening(endpoint)),
            Side::Connect(addresses) => {
                arguments.extend(each("-e", addresses));
                arguments.push("--no-multicast-scouting".into());
            }
        }
        arguments.extend(self.settings());
        self.program(role, file, arguments)
    }

    /// Returns the flag of sockets without framing.
    fn stream(&self) -> Vec<String> {
        let flag = self.system.is_stream.then(|| "--stream".to_owned());
        flag.into_iter().collect()
    }

    /// Returns the settings of bare sockets for the link.
    fn means(&self) -> Vec<String> {
        each("--cfg", &self.system.link.settings())
    }

    /// Returns an endpoint in the notation of message-io's programs.
    fn transport(&self, endpoint: &str) -> String {
        match endpoint.strip_prefix("tcp/") {
            Some(place) if !self.system.is_stream => format!("framed/{place}"),
            _ => endpoint.to_owned(),
        }
    }

    /// Returns the configuration settings of all nodes.
    fn settings(&self) -> Vec<String> {
        let mut settings = self.patience();
        settings.extend(self.system.link.settings());
        if let Kind::Zonda(Own {
            spin_us: Some(spin),
            ..
        }) = &self.system.kind
        {
            settings.push(format!("runtime_spin_us:{spin}"));
        }
        each("--cfg", &settings)
    }

    /// Returns settings with longer deadlines and larger limits for large messages. A huge message
    /// to many receivers can take longer than a publisher waits for room by default, and the
    /// largest one exceeds the default size limit. Both settings have the same names in both
    /// systems.
    fn patience(&self) -> Vec<String> {
        let size = self.scenario.size();
        let mut settings = Vec::new();
        if size >= HUGE {
            let wait =
                "transport/link/tx/queue/congestion_control/block/wait_before_close:60000000";
            settings.push(wait.to_owned());
        }
        if size >= MESSAGE_MAX {
            settings.push("transport/link/rx/max_message_size:2147483648".into());
        }
        settings
    }

    fn program(&self, role: &str, file: &str, arguments: Vec<String>) -> Program {
        let name = format!("{} {role}", self.system.name);
        let own = match &self.system.kind {
            Kind::Zenoh(directory) | Kind::MessageIo(directory) => {
                let executable = directory.join(format!("{file}{}", std::env::consts::EXE_SUFFIX));
                return Program {
                    name,
                    executable,
                    arguments,
                };
            }
            Kind::Zonda(own) => Some(own),
            Kind::Bare | Kind::Raw(_) => None,
        };
        let mut all = words(["perf", file]);
        all.extend(arguments);
        if own.is_some_and(|own| own.is_node && file != "router" && file != "thr-router") {
            all.push("--node".into());
        }
        if let Some(runtime) = own.and_then(|own| own.runtime.as_deref()) {
            all.extend(words(["--runtime", runtime]));
            if runtime == RuntimeKind::Uring.name() {
                // otherwise another runtime could be measured under the name of io_uring
                all.extend(words(["--cfg", "runtime_uring_required:true"]));
            }
        }
        Program {
            name,
            executable: this_program(),
            arguments: all,
        }
    }
}

/// Returns the flags of a node that listens.
fn listening(endpoint: &str) -> Vec<String> {
    words(["-l", endpoint, "--no-multicast-scouting"])
}

/// Returns the running executable, which is also that of its workers.
pub fn this_program() -> PathBuf {
    // if the system does not report the path, it may find the command by its name
    std::env::current_exe().unwrap_or_else(|_| "zonda".into())
}

/// Returns the flags that set the quality of messages and replies.
fn quality(trips: &Trips) -> Vec<String> {
    let mut flags = Vec::new();
    if !trips.express {
        flags.push("--no-express".to_owned());
    }
    if trips.load.is_some() {
        flags.extend(words(["--priority", URGENT]));
    }
    flags
}

/// Returns the number of messages in one round of the reference's subscriber: few enough for
/// several rounds in a measurement, many enough that printing costs nothing.
pub fn round_messages(flow: &Flow) -> u64 {
    let bytes = FASTEST_BYTES * PERIOD.as_secs_f64();
    let messages = bytes / flow.size.max(1000) as f64 / f64::from(flow.subscribers);
    messages.clamp(1.0, 100_000.0) as u64
}

fn words<const N: usize>(of: [&str; N]) -> Vec<String> {
    of.map(String::from).into()
}

fn each(flag: &str, values: &[String]) -> Vec<String> {
    let both = values
        .iter()
        .flat_map(|value| [flag.to_owned(), value.clone()]);
    both.collect()
}

#[cfg(test)]
mod tests {
    use zonda::qos::Priority;

    use super::super::scenario::flow::{Care, Service};
    use super::super::system::{BARE, ZENOH};
    use super::*;

    const SPAN: Span = Span {
        warm_up: 0.5,
        seconds: 1.0,
        bytes: 0,
    };
    const FLOW: Flow = Flow {
        topology: Topology::PeerToPeer,
        publishers: 2,
        subscribers: 40,
        keys: Some(100),
        service: Service {
            priority: Some(Priority::DataHigh),
            express: true,
            reliability: Care::Reliable,
            congestion: Congestion::Drop,
            pace: None,
        },
        size: 64,
    };
    const TRIPS: Trips = Trips {
        topology: Topology::Routed,
        size: 64,
        pace: Pace::Rate(1000.0),
        receiving: None,
        load: Some(10),
        express: false,
    };

    fn of(system: &System, scenario: Scenario, role: impl FnOnce(&Roles<'_>) -> Program) -> String {
        let roles = Roles {
            system,
            scenario: &scenario,
            span: SPAN,
            interrupt: &Interrupt::default(),
        };
        role(&roles).arguments.join(" ")
    }

    fn zonda(runtime: &str, spin_us: Option<u64>) -> System {
        let own = Own {
            runtime: Some(runtime.into()),
            spin_us,
            ..Own::default()
        };
        System::new("zonda", Kind::Zonda(own))
    }

    fn to(address: &str) -> Side {
        Side::Connect(vec![address.into()])
    }

    #[test]
    fn nodes_get_everything() {
        let system = zonda("threads", Some(50));
        let trips = Scenario::Trips(TRIPS);
        let router = of(&system, trips, |r| r.router("tcp/127.0.0.1:0"));
        assert!(
            router.starts_with("perf router -l tcp/127.0.0.1:0"),
            "{router}"
        );
        assert!(
            router.ends_with("--cfg runtime_spin_us:50 --runtime threads"),
            "{router}"
        );
        assert_eq!(
            of(&system, trips, |r| r.receiver(&to("a:1"))),
            "perf lat-pong --no-express --priority 1 -m client -e a:1 --no-multicast-scouting --cfg runtime_spin_us:50 \
             --runtime threads"
        );
        assert_eq!(
            of(&system, trips, |r| r.sender(0, vec!["a:1".into()])),
            "perf lat-ping 64 --seconds 1 --warm-up 0.5 --rate 1000 --no-express --priority 1 --load 10 -m client -e a:1 \
             --no-multicast-scouting --cfg runtime_spin_us:50 --runtime threads"
        );
        let flow = Scenario::Flow(FLOW);
        assert_eq!(
            of(&zonda("smol", None), flow, |r| r
                .sender(1, vec!["tcp/a:1".into(), "tcp/a:2".into()])),
            "perf thr-pub 64 --number 1 --keys 100 --priority 4 --express --congestion drop -m peer -e tcp/a:1 -e tcp/a:2 \
             --no-multicast-scouting --runtime smol"
        );
        assert_eq!(
            of(&zonda("uring", None), flow, |r| r
                .receiver(&Side::Listen("tcp/127.0.0.1:0".into()))),
            "perf thr-sub 64 --publishers 2 --period 200 --keys -m peer -l tcp/127.0.0.1:0 --no-multicast-scouting \
             --runtime uring --cfg runtime_uring_required:true"
        );
    }

    #[test]
    fn the_reference_gets_its_own_flags() {
        let zenoh = System::new(ZENOH, Kind::Zenoh("/ref".into()));
        let mut flow = Flow {
            topology: Topology::Routed,
            size: 1 << 30,
            ..FLOW
        };
        let huge = "--cfg transport/link/tx/queue/congestion_control/block/wait_before_close:60000000 \
                    --cfg transport/link/rx/max_message_size:2147483648";
        assert_eq!(
            of(&zenoh, Scenario::Flow(flow), |r| r
                .sender(0, vec!["tcp/a:1".into()])),
            format!(
                "1073741824 --keys 100 -p 4 --express --drop -m client -e tcp/a:1 --no-multicast-scouting {huge}"
            )
        );
        assert_eq!(
            of(&zenoh, Scenario::Flow(flow), |r| r.receiver(&to("tcp/a:1"))),
            format!(
                "-s 1000000000 -n 1 -k test/thr/* -m client -e tcp/a:1 --no-multicast-scouting {huge}"
            )
        );
        flow.service.reliability = Care::BestEffort;
        assert!(zenoh.refusal(&Scenario::Flow(flow)).is_some());
        let by_queue = Trips {
            pace: Pace::BackToBack,
            receiving: Some(Receiving::Queue),
            load: None,
            ..TRIPS
        };
        assert_eq!(
            of(&zenoh, Scenario::Trips(by_queue), |r| r
                .sender(0, vec!["a:1".into()])),
            "64 -n 12000 -w 0.5 -m client -e a:1 --no-multicast-scouting"
        );
        let sizes = [8, 1024, 65536, 1 << 20].map(|size| {
            let flow = Flow {
                size,
                subscribers: 1,
                ..FLOW
            };
            round_messages(&flow)
        });
        assert_eq!(sizes, [40_000, 39_062, 610, 38]);
    }

    #[test]
    fn sockets_get_what_they_know() {
        let bare = System::new(BARE, Kind::Bare);
        let flow = Scenario::Flow(FLOW);
        let expected = "perf bare-fan tcp/127.0.0.1:0 --senders 2 --receivers 40";
        assert_eq!(of(&bare, flow, |r| r.router("tcp/127.0.0.1:0")), expected);
        let expected = "perf bare-sub 64 --links 2 --period 200 --connect 127.0.0.1:9";
        assert_eq!(
            of(&bare, flow, |r| r.receiver(&to("127.0.0.1:9"))),
            expected
        );
        let trips = Scenario::Trips(Trips {
            pace: Pace::Paced(1000),
            receiving: Some(Receiving::Callback),
            load: None,
            ..TRIPS
        });
        let expected =
            "perf lat-bare-ping 64 --seconds 1 --warm-up 0.5 --interval 0.001 --connect a:1";
        assert_eq!(
            of(&bare, trips, |r| r.sender(0, vec!["a:1".into()])),
            expected
        );
        let raw = System::new("raw smol", Kind::Raw("smol"));
        let expected = "perf rtt --size 64 --duration 1 --warm-up 0.5 --interval 0.001 --json --end-with-input --mode ping \
                        --backend smol --address a:1";
        assert_eq!(
            of(&raw, trips, |r| r.sender(0, vec!["a:1".into()])),
            expected
        );
        let expected =
            "perf rtt --json --end-with-input --mode pong --backend smol --address 127.0.0.1:0";
        assert_eq!(
            of(&raw, trips, |r| r
                .receiver(&Side::Listen("tcp/127.0.0.1:0".into()))),
            expected
        );
    }
}
