// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line by which each system plays each role.

use super::plan::{Case, Contender};
use crate::process::Program;
use crate::stage::Cast;
use crate::system::{Side, Span, System, bare_side};

/// The priority of the messages when there is a load beside them: real time.
const URGENT: &str = "1";

/// The programs of one contender in one case.
#[derive(Clone, Copy, Debug)]
pub struct Players<'a> {
    /// Who.
    pub contender: &'a Contender,
    /// In what.
    pub case: Case,
    /// How long.
    pub span: Span,
    /// Whether each message is sent at once.
    pub express: bool,
}

impl Players<'_> {
    fn system(&self) -> &System {
        &self.contender.system
    }

    /// Settings of all nodes of ours beside the rest.
    fn settings(&self) -> Vec<String> {
        match (self.system(), self.contender.spin_us) {
            (System::Zonda { .. }, Some(spin)) => {
                vec!["--cfg".into(), format!("runtime_spin_us:{spin}")]
            }
            _ => Vec::new(),
        }
    }

    /// How messages and answers are sent.
    fn manner(&self) -> Vec<String> {
        let mut flags = Vec::new();
        if !self.express {
            flags.push("--no-express".to_owned());
        }
        if self.case.load.is_some() {
            flags.extend(["--priority", URGENT].map(String::from));
        }
        flags
    }

    /// How long and how often.
    fn pace(&self) -> Vec<String> {
        let Span { warm_up, seconds } = self.span;
        let pairs = [("--seconds", seconds), ("--warm-up", warm_up)];
        let mut flags: Vec<String> = (pairs.iter())
            .flat_map(|(flag, value)| [(*flag).to_owned(), value.to_string()])
            .collect();
        if let Some(rate) = self.case.rate.0 {
            flags.extend(["--rate".to_owned(), rate.to_string()]);
        }
        flags
    }
}

impl Cast for Players<'_> {
    fn router(&self, port: u16) -> Program {
        let mut program = self.system().router(port);
        program.arguments.extend(self.settings());
        program
    }

    fn receiver(&self, side: &Side) -> Program {
        let system = self.system();
        if let System::Bare { .. } = system {
            return system.worker("pong", "bare-pong", &bare_side(side));
        }
        let mut flags = self.contender.system.node_side(self.case.topology, side);
        flags.extend(self.manner());
        flags.extend(self.settings());
        match system {
            System::Zenoh { .. } => system.program("pong", "z_pong", flags),
            _ => system.worker("pong", "lat-pong", &flags),
        }
    }

    fn sender(&self, to: &str) -> Program {
        let system = self.system();
        let side = Side::Connect(to.to_owned());
        let mut flags = vec![self.case.size.to_string()];
        flags.extend(self.pace());
        if let System::Bare { .. } = system {
            flags.extend(bare_side(&side));
            return system.worker("ping", "lat-bare-ping", &flags);
        }
        flags.extend(self.contender.system.node_side(self.case.topology, &side));
        flags.extend(self.manner());
        flags.extend(self.settings());
        if let Some(load) = self.case.load {
            flags.extend(["--load".to_owned(), load.to_string()]);
        }
        match system {
            System::Zenoh { .. } => system.program("ping", "z_ping", flags),
            _ => system.worker("ping", "lat-ping", &flags),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rates::Rate;
    use super::*;
    use crate::case::Topology;
    use crate::level::Level;
    use crate::link::Link;

    fn contender(system: System, spin_us: Option<u64>) -> Contender {
        let name = system.name().to_owned();
        Contender {
            system,
            name,
            spin_us,
        }
    }

    const CASE: Case = Case {
        topology: Topology::Routed,
        size: 64,
        rate: Rate(Some(1000.0)),
        load: Some(10),
    };
    const SPAN: Span = Span {
        warm_up: 0.5,
        seconds: 1.0,
    };

    fn words(program: &Program) -> String {
        program.arguments.join(" ")
    }

    #[test]
    fn nodes_get_everything() {
        let system = System::Zonda {
            executable: "zonda".into(),
            runtime: Some("threads".into()),
            level: Level::Session,
            link: Link::Tcp,
        };
        let contender = contender(system, Some(50));
        let players = Players {
            contender: &contender,
            case: CASE,
            span: SPAN,
            express: false,
        };
        let router = words(&players.router(0));
        assert!(
            router.ends_with("--runtime threads --cfg runtime_spin_us:50"),
            "{router}"
        );
        let expected = "perf lat-pong -m client -e a:1 --no-multicast-scouting --no-express --priority 1 \
                        --cfg runtime_spin_us:50 --runtime threads";
        assert_eq!(
            words(&players.receiver(&Side::Connect("a:1".into()))),
            expected
        );
        let expected = "perf lat-ping 64 --seconds 1 --warm-up 0.5 --rate 1000 -m client -e a:1 \
                        --no-multicast-scouting --no-express --priority 1 --cfg runtime_spin_us:50 --load 10 \
                        --runtime threads";
        assert_eq!(words(&players.sender("a:1")), expected);
    }

    #[test]
    fn others_get_what_they_know() {
        let case = Case {
            topology: Topology::PeerToPeer,
            rate: Rate(None),
            load: None,
            ..CASE
        };
        let bare = contender(
            System::Bare {
                executable: "zonda".into(),
            },
            None,
        );
        let players = |contender| Players {
            contender,
            case,
            span: SPAN,
            express: true,
        };
        let expected = "perf lat-bare-ping 64 --seconds 1 --warm-up 0.5 --connect a:1";
        assert_eq!(words(&players(&bare).sender("a:1")), expected);
        let expected = "perf bare-pong --listen 127.0.0.1:0";
        assert_eq!(words(&players(&bare).receiver(&Side::Listen(0))), expected);
        let zenoh = contender(
            System::Zenoh {
                directory: "/ref".into(),
            },
            None,
        );
        let expected = "64 --seconds 1 --warm-up 0.5 -m peer -e a:1 --no-multicast-scouting";
        let ping = players(&zenoh).sender("a:1");
        assert_eq!(words(&ping), expected);
        assert!(ping.executable.starts_with("/ref"));
    }
}
