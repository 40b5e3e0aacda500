// SPDX-License-Identifier: MIT OR Apache-2.0
//! Start messages of a tool that waits: its listening endpoints, the nodes it is connected to, or
//! the event it waits for.

use std::time::{Duration, Instant};

use serde_json::json;
use zonda::Session;
use zonda::session::Unreached;
use zonda_program::{complain, kept_from_scouting, print};

/// Time for the first connections, after which the tool prints that it waits for them.
const FIRST: Duration = Duration::from_millis(500);

/// Printer of the nodes that the tool is connected to, once, on standard error.
pub struct Start<'s> {
    session: &'s Session,
    since: Instant,
    said: Said,
}

#[derive(PartialEq, Eq)]
enum Said {
    Nothing,
    Waits,
    /// The nodes are printed, but not yet the endpoints that were not reached.
    Connected,
    All,
}

impl<'s> Start<'s> {
    /// Creates the printer, once everything is declared. With `as_json` a line `ready` has the
    /// listening endpoints, and nothing else is printed.
    pub fn new(session: &'s Session, as_json: bool) -> Self {
        let mut start = Start {
            session,
            since: Instant::now(),
            said: Said::Nothing,
        };
        if as_json {
            let line = json!({"event": "ready", "listening": start.listening()});
            print(format_args!("{line}"));
            start.said = Said::All;
        }
        start
    }

    /// Creates the printer of a tool that itself reports a missing connection.
    pub fn of_publisher(session: &'s Session) -> Self {
        Start {
            session,
            since: Instant::now(),
            said: Said::Waits,
        }
    }

    fn listening(&self) -> Vec<String> {
        let locators = self.session.info().locators();
        locators.iter().map(ToString::to_string).collect()
    }

    /// Prints new states. To be called repeatedly while the tool waits.
    pub fn look(&mut self) {
        match self.said {
            Said::All => return,
            Said::Connected => return self.look_for_endpoints(),
            Said::Nothing | Said::Waits => {}
        }
        let connected = self.connected();
        if !connected.is_empty() {
            self.said = Said::Connected;
            complain(format_args!("connected to {connected}"));
            self.look_for_endpoints();
        } else if self.said == Said::Nothing && self.since.elapsed() > FIRST {
            self.said = Said::Waits;
            complain(format_args!(
                "no node is connected yet; {}",
                self.waits_for()
            ));
        }
    }

    /// Prints a warning about given endpoints that were not reached although other nodes were
    /// found: it would not be noticed otherwise.
    fn look_for_endpoints(&mut self) {
        let unreached = self.session.info().unreached();
        if unreached.iter().any(|one| one.reason.is_none()) {
            // The endpoint is being tried.
            return;
        }
        self.said = Said::All;
        if !unreached.is_empty() {
            complain(format_args!("{}", trying_on(&unreached).join("; ")));
        }
    }

    /// Returns the nodes at the other ends of the links.
    fn connected(&self) -> String {
        let links: Vec<_> = self.session.info().links().into_iter().collect();
        let each = links
            .iter()
            .map(|link| format!("{} {} ({})", link.whatami, link.zid, link.remote));
        each.collect::<Vec<_>>().join(", ")
    }

    fn waits_for(&self) -> String {
        let unreached = self.session.info().unreached();
        let mut waits = trying_on(&unreached);
        let listening = self.listening();
        if !listening.is_empty() {
            waits.push(format!("listening on {}", listening.join(", ")));
        }
        let is_told_whom = !unreached.is_empty();
        waits.extend(match kept_from_scouting(self.session) {
            Some(why) if !is_told_whom => Some(why.to_owned()),
            None if waits.is_empty() => Some("looking for routers and peers".to_owned()),
            _ => None,
        });
        waits.join("; ")
    }
}

/// Formats a warning that these endpoints were not reached, with the reasons.
fn trying_on(unreached: &[Unreached]) -> Vec<String> {
    let each = unreached.iter();
    each.map(|one| format!("{one}; trying again")).collect()
}
