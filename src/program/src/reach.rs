// SPDX-License-Identifier: MIT OR Apache-2.0
//! Destinations of a publication. The given endpoints are a requested audience, so not to reach one
//! is a failure; to be alone without one is only worth a line.

use std::thread;
use std::time::{Duration, Instant};

use zonda::Session;
use zonda::session::Unreached;

use crate::{Failure, complain};

/// Below the help of programs that publish.
pub const HELP: &str = "\
Exit code: 0 when done; 1 when an endpoint to connect to (-e, connect/endpoints) was never reached, was not connected when a \
value was published, or a publication failed; 2 for bad usage. Without endpoints, to publish while no node is connected only writes a line on standard error.";

/// Delay within which the end of an attempt is noticed.
const NOTICE: Duration = Duration::from_millis(5);
/// Time before which an attempt ends by itself.
const LONGEST: Duration = Duration::from_secs(60);

/// Reporter, at most once, of publications that go nowhere.
#[derive(Debug, Default)]
pub struct Reach {
    told: bool,
    /// Count of publications without any connected node.
    alone: u64,
}

impl Reach {
    /// Waits until each endpoint was reached or has refused once. Fails if no node at all is
    /// connected although an endpoint was given: a publication would be lost.
    pub fn insist(session: &Session) -> Result<Reach, Failure> {
        await_attempts(session);
        if session.info().links().is_empty() {
            check(session)?;
        }
        Ok(Reach::default())
    }

    /// Prints a warning if no node is connected; returns true if none is. To be called before each
    /// publication: afterwards would be too late, as a receiver may leave as soon as it has the
    /// message it waited for.
    pub fn tell(&mut self, session: &Session) -> bool {
        self.tell_that("this reaches no subscriber", session)
    }

    /// Does the work of [`Reach::tell`], and adds the consequence.
    pub fn tell_that(&mut self, follows: &str, session: &Session) -> bool {
        let is_alone = session.info().links().is_empty();
        self.alone += u64::from(is_alone);
        if is_alone && !self.told {
            self.told = true;
            let missing = missing(session);
            let why = match (missing.is_empty(), kept_from_scouting(session)) {
                (false, _) => format!(" ({missing}; trying again)"),
                (true, Some(why)) => format!(" ({why})"),
                (true, None) => String::new(),
            };
            complain(format_args!(
                "note: no node is connected, so {follows}{why}"
            ));
        }
        is_alone
    }

    /// Fails if an endpoint was never reached, or no node was connected when a message was to be
    /// sent to one. To be called at the end, before the session is closed.
    pub fn finish(self, session: &Session) -> Result<(), Failure> {
        check(session)?;
        let endpoints = session.info().endpoints();
        if self.alone == 0 || endpoints.is_empty() {
            return Ok(());
        }
        let endpoints: Vec<_> = endpoints.iter().map(|e| e.endpoint.to_string()).collect();
        let (endpoints, alone) = (endpoints.join(", "), self.alone);
        Err(Failure::Run(format!(
            "lost {alone} that were published while {endpoints} was not connected"
        )))
    }
}

/// Waits until each endpoint was reached or has refused once.
pub fn await_attempts(session: &Session) {
    let deadline = Instant::now() + LONGEST;
    let is_open = |unreached: &Unreached| unreached.reason.is_none();
    while session.info().unreached().iter().any(is_open) && Instant::now() < deadline {
        thread::sleep(NOTICE);
    }
}

/// Returns a warning for a node that does not scout only because of its environment.
pub fn kept_from_scouting(session: &Session) -> Option<&'static str> {
    let is_off = std::env::var("ZONDA_MULTICAST_SCOUTING").is_ok_and(|value| value == "off");
    let is_kept = is_off && session.info().discovery().scouting.is_none();
    is_kept.then_some(
        "no nodes are looked for: the environment variable ZONDA_MULTICAST_SCOUTING is off",
    )
}

fn check(session: &Session) -> Result<(), Failure> {
    let missing = missing(session);
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Failure::Run(missing)),
    }
}

fn missing(session: &Session) -> String {
    let unreached = session.info().unreached();
    let lines: Vec<String> = unreached.iter().map(ToString::to_string).collect();
    lines.join("; ")
}
