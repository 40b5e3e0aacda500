// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda queryable`: answers queries with a value.

use clap::Args;
use serde_json::json;
use zonda::key_expr::KeyExpr;
use zonda::query::{Query, ReplyKeyExpr};
use zonda::{AnswerError, Wait};
use zonda_program::{Connection, Failure, Interrupt, key_expr, print};

use super::show::{behind, each, ready, text};

const HELP: &str = "\
Example:
  zonda queryable -k demo/answer -p 42 -l tcp/127.0.0.1:7450      zonda get -s 'demo/*' -e tcp/127.0.0.1:7450 asks it

Exit code: 0 when done, also by Ctrl-C; 1 for a failure at run time; 2 for bad usage.";

/// Answer the queries on a key expression with a value.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Queryable {
    /// Keys to answer for; the answer is on this key, or on the query's if only that one has no wildcards
    #[arg(short, long, value_parser = key_expr)]
    key: KeyExpr<'static>,
    /// The answer
    #[arg(short, long, short_alias = 'v', alias = "value")]
    payload: String,
    /// How to read the answer, such as text/plain or application/json
    #[arg(long, default_value = "text/plain")]
    encoding: String,
    /// Bytes to send beside the answer
    #[arg(short, long)]
    attach: Option<String>,
    /// Promise that nobody else has to be asked for these keys
    #[arg(long)]
    complete: bool,
    /// Leave after so many queries [default: never]
    #[arg(short, long, value_name = "QUERIES")]
    number: Option<u64>,
    #[command(flatten)]
    connection: Connection,
}

impl Queryable {
    /// Answers until Ctrl-C or the number.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let session = self.connection.open()?;
        let queryable = session
            .declare_queryable(&self.key)
            .complete(self.complete)
            .wait()?;
        if self.connection.json {
            ready(&session);
        }
        let next = |patience| queryable.recv_timeout(patience);
        each(self.number, &interrupt, next, |query| {
            show(&query, self.connection.json);
            self.answer(&query)
        })?;
        queryable.undeclare().wait()?;
        session.close().wait()?;
        Ok(())
    }

    fn answer(&self, query: &Query) -> Result<(), Failure> {
        let own_is_plain = !self.key.as_str().contains('*');
        let asked_is_plain = !query.key_expr().as_str().contains('*');
        let key = match own_is_plain || !asked_is_plain {
            true => &self.key,
            false => query.key_expr(),
        };
        let answer = query
            .reply(key, &self.payload)
            .encoding(self.encoding.as_str())
            .attachment(self.attach.as_deref());
        match answer.wait() {
            Ok(_) => Ok(()),
            // The asker has given up; the next one may wait.
            Err(error @ (AnswerError::Over | AnswerError::Timeout { .. })) => {
                tracing::warn!("{query} is not answered: {error}");
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn show(query: &Query, as_json: bool) {
    if as_json {
        let line = json!({
            "key": query.key_expr().as_str(),
            "parameters": query.parameters().as_str(),
            "payload": query.payload().map(text),
            "encoding": query.encoding().map(ToString::to_string),
            "attachment": query.attachment().map(text),
            "any_key": query.accepts_replies() == ReplyKeyExpr::Any,
        });
        return print(format_args!("{line}"));
    }
    let payload = query.payload().map(|p| format!(": {}", text(p)));
    print(format_args!(
        "{query}{}{}",
        payload.unwrap_or_default(),
        behind(query.attachment())
    ));
}
