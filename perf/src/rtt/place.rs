// SPDX-License-Identifier: MIT OR Apache-2.0
//! Placement of a side on the machine: processors and priority, and the machine's load.

use std::fs;
use std::io;
use std::str::FromStr;

use serde_json::{Value, json};

/// Processors by number, such as `0,2-3`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus(pub Vec<usize>);

/// The highest processor number that is accepted.
const CPU_MAX: usize = 1023;

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected processors between 0 and {CPU_MAX}, such as 0 or 0,2-3");
        let number = |n: &str| {
            n.parse::<usize>()
                .ok()
                .filter(|n| *n <= CPU_MAX)
                .ok_or_else(wrong)
        };
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to) = (number(from)?, number(to)?);
            if from > to {
                return Err(wrong());
            }
            cpus.extend(from..=to);
        }
        Ok(Cpus(cpus))
    }
}

/// Binds this thread, and the threads it starts from now on, to these processors.
#[cfg(target_os = "linux")]
pub fn pin(cpus: &Cpus) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    cpus.0.iter().for_each(|cpu| set.set(*cpu));
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// Fails: the system cannot do this.
#[cfg(not(target_os = "linux"))]
pub fn pin(_: &Cpus) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns the processors that this process may use; none if they are unknown.
#[cfg(target_os = "linux")]
pub fn allowed() -> Cpus {
    let set = rustix::thread::sched_getaffinity(None);
    let cpus = set.map(|set| (0..=CPU_MAX).filter(|cpu| set.is_set(*cpu)).collect());
    Cpus(cpus.unwrap_or_default())
}

/// Returns no processors: they are unknown on this system.
#[cfg(not(target_os = "linux"))]
pub fn allowed() -> Cpus {
    Cpus::default()
}

/// Sets the priority of this thread and those it starts: -20 is the highest, 19 the lowest.
#[cfg(target_os = "linux")]
pub fn set_nice(nice: i32) -> io::Result<()> {
    Ok(rustix::process::setpriority_process(None, nice)?)
}

/// Fails: the system cannot do this.
#[cfg(not(target_os = "linux"))]
pub fn set_nice(_: i32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns conditions that may distort the figures: the governor of the clock rate, and the share
/// of time spent waiting for a processor.
pub fn conditions() -> Value {
    let governor = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let pressure = fs::read_to_string("/proc/pressure/cpu").ok();
    json!({
        "governor": governor.ok().map(|g| g.trim().to_owned()),
        "cpus_allowed": allowed().0,
        "cpu_pressure_percent": pressure.as_deref().and_then(waiting),
    })
}

/// Returns the share of the last ten seconds in which a program waited for a processor, in percent.
fn waiting(pressure: &str) -> Option<f64> {
    let some = pressure.lines().find_map(|l| l.strip_prefix("some "))?;
    let mut fields = some.split_whitespace();
    fields.find_map(|f| f.strip_prefix("avg10=")?.parse().ok())
}

/// Returns the CPU time that the whole machine has used so far, in seconds, including time stolen
/// by other guests of the same hardware; `None` if it is unknown.
pub fn machine_busy() -> Option<f64> {
    busy(&fs::read_to_string("/proc/stat").ok()?)
}

fn busy(stat: &str) -> Option<f64> {
    /// The rate of the ticks that the kernel reports.
    const TICKS: f64 = 100.0;
    let all = stat.lines().find_map(|l| l.strip_prefix("cpu "))?;
    let mut ticks = all
        .split_whitespace()
        .map(|t| t.parse::<u64>().unwrap_or(0));
    let idle_at = [3, 4];
    let first = ticks.by_ref().take(8).enumerate();
    let used: u64 = first
        .filter(|(at, _)| !idle_at.contains(at))
        .map(|(_, t)| t)
        .sum();
    Some(used as f64 / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors() {
        let cpus = |text: &str| text.parse::<Cpus>().map(|c| c.0);
        assert_eq!(cpus("0"), Ok(vec![0]));
        assert_eq!(cpus("0,2-4"), Ok(vec![0, 2, 3, 4]));
        for wrong in ["", "a", "3-1", "0,", "5000", "-1"] {
            assert!(cpus(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_kernels_texts_are_understood() {
        let pressure = "some avg10=12.50 avg60=1.00 avg300=0.10 total=1\nfull avg10=0.00\n";
        assert_eq!(waiting(pressure), Some(12.5));
        assert_eq!(waiting(""), None);
        assert_eq!(
            busy("cpu  100 10 50 9999 88 1 2 37 0 0\ncpu0 1\n"),
            Some(2.0)
        );
        assert_eq!(busy(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_stays_where_it_is_put() {
        let cpu = Cpus(vec![allowed().0[0]]);
        let wanted = cpu.clone();
        let thread = std::thread::spawn(move || pin(&wanted).map(|()| allowed()));
        let allowed = thread.join().expect("no panic").expect("its own processor");
        assert_eq!(allowed, cpu);
    }
}
