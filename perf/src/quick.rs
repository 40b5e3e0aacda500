// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf quick`: every system in turn in every case, round by round, so that what disturbs the
//! machine disturbs all of them alike.

use std::time::Duration;

use clap::Args;
use zonda_program::{Failure, Interrupt, print_lines, seconds};

use super::case::{Case, Kind};
use super::level::Level;
use super::link::{Link, Paths};
use super::progress::Progress;
use super::reference::Examples;
use super::report::Kept;
use super::result::{Cell, Round};
use super::run::{interrupt, verdict, warn_of_surroundings};
use super::system::{Span, System};
use super::table::{short, table};
use super::trouble::Trouble;
use super::{latency, machine, report, throughput};

/// Options of `perf quick`.
#[derive(Args, Clone, Debug)]
pub struct Quick {
    /// Measure each cell this often; the table shows the median
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Measure for this long in each round
    #[arg(long, value_name = "SECONDS", default_value = "0.7", value_parser = seconds)]
    pub seconds: Duration,
    /// Only cells whose name has all of these words, such as "routed 8B" or "ping zonda" (repeatable)
    #[arg(long, value_name = "WORDS")]
    pub only: Vec<String>,
    /// Runtime of the nodes measured
    #[arg(long, value_name = "NAME")]
    pub runtime: Option<String>,
    /// Link between the nodes measured; bare sockets and Zenoh stay on TCP
    #[arg(long, value_name = "LINK", default_value = "tcp")]
    pub link: Link,
    #[command(flatten)]
    pub reference: Examples,
    #[command(flatten)]
    pub kept: Kept,
}

impl Quick {
    /// Recording time and the warm-up before it.
    pub fn span(&self) -> Span {
        Span::after_half(self.seconds)
    }

    fn systems(&self) -> Result<Vec<System>, Failure> {
        let zenoh = self.reference.directory()?;
        let all = System::all(&[Level::Session], self.runtime.as_deref(), zenoh)?;
        Ok(all
            .into_iter()
            .map(|system| system.over(self.link))
            .collect())
    }

    fn plan(&self, systems: &[System]) -> Vec<(Case, Vec<System>)> {
        let wanted = |case: &Case, system: &System| {
            self.only.is_empty() || self.only.iter().any(|f| case.is_wanted(system.name(), f))
        };
        Case::quick()
            .into_iter()
            .map(|case| {
                let of_case = systems
                    .iter()
                    .filter(|s| wanted(&case, s))
                    .cloned()
                    .collect();
                (case, of_case)
            })
            .filter(|(_, systems): &(_, Vec<_>)| !systems.is_empty())
            .collect()
    }
}

/// Runs the plan and prints the table.
pub fn quick(options: &Quick) -> Result<(), Failure> {
    let systems = options.systems()?;
    let plan = options.plan(&systems);
    if plan.is_empty() {
        let text = format!(
            "--only {:?}: no such cell, try \"8B\" or \"ping routed\"",
            options.only
        );
        return Err(Failure::Usage(text));
    }
    options.kept.reserve()?;
    let interrupt = interrupt()?;
    let _paths = Paths;
    let before = machine::machine();
    warn_of_surroundings();
    let cells = run(options, &plan, &interrupt)?;
    let mut references = vec!["bare"];
    if options.reference.with_zenoh.is_some() {
        references.push("zenoh");
    }
    print_lines(format_args!(
        "{}\n{}",
        machine::summary(),
        table(&cells, &references)
    ));
    print_lines(format_args!("{}", legend(options)));
    let report = || format!("{:#}\n", report::report(options, &before, &cells));
    options.kept.write(report)?;
    verdict(cells.iter().map(|cell| {
        let trouble = cell.trouble.as_ref()?;
        Some(format!("{} {}: {trouble}", cell.case, cell.system))
    }))
}

fn run(
    options: &Quick,
    plan: &[(Case, Vec<System>)],
    interrupt: &Interrupt,
) -> Result<Vec<Cell>, Failure> {
    let runs: usize = plan.iter().map(|(_, systems)| systems.len()).sum();
    let mut progress = Progress::new(runs * options.rounds as usize);
    let mut all = Vec::new();
    for (case, systems) in plan {
        let empty = |s: &System| Cell {
            case: *case,
            system: s.name(),
            rounds: vec![],
            trouble: None,
        };
        let mut cells: Vec<Cell> = systems.iter().map(empty).collect();
        for _ in 0..options.rounds {
            for (system, cell) in systems.iter().zip(&mut cells) {
                let what = format!("{case} {}", system.name());
                progress.begin(&what);
                let outcome = round(system, cell, options.span(), interrupt)?;
                progress.step(&what, &outcome);
            }
        }
        all.append(&mut cells);
    }
    Ok(all)
}

/// One round of one cell. Only Ctrl-C is a failure: any other trouble is kept with the cell, and the
/// cell is not tried again.
pub fn round(
    system: &System,
    cell: &mut Cell,
    span: Span,
    interrupt: &Interrupt,
) -> Result<String, Failure> {
    if cell.trouble.is_some() {
        return Ok("not tried again".into());
    }
    let measured = match cell.case.kind {
        Kind::Throughput => {
            throughput::measure(system, &cell.case, span, interrupt).map(Round::Flow)
        }
        Kind::RoundTrip => latency::measure(system, &cell.case, span, interrupt).map(Round::Trips),
    };
    match measured {
        Ok(round) => {
            let outcome = match &round {
                Round::Flow(flow) => format!("{} msg/s", short(flow.rate)),
                Round::Trips(trips) => format!("p50 {:.1} µs", trips.micros(50.0)),
            };
            cell.rounds.push(round);
            Ok(outcome)
        }
        Err(Trouble::Interrupted) => Err(Failure::Run("interrupted".into())),
        Err(trouble) => {
            let text = trouble.to_string();
            cell.trouble = Some(text.clone());
            Ok(text)
        }
    }
}

fn legend(options: &Quick) -> String {
    let rounds = match options.rounds {
        1 => "one round".to_owned(),
        n => format!("median of {n} rounds"),
    };
    format!(
        "{rounds} of {} s each. CPU ns/msg: sender / router / receiver. x: times better \
         (throughput, or p50). bare: blocking sockets with the least framing.",
        options.seconds.as_secs_f64()
    )
}
