// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calling thread's cpus and scheduling class on Linux, where both belong to the thread.

use std::io;

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_setaffinity};
use thread_priority::{
    Error, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

use crate::Scheduling;

/// Binds the calling thread to these cpus.
pub fn bind(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Moves the calling thread to a scheduling class.
pub fn schedule(class: Scheduling) -> io::Result<()> {
    match class {
        Scheduling::Inherit => Ok(()),
        Scheduling::Fifo(priority) => real_time(priority, RealtimeThreadSchedulePolicy::Fifo),
        Scheduling::RoundRobin(priority) => {
            real_time(priority, RealtimeThreadSchedulePolicy::RoundRobin)
        }
        // Process 0 is the calling thread: the kernel keeps a niceness per thread.
        Scheduling::Nice(niceness) => Ok(setpriority_process(None, niceness.into())?),
    }
}

fn real_time(priority: u8, policy: RealtimeThreadSchedulePolicy) -> io::Result<()> {
    let priority = ThreadPriorityValue::try_from(priority).map_err(io::Error::other)?;
    set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Crossplatform(priority),
        ThreadSchedulePolicy::Realtime(policy),
    )
    .map_err(|error| match error {
        Error::OS(code) => io::Error::from_raw_os_error(code),
        other => io::Error::other(format!("{other:?}")),
    })
}

/// Returns the cpus that the calling thread may run on.
#[cfg(test)]
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect())
}
