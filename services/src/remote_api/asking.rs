// SPDX-License-Identifier: MIT OR Apache-2.0

//! Questions of a client to the network.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use zonda::Session;
use zonda::access::MessageKind;
use zonda::bytes::{Encoding, ZBytes};
use zonda::key_expr::KeyExpr;
use zonda::query::{Reply, Selector};

use super::codec::Writer;
use super::entities::Entities;
use super::message::{Question, answer};
use super::outlet::Outlet;
use super::rights::Rights;

/// A question that is being answered. Dropping it tells the client that all replies have come.
pub(super) struct Asked {
    out: Outlet,
    id: u32,
    open: Arc<AtomicUsize>,
}

impl Asked {
    /// Counts a question as open until it is dropped.
    pub fn new(out: Outlet, id: u32, open: Arc<AtomicUsize>) -> Asked {
        open.fetch_add(1, Ordering::Relaxed);
        Asked { out, id, open }
    }

    /// Ends the question with an error.
    pub fn fail(self, reason: &str) {
        self.error(reason.as_bytes(), &Encoding::ZENOH_STRING);
    }

    fn reply(&self, reply: &Reply) {
        match reply.result() {
            Ok(sample) => self.out.send(self.begin(true).sample(sample)),
            Err(error) => self.error(error.payload().as_slice(), error.encoding()),
        }
    }

    fn error(&self, payload: &[u8], encoding: &Encoding) {
        let message = self.begin(false).bytes(payload);
        self.out.send(message.encoding(encoding));
    }

    fn begin(&self, is_ok: bool) -> Writer {
        Writer::new(answer::REPLY, None).u32(self.id).bool(is_ok)
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.out.send(Writer::new(answer::FINAL, None).u32(self.id));
    }
}

/// The parts of a remote session that questions need.
pub(super) struct Asker<'a> {
    pub session: &'a Session,
    pub rights: &'a Rights,
    pub entities: &'a Entities,
}

impl Asker<'_> {
    /// Asks; the replies go to the client as they come.
    ///
    /// # Errors
    /// The question was refused; the client has got the reason.
    pub async fn ask(&self, asked: Asked, question: Question) -> Result<(), String> {
        let key = match self.permitted(&question) {
            Ok(key) => key,
            Err(reason) => {
                asked.fail(&reason);
                return Err(reason);
            }
        };
        let rights = self.rights.clone();
        let kind = match question {
            Question::Liveliness { .. } => MessageKind::LivelinessToken,
            Question::Get { .. } | Question::OfQuerier { .. } => MessageKind::Reply,
        };
        let take = move |reply: Reply| {
            if rights.gets_reply(kind, &reply) {
                asked.reply(&reply);
            }
        };
        macro_rules! ask {
            ($get:expr, $value:expr) => {{
                let (value, mut get) = ($value, $get);
                if let Some(payload) = value.payload {
                    get = get.payload(ZBytes::from(payload));
                }
                if let Some(encoding) = value.encoding {
                    get = get.encoding(encoding);
                }
                let get = get.attachment(value.attachment);
                get.callback(take).await.map_err(text)
            }};
        }
        match question {
            Question::Get {
                parameters,
                value,
                service,
                asking,
                timeout,
                ..
            } => {
                let get = self.session.get(Selector::owned(key, parameters));
                let get = get
                    .target(asking.target)
                    .consolidation(asking.consolidation);
                let get = get.accept_replies(asking.accept).timeout(timeout);
                let get = get.priority(service.priority).express(service.express);
                let get = get.congestion_control(service.congestion);
                ask!(get.allowed_destination(service.locality), value)
            }
            Question::OfQuerier {
                querier,
                parameters,
                value,
            } => {
                let get = self.entities.querier(querier)?.get();
                ask!(get.parameters(parameters), value)
            }
            Question::Liveliness { timeout, .. } => {
                let get = self.session.liveliness().get(key).timeout(timeout);
                get.callback(take).await.map_err(text)
            }
        }
    }

    /// Returns the key of a question that the client may ask.
    ///
    /// # Errors
    /// There is no such key or querier, or a rule denies the question.
    fn permitted(&self, question: &Question) -> Result<KeyExpr<'static>, String> {
        match question {
            Question::Get { key, value, .. } => {
                let key = key_of(key)?;
                self.rights.may_ask(&key, value.payload.is_some())?;
                Ok(key)
            }
            Question::OfQuerier { querier, value, .. } => {
                let querier = self.entities.querier(*querier)?;
                let key = querier.key_expr().clone();
                self.rights.may_ask(&key, value.payload.is_some())?;
                Ok(key)
            }
            Question::Liveliness { key, .. } => {
                let key = key_of(key)?;
                self.rights.may_send(MessageKind::LivelinessQuery, &key)?;
                Ok(key)
            }
        }
    }
}

/// Reads a key.
///
/// # Errors
/// It is none.
pub(super) fn key_of(text: &str) -> Result<KeyExpr<'static>, String> {
    KeyExpr::autocanonize(text.to_owned()).map_err(|error| error.to_string())
}

/// Returns an error as text.
pub(super) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
