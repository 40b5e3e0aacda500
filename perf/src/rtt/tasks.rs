// SPDX-License-Identifier: MIT OR Apache-2.0
//! Background tasks of the ping. The studies' own are called CPU-bound but multiply once and sleep
//! a millisecond: a thousand of them are a storm of timers. The other kind really computes, a
//! chosen share of one processor for all tasks together, whatever the accuracy of the runtime's
//! sleeps.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::native::Native;

/// The sleep of a task of either kind.
const SLEEP: Duration = Duration::from_millis(1);
/// The time a task computes before it yields.
const SLICE: Duration = Duration::from_micros(20);
/// The maximum number of slices a task can be behind; it skips earlier ones.
const BEHIND_MAX: u64 = 250;
/// Steps of one measurement of the processor's speed, and the number of measurements.
const CALIBRATION: (u64, usize) = (200_000, 7);

/// The work of a task between its sleeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// One multiplication, as published.
    Multiply,
    /// Computation of the task's part of a share of one processor.
    Compute(Load),
}

/// A task's part of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Steps that take one slice on this processor.
    steps: u64,
    /// Time from one slice to the next.
    period: Duration,
}

impl Load {
    /// Returns the part of one of `tasks` tasks that together use `share` of one processor, which
    /// makes `steps_per_slice` steps in a slice.
    fn new(share: f64, tasks: usize, steps_per_slice: u64) -> Self {
        Load {
            steps: steps_per_slice,
            period: SLICE.mul_f64(tasks.max(1) as f64 / share),
        }
    }

    /// Measures the processor's speed first, which takes some milliseconds; see [`Load`].
    pub fn calibrated(share: f64, tasks: usize) -> Self {
        Self::new(share, tasks, steps_per_slice())
    }

    /// Returns the number of slices due after `elapsed`.
    fn owed(&self, elapsed: Duration) -> u64 {
        (elapsed.as_nanos() / self.period.as_nanos().max(1)) as u64
    }
}

/// Runs a background task for ever.
pub async fn beside<N: Native>(work: Work) {
    match work {
        Work::Multiply => multiply::<N>().await,
        Work::Compute(load) => compute::<N>(load).await,
    }
}

async fn multiply<N: Native>() {
    let mut x = 1_usize;
    loop {
        x = black_box(x.wrapping_mul(2));
        N::sleep(SLEEP).await;
    }
}

async fn compute<N: Native>(load: Load) {
    let start = Instant::now();
    let mut done = 0;
    loop {
        let owed = load.owed(start.elapsed());
        done = done.max(owed.saturating_sub(BEHIND_MAX));
        while done < owed {
            steps(load.steps);
            done += 1;
            N::yield_now().await;
        }
        N::sleep(SLEEP).await;
    }
}

/// Computes without memory access; no compiler can shorten the work.
fn steps(count: u64) {
    let mut x = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..count {
        x = black_box(x.wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(17));
    }
    black_box(x);
}

/// Returns the fastest of several measurements: slower ones were interrupted.
fn steps_per_slice() -> u64 {
    let (count, times) = CALIBRATION;
    let measure = |_| {
        let start = Instant::now();
        steps(count);
        start.elapsed()
    };
    let fastest = (0..times).map(measure).min().unwrap_or(SLICE);
    let per_slice = count as f64 * SLICE.as_secs_f64() / fastest.as_secs_f64().max(1e-9);
    (per_slice as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_divided_among_the_tasks() {
        let half = Load::new(0.5, 1, 10);
        assert_eq!(half.period, Duration::from_micros(40));
        assert_eq!(half.owed(Duration::from_millis(1)), 25);
        let many = Load::new(0.5, 1000, 10);
        assert_eq!(many.period, Duration::from_millis(40));
        assert_eq!(many.owed(Duration::from_millis(39)), 0);
        assert_eq!(many.owed(Duration::from_millis(40)), 1);
    }

    #[test]
    fn the_processor_makes_some_steps() {
        assert!(steps_per_slice() >= 1);
    }
}
