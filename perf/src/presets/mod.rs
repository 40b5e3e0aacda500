// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sub-commands: their scenarios, systems, rounds and tables. All of them run a
//! [`Campaign`](super::campaign::Campaign).

pub mod curves;
pub mod lat;
pub mod links;
pub mod quick;
pub mod runtimes;
pub mod scale;
pub mod thr;

use clap::Args;
use std::path::PathBuf;

use super::scenario::flow::{Flow, Service};
use super::scenario::{Scenario, Topology};

/// Options of the record.
#[derive(Args, Clone, Debug)]
pub struct RecordArgs {
    /// Write every figure of every round, and where it was measured, to this file; without one, or for -, to standard output, and
    /// the table to standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// Returns a flow from one publisher to one subscriber.
fn flow(topology: Topology, size: usize) -> Scenario {
    Scenario::Flow(Flow {
        topology,
        publishers: 1,
        subscribers: 1,
        keys: None,
        service: Service::default(),
        size,
    })
}
