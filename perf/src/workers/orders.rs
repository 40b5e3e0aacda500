// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a worker reads on its standard input, one line each. The end of its input ends a worker: then the process that
//! started it has gone.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Any time, where nothing is to be done meanwhile.
pub const PATIENCE: Duration = Duration::from_secs(3600);

/// One line to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// To a publisher: no more greetings.
    Hush,
    /// To a publisher: begin.
    Go,
    /// To a publisher: end, and say how much it was.
    Stop,
    /// To a subscriber: so many messages were sent by each publisher; say what came of them once they
    /// are here, or once nothing comes any more for so long. To a router: say what it dropped.
    Report {
        /// By each publisher.
        offered: Vec<u64>,
        /// How long nothing must come.
        quiet: Duration,
    },
}

impl Order {
    /// The line, without its end.
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

    /// Reads a line; `None` for anything else.
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

/// The orders as they come.
pub struct Orders {
    orders: Receiver<Order>,
    /// Set by [`Order::Stop`], for those who have no time to look for orders.
    pub is_stopped: Arc<AtomicBool>,
}

impl Orders {
    /// Reads standard input from now on. Its end ends the process.
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

    /// The next order, if one comes so soon.
    pub fn next_within(&self, time: Duration) -> Option<Order> {
        match self.orders.recv_timeout(time) {
            Ok(order) => Some(order),
            Err(RecvTimeoutError::Timeout) => None,
            // the reader ends with the process only
            Err(RecvTimeoutError::Disconnected) => std::process::exit(0),
        }
    }

    /// Waits for an order; others are passed over.
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
