// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flags of `perf rtt matrix`, and the resulting plan.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use zonda_program::{Failure, seconds};

use super::namespaces::Namespaces;
use super::plan::{ECHO, Plan};
use super::stage::Setting;
use crate::roles::this_program;
use crate::rtt::arguments::share;
use crate::rtt::backend::Backend;
use crate::rtt::csv::Format;
use crate::rtt::icmp::Echo;
use crate::rtt::place;
use crate::scenario::rates::Pace;
use crate::scenario::raw::{Pacing, Transport, rate};
use crate::surroundings::note;

/// Examples in the help.
const EXAMPLES: &str = "\
Examples:
  zonda perf rtt matrix                                       some minutes: the article's rates
  zonda perf rtt matrix --full                                hours: everything
  zonda perf rtt matrix --backends std,tokio --rates 1k,inf   less than that
  zonda perf rtt matrix --tasks 10 --cpu-work 0.5             beside tasks that compute
  zonda perf rtt matrix --namespaces                          as between two hosts (root)";

/// Options of the matrix.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Matrix {
    /// Rates 10 to 10k and inf, 0 and 100 tasks, two short rounds (the default)
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Rates 1 to 1M and inf, 0, 10, 100 and 1000 tasks, three rounds of two seconds each
    #[arg(long)]
    pub full: bool,
    /// Only these backends [default: all that are compiled in]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub backends: Vec<Backend>,
    /// Only these protocols; icmp is measured beside them where the system permits it
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',')]
    #[arg(default_values = ["tcp", "udp"])]
    pub protocols: Vec<Transport>,
    /// Only these pacings
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',')]
    #[arg(default_values = ["exact", "seed"])]
    pub pacings: Vec<Pacing>,
    /// Only these rates, such as 10,1k,1M,inf
    #[arg(long, value_name = "RATES", value_delimiter = ',', value_parser = rate)]
    pub rates: Vec<Pace>,
    /// Only these numbers of tasks beside the ping
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub tasks: Vec<u32>,
    /// The tasks compute: all together use this share of one processor
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub cpu_work: Option<f64>,
    /// Measure each cell this often
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(default_value_t = 2, default_value_if("full", "true", "3"))]
    pub rounds: u32,
    /// Measure for this long in each round, longer at slow rates
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    #[arg(default_value = "0.3", default_value_if("full", "true", "2"))]
    pub seconds: Duration,
    /// Bytes of a message
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    pub size: usize,
    /// Two network namespaces with a cable between them, instead of loopback (root)
    #[arg(long)]
    pub namespaces: bool,
    /// Leave it to the system on which processors the two sides run
    #[arg(long)]
    pub no_pin: bool,
    /// Priority of both sides, -20 (highest) to 19
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub nice: Option<i32>,
    /// TCP's congestion control of both sides [default: the system's]
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Sleep as the programs of 2022 did where that differs
    #[arg(long)]
    pub quirks: bool,
    /// The rows of rtt.csv; those of a study are in a folder for each pacing, as parse.py reads all files of a folder
    #[arg(long, value_enum, default_value = "zonda")]
    pub format: Format,
    /// Folder for rtt.csv, rtt.json and rtt.html
    #[arg(long, value_name = "DIR", default_value = "zonda-rtt")]
    pub out: PathBuf,
}

impl Matrix {
    /// Returns the plan of the requested cells.
    pub fn plan(&self) -> Result<Plan, Failure> {
        if self.protocols.contains(&Transport::Icmp) {
            let text = "--protocols icmp: it is measured beside tcp and udp, name one of these";
            return Err(Failure::Usage(text.into()));
        }
        // tasks and rates, quick or full
        let (tasks, rates): (&[u32], &[f64]) = match self.full {
            true => (&[0, 10, 100, 1000], &[1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]),
            false => (&[0, 100], &[10.0, 100.0, 1e3, 1e4]),
        };
        let rates = rates.iter().map(|hertz| Pace::Rate(*hertz));
        let rates: Vec<Pace> = rates.chain([Pace::BackToBack]).collect();
        // the frameworks that can start here
        let backends = self.backends()?;
        let mut frameworks: Vec<&str> = backends.into_iter().map(Backend::name).collect();
        match Echo::open((Ipv4Addr::LOCALHOST, 0).into()) {
            Ok(_) => frameworks.push(ECHO),
            Err(refusal) => note(&format!("no column icmp: {refusal}")),
        }
        let plan = Plan {
            frameworks,
            transports: self.protocols.clone(),
            pacings: self.pacings.clone(),
            tasks: or(&self.tasks, tasks),
            rates: or(&self.rates, &rates),
        };
        Ok(plan.in_order())
    }

    /// Returns the requested backends, or all that the system lets start.
    fn backends(&self) -> Result<Vec<Backend>, Failure> {
        if !self.backends.is_empty() {
            self.backends.iter().try_for_each(|b| b.check())?;
            return Ok(self.backends.clone());
        }
        let starts = |backend: &Backend| match backend.check() {
            Ok(()) => true,
            Err(refusal) => {
                note(&format!("no column {backend}: {refusal}"));
                false
            }
        };
        Ok(Backend::present().into_iter().filter(starts).collect())
    }

    /// Returns the common settings of all cells. Creates the namespaces.
    pub fn setting(&self) -> Result<Setting, Failure> {
        let executable = this_program();
        let mut flags = Vec::new();
        let nice = self.nice.map(|n| n.to_string());
        for (flag, value) in [("--nice", &nice), ("--congestion", &self.congestion)] {
            if let Some(value) = value {
                flags.extend([flag.to_owned(), value.clone()]);
            }
        }
        if self.quirks {
            flags.push("--quirks".into());
        }
        Ok(Setting {
            executable,
            size: self.size,
            seconds: self.seconds.as_secs_f64().max(0.01),
            cpu_work: self.cpu_work,
            cpus: self.cpus(),
            flags,
            namespaces: self.namespaces.then(Namespaces::make).transpose()?,
        })
    }

    /// Returns the first two processors, so that the two sides do not share one by chance in some
    /// cells.
    fn cpus(&self) -> Option<(usize, usize)> {
        if self.no_pin {
            return None;
        }
        match place::allowed().0.as_slice() {
            [pong, ping, ..] => Some((*pong, *ping)),
            _ => {
                note("the two sides are not pinned: there are no two processors for them");
                None
            }
        }
    }
}

fn or<T: Clone>(chosen: &[T], all: &[T]) -> Vec<T> {
    let list = if chosen.is_empty() { all } else { chosen };
    list.to_vec()
}
