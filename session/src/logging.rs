// SPDX-License-Identifier: MIT OR Apache-2.0

//! Destination of a session's log, for programs that do not choose it themselves.

#[cfg(feature = "logs")]
use lines::write;

/// Writes the log to standard error, filtered by the environment variable `RUST_LOG` (`debug`,
/// `zonda=trace`), or by `fallback` where that is not set or no filter. A program that has a
/// subscriber of `tracing` already keeps it. Without the feature `logs` it does nothing.
///
/// ```
/// zonda::init_log_from_env_or("error");
/// ```
pub fn init_log_from_env_or<S: AsRef<str>>(fallback: S) {
    let filter = std::env::var("RUST_LOG").unwrap_or_default();
    if filter.is_empty() || !write(&filter) {
        write(fallback.as_ref());
    }
}

/// Writes the log to standard error, filtered by the environment variable `RUST_LOG`, if it is set;
/// see [`init_log_from_env_or`].
///
/// ```
/// zonda::try_init_log_from_env();
/// ```
pub fn try_init_log_from_env() {
    if let Ok(filter) = std::env::var("RUST_LOG") {
        write(&filter);
    }
}

#[cfg(feature = "logs")]
mod lines {
    use std::io::{self, IsTerminal};

    use tracing_subscriber::EnvFilter;

    /// Installs a writer of the records that pass the filter; returns false if the text is no
    /// filter.
    pub fn write(filter: &str) -> bool {
        let Ok(filter) = EnvFilter::try_new(filter) else {
            return false;
        };
        // An error means that the program has a subscriber already.
        let _ = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(io::stderr)
            .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
            .log_internal_errors(false)
            .try_init();
        true
    }
}

/// Writes no log, as the feature `logs` is off.
#[cfg(not(feature = "logs"))]
fn write(_filter: &str) -> bool {
    true
}
