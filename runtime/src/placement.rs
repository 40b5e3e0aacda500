// SPDX-License-Identifier: MIT OR Apache-2.0
//! Placement and scheduling of a runtime's threads: checked once when the runtime starts, then
//! applied by each thread first of all.

#[cfg(target_os = "linux")]
#[path = "placement/linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "placement/none.rs"]
mod system;

use std::io;
use std::thread;

use crate::{RuntimeOptions, Scheduling};

/// The cpus and the scheduling class of a runtime's threads, checked against the system.
#[derive(Debug, Clone)]
pub struct Placement {
    cpus: Vec<usize>,
    scheduling: Scheduling,
}

impl Placement {
    /// Tries the options on a thread that ends at once.
    ///
    /// A scheduling class that the system refuses is ignored with a warning.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a cpu that does not exist or that the process may not use,
    /// [`io::ErrorKind::Unsupported`] where threads cannot be bound to cpus.
    pub fn check(options: &RuntimeOptions) -> io::Result<Placement> {
        let mut placement = Placement {
            cpus: options.cpus.clone(),
            scheduling: options.scheduling,
        };
        if placement.is_default() {
            return Ok(placement);
        }
        // try the cpus (an error) and the class (a warning) on a thread of its own
        let wanted = placement.clone();
        let trial = thread::Builder::new()
            .name("zonda-trial".into())
            .spawn(move || {
                wanted.cpus.iter().try_for_each(|&cpu| bind_to(cpu))?;
                Ok(system::schedule(wanted.scheduling))
            })?
            .join();
        let scheduled: io::Result<()> =
            trial.unwrap_or_else(|_| Err(io::Error::other("a trial thread panicked")))?;
        if let Err(error) = scheduled {
            let wanted = placement.scheduling;
            tracing::warn!("scheduling {wanted} is refused by the system ({error}): not used");
            placement.scheduling = Scheduling::Inherit;
        }
        Ok(placement)
    }

    /// Moves the calling thread to its cpus and its class. [`Placement::check`] has tried both, so
    /// a failure is exceptional: it is logged, and the thread runs where it is.
    pub fn apply(&self) {
        if !self.cpus.is_empty()
            && let Err(error) = system::bind(&self.cpus)
        {
            tracing::warn!("a thread cannot be bound to cpus {:?}: {error}", self.cpus);
        }
        if let Err(error) = system::schedule(self.scheduling) {
            tracing::warn!(
                "a thread cannot be scheduled as {}: {error}",
                self.scheduling
            );
        }
    }

    /// Returns true if there is nothing to apply.
    pub fn is_default(&self) -> bool {
        self.cpus.is_empty() && self.scheduling == Scheduling::Inherit
    }
}

/// Checks that a runtime of this process may run on these cpus; an empty list means any.
///
/// # Errors
/// Fails as the start of a runtime with them does, at the first cpu that does not exist or that
/// this process may not use.
pub fn may_use(cpus: &[usize]) -> io::Result<()> {
    let options = RuntimeOptions {
        cpus: cpus.to_vec(),
        ..RuntimeOptions::default()
    };
    Placement::check(&options).map(drop)
}

/// Binds the calling thread to one cpu, with an error that names it.
fn bind_to(cpu: usize) -> io::Result<()> {
    system::bind(&[cpu]).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => {
            let text = format!("cpu {cpu} does not exist or this process may not use it");
            io::Error::new(io::ErrorKind::InvalidInput, text)
        }
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cpus: &[usize], scheduling: Scheduling) -> io::Result<Placement> {
        Placement::check(&RuntimeOptions {
            cpus: cpus.to_vec(),
            scheduling,
            ..RuntimeOptions::default()
        })
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn cpus_are_checked_and_applied() {
        for wrong in [&[1023][..], &[100_000][..], &[usize::MAX][..]] {
            let error = check(wrong, Scheduling::Inherit).expect_err("no such cpu");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert_eq!(
                error.to_string(),
                format!(
                    "cpu {} does not exist or this process may not use it",
                    wrong[0]
                )
            );
        }
        let before = system::allowed().expect("told");
        let cpu = before[0];
        let placement = check(&[cpu], Scheduling::Nice(19)).expect("accepted");
        assert!(!placement.is_default());
        // The check leaves the calling thread unchanged.
        assert_eq!(system::allowed().expect("told"), before);
        let bound = thread::spawn(move || {
            placement.apply();
            system::allowed()
        });
        let bound = bound.join().expect("no panic").expect("told");
        assert_eq!(bound, [cpu]);
    }

    #[test]
    fn a_class_that_is_refused_is_no_error() {
        for class in [
            Scheduling::Fifo(1),
            Scheduling::RoundRobin(99),
            Scheduling::Nice(-20),
        ] {
            let placement = check(&[], class).expect("a warning at most");
            thread::spawn(move || placement.apply())
                .join()
                .expect("no panic");
        }
    }
}
