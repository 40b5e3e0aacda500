// SPDX-License-Identifier: MIT OR Apache-2.0

//! SIGINT and SIGTERM: the first asks the daemon to drain, the second ends it at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The two signals, taken over.
pub struct Shutdown {
    #[cfg(unix)]
    signals: signal_hook::iterator::Signals,
    #[cfg(not(unix))]
    asked: Arc<AtomicBool>,
}

impl Shutdown {
    /// Takes the signals over.
    pub fn listen() -> io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // in this order, the first signal finds the flag still down and does not exit
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Shutdown {
            #[cfg(unix)]
            signals: signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?,
            #[cfg(not(unix))]
            asked,
        })
    }

    /// Blocks until the first signal.
    #[cfg(unix)]
    pub fn wait(mut self) {
        self.signals.forever().next();
    }

    /// Blocks until the first signal.
    #[cfg(not(unix))]
    pub fn wait(self) {
        while !self.asked.load(std::sync::atomic::Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
}
