// SPDX-License-Identifier: MIT OR Apache-2.0

//! The signals of the daemon. The first SIGINT or SIGTERM drains the node, the second ends the
//! process at once. On SIGHUP the daemon reloads rules and users, on SIGUSR1 it prints its state.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGUSR1};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The request that a signal makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Drain the node and end.
    End,
    /// Reload what can be reloaded.
    #[cfg_attr(not(unix), allow(dead_code, reason = "there is no such signal"))]
    Reload,
    /// Print the state.
    #[cfg_attr(not(unix), allow(dead_code, reason = "there is no such signal"))]
    Report,
}

/// Installed signal handlers.
pub struct Signals {
    #[cfg(unix)]
    signals: signal_hook::iterator::Signals,
    #[cfg(not(unix))]
    asked: Arc<AtomicBool>,
}

impl Signals {
    /// Handles SIGHUP and SIGUSR1, whose default action ends the process. Called before the node
    /// opens, which may take long.
    ///
    /// # Errors
    /// The errors of the system.
    pub fn hold() -> io::Result<Self> {
        Ok(Signals {
            #[cfg(unix)]
            signals: signal_hook::iterator::Signals::new([SIGHUP, SIGUSR1])?,
            #[cfg(not(unix))]
            asked: Arc::default(),
        })
    }

    /// Handles SIGINT and SIGTERM, too.
    ///
    /// # Errors
    /// The errors of the system.
    pub fn listen(&mut self) -> io::Result<()> {
        #[cfg(unix)]
        let asked = Arc::new(AtomicBool::new(false));
        #[cfg(not(unix))]
        let asked = Arc::clone(&self.asked);
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the first signal runs the shutdown handler while the flag is still
            // unset, so it does not exit.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
            #[cfg(unix)]
            self.signals.add_signal(signal)?;
        }
        Ok(())
    }

    /// Blocks until the next signal.
    #[cfg(unix)]
    pub fn next(&mut self) -> Request {
        match self.signals.forever().next() {
            Some(SIGHUP) => Request::Reload,
            Some(SIGUSR1) => Request::Report,
            _ => Request::End,
        }
    }

    /// Blocks until the first signal.
    #[cfg(not(unix))]
    pub fn next(&mut self) -> Request {
        while !self.asked.load(std::sync::atomic::Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        Request::End
    }
}
