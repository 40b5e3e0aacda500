// SPDX-License-Identifier: MIT OR Apache-2.0

//! Replies under construction.

use std::marker::PhantomData;
use std::time::Duration;

use zonda_codec::{KeyExpr, KeyExprError};
use zonda_router::node::{Outcome, Publication, PublishError};

use super::answering::Query;
use crate::bytes::{Encoding, ZBytes};
use crate::error::AnswerError;
use crate::publication::{Message, MessageQos, message_setters, patience};
use crate::qos::{CongestionControl, Priority};
use crate::sample::{Sample, SampleFields};
use crate::turns::turn;
use crate::wait::{Operation, OperationLater, Pending, awaited};

/// Marker of a [`ReplyBuilder`] that replies with a value.
#[derive(Debug, Clone, Copy)]
pub struct ReplyBuilderPut;

/// Marker of a [`ReplyBuilder`] that replies that a key has no value any more.
#[derive(Debug, Clone, Copy)]
pub struct ReplyBuilderDelete;

/// A reply under construction; made by [`Query::reply`] and [`Query::reply_del`].
///
/// `.wait()` and `.await` return whether the reply was sent: the asker may not wait any more, or
/// (if the query was sent with congestion control `Drop`) the reply was dropped for a slow peer.
///
/// ```
/// use zonda::bytes::Encoding;
/// use zonda::{Config, Wait};
///
/// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// let queryable = session.declare_queryable("demo/*").wait()?;
/// let replies = session.get("demo/*").wait()?;
///
/// let query = queryable.recv()?;
/// let now = session.new_timestamp();
/// query.reply("demo/a", "{}").encoding(Encoding::APPLICATION_JSON).timestamp(now).wait()?;
/// query.reply_del("demo/b").wait()?;
/// drop(query);
/// assert_eq!(replies.iter().count(), 2);
/// # Ok::<(), zonda::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is answered before .await or .wait()"]
pub struct ReplyBuilder<'a, 'b, T> {
    query: &'a Query,
    key: Result<KeyExpr<'b>, KeyExprError>,
    message: Message,
    kind: PhantomData<T>,
}

impl<'a, 'b, T> ReplyBuilder<'a, 'b, T> {
    pub(super) fn new(
        query: &'a Query,
        key: Result<KeyExpr<'b>, KeyExprError>,
        message: Message,
    ) -> Self {
        ReplyBuilder {
            query,
            key,
            message,
            kind: PhantomData,
        }
    }

    message_setters!(message);

    /// Changes nothing: replies have the priority of their query.
    pub fn priority(self, _priority: Priority) -> Self {
        self
    }

    /// Changes nothing: replies have the congestion control of their query.
    pub fn congestion_control(self, _control: CongestionControl) -> Self {
        self
    }

    /// Changes nothing: replies are express if their query is.
    pub fn express(self, _express: bool) -> Self {
        self
    }
}

impl<T> Operation for ReplyBuilder<'_, '_, T> {
    type Given = ();
    type Refusal = AnswerError;

    /// Replies.
    ///
    /// # Blocking
    /// If the query was sent with congestion control `Drop` never; else at most the timeout of the builder. For a query
    /// of this same session the get's callback is called, or its queue waited for.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        answer(self.query, &self.key?, &self.message)
    }
}

impl<'a, T: Send + 'a> OperationLater for ReplyBuilder<'a, 'a, T> {
    type Later = Pending<'a, Result<Self::Given, Self::Refusal>>;

    /// Replies; where it has to wait, it waits by waker.
    fn perform_later(self) -> Self::Later {
        let ReplyBuilder {
            query,
            key,
            message,
            ..
        } = self;
        Box::pin(async move {
            turn().await;
            answer_async(query, &key?, &message).await
        })
    }
}

awaited!(['a, T: Send + 'a] ReplyBuilder<'a, 'a, T>);

/// A reply that is a sample as it is; made by [`Query::reply_sample`].
#[derive(Debug)]
#[must_use = "nothing is answered before .await or .wait()"]
pub struct ReplySample<'a> {
    query: &'a Query,
    key: KeyExpr<'static>,
    message: Message,
}

