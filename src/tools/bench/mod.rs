// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda bench`: measures the traffic between two nodes where they run, through whatever lies
//! between.
//!
//! The node that serves is alive on `KEY/ZID/alive`, answers `KEY/ZID/ping/RUN` on
//! `KEY/ZID/pong/RUN`, counts the messages on `KEY/ZID/flow/RUN`, and returns its counts and its
//! links as replies to queries of `KEY/ZID/told`. Everything else is up to the node that asks.

mod measure;
mod path;
mod serve;

use std::time::{Duration, Instant};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zonda::key_expr::KeyExpr;
use zonda::{Session, Wait};
use zonda_program::{
    Connection, Failure, Interrupt, complain, key_expr, print, print_lines, seconds, some_seconds,
    table,
};

use super::show::NOTICE;
use measure::{Flow, Trips};

const HELP: &str = "\
Examples:
  zonda bench --serve -m client -e tcp/robot:7447      on one machine, until Ctrl-C
  zonda bench -m client -e tcp/office:7447             on the other
  zonda bench --sizes 64,1000000 --seconds 5 -m client -e tcp/office:7447

Both nodes are part of the deployment: what is measured is the way that messages of other programs take, and they share it meanwhile. \
The path is what this node, the other one and the admin spaces of the routers tell of their connections. On one machine, \
zonda perf measures without a deployment.

Exit code: 0 when done; 1 for a failure at run time, such as no program that serves, or lost messages; 2 for bad usage.";

/// Measure between two nodes where they run: this one, and one that serves.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Bench {
    /// Be the other end, for any number of measurements, until Ctrl-C
    #[arg(long, conflicts_with_all = ["sizes", "seconds", "wait", "with"])]
    serve: bool,
    /// Payloads of the messages that flow, in bytes
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "8,1024,65536"
    )]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64 << 20))]
    sizes: Vec<u32>,
    /// Duration of each measurement
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = some_seconds)]
    seconds: Duration,
    /// Time to look for a node that serves
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    wait: Duration,
    /// The id of the node that serves, if there are several
    #[arg(long, value_name = "ID")]
    with: Option<String>,
    /// Below which key both ends talk
    #[arg(long, value_name = "KEY", default_value = "zonda/bench", value_parser = key_expr)]
    key: KeyExpr<'static>,
    #[command(flatten)]
    connection: Connection,
}

/// Reply of the node that serves.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Told {
    /// Version of its program.
    version: String,
    /// The links.
    links: Vec<path::Neighbour>,
    /// Counts of a flow.
    count: Count,
}

/// Messages of a flow as they came in.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Count {
    messages: u64,
    bytes: u64,
    /// Time from the first to the last message.
    nanos: u64,
}

impl Bench {
    /// Serves until Ctrl-C, or measures.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let session = self.connection.open()?;
        let done = match self.serve {
            true => serve::serve(&self, &session, &interrupt),
            false => self.measure(&session, &interrupt),
        };
        let closed = session.close().wait();
        done?;
        Ok(closed?)
    }

    fn measure(&self, session: &Session, interrupt: &Interrupt) -> Result<(), Failure> {
        // Find the node, and the path to it.
        let zid = self.find(session, interrupt)?;
        let place = format!("{}/{zid}", self.key);
        let told = told(session, &place, "")?;
        let path = path::path(session, &zid, &told.links);
        say(&format!("measuring with {zid}: {}", path.words()));
        let run = session.zid().to_string();
        // Round trips.
        let mut lost = 0;
        let trips = measure::trips(
            session,
            &format!("{place}/ping/{run}"),
            self.seconds,
            interrupt,
        )?;
        say(&trips.line());
        // Flows, one for each size.
        let mut flows = Vec::new();
        for (number, size) in self.sizes.iter().enumerate() {
            if interrupt.happened() {
                break;
            }
            let way = measure::Way {
                place: &place,
                run: format!("{run}-{number}"),
                size: *size as usize,
            };
            let flow = measure::flow(session, &way, self.seconds, interrupt)?;
            say(&flow.line());
            lost += flow.lost();
            flows.push(flow);
        }
        // Report; lost messages are a failure.
        self.report(&path, &trips, &flows);
        match lost {
            0 => Ok(()),
            lost => Err(Failure::Run(format!("{lost} messages did not arrive"))),
        }
    }

    /// Finds a node that serves, and returns its id.
    fn find(&self, session: &Session, interrupt: &Interrupt) -> Result<String, Failure> {
        let alive = key_expr(&format!("{}/*/alive", self.key)).map_err(Failure::Usage)?;
        let end = Instant::now() + self.wait;
        let mut said = false;
        loop {
            // The requested node, or any.
            let mut found = self.serving(session, &alive)?;
            found.retain(|zid| self.with.as_ref().is_none_or(|with| with == zid));
            if let Some(zid) = found.first() {
                if found.len() > 1 {
                    let others = found[1..].join(", ");
                    say(&format!("others serve too: {others} (--with chooses)"));
                }
                return Ok(zid.clone());
            }
            // Retry until the time is over; the first attempt in vain is reported.
            interrupt.check()?;
            if Instant::now() >= end {
                let wait = self.wait;
                let text = format!(
                    "no program serves on {alive} within {wait:?}: start zonda bench --serve on another node"
                );
                return Err(Failure::Run(text));
            }
            if !std::mem::replace(&mut said, true) {
                say("no program serves yet; still looking");
            }
            interrupt.wait_until(Instant::now() + NOTICE);
        }
    }

    fn serving(&self, session: &Session, alive: &KeyExpr<'_>) -> Result<Vec<String>, Failure> {
        let get = session
            .liveliness()
            .get(alive)
            .timeout(Duration::from_secs(2));
        let mut found = Vec::new();
        for reply in get.wait()? {
            if let Ok(sample) = reply.result() {
                let key = sample.key_expr().as_str();
                found.extend(key.rsplit('/').nth(1).map(str::to_owned));
            }
        }
        Ok(found)
    }

    fn report(&self, path: &path::Path, trips: &Trips, flows: &[Flow]) {
        if self.connection.json {
            let line = json!({
                "path": path.to_json(),
                "round_trip": trips.to_json(),
                "flows": flows.iter().map(Flow::to_json).collect::<Vec<Value>>(),
            });
            return print(format_args!("{line}"));
        }
        print_lines(format_args!("path: {}", path.words()));
        let header = ["payload, B", "msg/s", "Mbit/s", "sent", "lost"];
        let rows = flows.iter().map(Flow::row);
        print_lines(format_args!("{}", table(header, rows, 0..)));
        print_lines(format_args!("{}", trips.line()));
    }
}

/// Queries the node at a place; for that run, if one is named.
fn told(session: &Session, place: &str, run: &str) -> Result<Told, Failure> {
    let selector = format!("{place}/told?run={run}");
    let replies = session
        .get(&selector)
        .timeout(Duration::from_secs(10))
        .wait()?;
    for reply in replies {
        if let Ok(sample) = reply.result() {
            return Ok(serde_json::from_slice(&sample.payload().to_bytes())?);
        }
    }
    Err(Failure::Run(format!("the node at {place} serves no more")))
}

/// Progress, on standard error.
fn say(text: &str) {
    complain(format_args!("{text}"));
}
