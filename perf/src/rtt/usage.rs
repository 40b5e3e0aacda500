// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resources used by a run: CPU time and sleeps of its threads, as far as the system reports them.

use std::fs;
use std::time::Duration;

use crate::cpu::{coarse_cpu_time, cpu_time};
use crate::footprint::{field, switches};

/// The maximum number of threads that are read one by one.
const THREADS_MAX: u64 = 64;

/// A reading, or the difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU time of all threads.
    pub cpu: Option<Duration>,
    /// Sleeps of threads, each of which required a wake-up.
    pub sleeps: Option<u64>,
}

impl Usage {
    /// Reads the resources of this process. Reading more than some dozens of threads takes longer
    /// than a short run: then the CPU time is coarse and the sleeps are unknown.
    pub fn now() -> Self {
        let process = std::process::id();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        match field(&status, "Threads:") {
            Some(threads) if threads > THREADS_MAX => Usage {
                cpu: coarse_cpu_time(process),
                sleeps: None,
            },
            _ => Usage {
                cpu: cpu_time(process),
                sleeps: switches(process).map(|switches| switches.sleeps),
            },
        }
    }

    /// Returns the difference from `before` to this reading.
    pub fn since(&self, before: &Usage) -> Usage {
        let both = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        let nanos = |d: Option<Duration>| d.map(|d| d.as_nanos() as u64);
        Usage {
            cpu: both(nanos(self.cpu), nanos(before.cpu)).map(Duration::from_nanos),
            sleeps: both(self.sleeps, before.sleeps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_need_both_ends() {
        let at = |cpu: Option<u64>, sleeps| Usage {
            cpu: cpu.map(Duration::from_nanos),
            sleeps,
        };
        let used = at(Some(50), Some(7)).since(&at(Some(20), Some(5)));
        assert_eq!(used, at(Some(30), Some(2)));
        assert_eq!(at(None, Some(7)).since(&at(Some(20), None)), at(None, None));
    }
}
