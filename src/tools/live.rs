// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda live`: lists and watches live tokens, or declares one.

use std::time::Duration;

use clap::Args;
use serde_json::json;
use zonda::key_expr::KeyExpr;
use zonda::liveliness::LivelinessToken;
use zonda::query::Reply;
use zonda::sample::{Sample, SampleKind};
use zonda::{Session, Wait};
use zonda_program::{Connection, Failure, Interrupt, Reach, key_expr, print, seconds};

use super::operands::OnKey;
use super::show::{NOTICE, each};
use super::start::Start;

/// Below the help.
const HELP: &str = "\
Examples:
  zonda live --token robots/7 -e tcp/127.0.0.1:7447             be alive until Ctrl-C
  zonda live 'robots/*' --history -e tcp/127.0.0.1:7447         who is, comes and goes

Exit code: 0 when done; 1 when an endpoint to connect to (-e, connect/endpoints) was never reached, or when --get did not \
hear from everybody in time; 2 for bad usage.";

/// Show which liveliness tokens come and go.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Live {
    #[command(flatten)]
    what: OnKey,
    /// Be alive on this key until the end (repeatable)
    #[arg(long, value_name = "KEY", value_parser = key_expr)]
    token: Vec<KeyExpr<'static>>,
    /// Show the tokens that are alive already, too
    #[arg(long)]
    history: bool,
    /// Show the tokens that are alive, and leave
    #[arg(long, conflicts_with_all = ["history", "number"])]
    get: bool,
    /// Time that --get waits for answers
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    timeout: Duration,
    /// Leave after so many changes [default: never]
    #[arg(short, long, value_name = "CHANGES")]
    number: Option<u64>,
    #[command(flatten)]
    connection: Connection,
}

impl Live {
    /// Prints changes until Ctrl-C or the number, or the live tokens.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let session = self.connection.open()?;
        let shown = match self.get {
            true => self.get(&session, &interrupt),
            false => self.watch(&session, &interrupt),
        };
        let closed = session.close().wait();
        shown?;
        Ok(closed?)
    }

    fn get(&self, session: &Session, interrupt: &Interrupt) -> Result<(), Failure> {
        let key = self.what.or_all()?;
        let reach = Reach::insist(session)?;
        let _tokens = self.tokens(session)?;
        let get = session.liveliness().get(&key).timeout(self.timeout);
        let replies = get.wait()?;
        while !interrupt.happened() {
            let Ok(reply) = replies.recv_timeout(NOTICE) else {
                break;
            };
            match reply.as_ref().map(Reply::result) {
                None => {}
                Some(Ok(sample)) => self.show(sample),
                Some(Err(_)) => {
                    return Err(Failure::Run(format!(
                        "not everybody who may know of tokens on {key} has answered within {:?}: see --timeout",
                        self.timeout
                    )));
                }
            }
        }
        reach.finish(session)
    }

    fn watch(&self, session: &Session, interrupt: &Interrupt) -> Result<(), Failure> {
        let key = self.what.or_all()?;
        let subscriber = session
            .liveliness()
            .declare_subscriber(&key)
            .history(self.history)
            .wait()?;
        let _tokens = self.tokens(session)?;
        let mut start = Start::new(session, self.connection.json);
        let next = |patience| {
            start.look();
            subscriber.recv_timeout(patience)
        };
        each(self.number, interrupt, next, |sample| {
            self.show(&sample);
            Ok(())
        })
    }

    fn tokens(&self, session: &Session) -> Result<Vec<LivelinessToken>, Failure> {
        let mut tokens = Vec::new();
        for key in &self.token {
            tokens.push(session.liveliness().declare_token(key).wait()?);
        }
        Ok(tokens)
    }

    fn show(&self, sample: &Sample) {
        let event = match sample.kind() {
            SampleKind::Put => "alive",
            SampleKind::Delete => "gone",
        };
        let key = sample.key_expr().as_str();
        if self.connection.json {
            print(format_args!("{}", json!({"event": event, "key": key})));
        } else {
            print(format_args!("{event} {key}"));
        }
    }
}
