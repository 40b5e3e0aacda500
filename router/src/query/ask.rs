// SPDX-License-Identifier: MIT OR Apache-2.0

//! Asking: from a [`Question`] of the session to the lanes of the neighbours and the session's own queryables.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::{
    Consolidation, KeyExpr, Payload, Qos, Query, QueryBody, RawExtensions, Reliability, Request,
    SourceInfo, Target,
};
use zonda_transport::{
    outbox::{Outbox, Overflow, Write},
    protocol::tx::{Outgoing, Tail},
};

use crate::{
    flow::publish::MESSAGE_BYTES_MAX,
    model::Value,
    node::{
        shared::{KEY_BYTES_MAX, Shared},
        state::State,
    },
    query::{
        Answers, AskError, QuerierFace, Question, QuestionEnd, QuestionId,
        answering::IncomingQuery,
        heads::{AskHead, may_drop},
        open::{Next, OpenQuestion},
        owned::OwnedEncoding,
        settle::{After, Call},
    },
    table::{Branches, Locality, NewQuery, QueryDispatch},
};

/// A neighbour that must be asked and has no room.
pub(crate) struct Full {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) error: AskError,
}

/// Why an attempt to ask failed.
pub(crate) enum Failed {
    /// Trying again after waiting may help.
    Full(Full),
    Error(AskError),
}

/// A question that waits for somebody to ask.
pub(crate) struct HeldQuestion {
    key: KeyExpr<'static>,
    parameters: Box<str>,
    body: Option<(Payload, OwnedEncoding)>,
    attachment: Option<Payload>,
    target: Target,
    consolidation: Consolidation,
    timeout: Duration,
    qos: Qos,
    source_info: Option<SourceInfo>,
    destination: Locality,
}

impl HeldQuestion {
    fn of(question: &Question<'_>) -> Self {
        HeldQuestion {
            key: question.key.clone().into_owned(),
            parameters: question.parameters.into(),
            body: question
                .body
                .map(|(payload, encoding)| (shared(payload), OwnedEncoding::from(encoding))),
            attachment: question.attachment.map(Payload::from),
            target: question.target,
            consolidation: question.consolidation,
            timeout: question.timeout,
            qos: question.qos,
            source_info: question.source_info,
            destination: question.destination,
        }
    }

    /// Calls `with` with the question that this remembers.
    pub(crate) fn lend<T>(&self, with: impl FnOnce(&Question<'_>) -> T) -> T {
        with(&Question {
            key: &self.key,
            parameters: &self.parameters,
            body: self
                .body
                .as_ref()
                .map(|(payload, encoding)| (Value::Shared(payload), encoding.borrowed())),
            attachment: self.attachment.as_ref().map(Payload::as_slice),
            target: self.target,
            consolidation: self.consolidation,
            timeout: self.timeout,
            qos: self.qos,
            source_info: self.source_info,
            destination: self.destination,
        })
    }
}

/// The bytes of a value, shared; borrowed ones are copied.
pub(crate) fn shared(value: Value<'_>) -> Payload {
    match value {
        Value::Borrowed(bytes) => Payload::from(bytes),
        Value::Shared(payload) => payload.clone(),
    }
}

impl Shared {
    /// One attempt to ask, without waiting.
    pub(crate) fn try_ask(
        &self,
        question: &Question<'_>,
        querier: Option<&QuerierFace>,
        answers: &Arc<dyn Answers>,
    ) -> Result<QuestionId, Failed> {
        self.check_question(question).map_err(Failed::Error)?;
        let now = Instant::now();
        let mut state = self.state.lock();
        if self.is_closed() {
            return Err(Failed::Error(AskError::Closed));
        }
        let checked = state.table.check_key(question.key);
        checked.map_err(|over| Failed::Error(AskError::KeyOverLimit(over)))?;
        let rid = state.table.next_query_id(self.local);
        let ask = NewQuery {
            rid,
            key: question.key,
            target: question.target,
            qos: question.qos,
            timeout: question.timeout,
            querier: querier.map(QuerierFace::id),
            destination: question.destination,
        };
        let disposal = state.table.handle_query(self.local, &ask, now);
        if let QueryDispatch::Sent(branches) = &disposal
            && let Some(full) = full_hop(&state, branches, question.qos)
        {
            state.table.forget_query(self.local, rid);
            return Err(Failed::Full(full));
        }
        // Its number is no other's and the session may ask, so this is not to be expected.
        if disposal == QueryDispatch::Ignored {
            return Err(Failed::Error(AskError::Closed));
        }
        let key = question.key.clone().into_owned().into_cloneable();
        let any_key = accepts_any_key(question.parameters);
        let open = OpenQuestion::new(key, any_key, question.qos, Arc::clone(answers));
        state.queries.open.insert(rid, open);
        let mut after = After::default();
        match disposal {
            QueryDispatch::Sent(branches) => {
                self.spread(&branches, question, &mut state, &mut after);
            }
            QueryDispatch::Held => {
                state.queries.held.insert(rid, HeldQuestion::of(question));
            }
            QueryDispatch::Ended | QueryDispatch::Ignored => {}
        }
        self.wake_clock(&mut state);
        self.settle_questions(&mut state, &mut after);
        drop(state);
        after.finish();
        Ok(QuestionId(rid))
    }

