// SPDX-License-Identifier: MIT OR Apache-2.0
//! The raw round trips of `perf rtt`: what varies in the studies. Rates are written as there: 1, 10, 1k, 1M, inf.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;

use super::rates::count;

/// What the messages travel by.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A stream without Nagle's delay
    Tcp,
    /// Datagrams, of which some may be lost
    Udp,
    /// Echo requests, answered by the other side's kernel: the reference, needs no pong
    Icmp,
}

impl Transport {
    /// Its name on the command line and in reports.
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

/// Who decides when the next message is due.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// An absolute schedule, with fine timers; no sleep when back to back
    Exact,
    /// The runtime's own sleep of one interval after each round trip, also when that is zero
    Seed,
}

impl Pacing {
    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Pacing::Exact => "exact",
            Pacing::Seed => "seed",
        }
    }
}

/// Messages per second that are wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// So many.
    Hertz(f64),
    /// As many as possible, back to back.
    Infinite,
}

/// All of them.
pub const ALL: [Rate; 8] = [
    Rate::Hertz(1.0),
    Rate::Hertz(10.0),
    Rate::Hertz(100.0),
    Rate::Hertz(1e3),
    Rate::Hertz(1e4),
    Rate::Hertz(1e5),
    Rate::Hertz(1e6),
    Rate::Infinite,
];

/// Those of the article of 2025.
pub const QUICK: [Rate; 5] = [
    Rate::Hertz(10.0),
    Rate::Hertz(100.0),
    Rate::Hertz(1e3),
    Rate::Hertz(1e4),
    Rate::Infinite,
];

impl Rate {
    /// Seconds from one message to the next.
    pub fn interval(self) -> f64 {
        match self {
            Rate::Hertz(rate) => 1.0 / rate,
            Rate::Infinite => 0.0,
        }
    }

    /// As a number, if it is one.
    pub fn hertz(self) -> Option<f64> {
        match self {
            Rate::Hertz(rate) => Some(rate),
            Rate::Infinite => None,
        }
    }

    /// The slower one first.
    pub fn order(&self, other: &Rate) -> Ordering {
        let number = |rate: &Rate| rate.hertz().unwrap_or(f64::INFINITY);
        number(self).total_cmp(&number(other))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::Hertz(rate) => f.write_str(&count(*rate)),
            Rate::Infinite => f.write_str("inf"),
        }
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "inf" {
            return Ok(Rate::Infinite);
        }
        let (number, times) = match text.strip_suffix(['k', 'K']) {
            Some(number) => (number, 1e3),
            None => text.strip_suffix('M').map_or((text, 1.0), |n| (n, 1e6)),
        };
        match number.parse::<f64>().map(|n| n * times) {
            Ok(rate) if (0.01..=1e9).contains(&rate) => Ok(Rate::Hertz(rate)),
            _ => Err("expected messages per second such as 10, 1k, 1M, or inf".into()),
        }
    }
}

/// What the backends are compared in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Raw {
    /// What the messages travel by. The kernel's echo stands beside any.
    pub transport: Transport,
    /// Who decides when the next message is due.
    pub pacing: Pacing,
    /// Tasks beside the ping.
    pub tasks: u32,
    /// Messages wanted per second.
    pub rate: Rate,
}

impl Raw {
    /// Everything but the rate, in words.
    pub fn case(&self) -> String {
        let (pacing, tasks) = (self.pacing.name(), self.tasks);
        let end = self.rate.hertz().map_or(" back to back", |_| "");
        format!("{} {pacing} {tasks} tasks{end}", self.transport)
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pacing, rate, tasks) = (self.pacing.name(), self.rate, self.tasks);
        write!(f, "{} {pacing} {rate}/s {tasks} tasks", self.transport)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_true_and_lead_back() {
        let labels: Vec<String> = ALL.iter().map(Rate::to_string).collect();
        assert_eq!(labels, ["1", "10", "100", "1k", "10k", "100k", "1M", "inf"]);
        for rate in ALL {
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
        assert_eq!(Rate::Hertz(1e3).interval(), 1e-3);
        assert_eq!(Rate::Infinite.interval(), 0.0);
        assert!(ALL.iter().is_sorted_by(|a, b| a.order(b).is_lt()));
    }

    #[test]
    fn nonsense_is_refused() {
        for wrong in ["", "0", "-1", "k", "fast", "1e12", "nan"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }
}
