// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a publication has anywhere to go. The endpoints that were given are an audience that was asked for, so not to
//! reach one is a failure; to be alone without one is only worth a line.

use std::thread;
use std::time::{Duration, Instant};

use zonda::Session;
use zonda::session::Unreached;

use crate::{Failure, complain};

/// Below the help of programs that publish.
pub const HELP: &str = "\
Exit code: 0 when done; 1 when an endpoint to connect to (-e, connect/endpoints) was never reached or a publication \
failed; 2 for bad usage. Without endpoints, to publish while nobody is connected only writes a line on standard error.";

/// How soon the end of an attempt is noticed.
const NOTICE: Duration = Duration::from_millis(5);
/// An attempt ends before that by itself.
const LONGEST: Duration = Duration::from_secs(60);

/// Tells, at most once, that what is published goes nowhere.
#[derive(Debug, Default)]
pub struct Reach {
    told: bool,
}

impl Reach {
    /// Waits until each endpoint was reached or has refused once. A failure if nobody at all is connected although
    /// somebody was asked for: nothing should be published then that will be gone.
    pub fn insist(session: &Session) -> Result<Reach, Failure> {
        let deadline = Instant::now() + LONGEST;
        let is_open = |unreached: &Unreached| unreached.reason.is_none();
        while session.info().unreached().iter().any(is_open) && Instant::now() < deadline {
            thread::sleep(NOTICE);
        }
        if session.info().links().is_empty() {
            check(session)?;
        }
        Ok(Reach::default())
    }

    /// To be called with each publication: says so if nobody is connected.
    pub fn tell(&mut self, session: &Session) {
        if self.told || !session.info().links().is_empty() {
            return;
        }
        self.told = true;
        let missing = missing(session);
        let why = match missing.is_empty() {
            true => String::new(),
            false => format!(" ({missing}; trying on)"),
        };
        complain(format_args!(
            "note: nobody is connected, so nobody gets this{why}"
        ));
    }

    /// To be called at the end, before the session is closed: a failure if an endpoint was never reached.
    pub fn finish(self, session: &Session) -> Result<(), Failure> {
        check(session)
    }
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
