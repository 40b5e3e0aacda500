// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda queryable`: replies to queries with a value.

use clap::Args;
use serde_json::json;
use zonda::key_expr::KeyExpr;
use zonda::query::{Query, ReplyKeyExpr};
use zonda::{AnswerError, Operation, Wait};
use zonda_program::{Connection, Failure, Interrupt, print};

use super::form::text;
use super::operands::KeyAndValue;
use super::show::{add_bytes, behind, each};
use super::start::Start;

const HELP: &str = "\
Example:
  zonda queryable demo/answer 42 -l tcp/127.0.0.1:7450
  zonda get 'demo/*' -e tcp/127.0.0.1:7450                  in a second terminal: asks it

The answer is on the key that is answered for, or on the query's if only that one has no wildcards.

Exit code: 0 when done, also by Ctrl-C; 1 for a failure at run time; 2 for bad usage.";

/// Answer the queries on a key expression with a value.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP, override_usage = "zonda queryable [OPTIONS] KEY VALUE\n       zonda queryable [OPTIONS] KEY -f FILE")]
pub struct Queryable {
    #[command(flatten)]
    what: KeyAndValue,
    /// Bytes to send beside the answer
    #[arg(short, long)]
    attach: Option<String>,
    /// Declare this queryable complete: no other one is needed for these keys
    #[arg(long)]
    complete: bool,
    /// Leave after so many queries [default: never]
    #[arg(short, long, value_name = "QUERIES")]
    number: Option<u64>,
    #[command(flatten)]
    connection: Connection,
}

impl Queryable {
    /// Replies until Ctrl-C or the number.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let (key, answer) = (self.what.key()?, self.what.required_value()?);
        let session = self.connection.open()?;
        let queryable = session
            .declare_queryable(&key)
            .complete(self.complete)
            .wait()?;
        let mut start = Start::new(&session, self.connection.json);
        let next = |patience| {
            start.look();
            queryable.recv_timeout(patience)
        };
        each(self.number, &interrupt, next, |query| {
            show(&query, self.connection.json);
            self.answer(&query, &key, &answer)
        })?;
        queryable.undeclare().wait()?;
        session.close().wait()?;
        Ok(())
    }

    fn answer(&self, query: &Query, own: &KeyExpr<'static>, value: &[u8]) -> Result<(), Failure> {
        let own_is_plain = !own.as_str().contains('*');
        let asked_is_plain = !query.key_expr().as_str().contains('*');
        let key = match own_is_plain || !asked_is_plain {
            true => own,
            false => query.key_expr(),
        };
        let answer = query
            .reply(key, value)
            .encoding(self.what.given.encoding())
            .attachment(self.attach.as_deref());
        match answer.typed().wait() {
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
        let mut line = json!({
            "key": query.key_expr().as_str(),
            "parameters": query.parameters().as_str(),
            "encoding": query.encoding().map(ToString::to_string),
            "any_key": query.accepts_replies() == ReplyKeyExpr::Any,
        });
        add_bytes(&mut line, "payload", query.payload());
        add_bytes(&mut line, "attachment", query.attachment());
        return print(format_args!("{line}"));
    }
    let payload = query.payload().map(|p| format!(": {}", text(p)));
    print(format_args!(
        "{query}{}{}",
        payload.unwrap_or_default(),
        behind(query.attachment())
    ));
}
