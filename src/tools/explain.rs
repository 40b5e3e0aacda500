// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda explain`: the way of a message from one node to another, or the first node that stops it
//! and its reason, as the routers on the way tell them.

use clap::{Args, ValueEnum};
use zonda::config::ZenohId;
use zonda::{Session, Wait};
use zonda_explain::{Admin, ExplainError, Explanation, Message};
use zonda_program::{Connection, Failure, await_attempts, print, print_lines};

use super::remote::replies;

const HELP: &str = "\
Examples:
  zonda explain demo/a --from a1 --to b2 -e tcp/127.0.0.1:7447
  zonda explain demo/a -e tcp/127.0.0.1:7447              who would get a message of this program
  zonda explain demo/a --kind query --from a1 --to b2 -e tcp/127.0.0.1:7447

Routers tell it that let their admin space be read (adminspace/*). The key is that of the message on the wire: with the namespace \
of its sender, if it has one.

Exit code: 0 if the message arrives; 1 if it does not, or no router tells it; 2 for bad usage.";

/// Say which way a message takes, or which node stops it and why.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Explain {
    /// The key expression of the message
    #[arg(value_name = "KEY", value_parser = super::acl::key)]
    key: zonda_codec::KeyExpr<'static>,
    /// The id of the node that sends it; this program's own by default
    #[arg(long, value_name = "ID")]
    from: Option<ZenohId>,
    /// The id of the node that does not get it; all receivers by default
    #[arg(long, value_name = "ID")]
    to: Option<ZenohId>,
    /// The kind of the message
    #[arg(long, value_enum, default_value_t = Kind::Put)]
    kind: Kind,
    #[command(flatten)]
    connection: Connection,
}

/// A kind of message.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Put,
    Delete,
    Query,
}

impl From<Kind> for zonda_explain::Kind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Put => zonda_explain::Kind::Put,
            Kind::Delete => zonda_explain::Kind::Delete,
            Kind::Query => zonda_explain::Kind::Query,
        }
    }
}

/// The admin spaces that a session reaches.
struct Reached<'s>(&'s Session);

impl Admin for Reached<'_> {
    fn ask(&self, selector: &str) -> Result<Vec<(String, String)>, ExplainError> {
        replies(self.0, selector).map_err(|failure| ExplainError::Ask(failure.to_string()))
    }
}

impl Explain {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let session = self.connection.open()?;
        await_attempts(&session);
        let outcome = self.explain(&session);
        session.close().wait()?;
        match outcome? {
            true => Ok(()),
            false => Err(Failure::NoResult),
        }
    }

    /// Prints the explanation. Returns true if the message arrives.
    fn explain(&self, session: &Session) -> Result<bool, Failure> {
        let message = Message {
            kind: self.kind.into(),
            key: self.key.as_str().to_owned(),
            from: self.from.unwrap_or_else(|| session.zid()).to_string(),
            to: self.to.map(|to| to.to_string()),
        };
        let explanation = Explanation::of(&message, &Reached(session))?;
        match self.connection.json {
            true => print(format_args!("{}", explanation.to_json())),
            false => print_lines(format_args!("{}", explanation.lines().join("\n"))),
        }
        Ok(explanation.arrives)
    }
}
