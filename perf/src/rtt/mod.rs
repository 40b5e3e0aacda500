// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf rtt`: the raw ping-pong of the studies that this project grew out of, by each
//! runtime's own sockets and timers, without Zonda's protocol and without its runtime interface.
//! The difference to a node's figures is the node's own cost.
//!
//! Two processes, one file per backend: [`backend`] starts the runtime and calls [`ping`] or
//! [`pipeline`], which are written once over the few calls of [`native`].

mod arguments;
mod backend;
mod csv;
mod flight;
mod icmp;
mod matrix;
mod native;
mod outcome;
mod pacing;
mod ping;
mod pipeline;
mod place;
mod plan;
mod pong;
mod samples;
mod sockets;
mod tasks;
mod usage;

use std::io::{self, BufWriter, Write};
use std::process;
use std::thread;
use std::time::Instant;

use clap::{Args, Subcommand};
use zonda_program::{Failure, Output, print, print_lines, written};

use super::event::Event;
use super::surroundings::{ENDS_EARLY, interrupt, note, warn_of_surroundings};
use crate::scenario::raw::Transport;
use arguments::{Mode, Options};
use csv::Format;
use icmp::Echo;
use matrix::{Matrix, Plot};
use samples::Recording;

/// The duration in seconds from which a run reports its length at its start.
const LONG: f64 = 5.0;

/// Examples in the help.
const EXAMPLES: &str = "\
Examples:
  zonda perf rtt --mode pong --protocol tcp --backend smol             in one terminal
  zonda perf rtt --mode ping --backend smol --interval 0.001 --duration 10
  zonda perf rtt --mode ping --backend tokio --pacing seed             as published: see achieved
  zonda perf rtt --mode ping --tasks 100 --cpu-work 0.5                beside tasks that compute
  zonda perf rtt --mode ping --protocol icmp                           the kernel's own echo
  zonda perf rtt --mode ping --format eval2022 > std.csv               for parse.py of that study
  zonda perf rtt matrix                                                all of it at once";

/// One side of a ping-pong, or the whole matrix of them.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Rtt {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Option<Whole>,
}

/// More than one run.
#[derive(Subcommand, Clone, Debug)]
enum Whole {
    /// Measure every backend in every case, and write a table, CSV, JSON and a page with figures
    ///
    /// Every backend x protocol x rate x number of tasks x pacing, in interleaved rounds, pong on the
    /// first processor and ping on the second. The achieved rate stands below each figure.
    Matrix(Box<Matrix>),
    /// Make the tables and the page from files with the rows of --csv or of the matrix
    Plot(Plot),
}

impl Rtt {
    /// Returns true if another program of this project has started this one and ends it by closing
    /// its input.
    pub fn ends_with_input(&self) -> bool {
        self.options.end_with_input
    }

    /// Runs the sub-command.
    pub fn run(&self) -> Result<(), Failure> {
        match (&self.command, self.options.mode) {
            (Some(Whole::Matrix(matrix)), _) => matrix::matrix(matrix),
            (Some(Whole::Plot(plot)), _) => matrix::plot(plot),
            (None, Some(Mode::Ping)) => ask(&self.options),
            (None, Some(Mode::Pong)) => answer(&self.options),
            (None, None) => Err(Failure::Usage(
                "--mode is missing: ping asks, pong answers; or matrix for all at once (see --help)".into(),
            )),
        }
    }
}

/// Applies processors and priority to the process, before any other thread is started.
fn settle(options: &Options) -> Result<(), Failure> {
    if let Some(cpus) = &options.cpus {
        place::pin(cpus).map_err(|e| {
            let allowed = &place::allowed().0;
            let text = format!("--cpus {:?}: {e}; this process may use {allowed:?}", cpus.0);
            Failure::Run(text)
        })?;
    }
    if let Some(nice) = options.nice {
        place::set_nice(nice)
            .map_err(|e| Failure::Run(format!("--nice {nice}: {e}; negative ones need root")))?;
    }
    Ok(())
}

