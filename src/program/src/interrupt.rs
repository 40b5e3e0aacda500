// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ctrl-C: the first SIGINT or SIGTERM requests the program to finish, a second one ends it at
//! once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::Failure;

/// Delay within which a waiting program notices the signal.
const NOTICE: Duration = Duration::from_millis(50);

/// The user's request to end the program. Cheap to clone and to check.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    /// Set once a signal came.
    signalled: Arc<AtomicBool>,
    /// Set once the program itself has reached its end.
    raised: Arc<AtomicBool>,
}

impl Interrupt {
    /// Installs the handlers of SIGINT and SIGTERM.
    pub fn listen() -> io::Result<Self> {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM] {
            // in this order, the first signal finds the flag still down and does not exit
            let again = Arc::clone(&interrupt.signalled);
            flag::register_conditional_shutdown(signal, 128 + signal, again)?;
            flag::register(signal, Arc::clone(&interrupt.signalled))?;
        }
        Ok(interrupt)
    }

    /// Requests the end of the program, as the first signal would.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// Returns true from the first signal on, or once raised.
    pub fn happened(&self) -> bool {
        self.signalled.load(Ordering::Relaxed) || self.raised.load(Ordering::Relaxed)
    }

    /// Fails if the program was requested to end.
    pub fn check(&self) -> Result<(), Failure> {
        match self.happened() {
            true => Err(Failure::Run("interrupted".into())),
            false => Ok(()),
        }
    }

    /// Blocks until `when`; fails if the program was requested to end before.
    pub fn rest_until(&self, when: Instant) -> Result<(), Failure> {
        self.wait_until(when);
        self.check()
    }

    /// Blocks until the first signal.
    pub fn wait(&self) {
        while !self.happened() {
            thread::sleep(NOTICE);
        }
    }

    /// Blocks until `when` or the first signal, whichever comes first; returns true if it was the
    /// signal.
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
