// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ctrl-C. The first SIGINT or SIGTERM asks the program to finish, a second one ends it at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// How soon a waiting program notices the signal.
const NOTICE: Duration = Duration::from_millis(50);

/// Whether the user has asked the program to end. Cheap to clone and to ask.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes over SIGINT and SIGTERM.
    pub fn listen() -> io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // in this order, the first signal finds the flag still down and does not exit
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Interrupt(asked))
    }

    /// An interrupt that no signal raises.
    pub fn never() -> Self {
        Interrupt(Arc::new(AtomicBool::new(false)))
    }

    /// Asks the program to end, as a signal would.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True from the first signal on.
    pub fn happened(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Blocks until the first signal.
    pub fn wait(&self) {
        while !self.happened() {
            thread::sleep(NOTICE);
        }
    }

    /// Blocks until `when` or the first signal, whichever comes first; true if it was the signal.
    pub fn wait_until(&self, when: Instant) -> bool {
        loop {
            let left = when.saturating_duration_since(Instant::now());
            if self.happened() || left.is_zero() {
                return self.happened();
            }
            thread::sleep(left.min(NOTICE));
        }
    }
}
