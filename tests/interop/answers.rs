// SPDX-License-Identifier: MIT OR Apache-2.0
//! Repliers of either implementation: queryables, and the queries that come to them.

use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zonda::query::{Query, Queryable, ReplyKeyExpr};
use zonda::sample::SourceInfo;
use zonda::{Session, Wait};

use crate::message::{Content, Message, Receipt, hex};
use crate::party::{Given, Party, joined, receipt};
use crate::reference::Reference;
use crate::wait::LONG;

/// A queryable, which replies as the test orders.
pub enum Answering {
    Ours {
        queryable: Queryable<()>,
        queries: Receiver<Query>,
        session: Session,
    },
    Theirs {
        process: Rc<Reference>,
        name: String,
        /// Id: `<node>:<entity>`
        id: String,
    },
}

/// A query that came to a queryable. It ends when it is [finished](Asked::finish).
pub struct Asked {
    pub key: String,
    pub parameters: String,
    pub body: Option<Content>,
    pub encoding: Option<String>,
    /// Attachment as hexadecimal text.
    pub attachment: Option<String>,
    /// Source: `<node>:<entity>:<number>`
    pub source: Option<String>,
    /// True if replies may have any key.
    pub any_key: bool,
    /// Priority of the query; the reference does not report it.
    pub priority: Option<u8>,
    to: Asker,
}

enum Asker {
    Ours {
        query: Box<Query>,
        session: Session,
    },
    Theirs {
        process: Rc<Reference>,
        number: Value,
    },
}

impl Answering {
    /// Returns the next query.
    pub fn next(&self) -> Asked {
        self.next_within(LONG)
            .unwrap_or_else(|| panic!("no query within {LONG:?}"))
    }

    /// Returns a query that has come already.
    pub fn try_next(&self) -> Option<Asked> {
        self.next_within(Duration::ZERO)
    }

    fn next_within(&self, limit: Duration) -> Option<Asked> {
        match self {
            Answering::Ours {
                queries, session, ..
            } => {
                let query = queries.recv_timeout(limit).ok()?;
                Some(Asked::ours(query, session))
            }
            Answering::Theirs { process, name, .. } => {
                let told = process.sample(name, Instant::now() + limit)?;
                Some(Asked::theirs(process, &told["query"]))
            }
        }
    }

    /// Returns its id in its replies: `<node>:<entity>`.
    pub fn id(&self) -> String {
        match self {
            Answering::Ours { queryable, .. } => {
                let id = queryable.id();
                format!("{}:{}", id.zid, id.eid)
            }
            Answering::Theirs { id, .. } => id.clone(),
        }
    }

    pub fn undeclare(self) {
        match self {
            Answering::Ours { queryable, .. } => drop(queryable),
            Answering::Theirs { process, name, .. } => {
                process.call("undeclare", json!({"name": name}));
            }
        }
    }
}

impl Asked {
    fn ours(query: Query, session: &Session) -> Asked {
        let source = |s: SourceInfo| format!("{}:{}:{}", s.id.zid, s.id.eid, s.sn);
        Asked {
            key: query.key_expr().to_string(),
            parameters: query.parameters().to_string(),
            body: query.payload().cloned().map(Content::Bytes),
            encoding: query.encoding().map(ToString::to_string),
            attachment: query.attachment().map(|a| hex(a.as_slice())),
            source: query.source_info().map(source),
            any_key: query.accepts_replies() == ReplyKeyExpr::Any,
            priority: Some(query.priority() as u8),
            to: Asker::Ours {
                query: Box::new(query),
                session: session.clone(),
            },
        }
    }

    fn theirs(process: &Rc<Reference>, told: &Value) -> Asked {
        let text = |field: &str| told[field].as_str().map(str::to_owned);
        let body = &told["body"];
        Asked {
            key: text("key").expect("a key"),
            parameters: text("parameters").expect("parameters"),
            body: body.is_object().then(|| Content::theirs(process, body)),
            encoding: text("encoding"),
            attachment: text("attachment"),
            source: text("source"),
            any_key: told["any_key"] == true,
            priority: None,
            to: Asker::Theirs {
                process: process.clone(),
                number: told["number"].clone(),
            },
        }
    }

    /// Replies with a put or a delete on this key.
    pub fn reply(&self, key: &str, message: &Message) -> Receipt {
        self.try_reply(key, message)
            .unwrap_or_else(|e| panic!("{e}"))
    }

    pub fn try_reply(&self, key: &str, message: &Message) -> Result<Receipt, String> {
        match &self.to {
            Asker::Ours { query, session } => {
                let given = Given::of(session, message);
                let done = if message.delete {
                    let reply = query.reply_del(key).attachment(message.attachment);
                    reply.timestamp(given.timestamp).wait()
                } else {
                    let reply = query.reply(key, message.pattern.bytes());
                    let reply = reply.encoding(message.encoding.unwrap_or_default());
                    let reply = reply.attachment(message.attachment).timeout(LONG);
                    reply.timestamp(given.timestamp).wait()
                };
                done.map_err(|e| e.to_string())?;
                Ok(given.receipt())
            }
            Asker::Theirs { process, number } => {
                let command = json!({"query": number, "key": key});
                let answer = process.try_call("reply", joined(command, message.to_command()))?;
                Ok(receipt(&answer))
            }
        }
    }

    /// Replies with an error, with the message's payload and encoding.
    pub fn reply_err(&self, message: &Message) {
        match &self.to {
            Asker::Ours { query, .. } => {
                let error = query.reply_err(message.pattern.bytes());
                let error = error.encoding(message.encoding.unwrap_or_default());
                error.wait().expect("it is asked for");
            }
            Asker::Theirs { process, number } => {
                let command = joined(json!({"query": number}), message.to_command());
                process.call("reply_err", command);
            }
        }
    }

    /// Ends the query; no more replies follow.
    pub fn finish(self) {
        match self.to {
            Asker::Ours { query, .. } => drop(query),
            Asker::Theirs { process, number } => {
                process.call("finish", json!({"query": number}));
            }
        }
    }
}

impl Party {
    pub fn queryable(&self, key: &str) -> Answering {
        self.queryable_of(key, false)
    }

    /// Declares a queryable that is, or is not, complete for its key.
    pub fn queryable_of(&self, key: &str, complete: bool) -> Answering {
        match self {
            Party::Ours(session) => {
                let (asked, queries) = channel();
                let declared = session.declare_queryable(key).complete(complete);
                let declared = declared.callback(move |query| {
                    // an error means that the test has all that it needs
                    let _ = asked.send(query);
                });
                Answering::Ours {
                    queryable: declared.wait().expect("it is open"),
                    queries,
                    session: session.clone(),
                }
            }
            Party::Theirs(party) => {
                let name = party.process.fresh("queryable");
                let command = json!({"name": name, "key": key, "complete": complete});
                let answer = party.process.call("queryable", party.command(command));
                let id = answer["id"].as_str().expect("an entity").to_owned();
                Answering::Theirs {
                    process: party.process.clone(),
                    name,
                    id,
                }
            }
        }
    }
}
