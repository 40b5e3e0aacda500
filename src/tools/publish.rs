// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda pub`: a value now and then, or every line of standard input.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use zonda::Wait;
use zonda::key_expr::KeyExpr;
use zonda::pubsub::Publisher;
use zonda::qos::{CongestionControl, Priority};
use zonda_program::{
    Connection, Failure, Interrupt, REACH_HELP, Reach, key_expr, print, priority, seconds,
};

use super::show::NOTICE;

/// Lines that are read before they can be published.
const LINES_AHEAD: usize = 64;

const EXAMPLES: &str = "\
Examples:
  zonda pub -k demo/n -p 1 -n 10 --interval 0.5 -e tcp/127.0.0.1:7447      ten values, two a second
  tail -f log | zonda pub -k demo/log -e tcp/127.0.0.1:7447                each line

";

/// Publish on a key, again and again.
#[derive(Args, Clone, Debug)]
#[command(after_help = [EXAMPLES, REACH_HELP].concat())]
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
        let mut reach = Reach::default();
        let mut left = self.number.unwrap_or(u64::MAX);
        let lines = self.payload.is_none().then(lines_of_input);
        while left > 0 {
            let value = match (&self.payload, &lines) {
                (Some(payload), _) => {
                    let due = zonda_runtime::after(self.interval);
                    (!interrupt.wait_until(due)).then(|| payload.clone())
                }
                (None, Some(lines)) => next_line(lines, &interrupt)?,
                (None, None) => None,
            };
            let Some(value) = value else { break };
            self.publish(&publisher, &value)?;
            reach.tell(&session);
            left -= 1;
        }
        publisher.undeclare().wait()?;
        let reached = reach.finish(&session);
        session.close().wait()?;
        reached
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

/// Lines of standard input, read on a thread of their own because reading cannot be interrupted.
fn lines_of_input() -> Receiver<io::Result<String>> {
    let (sender, lines) = sync_channel(LINES_AHEAD);
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// The next line; `None` at the end of the input or after Ctrl-C.
fn next_line(
    lines: &Receiver<io::Result<String>>,
    interrupt: &Interrupt,
) -> Result<Option<String>, Failure> {
    while !interrupt.happened() {
        match lines.recv_timeout(NOTICE) {
            Ok(line) => return Ok(Some(line?)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    Ok(None)
}
