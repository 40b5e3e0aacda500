// SPDX-License-Identifier: MIT OR Apache-2.0

//! The signals of the daemon. Of SIGINT and SIGTERM the first asks it to drain, the second ends it at once. SIGHUP has it
//! read the list of users again, SIGUSR1 print its state.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGUSR1};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The request that a signal stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// End.
    End,
    /// Read again what can be read again.
    #[cfg_attr(not(unix), allow(dead_code, reason = "there is no such signal"))]
    Reload,
    /// Say how it is.
    #[cfg_attr(not(unix), allow(dead_code, reason = "there is no such signal"))]
    Report,
}

/// The signals, taken over.
pub struct Signals {
    #[cfg(unix)]
    signals: signal_hook::iterator::Signals,
    #[cfg(not(unix))]
    asked: Arc<AtomicBool>,
}

impl Signals {
    /// Takes over SIGHUP and SIGUSR1, which end a process that does not: before opening, which may take long.
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

    /// Takes over SIGINT and SIGTERM as well.
    ///
    /// # Errors
    /// The errors of the system.
    pub fn listen(&mut self) -> io::Result<()> {
        #[cfg(unix)]
        let asked = Arc::new(AtomicBool::new(false));
        #[cfg(not(unix))]
        let asked = Arc::clone(&self.asked);
        for signal in [SIGINT, SIGTERM] {
            // in this order, the first signal finds the flag still down and does not exit
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
