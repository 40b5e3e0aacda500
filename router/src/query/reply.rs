// SPDX-License-Identifier: MIT OR Apache-2.0

//! Replying: from a queryable of this node to the asker, a neighbour or this node's own session.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::{
    Encoding, EntityGlobalId, ErrBody, KeyExpr, Payload, Priority, PushBody, RawExtensions,
    Reliability, Reply, ResponseBody, ZSlice,
};
use zonda_transport::{
    outbox::{OfSender, Outbox, Overflow, Refused, Write},
    protocol::tx::{Outgoing, Tail},
};

use crate::{
    flow::publish::{MESSAGE_BYTES_MAX, body},
    model::{Outcome, Publication, SampleKind, Value},
    node::{
        shared::{KEY_BYTES_MAX, Shared},
        state::State,
    },
    query::{
        Answer, AnswerBody, QueryableId, ReplyError,
        ask::{SCHEMA_BYTES_MAX, shared},
        heads::{AnswerHead, may_drop, response},
        open::{Next, OpenQuestion},
        settle::{After, Call},
    },
    table::{FaceId, LocalBranch, QueryOrigin},
};

/// An answer of a queryable of this node on its way out.
pub(crate) struct Unsaid<'a> {
    key: &'a KeyExpr<'a>,
    eid: u32,
    body: ResponseBody<'a>,
    payload: Value<'a>,
}

/// Why an answer was not given at the first attempt, and what may be waited for.
pub(crate) struct Busy {
    pub(crate) error: ReplyError,
    room: Room,
}

enum Room {
    /// Waiting does not help.
    None,
    Lane(Arc<Outbox>),
    Question(Arc<OpenQuestion>),
}

impl From<ReplyError> for Busy {
    fn from(error: ReplyError) -> Self {
        let room = Room::None;
        Busy { error, room }
    }
}

impl Busy {
    /// Whether waiting does not help.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self.room, Room::None)
    }

    /// Waits, at most until `deadline`; false if it was in vain.
    pub(crate) fn wait_room(&self, node: &Shared, priority: Priority, deadline: Instant) -> bool {
        match &self.room {
            Room::None => false,
            Room::Lane(outbox) => node.wait_for_room(outbox, priority, deadline),
            Room::Question(question) => question.wait_room(deadline),
        }
    }

    /// The same without holding the thread.
    pub(crate) async fn room_by(
        &self,
        node: &Shared,
        priority: Priority,
        deadline: Instant,
    ) -> bool {
        match &self.room {
            Room::None => false,
            Room::Lane(outbox) => node.room_by(outbox, priority, deadline).await,
            Room::Question(question) => node.until(deadline, question.room()).await.is_some(),
        }
    }

    /// What it means that waiting for so long was in vain.
    pub(crate) fn after(self, limit: Duration) -> ReplyError {
        match self.error {
            ReplyError::WouldBlock { peer } => ReplyError::Timeout { peer, after: limit },
            other => other,
        }
    }
}

impl<'a> Unsaid<'a> {
    pub(crate) fn sample(
        key: &'a KeyExpr<'a>,
        queryable: QueryableId,
        sample: &Publication<'a>,
    ) -> Result<Self, ReplyError> {
        let attachment = sample.attachment.map_or(0, <[u8]>::len);
        let payload = match sample.kind {
            SampleKind::Put => sample.payload,
            SampleKind::Delete => Value::Borrowed(&[]),
        };
        let size = payload.as_slice().len() + attachment;
        check(key, size, &sample.encoding)?;
        let reply = Reply {
            consolidation: Default::default(),
            unknown: RawExtensions::default(),
            payload: body(sample, sample.timestamp),
        };
        Ok(Unsaid {
            key,
            eid: queryable.0,
            body: ResponseBody::Reply(reply),
            payload,
        })
    }

    pub(crate) fn error(
        key: &'a KeyExpr<'a>,
        queryable: QueryableId,
        payload: Value<'a>,
        encoding: Encoding<'a>,
    ) -> Result<Self, ReplyError> {
        check(key, payload.as_slice().len(), &encoding)?;
        let error = ErrBody {
            encoding,
            source_info: None,
            unknown: RawExtensions::default(),
            payload: payload.as_slice(),
        };
        Ok(Unsaid {
            key,
            eid: queryable.0,
            body: ResponseBody::Err(error),
            payload,
        })
    }

    fn head(&self, asker: &QueryOrigin, responder: EntityGlobalId) -> AnswerHead<'_> {
        AnswerHead {
            head: response(asker, self.key.as_str(), Some(responder)),
            body: &self.body,
            payload_len: self.payload.as_slice().len(),
        }
    }

    fn message<'m>(&self, head: &'m AnswerHead<'_>) -> Outgoing<'m, AnswerHead<'m>>
    where
        'a: 'm,
    {
        Outgoing {
            reliability: Reliability::Reliable,
            head,
            payload: match self.payload {
                Value::Borrowed(bytes) => Tail::Copy(bytes),
                Value::Shared(payload) => Tail::Shared(payload.as_zslice()),
            },
        }
    }
}

