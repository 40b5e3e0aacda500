// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPU time of a process: from the scheduler's account in nanoseconds where Linux keeps one, else
//! from its clock ticks, and unknown on other systems.

use std::fs;
use std::time::Duration;

/// The rate of the ticks that Linux reports to programs, whatever the kernel's own timer does.
const TICKS_PER_SECOND: u64 = 100;

/// Returns the CPU time of all threads of `pid` so far; `None` if it is unknown. The time is exact
/// while the threads live: the account of a thread that ends is lost, and from then on the
/// process's counts, which is rounded down to clock ticks.
pub fn cpu_time(pid: u32) -> Option<Duration> {
    scheduled(pid).max(coarse_cpu_time(pid))
}

fn scheduled(pid: u32) -> Option<Duration> {
    let mut nanos = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        if let Ok(text) = fs::read_to_string(task.ok()?.path().join("schedstat")) {
            nanos += schedstat_nanos(&text)?;
        }
    }
    (nanos > 0).then(|| Duration::from_nanos(nanos))
}

/// Returns the CPU time in steps of a clock tick, at a small cost independent of the number of
/// threads.
pub fn coarse_cpu_time(pid: u32) -> Option<Duration> {
    let ticks = stat_ticks(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?;
    Some(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// Returns the first field of `schedstat`: time spent on a CPU.
fn schedstat_nanos(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Returns user and system time of `stat`, the 14th and 15th field. The second field, the program's
/// name in parentheses, may contain spaces and parentheses.
fn stat_ticks(text: &str) -> Option<u64> {
    let mut after_name = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u64 = after_name.next()?.parse().ok()?;
    let system: u64 = after_name.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_texts_are_understood() {
        assert_eq!(schedstat_nanos("123456789 42 7\n"), Some(123_456_789));
        assert_eq!(schedstat_nanos(""), None);
        let stat = "77 (a) b (c)) S 1 77 77 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 3 0 1000";
        assert_eq!(stat_ticks(stat), Some(300));
        assert_eq!(stat_ticks("77 (x"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_work_of_threads_that_have_ended_still_counts() {
        let pid = std::process::id();
        let before = cpu_time(pid).expect("this is Linux");
        std::thread::spawn(|| {
            let begin = std::time::Instant::now();
            while begin.elapsed() < Duration::from_secs(1) {
                std::hint::black_box((0..10_000u64).sum::<u64>());
            }
        })
        .join()
        .expect("it works and ends");
        let used = cpu_time(pid).expect("this is Linux") - before;
        assert!(used >= Duration::from_millis(160), "{used:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn work_shows_up() {
        let pid = std::process::id();
        let before = cpu_time(pid).expect("this is Linux");
        let start = std::time::Instant::now();
        let limit = Duration::from_secs(20);
        while cpu_time(pid).expect("this is Linux") < before + Duration::from_millis(20) {
            assert!(start.elapsed() < limit, "20 ms of work never appeared");
            std::hint::black_box((0..10_000u64).sum::<u64>());
        }
    }
}
