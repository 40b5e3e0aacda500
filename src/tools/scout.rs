// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda scout`: the reachable nodes, or the reasons why there is none.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};
use zonda::config::{Locator, Roles, WhatAmI, ZenohId};
use zonda::scouting::{Hello, InterfaceReport, Scout as Search, ScoutReport, Use};
use zonda::{Operation, Wait};
use zonda_program::{Connection, Failure, Interrupt, print, seconds};

use super::show::NOTICE;

/// Explanation of the result.
const HELP: &str = "\
Example:
  zonda scout --explain      which nodes answer, which interfaces were asked on, and why some were left out

Without --timeout it leaves half a second after the last new answer, and after 3 s at the latest.

Exit code: 0 when a node answered; 1 when none did; 2 for bad usage. Which group and which interfaces are asked: \
--cfg scouting/multicast/address and --cfg scouting/multicast/interface (such as \"'lo,eth0'\").";

/// Look for routers and peers by multicast, and print each answer as it comes.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Scout {
    /// Roles to look for: router, peer, client, or several joined by | or commas
    #[arg(short, long, value_name = "ROLES", default_value = "router|peer", value_parser = roles)]
    what: Roles,
    /// Time for the search [default: 3, or half a second after the last new answer]
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Print in the end what was sent and received on each interface, and why some were left out
    #[arg(long)]
    explain: bool,
    /// Print every answer, also those that say the same again
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Longest time of a search by default, and longest time after the last new answer.
const LONGEST: Duration = Duration::from_secs(3);
const SETTLED: Duration = Duration::from_millis(500);

/// The different answers of each node.
type Seen = HashMap<ZenohId, Vec<Hello>>;

impl Scout {
    /// Searches until the time is over or Ctrl-C.
    pub fn run(self) -> Result<(), Failure> {
        let Connection {
            connect, listen, ..
        } = &self.connection;
        // Check the flags before the search.
        if !connect.is_empty() || !listen.is_empty() {
            let text =
                "scout asks by multicast, it neither connects nor listens: leave out -e and -l";
            return Err(Failure::Usage(text.to_owned()));
        }
        let interrupt = Interrupt::listen()?;
        let config = self.connection.to_config()?;
        zonda_program::log();
        // Search until the time is over.
        let longest = self.timeout.unwrap_or(LONGEST);
        let until = zonda_runtime::after(longest);
        let scout =
            zonda::scout(self.what, config)
                .typed()
                .wait()
                .map_err(|error| match error {
                    zonda::ScoutError::Config(_) => Failure::Usage(error.to_string()),
                    _ => Failure::from(error),
                })?;
        let seen = self.watch(&scout, until, &interrupt)?;
        // Report, and fail where no node has answered.
        let report = scout.report();
        if self.explain {
            self.explain(&report, &seen);
        }
        match seen.is_empty() && !interrupt.happened() {
            true => Err(Failure::Run(format!(
                "no {} answered within {:?}: {report}{}",
                self.what,
                longest,
                if self.explain { "" } else { "; try --explain" }
            ))),
            false => Ok(()),
        }
    }

    fn watch(&self, scout: &Search, until: Instant, on: &Interrupt) -> Result<Seen, Failure> {
        let (mut seen, mut until) = (Seen::new(), until);
        while !on.happened() && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            let Some(hello) = scout.recv_timeout(left.min(NOTICE))? else {
                continue;
            };
            let before = seen.entry(hello.zid()).or_default();
            let is_new = !before.iter().any(|b| says_the_same(b, &hello));
            if is_new || self.all {
                self.show(&hello);
            }
            if is_new {
                before.push(hello);
                if self.timeout.is_none() {
                    until = until.min(zonda_runtime::after(SETTLED));
                }
            }
        }
        Ok(seen)
    }

    fn show(&self, hello: &Hello) {
        let locators: Vec<&str> = hello.locators().iter().map(|l| l.as_str()).collect();
        if !self.connection.json {
            let (role, zid) = (hello.whatami(), hello.zid());
            let places = match locators.is_empty() {
                true => format!("an address it does not tell (from {})", hello.source()),
                false => locators.join(", "),
            };
            return print(format_args!("{role} {zid} at {places}"));
        }
        let line = json!({
            "event": "hello",
            "zid": hello.zid().to_string(),
            "role": hello.whatami().to_string(),
            "locators": locators,
            "source": hello.source().to_string(),
        });
        print(format_args!("{line}"));
    }

    fn explain(&self, report: &ScoutReport, seen: &Seen) {
        // In JSON.
        if self.connection.json {
            let interfaces: Vec<Value> = report.interfaces.iter().map(as_json).collect();
            let line = json!({
                "event": "report",
                "group": report.group.to_string(),
                "nodes": seen.len(),
                "interfaces": interfaces,
            });
            return print(format_args!("{line}"));
        }
        // In words: the interfaces, and nodes that name no address.
        let (group, what) = (report.group, self.what);
        print(format_args!("asked {group} for {what}:"));
        for interface in &report.interfaces {
            print(format_args!("  {}", in_words(interface)));
        }
        for hello in seen.values().flatten().filter(|h| h.locators().is_empty()) {
            print(format_args!(
                "  {} {} from {} names no address to connect to: does it listen on loopback only, on another host?",
                hello.whatami(),
                hello.zid(),
                hello.source(),
            ));
        }
    }
}

