// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda pub`: a value in each interval, or every line of standard input.

use std::io::{self, BufRead, IsTerminal};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use zonda::pubsub::Publisher;
use zonda::qos::{CongestionControl, Priority};
use zonda::{Session, Wait};
use zonda_program::{
    Connection, Failure, Interrupt, REACH_HELP, Reach, complain, print, priority, seconds,
};

use super::audience;
use super::operands::KeyAndValue;
use super::show::NOTICE;
use super::stamps::Stamps;
use super::start::Start;
use super::sum::Sum;

/// Limit of the lines that are read ahead.
const LINES_AHEAD: usize = 64;

const EXAMPLES: &str = "\
Examples:
  zonda pub demo/n 1 -n 10 --interval 0.5 -e tcp/127.0.0.1:7447      ten values, two a second
  tail -f log | zonda pub demo/log -e tcp/127.0.0.1:7447             each line

";

/// Publish on a key, again and again.
#[derive(Args, Clone, Debug)]
#[command(after_help = [EXAMPLES, REACH_HELP].concat(), override_usage = "zonda pub [OPTIONS] KEY [VALUE]")]
pub struct Publish {
    #[command(flatten)]
    what: KeyAndValue,
    /// Time between two values
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: Duration,
    /// Leave after so many values [default: never]
    #[arg(short, long, value_name = "VALUES")]
    number: Option<u64>,
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
    stamps: Stamps,
    #[command(flatten)]
    connection: Connection,
}

/// Destination of the values.
struct To<'a> {
    session: &'a Session,
    publisher: &'a Publisher<'a>,
}

impl Publish {
    /// Publishes until Ctrl-C, the number or the end of the input.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let (key, value) = (self.what.key()?, self.what.value()?);
        let session = self.connection.open()?;
        let publisher = session
            .declare_publisher(&key)
            .encoding(self.what.given.encoding())
            .congestion_control(CongestionControl::Block)
            .priority(self.priority)
            .express(self.express)
            .wait()?;
        audience::settle(&publisher);
        let mut reach = Reach::default();
        let to = To {
            session: &session,
            publisher: &publisher,
        };
        let published = self.publish_all(&to, &mut reach, value, &interrupt);
        let mut sum = Sum::of(&publisher);
        publisher.undeclare().wait()?;
        let reached = reach.finish(&session);
        let closed = sum.close(&session);
        // For a single value a note or an error is enough.
        if !self.connection.json && sum.published() > 1 {
            complain(format_args!("{sum}"));
        }
        published?;
        closed?;
        reached
    }

    /// Publishes the value, or each line of the input, until there is no more to publish or Ctrl-C.
    fn publish_all(
        &self,
        to: &To<'_>,
        reach: &mut Reach,
        value: Option<Vec<u8>>,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let To { session, publisher } = *to;
        // The state of connections is printed next to the publications.
        let mut start = (!self.connection.json).then(|| Start::of_publisher(session));
        start.iter_mut().for_each(Start::look);
        let mut is_first = true;
        let mut left = self.number.unwrap_or(u64::MAX);
        if value.is_none() && io::stdin().is_terminal() {
            complain(format_args!(
                "publishes each line of standard input; Ctrl-D ends"
            ));
        }
        // The value in every interval, or each line of the input.
        let lines = value.is_none().then(lines_of_input);
        while left > 0 {
            let next = match (&value, &lines) {
                (Some(value), _) => {
                    let due = zonda_runtime::after(self.interval);
                    (!interrupt.wait_until(due)).then(|| value.clone())
                }
                (None, Some(lines)) => self.next_line(lines, interrupt)?,
                (None, None) => None,
            };
            let Some(next) = next else { break };
            start.iter_mut().for_each(Start::look);
            // Notes about missing receivers come before the message.
            let is_alone = reach.tell(session);
            if std::mem::take(&mut is_first) && !is_alone && !self.connection.json {
                audience::tell(publisher);
            }
            self.publish(publisher, next)?;
            left -= 1;
        }
        Ok(())
    }

    fn publish(&self, publisher: &Publisher<'_>, value: Vec<u8>) -> Result<(), Failure> {
        let size = value.len();
        let outcome = publisher
            .put(value)
            .attachment(self.attach.as_deref())
            .timestamp_instrumentation(self.stamps.points())
            .outcome()
            .wait()?;
        if self.connection.json {
            let key = publisher.key_expr().as_str();
            let line = json!({"put": key, "bytes": size, "outcome": format!("{outcome:?}")});
            print(format_args!("{line}"));
        }
        Ok(())
    }

    /// Reads the value in the next line; `None` at the end of the input or after Ctrl-C.
    fn next_line(
        &self,
        lines: &Receiver<io::Result<Vec<u8>>>,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<u8>>, Failure> {
        while !interrupt.happened() {
            match lines.recv_timeout(NOTICE) {
                Ok(line) => return self.what.given.decode(line?).map(Some),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        Ok(None)
    }
}

/// Reads the lines of standard input, whatever their bytes, on a separate thread, because reading
/// cannot be interrupted.
fn lines_of_input() -> Receiver<io::Result<Vec<u8>>> {
    let (sender, lines) = sync_channel(LINES_AHEAD);
    thread::spawn(move || {
        for line in io::stdin().lock().split(b'\n') {
            let line = line.map(|mut line| {
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                line
            });
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
