// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda get`: asks once and prints the replies.

use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use zonda::cancellation::CancellationToken;
use zonda::handlers::FifoChannelHandler;
use zonda::query::{
    ConsolidationMode, EndReason, GetEnd, QueryTarget, Reply, ReplyKeyExpr, Selector,
};
use zonda::{RecvError, Session, Wait};
use zonda_program::{
    Connection, Failure, Interrupt, Reach, complain, consolidation, print, seconds, selector,
    target,
};

use super::show::{self, NOTICE, behind, text};

/// Below the help.
const HELP: &str = "\
Example:
  zonda get -s 'demo/*?unit=celsius' -m client -e tcp/127.0.0.1:7447

Exit code: 0 when there was an answer, or when everybody was asked and nobody had one; 1 when there was none because of an \
error, which is one line; 2 for bad usage. If only some of the answers came, standard error says what is missing.";

/// Ask for the values of a selector, print the replies, and leave.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Get {
    /// Keys to ask for, with parameters: demo/*?unit=celsius
    #[arg(short, long, value_parser = selector)]
    selector: Selector<'static>,
    /// A payload for the queryables to work on
    #[arg(short, long, short_alias = 'v', alias = "value")]
    payload: Option<String>,
    /// How to read the payload, such as text/plain or application/json [default: text/plain]
    #[arg(long)]
    encoding: Option<String>,
    /// Bytes to send beside it
    #[arg(short, long)]
    attach: Option<String>,
    /// Who is asked: best (the nearest complete one, or all), all, or all-complete
    #[arg(short, long, default_value = "best", value_parser = target)]
    target: QueryTarget,
    /// How replies on the same key are merged: auto, none, monotonic or latest
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = consolidation)]
    consolidation: ConsolidationMode,
    /// How long replies are waited for [default: the configuration's queries_default_timeout, 10 s]
    #[arg(short = 'o', long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Accept replies on keys that were not asked for
    #[arg(long)]
    any_key: bool,
    #[command(flatten)]
    connection: Connection,
}

/// What has been printed of the answers.
#[derive(Default)]
struct Shown {
    samples: u64,
    /// The first error among the replies.
    error: Option<String>,
}

impl Get {
    /// Asks and prints.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let session = self.connection.open()?;
        let mut reach = Reach::insist(&session)?;
        reach.tell(&session);
        let token = CancellationToken::default();
        let end = Arc::new(OnceLock::new());
        let replies = self.ask(&session, &token, end.clone())?;
        let mut shown = Shown::default();
        loop {
            match replies.recv_timeout(NOTICE) {
                Ok(Some(reply)) => shown.show(&reply, self.connection.json),
                Ok(None) if interrupt.happened() => token.cancel().wait()?,
                Ok(None) => {}
                Err(RecvError::Closed) => break,
                Err(error) => return Err(error.into()),
            }
        }
        session.close().wait()?;
        shown.finish(end.get(), self.timeout)
    }

    fn ask(
        &self,
        session: &Session,
        token: &CancellationToken,
        end: Arc<OnceLock<GetEnd>>,
    ) -> Result<FifoChannelHandler<Reply>, Failure> {
        let mut get = session
            .get(&self.selector)
            .target(self.target)
            .consolidation(self.consolidation)
            .attachment(self.attach.as_deref())
            .cancellation_token(token.clone())
            .on_end(move |how| {
                let _ = end.set(*how);
            });
        if let Some(timeout) = self.timeout {
            get = get.timeout(timeout);
        }
        if let Some(payload) = &self.payload {
            let encoding = self.encoding.as_deref().unwrap_or("text/plain");
            get = get.payload(payload).encoding(encoding);
        } else if let Some(encoding) = &self.encoding {
            get = get.encoding(encoding.as_str());
        }
        if self.any_key {
            get = get.accept_replies(ReplyKeyExpr::Any);
        }
        Ok(get.wait()?)
    }
}

impl Shown {
    fn show(&mut self, reply: &Reply, as_json: bool) {
        let replier = reply.replier_id().map(|id| id.zid.to_string());
        let line = match reply.result() {
            Ok(sample) if as_json => {
                let mut line = show::sample(sample);
                line["replier"] = json!(replier);
                line.to_string()
            }
            Ok(sample) => format!(
                "{} {}: {}{}",
                sample.kind(),
                sample.key_expr(),
                text(sample.payload()),
                behind(sample.attachment())
            ),
            Err(error) if as_json => json!({
                "kind": "ERROR",
                "payload": text(error.payload()),
                "encoding": error.encoding().to_string(),
                "replier": replier,
            })
            .to_string(),
            Err(error) => format!("ERROR: {}", text(error.payload())),
        };
        match reply.result() {
            Ok(_) => self.samples += 1,
            Err(error) => {
                self.error.get_or_insert_with(|| error.to_string());
            }
        }
        print(format_args!("{line}"));
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
