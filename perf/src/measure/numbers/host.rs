// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router under load: a process of its own, watched from outside.

use std::thread;
use std::time::{Duration, Instant};

use zonda_program::{Failure, Interrupt};

use crate::footprint::Footprint;
use crate::process::Process;
use crate::processes::listening;
use crate::roles::Roles;

/// How long a router may take for anything.
pub const PATIENCE: Duration = Duration::from_secs(180);
/// A router that uses less than this in [`PERIOD`] has nothing left to do.
const QUIET: Duration = Duration::from_millis(20);
/// How often that is looked at.
const PERIOD: Duration = Duration::from_millis(100);
/// How often in a row it must be quiet.
const PERIODS: usize = 3;

/// A running router. Dropping it ends it.
pub struct Host {
    process: Process,
    address: String,
    interrupt: Interrupt,
}

impl Host {
    /// Starts a router that takes `connections`, with values of its configuration beside.
    pub fn start(roles: Roles<'_>, connections: usize, more: &[&str]) -> Result<Host, Failure> {
        let (process, addresses) = listening(roles, |endpoint| {
            let mut program = roles.router(endpoint);
            let places = connections + 100;
            let limit = format!("transport/unicast/max_sessions:{places}");
            // all clients measured come from one address
            let each = format!("limits/sessions_per_address:{places}");
            let own = roles.system.is_own().then_some(each);
            let all = more.iter().map(|value| (*value).to_owned());
            for value in all.chain([limit]).chain(own) {
                program.arguments.extend(["--cfg".to_owned(), value]);
            }
            program
        })?;
        let address = addresses.into_iter().next();
        Ok(Host {
            address: address
                .ok_or_else(|| Failure::doing("starting the router", "it has no address"))?
                + &roles.system.link.options(),
            process,
            interrupt: roles.interrupt.clone(),
        })
    }

    /// Where it listens, as its clients have to dial it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What it has used so far, and what it holds.
    pub fn footprint(&self) -> Footprint {
        Footprint::of(self.process.pid())
    }

    /// The CPU time it has used so far.
    pub fn cpu(&self) -> Duration {
        self.footprint().cpu.unwrap_or_default()
    }

    /// The CPU time it has used since `earlier`, which is what [`Host::cpu`] was then. It may fall by some ms when threads end.
    pub fn cpu_since(&self, earlier: Duration) -> Duration {
        self.cpu().saturating_sub(earlier)
    }

    /// Its resident memory in bytes.
    pub fn memory(&self) -> f64 {
        self.footprint().rss_kib.unwrap_or_default() as f64 * 1024.0
    }

    /// The trouble if it has ended.
    pub fn check(&mut self) -> Result<(), Failure> {
        if self.process.is_running() {
            return Ok(());
        }
        Err(self.process.died())
    }

    /// Waits until it has nothing left to do, at most `patience`.
    pub fn settle(&mut self, patience: Duration) -> Result<(), Failure> {
        let deadline = Instant::now() + patience;
        let mut quiet = Quiet::since(self.cpu());
        while quiet.periods < PERIODS {
            self.interrupt.check()?;
            self.check()?;
            if Instant::now() > deadline {
                return Err(self.process.late("finish its work", patience));
            }
            thread::sleep(PERIOD);
            quiet.look(self.cpu());
        }
        Ok(())
    }
}

/// For how long a process has done next to nothing.
struct Quiet {
    /// The CPU time that it had used when it was looked at last.
    used: Duration,
    /// How often in a row there was little more.
    periods: usize,
}

impl Quiet {
    fn since(used: Duration) -> Quiet {
        Quiet { used, periods: 0 }
    }

    /// It has used so much by now. That may be less than before: a thread that ends takes a part of its account with it.
    fn look(&mut self, used: Duration) {
        let changed = used.abs_diff(self.used);
        self.periods = if changed < QUIET { self.periods + 1 } else { 0 };
        self.used = used;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_that_falls_as_threads_end_is_no_panic_and_no_work() {
        let ms = Duration::from_millis;
        let mut quiet = Quiet::since(ms(500));
        for (used, periods) in [(501, 1), (495, 2), (700, 0), (650, 0), (650, 1), (649, 2)] {
            quiet.look(ms(used));
            assert_eq!(quiet.periods, periods, "at {used} ms");
        }
    }
}