impl<'a> ReplySample<'a> {
    pub(super) fn new(query: &'a Query, sample: Sample, limit: Duration) -> Self {
        let fields = SampleFields::from(sample);
        let message = Message {
            kind: fields.kind,
            encoding: fields.encoding,
            attachment: fields.attachment,
            timestamp: fields.timestamp,
            source_info: fields.source_info,
            ..Message::put(fields.payload, MessageQos::default(), limit)
        };
        ReplySample {
            query,
            key: fields.key_expr,
            message,
        }
    }
}

impl Operation for ReplySample<'_> {
    type Given = ();
    type Refusal = AnswerError;

    /// Replies.
    ///
    /// # Blocking
    /// Blocks as [`ReplyBuilder`] does.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        answer(self.query, &self.key, &self.message)
    }
}

impl<'a> OperationLater for ReplySample<'a> {
    type Later = Pending<'a, Result<Self::Given, Self::Refusal>>;

    fn perform_later(self) -> Self::Later {
        Box::pin(async move { answer_async(self.query, &self.key, &self.message).await })
    }
}

awaited!(['a] ReplySample<'a>);

/// An error reply under construction; made by [`Query::reply_err`].
#[derive(Debug)]
#[must_use = "nothing is answered before .await or .wait()"]
pub struct ReplyErrBuilder<'a> {
    query: &'a Query,
    payload: ZBytes,
    encoding: Encoding,
    limit: Duration,
}

impl<'a> ReplyErrBuilder<'a> {
    pub(super) fn new(query: &'a Query, payload: ZBytes, limit: Duration) -> Self {
        ReplyErrBuilder {
            query,
            payload,
            encoding: Encoding::default(),
            limit,
        }
    }

    /// Sets the encoding of the payload. Default: plain bytes.
    pub fn encoding(mut self, encoding: impl Into<Encoding>) -> Self {
        self.encoding = encoding.into();
        self
    }

    /// Sets the time that this reply may wait for room. Default: the configuration's
    /// `wait_before_close`, 5 s.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    fn check(&self) -> Result<(), AnswerError> {
        match self.encoding.schema().map_or(0, <[u8]>::len) {
            len if len > Encoding::SCHEMA_BYTES_MAX => Err(AnswerError::SchemaTooLong { len }),
            _ => Ok(()),
        }
    }
}

impl Operation for ReplyErrBuilder<'_> {
    type Given = ();
    type Refusal = AnswerError;

    /// Replies.
    ///
    /// # Blocking
    /// Blocks as [`ReplyBuilder`] does.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        self.check()?;
        let limit = patience(self.query.congestion_control(), self.limit);
        let (payload, encoding) = (self.payload.value(), self.encoding.wire());
        let query = self.query;
        query
            .asked()
            .reply_error(query.queryable(), payload, encoding, limit)
            .map(on_its_way)
    }
}

impl<'a> OperationLater for ReplyErrBuilder<'a> {
    type Later = Pending<'a, Result<Self::Given, Self::Refusal>>;

    fn perform_later(self) -> Self::Later {
        Box::pin(async move {
            self.check()?;
            let (payload, encoding) = (self.payload.value(), self.encoding.wire());
            let (asked, queryable) = (self.query.asked(), self.query.queryable());
            let answer = asked.reply_error_async(queryable, payload, encoding, self.limit);
            answer.await.map(on_its_way)
        })
    }
}

awaited!(['a] ReplyErrBuilder<'a>);

fn answer(query: &Query, key: &KeyExpr<'_>, message: &Message) -> Result<(), AnswerError> {
    let limit = patience(query.congestion_control(), message.limit);
    let sample = view(message)?;
    let answered = query
        .asked()
        .reply(query.queryable(), &*query.outgoing(key)?, &sample, limit);
    answered.map(on_its_way)
}

async fn answer_async(
    query: &Query,
    key: &KeyExpr<'_>,
    message: &Message,
) -> Result<(), AnswerError> {
    let sample = view(message)?;
    let key = query.outgoing(key)?;
    let answer = query
        .asked()
        .reply_async(query.queryable(), &key, &sample, message.limit);
    answer.await.map(on_its_way)
}

fn view(message: &Message) -> Result<Publication<'_>, AnswerError> {
    message.view().map_err(|error| match error {
        PublishError::SchemaTooLong { len } => AnswerError::SchemaTooLong { len },
        _ => AnswerError::FieldTooLong,
    })
}

/// Ignores whether the reply was sent or queued.
fn on_its_way(_outcome: Outcome) {}
