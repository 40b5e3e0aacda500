// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router under load: a separate process, watched from outside.

use std::thread;
use std::time::{Duration, Instant};

use zonda_program::{Failure, Interrupt};

use crate::footprint::Footprint;
use crate::process::Process;
use crate::processes::listening;
use crate::roles::Roles;

/// The time limit of any step of the router.
pub const PATIENCE: Duration = Duration::from_secs(180);
/// The CPU time in one [`PERIOD`] below which a router counts as quiet.
const QUIET: Duration = Duration::from_millis(20);
/// The polling interval of the CPU time.
const PERIOD: Duration = Duration::from_millis(100);
/// The number of quiet periods in a row that count as idle.
const PERIODS: usize = 3;

/// A running router. Dropping it ends it.
pub struct Host {
    process: Process,
    address: String,
    interrupt: Interrupt,
}

impl Host {
    /// Starts a router that accepts `connections`, with `more` configuration values.
    pub fn start(roles: Roles<'_>, connections: usize, more: &[&str]) -> Result<Host, Failure> {
        let (process, addresses) = listening(roles, |endpoint| {
            let mut program = roles.router(endpoint);
            let places = connections + 100;
            let limit = format!("transport/unicast/max_sessions:{places}");
            // all measured clients come from one address
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

    /// Returns the address for its clients to dial.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the resources it has used and holds.
    pub fn footprint(&self) -> Footprint {
        Footprint::of(self.process.pid())
    }

    /// Returns the CPU time it has used so far.
    pub fn cpu(&self) -> Duration {
        self.footprint().cpu.unwrap_or_default()
    }

    /// Returns the CPU time used since [`Host::cpu`] returned `earlier`. The value may fall by some
    /// ms when threads end.
    pub fn cpu_since(&self, earlier: Duration) -> Duration {
        self.cpu().saturating_sub(earlier)
    }

    /// Returns its resident memory in bytes.
    pub fn memory(&self) -> f64 {
        self.footprint().rss_kib.unwrap_or_default() as f64 * 1024.0
    }

    /// Returns an error if it has ended.
    pub fn check(&mut self) -> Result<(), Failure> {
        if self.process.is_running() {
            return Ok(());
        }
        Err(self.process.died())
    }

    /// Waits until it is idle, at most `patience`.
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

/// The number of quiet periods of a process.
struct Quiet {
    /// The CPU time at the last reading.
    used: Duration,
    /// The number of periods in a row with little more.
    periods: usize,
}

impl Quiet {
    fn since(used: Duration) -> Quiet {
        Quiet { used, periods: 0 }
    }

    /// Adds a reading of the CPU time. The reading may be less than the last one: the account of a
    /// thread that ends is partly lost.
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