impl Shared {
    /// One attempt to answer, without waiting.
    pub(crate) fn try_reply(
        &self,
        face: FaceId,
        rid: u32,
        unsaid: &Unsaid<'_>,
    ) -> Result<Outcome, Busy> {
        if self.is_forked() {
            return Err(ReplyError::Forked.into());
        }
        if self.is_closed() {
            return Err(ReplyError::Closed.into());
        }
        let responder = EntityGlobalId {
            zid: self.zid,
            eid: unsaid.eid,
        };
        let state = self.state.lock();
        let asker = state
            .table
            .origin_of_query(face, rid)
            .ok_or(ReplyError::Over)?;
        if asker.face == self.local {
            let question = state.queries.open.get(&asker.rid).cloned();
            let question = question.ok_or(ReplyError::Over)?;
            if question.is_crowded() {
                return Err(self.crowded(question, &asker));
            }
            let answer = Local::new(unsaid, responder);
            let next = answer.lend(unsaid, question.qos(), |answer| question.enter(answer));
            drop(state);
            if next == Next::Deliver {
                answer.lend(unsaid, question.qos(), |answer| question.deliver(answer));
            }
            return Ok(match next {
                Next::Deliver | Next::Drain => Outcome::Sent,
                Next::Nothing | Next::Crowded => Outcome::Queued,
            });
        }
        let found = state.faces.get(&asker.face).ok_or(ReplyError::Over)?;
        let (outbox, peer) = (Arc::clone(&found.outbox), found.status.zid);
        let head = unsaid.head(&asker, responder);
        let message = unsaid.message(&head);
        // It is written once the state is unlocked.
        let (priority, overflow) = (asker.qos.priority(), OfSender(asker.qos));
        let queued = outbox.enqueue(priority, overflow, Write::Later, &message);
        drop(state);
        let write = Write::one_by_one(asker.qos.is_express());
        match queued {
            Ok(sent) if outbox.maybe_flush(write, sent) => Ok(Outcome::Sent),
            Ok(_) => Ok(Outcome::Queued),
            Err(Refused::Closed) => Err(ReplyError::Over.into()),
            Err(Refused::TooLong) => Err(ReplyError::FieldTooLong.into()),
            Err(Refused::Full) if may_drop(asker.qos) => Err(ReplyError::Dropped { peer }.into()),
            Err(Refused::Full) => Err(Busy {
                error: ReplyError::WouldBlock { peer },
                room: Room::Lane(outbox),
            }),
        }
    }

    /// Answers with what the node itself has to say, under the state's lock. Nobody is waited for.
    pub(crate) fn say_at_once(
        &self,
        branch: &LocalBranch,
        key: &KeyExpr<'_>,
        sample: &Publication<'_>,
        state: &mut State,
        after: &mut After,
    ) {
        let unsaid = Unsaid::sample(key, QueryableId(0), sample);
        let asker = state.table.origin_of_query(branch.face, branch.rid);
        let (Ok(unsaid), Some(asker)) = (unsaid, asker) else {
            return;
        };
        let responder = EntityGlobalId {
            zid: self.zid,
            eid: unsaid.eid,
        };
        if asker.face == self.local {
            if let Some(question) = state.queries.open.get(&asker.rid) {
                let answer = Local::new(&unsaid, responder);
                let next = answer.lend(&unsaid, question.qos(), |answer| question.book(answer));
                if next == Next::Drain {
                    after.calls.push(Call::Drain(Arc::clone(question)));
                }
            }
        } else if let Some(found) = state.faces.get(&asker.face) {
            let head = unsaid.head(&asker, responder);
            let message = unsaid.message(&head);
            // A connection that is closed loses its questions by itself.
            let priority = asker.qos.priority();
            let _ = found
                .outbox
                .enqueue(priority, Overflow::Keep, Write::Later, &message);
            after.touch(&found.outbox);
        }
    }

    /// The session's own callback is slow.
    fn crowded(&self, question: Arc<OpenQuestion>, asker: &QueryOrigin) -> Busy {
        let peer = self.zid;
        match may_drop(asker.qos) {
            true => ReplyError::Dropped { peer }.into(),
            false => Busy {
                error: ReplyError::WouldBlock { peer },
                room: Room::Question(question),
            },
        }
    }
}

/// An answer for this node's own session.
struct Local {
    responder: EntityGlobalId,
    /// The payload, shared.
    block: Payload,
}

impl Local {
    fn new(unsaid: &Unsaid<'_>, responder: EntityGlobalId) -> Self {
        let block = shared(unsaid.payload);
        Local { responder, block }
    }

    fn lend<T>(
        &self,
        unsaid: &Unsaid<'_>,
        qos: zonda_codec::Qos,
        with: impl FnOnce(&Answer<'_>) -> T,
    ) -> T {
        let block: &ZSlice = self.block.as_zslice();
        let sample: PushBody<'_>;
        let body = match unsaid.body {
            ResponseBody::Reply(reply) => {
                sample = match reply.payload {
                    PushBody::Put(put) => PushBody::Put(zonda_codec::Put {
                        payload: block.as_slice(),
                        ..put
                    }),
                    PushBody::Del(del) => PushBody::Del(del),
                };
                AnswerBody::Sample(&sample)
            }
            ResponseBody::Err(error) => AnswerBody::Error {
                encoding: error.encoding,
                payload: block.as_slice(),
            },
        };
        with(&Answer {
            key: unsaid.key,
            responder: Some(self.responder),
            body,
            block,
            qos,
        })
    }
}

fn check(key: &KeyExpr<'_>, size: usize, encoding: &Encoding<'_>) -> Result<(), ReplyError> {
    let (len, limit) = (key.as_str().len(), KEY_BYTES_MAX);
    if len > limit {
        return Err(ReplyError::TooLarge { size: len, limit });
    }
    let limit = MESSAGE_BYTES_MAX;
    if size > limit {
        return Err(ReplyError::TooLarge { size, limit });
    }
    match encoding.schema {
        Some(schema) if schema.len() > SCHEMA_BYTES_MAX => {
            Err(ReplyError::SchemaTooLong { len: schema.len() })
        }
        _ => Ok(()),
    }
}
