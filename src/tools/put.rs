// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda put` and `zonda delete`: one publication, then exit.

use clap::Args;
use serde_json::{Value, json};
use zonda::pubsub::Publisher;
use zonda::qos::{CongestionControl, Priority};
use zonda::{Session, Wait};
use zonda_program::{Connection, Failure, REACH_HELP, Reach, print, priority};

use super::audience;
use super::operands::{KeyAndValue, OnKey};
use super::stamps::Stamps;
use super::sum;

const PUT: &str = "\
Examples:
  zonda put demo/hi hello -m client -e tcp/127.0.0.1:7447
  zonda put demo/map -f map.png --encoding image/png -e tcp/127.0.0.1:7447
  zonda put demo/cdr --hex '00 01 00 00 2a' -m client -e tcp/127.0.0.1:7447

";

const DELETE: &str = "\
Example:
  zonda delete 'demo/*' -m client -e tcp/127.0.0.1:7447

";

/// Put one value and leave.
#[derive(Args, Clone, Debug)]
#[command(override_usage = "zonda put [OPTIONS] KEY VALUE\n       zonda put [OPTIONS] KEY -f FILE")]
#[command(after_help = [PUT, REACH_HELP].concat())]
pub struct Put {
    #[command(flatten)]
    what: KeyAndValue,
    /// Bytes to send beside the value
    #[arg(short, long)]
    attach: Option<String>,
    /// Priority, 1 (most urgent) to 7 (least)
    #[arg(long, default_value = "5", value_parser = priority)]
    priority: Priority,
    #[command(flatten)]
    stamps: Stamps,
    #[command(flatten)]
    connection: Connection,
}

impl Put {
    /// Puts the value.
    pub fn run(self) -> Result<(), Failure> {
        let (key, value) = (self.what.key()?, self.what.required_value()?);
        let session = self.connection.open()?;
        let mut reach = Reach::insist(&session)?;
        let size = value.len();
        let publisher = session
            .declare_publisher(&key)
            .encoding(self.what.given.encoding())
            .priority(self.priority)
            .congestion_control(CongestionControl::Block)
            .wait()?;
        audience::settle(&publisher);
        tell(&mut reach, &session, &publisher, self.connection.json);
        let put = publisher.put(value).attachment(self.attach);
        let outcome = put.timestamp_instrumentation(self.stamps.points());
        let outcome = format!("{:?}", outcome.outcome().wait()?);
        drop(publisher);
        let line = json!({"put": key.as_str(), "bytes": size, "outcome": outcome});
        leave(&session, reach, self.connection.json.then_some(line))
    }
}

/// Prints a warning if no subscriber will get the message, with the reason; with --json the outcome
/// has it. To be called before: a receiver may leave as soon as it has the message it waited for.
fn tell(reach: &mut Reach, session: &Session, publisher: &Publisher<'_>, as_json: bool) {
    if !reach.tell(session) && !as_json {
        audience::tell(publisher);
    }
}

/// Closes the session, prints the outcome, and fails if an endpoint was not reached or the message
/// was lost.
fn leave(session: &Session, reach: Reach, line: Option<Value>) -> Result<(), Failure> {
    let reached = reach.finish(session);
    sum::close(session)?;
    if let Some(line) = line {
        print(format_args!("{line}"));
    }
    reached
}

/// Tell subscribers that a key has no value any more, and leave.
#[derive(Args, Clone, Debug)]
#[command(after_help = [DELETE, REACH_HELP].concat(), override_usage = "zonda delete [OPTIONS] KEY")]
pub struct Delete {
    #[command(flatten)]
    what: OnKey,
    /// Bytes to send along
    #[arg(short, long)]
    attach: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

impl Delete {
    /// Deletes the value.
    pub fn run(self) -> Result<(), Failure> {
        let key = self.what.required()?;
        let session = self.connection.open()?;
        let mut reach = Reach::insist(&session)?;
        let publisher = session
            .declare_publisher(&key)
            .congestion_control(CongestionControl::Block)
            .wait()?;
        audience::settle(&publisher);
        tell(&mut reach, &session, &publisher, self.connection.json);
        let outcome = publisher.delete().attachment(self.attach);
        let outcome = format!("{:?}", outcome.outcome().wait()?);
        drop(publisher);
        let line = json!({"delete": key.as_str(), "outcome": outcome});
        leave(&session, reach, self.connection.json.then_some(line))
    }
}