fn ask(options: &Options) -> Result<(), Failure> {
    let address = sockets::resolve(&options.address)?;
    settle(options)?;
    let interrupt = interrupt()?;
    let ping = options.ping(interrupt)?;
    let warn = || {
        if options.rows().is_some() || options.json {
            return;
        }
        warn_of_surroundings();
        let seconds = options.measured_for().as_secs_f64();
        if seconds > LONG {
            note(&format!("{seconds} s of messages; {ENDS_EARLY}"));
        }
    };
    // measure by the kernel's echo or by a backend
    let recording = match options.protocol {
        Transport::Icmp => {
            let echo = Echo::open(address)?;
            warn();
            backend::ping_icmp(echo, ping)
        }
        transport => {
            let ends = sockets::connect(transport, address, options.congestion.as_deref())?;
            warn();
            options.backend().ping(ends, ping)
        }
    }?;
    // print rows, JSON or text
    if let Some(format) = options.rows() {
        print_samples(options, &recording, format);
    } else if options.json {
        print(format_args!("{}", outcome::to_json(&recording, options)));
    } else {
        print_lines(format_args!(
            "{}\n{}",
            title(options),
            outcome::to_text(&recording, options)
        ));
    }
    match (recording.answered(), recording.lost) {
        (0, 1..) => Err(Failure::Run(format!(
            "all {} messages to {} {} were lost: does --mode pong run there?",
            recording.lost, options.protocol, options.address
        ))),
        _ => Ok(()),
    }
}

fn title(options: &Options) -> String {
    let work = match (options.tasks, options.cpu_work) {
        (0, _) => String::new(),
        (n, None) => format!(", {n} tasks with timers"),
        (n, Some(share)) => format!(", {n} tasks computing on {share} of a processor"),
    };
    format!(
        "{} {} to {}, {} bytes, {} pacing, {}{work}",
        options.framework(),
        options.protocol,
        options.address,
        options.size,
        options.pacing.name(),
        if options.pipelined {
            "pipelined"
        } else {
            "waiting for each answer"
        },
    )
}

fn print_samples(options: &Options, recording: &Recording, format: Format) {
    let mut out = BufWriter::new(Output);
    // the columns that all rows share
    let mut row = csv::Row {
        framework: options.framework(),
        transport: options.protocol.name(),
        test: "rtt",
        count: 0,
        rate: options.wanted(),
        payload: options.size,
        tasks: options.tasks,
        value: 0.0,
        unit: "ns",
    };
    let mut write = || -> io::Result<()> {
        writeln!(out, "{}", csv::HEADER)?;
        // round trips
        for sample in recording.samples() {
            (row.count, row.value) = (sample.sequence, sample.nanos as f64);
            writeln!(out, "{}", row.text(format))?;
        }
        if format.is_study() {
            return out.flush();
        }
        // rate and losses, except in the studies' formats
        (row.test, row.count, row.value) = ("throughput", recording.answered(), recording.rate());
        row.unit = "1/s";
        writeln!(out, "{}", row.text(format))?;
        (row.test, row.count, row.value) = ("lost", recording.sent, recording.lost as f64);
        row.unit = "messages";
        writeln!(out, "{}", row.text(format))?;
        out.flush()
    };
    written(write());
}

fn answer(options: &Options) -> Result<(), Failure> {
    if options.protocol == Transport::Icmp {
        let text = "--protocol icmp --mode pong: the kernel answers; only ping is needed";
        return Err(Failure::Usage(text.into()));
    }
    let address = sockets::resolve(&options.address)?;
    settle(options)?;
    let interrupt = interrupt()?;
    let (doors, bound) = sockets::open(options.protocol, address, options.congestion.as_deref())?;
    let backend = options.backend();
    // report the address
    if options.json {
        let listening = vec![bound.to_string()];
        Event::Ready { listening }.say();
    } else {
        print(format_args!(
            "{backend} answers on {} {bound}",
            options.protocol
        ));
    }
    let end = options.duration.map(|duration| Instant::now() + duration);
    // the runtimes answer for ever, so this thread ends the process
    thread::spawn(move || {
        match end {
            Some(end) => drop(interrupt.wait_until(end)),
            None => interrupt.wait(),
        }
        process::exit(0);
    });
    backend.pong(doors)
}
