// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flags of `perf lat`, and what they ask for.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use zonda::config::RuntimeKind;
use zonda_program::{Failure, seconds};

use super::plan::{Contender, Wanted};
use super::rates::{Rate, plan_rate};
use crate::case::Topology;
use crate::level::Level;
use crate::link::Link;
use crate::process::this_program;
use crate::reference::Programs;
use crate::system::System;
use crate::thr::sizes::{Sizes, sizes};
use crate::thr::tally::STAMP;

/// What a reader of the help tries first, and how to read what comes out.
const HELP: &str = "\
Examples:
  zonda perf lat                                       every rate, peer to peer and routed, some ten minutes
  zonda perf lat --rates max                           back to back only
  zonda perf lat --rates 1k,10k --profile normal,spin  what a bounded busy poll is worth, and what it costs
  zonda perf lat --runtime tokio,threads --rates max   two runtimes
  zonda perf lat --load 10M --rates 1k                 urgent messages beside samples that fill the same link
  zonda perf lat --rounds 10 --json lat.json           more certain, and kept for perf compare and perf plot

How to read it:
  back to back  one message at a time; the next leaves when the answer is there. A stall counts once
  1k/s          message n is due n ms after the start, and its latency counts from there, however many
                are under way or wait to be sent: a stall counts in every message that it holds up
  CPU %         of one processor, of each program, while it was measured: what the latency costs";

/// Options of `perf lat`.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Lat {
    /// Payloads of a message: sizes from 8 on, such as 64,1k,64k
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "64", value_parser = sizes)]
    sizes: Vec<Sizes>,
    /// Messages per second, such as 1,10k,1M, and max for back to back
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = plan_rate)]
    #[arg(default_value = "1,10,100,1k,10k,100k,1M,max")]
    rates: Vec<Rate>,
    /// How the programs are connected
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "p2p,routed"
    )]
    topology: Vec<Way>,
    /// Runtimes of the nodes, such as tokio,threads [default: the default one]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    runtime: Vec<RuntimeKind>,
    /// How the nodes wait for messages
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "normal"
    )]
    profile: Vec<Profile>,
    /// In the profile spin, ask the sockets for this long before sleeping, in microseconds
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 120_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    spin_us: u64,
    /// Whether messages are sent at once or share batches
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(super) express: Express,
    /// Measure beside samples of this size too, which saturate the same link at a lower priority
    #[arg(long, value_name = "SIZE", value_parser = sizes)]
    load: Option<Sizes>,
    /// Measure each cell this often; the tables show the median
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) rounds: u32,
    /// Measure for this long in each round
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub(super) seconds: Duration,
    /// And at slow rates for as long as this many messages take
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) least: u32,
    /// Warm up for this long before
    #[arg(long, value_name = "SECONDS", default_value = "0.3", value_parser = seconds)]
    pub(super) warm_up: Duration,
    #[command(flatten)]
    pub(super) reference: Programs,
    /// Write every figure of every round, and where it was measured, to this file
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Only say what would be measured, and how long it would take
    #[arg(long)]
    pub(super) list: bool,
}

/// How the programs are connected.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Directly
    P2p,
    /// Through one router
    Routed,
}

/// How a node waits for messages.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    /// Its threads sleep
    Normal,
    /// They ask the sockets for a while before they sleep
    Spin,
}

/// Whether messages are sent at once.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Express {
    /// Back to back and up to 10 000 messages per second at once, above that in shared batches
    Auto,
    /// Each at once
    Always,
    /// In shared batches
    Never,
}

impl fmt::Display for Express {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Express::Auto => "express up to 10k/s and back to back, above that in shared batches",
            Express::Always => "express",
            Express::Never => "in shared batches",
        })
    }
}

/// Above this rate, messages share batches unless the user says otherwise.
const EXPRESS_RATE_MAX: f64 = 10_000.0;

/// Whether each message is sent at once at this rate, unless the user says otherwise.
pub fn is_express(rate: Rate) -> bool {
    rate.0.is_none_or(|rate| rate <= EXPRESS_RATE_MAX)
}

impl Lat {
    /// What to measure.
    pub(super) fn wanted(&self) -> Result<Wanted, Failure> {
        let sizes = Sizes::all(&self.sizes);
        if let Some(size) = sizes.iter().find(|s| **s < STAMP) {
            let text =
                format!("--sizes {size}: a message holds its number, which takes {STAMP} bytes");
            return Err(Failure::Usage(text));
        }
        let loads = self
            .load
            .as_ref()
            .map(|l| Sizes::all(std::slice::from_ref(l)));
        let load = match loads.as_deref() {
            None => None,
            Some([size]) if *size > 0 => Some(*size),
            Some(_) => return Err(Failure::Usage("--load takes one size, such as 10M".into())),
        };
        let topology = |way: &Way| match way {
            Way::P2p => Topology::PeerToPeer,
            Way::Routed => Topology::Routed,
        };
        Ok(Wanted {
            topologies: self.topology.iter().map(topology).collect(),
            sizes,
            rates: self.rates.clone(),
            load,
        })
    }

    /// Who takes part.
    pub(super) fn contenders(&self) -> Result<Vec<Contender>, Failure> {
        let executable = this_program()?;
        let mut all = Vec::new();
        let runtimes: Vec<Option<RuntimeKind>> = match self.runtime.is_empty() {
            true => vec![None],
            false => self.runtime.iter().copied().map(Some).collect(),
        };
        for runtime in &runtimes {
            for profile in &self.profile {
                let mut name = "zonda".to_owned();
                if let (Some(kind), 2..) = (runtime, runtimes.len()) {
                    name += &format!(" {kind}");
                }
                if *profile == Profile::Spin {
                    name += " spin";
                }
                all.push(Contender {
                    system: System::Zonda {
                        executable: executable.clone(),
                        runtime: runtime.map(|kind| kind.name().to_owned()),
                        level: Level::Session,
                        link: Link::Tcp,
                    },
                    name,
                    spin_us: (*profile == Profile::Spin).then_some(self.spin_us),
                });
            }
        }
        all.push(Contender {
            system: System::Bare { executable },
            name: "bare sockets".into(),
            spin_us: None,
        });
        if let Some(directory) = self.reference.directory()? {
            all.push(Contender {
                system: System::Zenoh {
                    directory: directory.to_owned(),
                },
                name: "zenoh".into(),
                spin_us: None,
            });
        }
        Ok(all)
    }

    /// Whether each message is sent at once at this rate.
    pub(super) fn is_express(&self, rate: Rate) -> bool {
        match self.express {
            Express::Always => true,
            Express::Never => false,
            Express::Auto => is_express(rate),
        }
    }

    /// What figures of one record depend on, beside the cells themselves.
    pub(super) fn settings(&self) -> Map<String, Value> {
        let runtimes: Vec<&str> = self.runtime.iter().map(|kind| kind.name()).collect();
        let mut settings = Map::new();
        let express = self.express.to_possible_value();
        for (name, value) in [
            ("rounds", json!(self.rounds)),
            ("seconds", json!(self.seconds.as_secs_f64())),
            ("warm_up", json!(self.warm_up.as_secs_f64())),
            ("least", json!(self.least)),
            ("express", json!(express.map(|v| v.get_name().to_owned()))),
            ("runtime", json!(runtimes)),
        ] {
            settings.insert(name.into(), value);
        }
        if self.profile.contains(&Profile::Spin) {
            settings.insert("spin_us".into(), json!(self.spin_us));
        }
        settings
    }
}
