// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda rehearse`: simulates a network of routers, before it exists.

use std::fs;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use clap::Args;
use zonda_perf::Progress;
use zonda_program::build::VERSION;
use zonda_program::{Failure, complain, print_lines, table};
use zonda_rehearsal::{About, Change, Delivery, LinkUse, Outcome, Plan, Rehearsal, STAGES, page};

/// Limit of the links and bridges that are printed: the links that carry most, and the bridges that
/// cut off most.
const ROWS_MAX: usize = 10;

const HELP: &str = "\
Examples:
  zonda rehearse plan.json5                        prints tables
  zonda rehearse plan.json5 --html network.html    and draws the network

A plan is JSON5:
  {
    // line, ring, star, tree, grid or full; clients and peers of each router
    topology: { shape: 'ring', routers: 10, clients: 20,
                nodes: [{ name: 'depot', mode: 'router' }],
                links: [{ from: 'depot', to: 'r0',
                          delay_ms: 40, weight: 500 }] },
    delay_ms: 1,
    // on every client (`on`: 'router', 'peer' or 'client')
    // {node} is the node's name
    load: { subscribe: ['fleet/*/pose'], publish: ['fleet/{node}/pose'],
            answer: [], live: [], messages: 100 },
    // by default the link that carries most
    lose: [['r0', 'r1']],
  }

The nodes are the tables that real nodes route with, on a virtual clock. What sockets, processors and scouting take is not in it.

Exit code: 0 when done; 1 if the file cannot be read or rehearsed; 2 for bad usage.";

/// Rehearse a network: convergence, traffic, memory, and what the loss of a link does.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Rehearse {
    /// The plan, a JSON5 file
    file: PathBuf,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Write a page with the network drawn
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Rehearse {
    /// Rehearses the plan and prints the results.
    pub fn run(self) -> Result<(), Failure> {
        // Read the plan and run it.
        let text = fs::read_to_string(&self.file)
            .map_err(|error| Failure::doing(self.file.display(), error))?;
        let plan =
            Plan::parse(&text).map_err(|error| Failure::doing(self.file.display(), error))?;
        let (begin, mut progress) = (Instant::now(), Progress::new(STAGES));
        let outcome = Rehearsal::new(&plan).run(&mut |done, what| progress.reach(done, what));
        drop(progress);
        // Results: a page, and JSON or tables.
        if let Some(file) = &self.html {
            let about = About {
                plan: text,
                program: format!("zonda {VERSION}"),
                date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            };
            fs::write(file, page(&outcome, &about))
                .map_err(|error| Failure::doing(file.display(), error))?;
        }
        if self.json {
            let text = serde_json::to_string_pretty(&outcome)?;
            print_lines(format_args!("{text}"));
        } else {
            print_tables(&outcome);
        }
        // Notes, on standard error.
        if outcome.load.published > 0 && outcome.load.delivered + outcome.load.missing == 0 {
            complain(format_args!(
                "note: no subscriber of the plan wants what is published: compare `subscribe` and `publish` of its load"
            ));
        }
        complain(format_args!(
            "{} steps in {:.1} s",
            outcome.steps,
            begin.elapsed().as_secs_f64()
        ));
        Ok(())
    }
}

fn print_tables(outcome: &Outcome) {
    let changes = outcome.changes.iter().map(Change::cells);
    print_lines(format_args!("{}\n", table(Change::COLUMNS, changes, 1..)));
    let loads = table(Delivery::COLUMNS, outcome.deliveries(), 1..);
    print_lines(format_args!("{loads}\n"));
    let mut links: Vec<_> = outcome.links.iter().collect();
    links.sort_by_key(|link| std::cmp::Reverse((link.messages, link.bytes)));
    let links = links.into_iter().take(ROWS_MAX);
    let links = links.map(LinkUse::cells);
    print_lines(format_args!("{}\n", table(LinkUse::COLUMNS, links, 1..)));
    print_routers(outcome);
    print_bridges(outcome);
}

fn print_routers(outcome: &Outcome) {
    let mut memory: Vec<usize> = outcome.router_use.iter().map(|r| r.memory).collect();
    memory.sort_unstable();
    if let (Some(least), Some(most)) = (memory.first(), memory.last()) {
        let middle = memory[memory.len() / 2];
        print_lines(format_args!(
            "{} routers: bytes of tables {least} to {most}, half of them up to {middle}\n",
            memory.len()
        ));
    }
}

fn print_bridges(outcome: &Outcome) {
    let several = outcome.wide_bridges();
    print_lines(format_args!(
        "{} links cut off a node when they are lost, {} of them more than one node",
        outcome.bridges.len(),
        several.len()
    ));
    let rows = several.into_iter().take(ROWS_MAX).map(|bridge| {
        let first = bridge.cut_off.iter().take(6).cloned().collect::<Vec<_>>();
        vec![
            bridge.ends.join(" - "),
            bridge.cut_off.len().to_string(),
            first.join(", "),
        ]
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        print_lines(format_args!(
            "{}",
            table(["loss of", "cuts off", "among them"], rows, 1..2)
        ));
    }
}
