// SPDX-License-Identifier: MIT OR Apache-2.0
//! The workers: hidden sub-commands with which a measurement starts this executable again for each
//! part that runs as a process.

mod answer;
mod ask;
mod bare;
mod closed_loop;
pub mod flow;
mod level;
mod load;
mod one_way;
mod open_loop;
pub mod orders;
mod recorder;
pub mod report;
pub mod reporter;
pub mod sequence_check;
mod stamper;
mod timing;

use std::io::{self, Read};
use std::process::ExitCode;
use std::thread;

pub use bare::{HEADER, is_available};
use clap::Subcommand;
use zonda_program::{Failure, finish};
use zondad::DaemonArgs;

/// Task of a process that was started again.
#[derive(Subcommand, Clone, Debug)]
pub enum Worker {
    /// Worker: forward, as `zonda router` does
    #[command(hide = true)]
    Router(DaemonArgs),
    #[command(flatten)]
    Flow(flow::Worker),
    /// Worker: ask lat-pong, back to back or on a schedule
    #[command(name = "lat-ping", hide = true)]
    Ask(Box<ask::Asking>),
    /// Worker: answer lat-ping
    #[command(name = "lat-pong", hide = true)]
    Answer(Box<answer::Answering>),
    /// Worker: publish and receive on one thread
    #[command(name = "lat-one-way", hide = true)]
    OneWay(Box<one_way::OneWay>),
    #[command(flatten)]
    Bare(bare::Worker),
}

impl Worker {
    /// Runs the worker.
    pub fn run(self) -> ExitCode {
        // workers of a flow read their input themselves
        if !matches!(self, Worker::Flow(_)) {
            end_with_parent();
        }
        let result = match self {
            Worker::Router(args) => return zondad::run(&DaemonArgs { json: true, ..args }),
            Worker::Flow(worker) => worker.run(),
            Worker::Ask(asking) => ask::ask(&asking),
            Worker::Answer(answering) => answer::answer(&answering),
            Worker::OneWay(options) => one_way::measure(&options),
            Worker::Bare(worker) => worker.run().map_err(Failure::from),
        };
        finish(result)
    }
}

/// Ends this process when its standard input ends: then the process that started it has ended, for
/// whatever reason.
pub fn end_with_parent() {
    thread::spawn(|| {
        let mut nothing = [0; 64];
        let mut input = io::stdin().lock();
        while input.read(&mut nothing).is_ok_and(|n| n > 0) {}
        std::process::exit(0);
    });
}