    /// Sends a question to all who are asked.
    pub(crate) fn spread(
        &self,
        branches: &Branches,
        question: &Question<'_>,
        state: &mut State,
        after: &mut After,
    ) {
        let (payload, body) = match question.body {
            None => (Tail::NONE, None),
            Some((value, encoding)) => {
                let payload = match value {
                    Value::Borrowed(bytes) => Tail::Copy(bytes),
                    Value::Shared(payload) => Tail::Shared(payload.as_zslice()),
                };
                let payload_bytes = &[][..];
                let body = QueryBody {
                    encoding,
                    payload: payload_bytes,
                };
                (payload, Some(body))
            }
        };
        let query = Query {
            consolidation: question.consolidation,
            parameters: question.parameters,
            source_info: question.source_info,
            body,
            attachment: question.attachment,
            unknown: RawExtensions::default(),
        };
        for hop in &branches.hops {
            let Some(face) = state.faces.get(&hop.face) else {
                continue;
            };
            let wire_expr = hop.wire_expr(question.key.as_str());
            let request = Request {
                qos: question.qos,
                target: question.target,
                timeout: Some(whole_milliseconds(question.timeout)),
                ..Request::new(hop.rid, wire_expr, query)
            };
            let head = AskHead {
                request,
                payload_len: payload.bytes().len(),
            };
            let message = Outgoing {
                reliability: Reliability::Reliable,
                head: &head,
                payload,
            };
            // A connection that is closed loses its questions by itself.
            let priority = question.qos.priority();
            let _ = face
                .outbox
                .enqueue(priority, Overflow::Keep, Write::Later, &message);
            after.touch(&face.outbox);
        }
        for branch in &branches.local {
            let query = |node| IncomingQuery::of_session(node, branch, question);
            self.ask_own(branch, question.key, query, state, after);
        }
    }

    /// Ends a question, if it has not ended.
    pub(crate) fn cancel_question(&self, id: QuestionId) {
        if self.is_forked() {
            return;
        }
        let mut state = self.state.lock();
        state.table.forget_query(self.local, id.0);
        let held = state.queries.held.remove(&id.0);
        let open = state.queries.open.remove(&id.0);
        drop(state);
        drop(held);
        if let Some(question) = open
            && question.end(QuestionEnd::Cancelled, 0) == Next::Drain
        {
            Call::Drain(question).run();
        }
    }

    fn check_question(&self, question: &Question<'_>) -> Result<(), AskError> {
        if self.is_forked() {
            return Err(AskError::Forked);
        }
        if self.is_closed() {
            return Err(AskError::Closed);
        }
        let (len, limit) = (question.key.as_str().len(), KEY_BYTES_MAX);
        if len > limit {
            return Err(AskError::KeyTooLong { len, limit });
        }
        let payload = question.body.map_or(0, |(value, _)| value.as_slice().len());
        let attachment = question.attachment.map_or(0, <[u8]>::len);
        let size = payload + attachment + question.parameters.len();
        if size > MESSAGE_BYTES_MAX {
            return Err(AskError::TooLarge {
                size,
                limit: MESSAGE_BYTES_MAX,
            });
        }
        match question.body.and_then(|(_, encoding)| encoding.schema) {
            Some(schema) if schema.len() > SCHEMA_BYTES_MAX => {
                Err(AskError::SchemaTooLong { len: schema.len() })
            }
            _ => Ok(()),
        }
    }
}

/// The longest schema of an encoding.
pub(crate) const SCHEMA_BYTES_MAX: usize = u8::MAX as usize;

/// What the protocol can say of a time, and no less than was meant.
fn whole_milliseconds(time: Duration) -> Duration {
    let milliseconds = time.as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(u64::MAX))
}

/// The first neighbour to be asked that has no room for the question.
fn full_hop(state: &State, branches: &Branches, qos: Qos) -> Option<Full> {
    let mut faces = branches
        .hops
        .iter()
        .filter_map(|hop| state.faces.get(&hop.face));
    let face = faces.find(|face| !face.outbox.has_room(qos.priority()))?;
    let (outbox, peer) = (Arc::clone(&face.outbox), face.status.zid);
    let error = match may_drop(qos) {
        true => {
            outbox.count_dropped(qos.priority());
            AskError::Dropped { peer }
        }
        false => AskError::WouldBlock { peer },
    };
    Some(Full { outbox, error })
}

/// Whether the selector's parameters permit replies on any key.
pub(crate) fn accepts_any_key(parameters: &str) -> bool {
    parameters.split(';').any(|parameter| {
        let name = parameter
            .split_once('=')
            .map_or(parameter, |(name, _)| name);
        name.trim() == "_anyke"
    })
}