/// Returns true if two answers name one set of addresses.
fn says_the_same(one: &Hello, other: &Hello) -> bool {
    one.whatami() == other.whatami() && addresses(one.locators()) == addresses(other.locators())
}

/// Returns the addresses of an answer without their order: a node orders them by the network that
/// the scout came from.
fn addresses(locators: &[Locator]) -> BTreeSet<&str> {
    locators.iter().map(Locator::as_str).collect()
}

fn in_words(interface: &InterfaceReport) -> String {
    // Name and addresses of the interface.
    let addresses: Vec<String> = interface
        .addresses
        .iter()
        .map(ToString::to_string)
        .collect();
    let place = match addresses.is_empty() {
        true => interface.name.clone(),
        false => format!("{} ({})", interface.name, addresses.join(", ")),
    };
    if let Use::Skipped(why) = &interface.usage {
        return format!("{place}: left out, {why}");
    }
    // Failures, only where there are any.
    let failures = match &interface.last_failure {
        Some(why) => format!(", {} not sent ({why})", interface.failed),
        None => String::new(),
    };
    let malformed = match interface.malformed {
        0 => String::new(),
        count => format!(", {} of something else", counted(count, "datagram")),
    };
    format!(
        "{place}: {}{failures}, {}{malformed}",
        counted(interface.asked, "question"),
        counted(interface.answers, "answer")
    )
}

/// Formats a count: one question, two questions.
fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn as_json(interface: &InterfaceReport) -> Value {
    let why = match &interface.usage {
        Use::Used => None,
        Use::Deaf(why) | Use::Skipped(why) => Some(why),
    };
    json!({
        "name": interface.name,
        "addresses": interface.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "used": !matches!(interface.usage, Use::Skipped(_)),
        "why": why,
        "asked": interface.asked,
        "answers": interface.answers,
        "malformed": interface.malformed,
        "failed": interface.failed,
        "last_failure": interface.last_failure,
    })
}

/// Roles joined by `|` or commas.
fn roles(text: &str) -> Result<Roles, String> {
    let names = text.split(['|', ',']).map(str::trim);
    let roles: Result<Roles, _> = names.map(str::parse::<WhatAmI>).collect();
    roles.map_err(|_| "expected router, peer, client, or several joined by |".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_question_is_no_questions() {
        assert_eq!(counted(1, "question"), "1 question");
        assert_eq!(counted(0, "answer"), "0 answers");
    }

    #[test]
    fn answers_that_name_the_same_addresses_say_the_same() {
        let named = |texts: [&str; 2]| texts.map(|text| text.parse::<Locator>().expect("one"));
        let (near, far) = ("tcp/192.0.2.1:7447", "tcp/[::1]:7447");
        let first = named([near, far]);
        assert_eq!(addresses(&first), addresses(&named([far, near])));
        assert_ne!(addresses(&first), addresses(&first[..1]));
        assert_ne!(
            addresses(&first),
            addresses(&named([near, "udp/[::1]:7447"]))
        );
    }

    #[test]
    fn roles_are_read_as_they_are_written() {
        assert_eq!(roles("router|peer"), Ok(WhatAmI::Router | WhatAmI::Peer));
        assert_eq!(roles("client, peer"), Ok(WhatAmI::Client | WhatAmI::Peer));
        assert!(roles("").is_err() && roles("boss").is_err());
    }
}
