// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda pub`: a value now and then, or every line of standard input.

use std::io::{self, BufRead};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use zonda::Wait;
use zonda::key_expr::KeyExpr;
use zonda::pubsub::Publisher;
use zonda::qos::{CongestionControl, Priority};

use crate::arguments::{Connection, Failure, Interrupt, key_expr, print, priority, seconds};

/// Publish on a key, again and again.
#[derive(Args, Clone, Debug)]
pub struct Publish {
    /// Key to publish on
    #[arg(short, long, value_parser = key_expr)]
    key: KeyExpr<'static>,
    /// The value [default: each line of standard input]
    #[arg(short, long, short_alias = 'v', alias = "value")]
    payload: Option<String>,
    /// Time between two values
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: Duration,
    /// Leave after so many values [default: never]
    #[arg(short, long, value_name = "VALUES")]
    number: Option<u64>,
    /// How to read the values, such as text/plain or application/json
    #[arg(long, default_value = "text/plain")]
    encoding: String,
    /// Bytes to send beside each value
    #[arg(short, long)]
    attach: Option<String>,
    /// Priority, 1 (most urgent) to 7 (least)
    #[arg(long, default_value = "5", value_parser = priority)]
    priority: Priority,
    /// Send each value at once instead of batching
    #[arg(long)]
    express: bool,
    #[command(flatten)]
    connection: Connection,
}

impl Publish {
    /// Publishes until Ctrl-C, the number or the end of the input.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let session = self.connection.open()?;
        let publisher = session
            .declare_publisher(&self.key)
            .encoding(self.encoding.as_str())
            .congestion_control(CongestionControl::Block)
            .priority(self.priority)
            .express(self.express)
            .wait()?;
        let number = self.number.unwrap_or(u64::MAX);
        match &self.payload {
            Some(payload) => {
                for _ in 0..number {
                    if interrupt.wait_until(Instant::now() + self.interval) {
                        break;
                    }
                    self.publish(&publisher, payload)?;
                }
            }
            None => {
                for line in io::stdin()
                    .lock()
                    .lines()
                    .take(number.try_into().unwrap_or(usize::MAX))
                {
                    if interrupt.happened() {
                        break;
                    }
                    self.publish(&publisher, &line?)?;
                }
            }
        }
        publisher.undeclare().wait()?;
        session.close().wait()?;
        Ok(())
    }

    fn publish(&self, publisher: &Publisher<'_>, value: &str) -> Result<(), Failure> {
        let outcome = publisher
            .put(value)
            .attachment(self.attach.as_deref())
            .wait()?;
        if self.connection.json {
            let outcome = format!("{outcome:?}");
            let line = json!({"put": self.key.as_str(), "bytes": value.len(), "outcome": outcome});
            print(format_args!("{line}"));
        }
        Ok(())
    }
}
