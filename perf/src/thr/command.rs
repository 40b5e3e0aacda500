// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command lines by which each system's programs play their parts in a flow.

use std::time::Duration;

use super::flow::{Care, Congestion, Flow};
use super::reporter::PERIOD;
use super::worker::key_of_all;
use crate::case::Topology;
use crate::process::Program;
use crate::system::{Side, System, bare_side};

/// Counts of all receivers together come at most this often.
const COUNTS_PER_SECOND: f64 = 200.0;
/// No system known moves payload faster, in bytes per second.
const FASTEST_BYTES: f64 = 4e9;
/// From this size on, nodes are configured to be patient: see [`patience`].
const HUGE: usize = 16 << 20;
/// The largest message a node accepts by default: a payload has to be smaller.
const MESSAGE_MAX: usize = 1 << 30;

/// One system in one flow.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// Whose programs.
    pub system: &'a System,
    /// What they do.
    pub flow: &'a Flow,
}

impl Command<'_> {
    /// Why this system has no part in this flow, if it has none.
    pub fn refusal(&self) -> Option<&'static str> {
        let is_zenoh = matches!(self.system, System::Zenoh { .. });
        (is_zenoh && self.flow.service.reliability == Care::BestEffort)
            .then_some("its stable API does not choose the reliability")
    }

    /// Time between two counts of one receiver.
    fn period(&self) -> Duration {
        let apart = f64::from(self.flow.subscribers) / COUNTS_PER_SECOND;
        PERIOD.max(Duration::from_secs_f64(apart))
    }

    /// Messages in one round of the reference's subscriber.
    pub fn round_messages(&self) -> u64 {
        let bytes = FASTEST_BYTES * PERIOD.as_secs_f64();
        let messages = bytes / self.flow.size.max(1000) as f64 / f64::from(self.flow.subscribers);
        messages.clamp(1.0, 100_000.0) as u64
    }

    /// The program between the others.
    pub fn router(&self, port: u16) -> Program {
        let Flow {
            publishers,
            subscribers,
            ..
        } = self.flow;
        match self.system {
            System::Bare { .. } | System::Raw { .. } => {
                let address = format!("127.0.0.1:{port}");
                let (senders, receivers) = (publishers.to_string(), subscribers.to_string());
                let crowd = ["--senders", &senders, "--receivers", &receivers];
                let mut arguments = vec![address];
                arguments.extend(crowd.map(String::from));
                self.system.worker("router", "bare-crowd-relay", &arguments)
            }
            System::Zonda { .. } => {
                let mut arguments = self.system.listening(port);
                arguments.extend(self.patience());
                self.system.worker("router", "thr-router", &arguments)
            }
            System::Zenoh { .. } => {
                let mut program = self.system.router(port);
                program.arguments.extend(self.patience());
                program
            }
        }
    }

    /// A subscriber.
    pub fn receiver(&self, side: &Side) -> Program {
        let flow = self.flow;
        match self.system {
            System::Bare { .. } | System::Raw { .. } => {
                let links = flow.publishers.to_string();
                let period = self.period().as_millis().to_string();
                let mut arguments = vec![flow.size.to_string()];
                arguments.extend(["--links", &links, "--period", &period].map(String::from));
                arguments.extend(bare_side(side));
                self.system.worker("sub", "bare-crowd-sub", &arguments)
            }
            System::Zonda { .. } => {
                let publishers = flow.publishers.to_string();
                let period = self.period().as_millis().to_string();
                let mut arguments = vec![flow.size.to_string()];
                let counted = ["--publishers", &publishers, "--period", &period];
                arguments.extend(counted.map(String::from));
                if flow.keys.is_some() {
                    arguments.push("--keys".into());
                }
                arguments.extend(self.node(side));
                self.system.worker("sub", "thr-sub", &arguments)
            }
            System::Zenoh { .. } => {
                let n = self.round_messages().to_string();
                let mut arguments: Vec<String> =
                    ["-s", "1000000000", "-n", &n].map(String::from).into();
                if flow.keys.is_some() {
                    arguments.extend(["-k".into(), key_of_all(true).to_owned()]);
                }
                arguments.extend(self.node(side));
                self.system.program("sub", "z_sub_thr", arguments)
            }
        }
    }

    /// The publisher of that number, which sends to all of these addresses.
    pub fn sender(&self, number: u16, to: &[String]) -> Program {
        let flow = self.flow;
        let mut arguments = vec![flow.size.to_string()];
        let connect = |flag: &str| -> Vec<String> {
            let both = to
                .iter()
                .flat_map(|address| [flag.to_owned(), address.clone()]);
            both.collect()
        };
        let keys = flow
            .keys
            .map(|keys| ["--keys".to_owned(), keys.to_string()]);
        match self.system {
            System::Bare { .. } | System::Raw { .. } => {
                arguments.extend(connect("--connect"));
                self.system.worker("pub", "bare-crowd-pub", &arguments)
            }
            System::Zonda { .. } => {
                arguments.extend(["--number".into(), number.to_string()]);
                arguments.extend(keys.into_iter().flatten());
                arguments.extend(flow.service.arguments());
                arguments.extend(self.mode());
                arguments.extend(connect("-e"));
                self.system.worker("pub", "thr-pub", &arguments)
            }
            System::Zenoh { .. } => {
                arguments.extend(keys.into_iter().flatten());
                if let Some(priority) = flow.service.priority {
                    arguments.extend(["-p".into(), (priority as u8).to_string()]);
                }
                if flow.service.express {
                    arguments.push("--express".into());
                }
                if flow.service.congestion == Congestion::Drop {
                    arguments.push("--drop".into());
                }
                arguments.extend(self.mode());
                arguments.extend(connect("-e"));
                self.system.program("pub", "z_pub_thr", arguments)
            }
        }
    }

    fn node(&self, side: &Side) -> Vec<String> {
        let mut arguments = self.system.node_side(self.flow.topology, side);
        arguments.extend(self.patience());
        arguments
    }

    fn mode(&self) -> Vec<String> {
        let mode = match self.flow.topology {
            Topology::PeerToPeer => "peer",
            Topology::Routed => "client",
        };
        let mut arguments: Vec<String> = ["-m", mode, "--no-multicast-scouting"]
            .map(String::from)
            .into();
        arguments.extend(self.patience());
        arguments
    }

    /// A single huge message to many receivers can take longer than a publisher waits for room by
    /// default, and the largest one is larger than what a node accepts by default. Both are settings
    /// of the same name in both systems.
    fn patience(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        let mut set = |setting: &str| arguments.extend(["--cfg".to_owned(), setting.to_owned()]);
        if self.flow.size >= HUGE {
            set("transport/link/tx/queue/congestion_control/block/wait_before_close:60000000");
        }
        if self.flow.size >= MESSAGE_MAX {
            set("transport/link/rx/max_message_size:2147483648");
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use crate::link::Link;
    use zonda::qos::Priority;

    use super::super::flow::Service;
    use super::*;
    use crate::level::Level;

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
        },
        size: 64,
    };

    fn words(program: &Program) -> String {
        program.arguments.join(" ")
    }

    #[test]
    fn a_publisher_reaches_every_address() {
        let zonda = System::Zonda {
            executable: "zonda".into(),
            runtime: Some("smol".into()),
            level: Level::Session,
            link: Link::Tcp,
        };
        let command = Command {
            system: &zonda,
            flow: &FLOW,
        };
        let to = ["tcp/a:1".to_owned(), "tcp/a:2".to_owned()];
        assert_eq!(
            words(&command.sender(1, &to)),
            "perf thr-pub 64 --number 1 --keys 100 --priority 4 --express --congestion drop -m peer \
             --no-multicast-scouting -e tcp/a:1 -e tcp/a:2 --runtime smol"
        );
        assert_eq!(
            words(&command.receiver(&Side::Listen(0))),
            "perf thr-sub 64 --publishers 2 --period 200 --keys -m peer -l tcp/127.0.0.1:0 \
             --no-multicast-scouting --runtime smol"
        );
    }

    #[test]
    fn the_reference_gets_its_own_flags() {
        let zenoh = System::Zenoh {
            directory: "/ref".into(),
        };
        let mut flow = Flow {
            topology: Topology::Routed,
            size: 1 << 30,
            ..FLOW
        };
        let command = Command {
            system: &zenoh,
            flow: &flow,
        };
        let huge = "--cfg transport/link/tx/queue/congestion_control/block/wait_before_close:60000000 \
                    --cfg transport/link/rx/max_message_size:2147483648";
        assert_eq!(
            words(&command.sender(0, &["tcp/a:1".to_owned()])),
            format!(
                "1073741824 --keys 100 -p 4 --express --drop -m client --no-multicast-scouting {huge} -e tcp/a:1"
            )
        );
        let side = Side::Connect("tcp/a:1".into());
        assert_eq!(
            words(&command.receiver(&side)),
            format!(
                "-s 1000000000 -n 1 -k test/thr/* -m client -e tcp/a:1 --no-multicast-scouting {huge}"
            )
        );
        flow.service.reliability = Care::BestEffort;
        let command = Command {
            system: &zenoh,
            flow: &flow,
        };
        assert!(command.refusal().is_some());
    }

    #[test]
    fn bare_sockets_know_their_crowd() {
        let bare = System::Bare {
            executable: "zonda".into(),
        };
        let command = Command {
            system: &bare,
            flow: &FLOW,
        };
        let expected = "perf bare-crowd-relay 127.0.0.1:0 --senders 2 --receivers 40";
        assert_eq!(words(&command.router(0)), expected);
        let side = Side::Connect("127.0.0.1:9".into());
        let expected = "perf bare-crowd-sub 64 --links 2 --period 200 --connect 127.0.0.1:9";
        assert_eq!(words(&command.receiver(&side)), expected);
    }
}
