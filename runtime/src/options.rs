// SPDX-License-Identifier: MIT OR Apache-2.0
//! Start options of a runtime: number, names, placement and scheduling of its threads.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;
use std::{error, fmt};

/// Start options of a runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeOptions {
    /// Number of worker threads, at least 1. `None` (default): for `tokio` one per available core;
    /// for `smol` one. Ignored by `tokio-current` and `threads`. The threads of `async-std` are
    /// counted by `ASYNC_STD_THREAD_COUNT`.
    pub threads: Option<usize>,
    /// Name of the one thread, or of the worker threads with `-N` appended. Default `zonda-net`.
    pub thread_name: String,
    /// The cpus, by number from 0, that the runtime's threads may run on; empty (default): those of
    /// the thread that starts the runtime. Linux only: on other systems a list that is not empty is
    /// refused.
    pub cpus: Vec<usize>,
    /// The scheduling class of the runtime's threads. Default: inherited from the thread that
    /// starts the runtime.
    pub scheduling: Scheduling,
    /// True if [`crate::RuntimeKind::Uring`] fails where the system has no usable io_uring, instead
    /// of falling back to another runtime with a warning. Default: fall back.
    pub uring_required: bool,
    /// The limit of the busy poll: before a thread sleeps until a peer sends something, it polls
    /// the socket for this long after the peer's last bytes. A message that arrives within this
    /// time needs no wake-up, but the poll occupies one processor for each link. Zero (default):
    /// the thread sleeps at once. For `threads`, `tokio` and `tokio-current` only: other runtimes
    /// warn once and sleep.
    pub spin: Duration,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        RuntimeOptions {
            threads: None,
            thread_name: "zonda-net".to_owned(),
            cpus: Vec::new(),
            scheduling: Scheduling::Inherit,
            uring_required: false,
            spin: Duration::ZERO,
        }
    }
}

/// The scheduling class of a thread.
///
/// Its text form is `inherit`, `fifo:N`, `round-robin:N` or `nice:N`.
///
/// ```
/// use zonda_runtime::Scheduling;
///
/// assert_eq!("fifo:10".parse(), Ok(Scheduling::Fifo(10)));
/// assert_eq!(Scheduling::Nice(-5).to_string(), "nice:-5");
/// assert!("fifo:0".parse::<Scheduling>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Scheduling {
    /// Inherited from the thread that starts the runtime.
    #[default]
    Inherit,
    /// Real time, first in, first out, with a priority from 1 to 99. The thread runs until it waits
    /// for something.
    Fifo(u8),
    /// Real time, round-robin with other threads of the same priority, from 1 to 99.
    RoundRobin(u8),
    /// The ordinary class with a niceness from -20 (urgent) to 19 (lenient).
    Nice(i8),
}

impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scheduling::Inherit => f.write_str("inherit"),
            Scheduling::Fifo(priority) => write!(f, "fifo:{priority}"),
            Scheduling::RoundRobin(priority) => write!(f, "round-robin:{priority}"),
            Scheduling::Nice(niceness) => write!(f, "nice:{niceness}"),
        }
    }
}

/// The error of a text that names no scheduling class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidScheduling {
    text: String,
}

impl fmt::Display for InvalidScheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "scheduling \"{}\" is none of inherit, fifo:1 to fifo:99, round-robin:1 to round-robin:99, nice:-20 to nice:19",
            self.text
        )
    }
}

impl error::Error for InvalidScheduling {}

/// Parses a decimal number that must lie in the range.
fn within<T: FromStr + PartialOrd>(range: RangeInclusive<T>, text: &str) -> Option<T> {
    text.parse().ok().filter(|n| range.contains(n))
}

impl FromStr for Scheduling {
    type Err = InvalidScheduling;

    fn from_str(text: &str) -> Result<Self, InvalidScheduling> {
        let (class, number) = text.split_once(':').unwrap_or((text, ""));
        let found = match class {
            "inherit" if text == class => Some(Scheduling::Inherit),
            "fifo" => within(1..=99, number).map(Scheduling::Fifo),
            "round-robin" => within(1..=99, number).map(Scheduling::RoundRobin),
            "nice" => within(-20..=19, number).map(Scheduling::Nice),
            _ => None,
        };
        found.ok_or_else(|| InvalidScheduling { text: text.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::Scheduling::{self, Fifo, Inherit, Nice, RoundRobin};

    #[test]
    fn each_class_is_read_as_it_is_written() {
        for class in [
            Inherit,
            Fifo(1),
            Fifo(99),
            RoundRobin(7),
            Nice(-20),
            Nice(19),
        ] {
            assert_eq!(class.to_string().parse(), Ok(class));
        }
        for wrong in [
            "", "fifo", "fifo:", "fifo:0", "fifo:100", "rr:1", "nice:20", "nice:-21", "inherit:",
        ] {
            let error = wrong.parse::<Scheduling>().expect_err(wrong).to_string();
            assert!(
                error.starts_with(&format!("scheduling \"{wrong}\" is none of")),
                "{error}"
            );
        }
    }
}
