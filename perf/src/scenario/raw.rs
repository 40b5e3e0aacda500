// SPDX-License-Identifier: MIT OR Apache-2.0
//! The raw round trips of `perf rtt`: the parameters of the studies. Rates are written as there: 1,
//! 10, 1k, 1M, inf.

use std::fmt;

use clap::ValueEnum;

use super::rates::{self, Pace, count};

/// Transport of the messages.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// A stream without Nagle's delay
    Tcp,
    /// Datagrams, of which some may be lost
    Udp,
    /// Echo requests, answered by the other side's kernel: the reference, needs no pong
    Icmp,
}

impl Transport {
    /// Returns its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
            Transport::Icmp => "icmp",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Pacing of the messages.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pacing {
    /// An absolute schedule, with fine timers; no sleep when back to back
    Exact,
    /// The runtime's own sleep of one interval after each round trip, also when that is zero
    Seed,
}

impl Pacing {
    /// Returns its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Pacing::Exact => "exact",
            Pacing::Seed => "seed",
        }
    }
}

/// Parses messages per second, or `inf` for back to back.
///
/// # Errors
/// Returns the fault, in words for the user.
pub fn rate(text: &str) -> Result<Pace, String> {
    match text {
        "inf" => Ok(Pace::BackToBack),
        text => rates::rate(text)
            .map(Pace::Rate)
            .map_err(|_| "expected messages per second such as 10, 1k, 1M, or inf".into()),
    }
}

/// The case in which the backends are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Raw {
    /// The transport. The kernel's echo is compared with any.
    pub transport: Transport,
    /// The pacing of messages.
    pub pacing: Pacing,
    /// Background tasks.
    pub tasks: u32,
    /// Messages wanted per second.
    pub rate: Pace,
}

impl Raw {
    /// Returns all parameters but the rate, in words.
    pub fn case(&self) -> String {
        let (pacing, tasks) = (self.pacing.name(), self.tasks);
        let end = self.rate.hertz().map_or(" back to back", |_| "");
        format!("{} {pacing} {tasks} tasks{end}", self.transport)
    }

    /// Formats the rate in the notation of the studies.
    pub fn wanted(&self) -> String {
        self.rate.hertz().map_or("inf".into(), count)
    }

    /// Returns the interval of messages in seconds.
    pub fn interval(&self) -> f64 {
        self.rate.hertz().map_or(0.0, |hertz| 1.0 / hertz)
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pacing, rate, tasks) = (self.pacing.name(), self.wanted(), self.tasks);
        write!(f, "{} {pacing} {rate}/s {tasks} tasks", self.transport)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_true_and_lead_back() {
        for label in ["1", "10", "100", "1k", "10k", "100k", "1M", "inf"] {
            let raw = Raw {
                transport: Transport::Tcp,
                pacing: Pacing::Exact,
                tasks: 0,
                rate: rate(label).expect("a rate"),
            };
            assert_eq!(raw.wanted(), label);
            let interval = raw.rate.hertz().map_or(0.0, f64::recip);
            assert_eq!(raw.interval(), interval);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for wrong in ["", "0", "-1", "k", "fast", "1e12", "nan"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
