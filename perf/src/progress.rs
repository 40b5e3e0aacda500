// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress of a run on standard error: a bar on a terminal, lines elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Progress over a known number of steps, shown on standard error: a bar on a terminal, a line for each step elsewhere.
pub struct Progress {
    bar: Option<ProgressBar>,
    steps: usize,
    done: usize,
}

impl Progress {
    /// Creates a progress without any step done.
    pub fn new(steps: usize) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(steps as u64);
            let style =
                ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} ({elapsed}, {eta} left)");
            bar.set_style(style.expect("the template is a constant"));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Progress {
            bar,
            steps,
            done: 0,
        }
    }

    /// Sets `what` as the current measurement.
    pub fn begin(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_owned());
        }
    }

    /// Sets the number of finished steps, and `what` as the current one.
    pub fn reach(&mut self, done: usize, what: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_position(done as u64);
                bar.set_message(what.to_owned());
            }
            None if done != self.done => {
                // a closed standard error is no reason to stop
                let _ = writeln!(stderr(), "{}/{} done; {what}", done, self.steps);
            }
            None => {}
        }
        self.done = done;
    }

    /// Finishes one step with its outcome.
    pub fn step(&mut self, what: &str, outcome: &str) {
        self.done += 1;
        match &self.bar {
            Some(bar) => bar.inc(1),
            None => {
                // a closed standard error is no reason to stop
                let _ = writeln!(stderr(), "{}/{} {what}: {outcome}", self.done, self.steps);
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
