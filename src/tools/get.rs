// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda get`: sends one query and prints the replies.

use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use zonda::cancellation::CancellationToken;
use zonda::handlers::FifoChannelHandler;
use zonda::query::{
    ConsolidationMode, EndReason, GetEnd, QueryTarget, Reply, ReplyKeyExpr, Selector,
    SessionGetBuilder,
};
use zonda::{RecvError, Wait};
use zonda_program::{
    Connection, Failure, Interrupt, Reach, complain, consolidation, print, seconds, selector,
    target,
};

use super::form::text;
use super::operands::Given;
use super::show::{self, Look, NOTICE, add_bytes};

/// Below the help.
const HELP: &str = "\
Example:
  zonda get 'demo/*?unit=celsius' -m client -e tcp/127.0.0.1:7447

Exit code: 0 when there was an answer; 1 when there was none, as no queryable has one (a note on standard error says so) or because \
of an error, which is one line; 2 for bad usage. If only some of the answers came, standard error says what is missing.";

/// Ask for the values of a selector, print the replies, and leave.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP, override_usage = "zonda get [OPTIONS] SELECTOR")]
pub struct Get {
    /// The selector, by a flag
    #[arg(short, long, value_parser = selector)]
    selector: Option<Selector<'static>>,
    /// Keys to ask for, with parameters: demo/*?unit=celsius
    #[arg(value_name = "SELECTOR", conflicts_with = "selector", value_parser = selector)]
    word: Option<Selector<'static>>,
    /// A value for the queryables to work on
    #[command(flatten)]
    given: Given,
    /// Bytes to send beside it
    #[arg(short, long)]
    attach: Option<String>,
    /// Queryables that get the query: best (the nearest complete one, or all), all, or all-complete
    #[arg(short, long, default_value = "best", value_parser = target)]
    target: QueryTarget,
    /// Consolidation of the replies on one key: auto, none, monotonic or latest
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = consolidation)]
    consolidation: ConsolidationMode,
    /// Time to wait for replies [default: the configuration's queries_default_timeout, 10 s]
    #[arg(short = 'o', long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Accept replies on keys that were not asked for
    #[arg(long)]
    any_key: bool,
    #[command(flatten)]
    look: Look,
    #[command(flatten)]
    connection: Connection,
}

/// Number of printed answers.
struct Shown {
    samples: u64,
    as_json: bool,
    look: Look,
    /// The first error among the replies.
    error: Option<String>,
}

impl Get {
    /// Sends the query and prints the replies.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        const NO_SELECTOR: &str =
            "there is nothing to ask for: give a selector as a word, or by -s";
        // All input is checked before a session is opened.
        let selector = self.selector.as_ref().or(self.word.as_ref());
        let selector = selector.ok_or_else(|| Failure::Usage(NO_SELECTOR.to_owned()))?;
        let value = self.given.value(None)?;
        // A note is printed before the query where no node is connected.
        let session = self.connection.open()?;
        let mut reach = Reach::insist(&session)?;
        let is_alone = reach.tell_that("no queryable gets the query", &session);
        // The end of the get is kept for the result.
        let token = CancellationToken::default();
        let end = Arc::new(OnceLock::new());
        let ended = end.clone();
        let mut get = session.get(selector).on_end(move |how| {
            let _ = ended.set(*how);
        });
        if let Some(value) = value {
            get = get.payload(value).encoding(self.given.encoding());
        } else if let Some(encoding) = self.given.named_encoding() {
            get = get.encoding(encoding);
        }
        // Show replies until the get ends; Ctrl-C cancels it.
        let replies = self.ask(get, &token)?;
        let mut shown = Shown {
            samples: 0,
            as_json: self.connection.json,
            look: self.look,
            error: None,
        };
        loop {
            match replies.recv_timeout(NOTICE) {
                Ok(Some(reply)) => shown.show(&reply),
                Ok(None) if interrupt.happened() => token.cancel().wait()?,
                Ok(None) => {}
                Err(RecvError::Closed) => break,
                Err(error) => return Err(error.into()),
            }
        }
        // Report missing answers.
        session.close().wait()?;
        let had_answers = shown.samples > 0;
        shown.finish(end.get(), self.timeout)?;
        if had_answers || interrupt.happened() {
            return Ok(());
        }
        if !is_alone && !self.connection.json {
            complain(format_args!(
                "note: no queryable has an answer to {selector}"
            ));
        }
        Err(Failure::NoResult)
    }

    fn ask(
        &self,
        get: SessionGetBuilder<'_, '_>,
        token: &CancellationToken,
    ) -> Result<FifoChannelHandler<Reply>, Failure> {
        let mut get = get
            .target(self.target)
            .consolidation(self.consolidation)
            .attachment(self.attach.as_deref())
            .cancellation_token(token.clone());
        if let Some(timeout) = self.timeout {
            get = get.timeout(timeout);
        }
        if self.any_key {
            get = get.accept_replies(ReplyKeyExpr::Any);
        }
        Ok(get.wait()?)
    }
}

impl Shown {
    fn show(&mut self, reply: &Reply) {
        // The first error is kept for the exit code.
        let replier = reply.replier_id().map(|id| id.zid.to_string());
        match reply.result() {
            Ok(sample) => {
                self.samples += 1;
                if self.as_json {
                    let mut line = show::sample(sample);
                    line["replier"] = json!(replier);
                    print(format_args!("{line}"));
                } else {
                    self.look.show(sample);
                }
            }
            Err(error) => {
                self.error.get_or_insert_with(|| error.to_string());
                if self.as_json {
                    let encoding = error.encoding().to_string();
                    let mut line =
                        json!({"kind": "ERROR", "encoding": encoding, "replier": replier});
                    add_bytes(&mut line, "payload", Some(error.payload()));
                    print(format_args!("{line}"));
                } else if !self.look.is_raw() {
                    print(format_args!("ERROR: {}", text(error.payload())));
                }
            }
        }
    }

    fn finish(self, end: Option<&GetEnd>, timeout: Option<Duration>) -> Result<(), Failure> {
        let reason = end.map_or(EndReason::Closed, GetEnd::reason);
        let missing = match (reason, self.error) {
            (EndReason::Cancelled, _) => return Ok(()),
            (EndReason::Complete, None) => return Ok(()),
            (EndReason::Timeout, _) => {
                let limit =
                    timeout.map_or("queries_default_timeout".to_owned(), |t| format!("{t:?}"));
                format!("not all have answered within {limit}")
            }
            (EndReason::LinkLost { peer }, _) => format!("the link to {peer} was lost"),
            (EndReason::Complete, Some(error)) => format!("answered with an error: {error}"),
            (_, _) => "the session was closed".to_owned(),
        };
        if self.samples == 0 {
            return Err(Failure::Run(missing));
        }
        complain(format_args!("note: {missing}"));
        Ok(())
    }
}
