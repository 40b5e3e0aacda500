// SPDX-License-Identifier: MIT OR Apache-2.0
//! The resources of a process, read in `/proc`: CPU time, context switches, threads and memory. A
//! value is absent if the system does not report it.

use std::fs;
use std::time::Duration;

use super::cpu::cpu_time;

/// The resources of a process at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Footprint {
    /// CPU time of all threads so far.
    pub cpu: Option<Duration>,
    /// Context switches of its threads so far.
    pub switches: Option<ContextSwitches>,
    /// Number of threads now.
    pub threads: Option<u64>,
    /// Resident memory now, in KiB.
    pub rss_kib: Option<u64>,
    /// Peak resident memory, in KiB.
    pub peak_kib: Option<u64>,
}

/// Context switches of both kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContextSwitches {
    /// Switches of a thread that went to sleep, and so had to be woken.
    pub sleeps: u64,
    /// Switches of a thread that was preempted.
    pub preemptions: u64,
}

impl Footprint {
    /// Reads the resources of a process.
    pub fn of(pid: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        Footprint {
            cpu: cpu_time(pid),
            switches: switches(pid),
            threads: field(&status, "Threads:"),
            rss_kib: field(&status, "VmRSS:"),
            peak_kib: field(&status, "VmHWM:"),
        }
    }
}

/// Returns the context switches of the threads of a process so far.
pub fn switches(pid: u32) -> Option<ContextSwitches> {
    let mut all = None;
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        // the account of a thread that has just ended is lost
        let Ok(status) = fs::read_to_string(task.path().join("status")) else {
            continue;
        };
        let sum: &mut ContextSwitches = all.get_or_insert_default();
        sum.sleeps += field(&status, "voluntary_ctxt_switches:")?;
        sum.preemptions += field(&status, "nonvoluntary_ctxt_switches:")?;
    }
    all
}

/// Returns the number after a name at the beginning of a line of a process's status.
pub fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|l| l.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_text_is_understood() {
        let status = "Name:\tx\nVmRSS:\t    1204 kB\nThreads:\t3\nvoluntary_ctxt_switches:\t42\n";
        assert_eq!(field(status, "VmRSS:"), Some(1204));
        assert_eq!(field(status, "Threads:"), Some(3));
        assert_eq!(field(status, "voluntary_ctxt_switches:"), Some(42));
        assert_eq!(field("Name:\tx\n", "Threads:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_a_footprint() {
        let own = Footprint::of(std::process::id());
        assert!(own.threads.is_some_and(|t| t > 0) && own.rss_kib.is_some_and(|r| r > 0));
        assert!(own.peak_kib >= own.rss_kib);
        assert!(own.switches.is_some());
        assert_eq!(Footprint::of(u32::MAX), Footprint::default());
    }
}
