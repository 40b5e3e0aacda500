// SPDX-License-Identifier: MIT OR Apache-2.0
//! The orders on a worker's standard input, one per line. The end of the input ends the worker,
//! because the process that started it has then ended.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// A long wait without any other work.
pub const PATIENCE: Duration = Duration::from_secs(3600);

/// An order to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// To a publisher: stop greeting.
    Hush,
    /// To a publisher: begin.
    Go,
    /// To a publisher: end, and report the number of messages.
    Stop,
    /// To a subscriber: this many messages were sent by each publisher; report the received ones
    /// once they have arrived, or once no more arrive for `quiet`. To a router: report the dropped
    /// messages.
    Report {
        /// Messages, by publisher.
        offered: Vec<u64>,
        /// The silence that ends the wait.
        quiet: Duration,
    },
}

impl Order {
    /// Returns the line, without its end.
    pub fn to_line(&self) -> String {
        match self {
            Order::Hush => "hush".into(),
            Order::Go => "go".into(),
            Order::Stop => "stop".into(),
            Order::Report { offered, quiet } => {
                let offered: Vec<String> = offered.iter().map(u64::to_string).collect();
                format!("report {} {}", quiet.as_millis(), offered.join(" "))
            }
        }
    }

    /// Parses a line; `None` if it is no order.
    pub fn parse(line: &str) -> Option<Order> {
        let mut words = line.split_whitespace();
        match words.next()? {
            "hush" => Some(Order::Hush),
            "go" => Some(Order::Go),
            "stop" => Some(Order::Stop),
            "report" => Some(Order::Report {
                quiet: Duration::from_millis(words.next()?.parse().ok()?),
                offered: words.map(|w| w.parse().ok()).collect::<Option<_>>()?,
            }),
            _ => None,
        }
    }
}

/// The queue of received orders.
pub struct Orders {
    orders: Receiver<Order>,
    /// Set by [`Order::Stop`], for a worker that is too busy to read orders.
    pub is_stopped: Arc<AtomicBool>,
}

impl Orders {
    /// Starts to read standard input. The end of the input ends the process.
    pub fn listen() -> Self {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_stopped);
        let (order, orders) = channel();
        thread::spawn(move || {
            for line in io::stdin().lines().map_while(Result::ok) {
                let Some(parsed) = Order::parse(&line) else {
                    continue;
                };
                if parsed == Order::Stop {
                    stop.store(true, Relaxed);
                }
                if order.send(parsed).is_err() {
                    break;
                }
            }
            std::process::exit(0);
        });
        Orders { orders, is_stopped }
    }

    /// Returns the next order, if there is one within `time`.
    pub fn next_within(&self, time: Duration) -> Option<Order> {
        match self.orders.recv_timeout(time) {
            Ok(order) => Some(order),
            Err(RecvTimeoutError::Timeout) => None,
            // the reader only ends with the process
            Err(RecvTimeoutError::Disconnected) => std::process::exit(0),
        }
    }

    /// Waits for an order; other orders are skipped.
    pub fn until(&self, wanted: &Order) {
        while self.next_within(PATIENCE).as_ref() != Some(wanted) {}
    }

    /// Waits for the end of the process.
    pub fn wait(&self) -> ! {
        loop {
            let _ = self.next_within(PATIENCE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_survive_their_lines() {
        for order in [
            Order::Hush,
            Order::Go,
            Order::Stop,
            Order::Report {
                offered: vec![0, u64::MAX],
                quiet: Duration::from_millis(500),
            },
        ] {
            assert_eq!(Order::parse(&order.to_line()), Some(order));
        }
        for line in ["", "gone", "report", "report x", "report 5 -1"] {
            assert_eq!(Order::parse(line), None, "{line}");
        }
    }
}
