// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a tool that waits for something says at its start: where it listens, to which nodes it is connected, or what it waits for.

use std::time::{Duration, Instant};

use serde_json::json;
use zonda::Session;
use zonda_program::{complain, kept_from_scouting, print};

/// How long the first connections may take before the tool says that it waits for them.
const FIRST: Duration = Duration::from_millis(500);

/// Says once to which nodes the tool is connected, on standard error.
pub struct Start<'s> {
    session: &'s Session,
    since: Instant,
    said: Said,
}

#[derive(PartialEq, Eq)]
enum Said {
    Nothing,
    Waits,
    All,
}

impl<'s> Start<'s> {
    /// Everything is declared. With `as_json` a line `ready` says where the node listens, and nothing else is said.
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

    fn listening(&self) -> Vec<String> {
        let locators = self.session.info().locators();
        locators.iter().map(ToString::to_string).collect()
    }

    /// To be called again and again while the tool waits.
    pub fn look(&mut self) {
        if self.said == Said::All {
            return;
        }
        let connected = self.connected();
        if !connected.is_empty() {
            self.said = Said::All;
            complain(format_args!("connected to {connected}"));
        } else if self.said == Said::Nothing && self.since.elapsed() > FIRST {
            self.said = Said::Waits;
            complain(format_args!(
                "nobody is connected yet; {}",
                self.waits_for()
            ));
        }
    }

    /// The nodes at the other ends of the links.
    fn connected(&self) -> String {
        let links: Vec<_> = self.session.info().links().into_iter().collect();
        let each = links
            .iter()
            .map(|link| format!("{} {} ({})", link.whatami, link.zid, link.remote));
        each.collect::<Vec<_>>().join(", ")
    }

    fn waits_for(&self) -> String {
        let unreached = self.session.info().unreached();
        let mut waits: Vec<String> = unreached
            .iter()
            .map(|one| format!("{one}; trying on"))
            .collect();
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
