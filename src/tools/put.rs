// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda put` and `zonda delete`: one publication, then leave.

use clap::Args;
use serde_json::{Value, json};
use zonda::key_expr::KeyExpr;
use zonda::qos::{CongestionControl, Priority};
use zonda::{Session, Wait};
use zonda_program::{Connection, Failure, REACH_HELP, Reach, key_expr, print, priority};

const PUT: &str = "\
Example:
  zonda put -k demo/hi -p hello -m client -e tcp/127.0.0.1:7447

";

const DELETE: &str = "\
Example:
  zonda delete -k 'demo/*' -m client -e tcp/127.0.0.1:7447

";

/// Put one value and leave.
#[derive(Args, Clone, Debug)]
#[command(after_help = [PUT, REACH_HELP].concat())]
pub struct Put {
    /// Key to put to
    #[arg(short, long, value_parser = key_expr)]
    key: KeyExpr<'static>,
    /// The value
    #[arg(short, long, short_alias = 'v', alias = "value")]
    payload: String,
    /// How to read the value, such as text/plain or application/json
    #[arg(long, default_value = "text/plain")]
    encoding: String,
    /// Bytes to send beside the value
    #[arg(short, long)]
    attach: Option<String>,
    /// Priority, 1 (most urgent) to 7 (least)
    #[arg(long, default_value = "5", value_parser = priority)]
    priority: Priority,
    #[command(flatten)]
    connection: Connection,
}

impl Put {
    /// Puts it.
    pub fn run(self) -> Result<(), Failure> {
        let session = self.connection.open()?;
        let mut reach = Reach::insist(&session)?;
        let size = self.payload.len();
        let outcome = session
            .put(&self.key, self.payload)
            .encoding(self.encoding.as_str())
            .attachment(self.attach)
            .priority(self.priority)
            .congestion_control(CongestionControl::Block)
            .wait()?;
        reach.tell(&session);
        let outcome = format!("{outcome:?}");
        let line = json!({"put": self.key.as_str(), "bytes": size, "outcome": outcome});
        leave(session, reach, self.connection.json.then_some(line))
    }
}

/// Closes the session, prints what was done, and fails if an endpoint was not reached.
fn leave(session: Session, reach: Reach, line: Option<Value>) -> Result<(), Failure> {
    let reached = reach.finish(&session);
    session.close().wait()?;
    if let Some(line) = line {
        print(format_args!("{line}"));
    }
    reached
}

/// Tell subscribers that a key has no value any more, and leave.
#[derive(Args, Clone, Debug)]
#[command(after_help = [DELETE, REACH_HELP].concat())]
pub struct Delete {
    /// Key, or key expression, to delete
    #[arg(short, long, value_parser = key_expr)]
    key: KeyExpr<'static>,
    /// Bytes to send along
    #[arg(short, long)]
    attach: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

impl Delete {
    /// Deletes it.
    pub fn run(self) -> Result<(), Failure> {
        let session = self.connection.open()?;
        let mut reach = Reach::insist(&session)?;
        let outcome = session
            .delete(&self.key)
            .attachment(self.attach)
            .congestion_control(CongestionControl::Block)
            .wait()?;
        reach.tell(&session);
        let line = json!({"delete": self.key.as_str(), "outcome": format!("{outcome:?}")});
        leave(session, reach, self.connection.json.then_some(line))
    }
}
