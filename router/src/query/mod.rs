// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries of this node's own session: a [`Question`] goes out to the nodes that may answer it, what comes back is given to its
//! [`Answers`].

mod answering;
mod ask;
mod copied;
mod errors;
mod heads;
mod inbound;
mod open;
mod owned;
mod querier;
mod queries;
mod reply;
mod settle;

use std::{sync::Arc, time::Duration};

use zonda_codec::{
    Consolidation, Encoding, EntityGlobalId, KeyExpr, PushBody, Qos, SourceInfo, Target, ZSlice,
    ZenohId,
};

pub use answering::{Asked, AskedSink, IncomingQuery, OpenedQueryable, QueryableId};
pub use errors::{AskError, ReplyError};
pub use querier::QuerierFace;

pub(crate) use open::OpenQuestion;
pub(crate) use queries::Queries;
pub(crate) use settle::After;

use ask::{Failed, Full};

use crate::{
    model::{DeclareError, Value, Wait},
    node::handle::Node,
    table::Locality,
};

/// A question to the queryables on its keys. Borrows everything.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The keys asked for.
    pub key: &'a KeyExpr<'a>,
    /// The selector's parameters, `k=v;k2=v2`. With `_anyke` among them, replies on any key are accepted.
    pub parameters: &'a str,
    /// A payload for the queryables.
    pub body: Option<(Value<'a>, Encoding<'a>)>,
    /// Application data beside the payload.
    pub attachment: Option<&'a [u8]>,
    /// Which queryables are asked.
    pub target: Target,
    /// How the replies are to be merged. It is only passed on: merging is up to the asker.
    pub consolidation: Consolidation,
    /// How long the answers are waited for; [`Node::query_timeout`] is the configured default.
    pub timeout: Duration,
    /// Priority, congestion control and express flag of the question and all its answers; usually [`Qos::REQUEST`].
    pub qos: Qos,
    /// Who asks, and the question's number there.
    pub source_info: Option<SourceInfo>,
    /// Whether it goes to others, to the session's own queryables, or to both.
    pub destination: Locality,
}

/// Names a question of this node until it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QuestionId(pub(crate) u32);

/// What becomes of a question.
///
/// Both methods are called with no lock held, on whatever thread brings the news: a reading task, a thread that replies
/// or cancels, or the one that asks, before [`Node::ask`] returns. The calls for one question never overlap and keep the
/// order in which each branch sent its replies. One that panics costs that one call.
pub trait Answers: Send + Sync {
    /// One answer. Never after [`Answers::end`].
    fn reply(&self, answer: &Answer<'_>);

    /// There are no more answers. Called exactly once, unless [`Node::ask`] fails.
    fn end(&self, how: QuestionEnd);
}

/// One answer to a question. Lives only during the call.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The key of the answer; of an error, the question's.
    pub key: &'a KeyExpr<'a>,
    /// Which queryable of which node answers, if it says so.
    pub responder: Option<EntityGlobalId>,
    /// What it says.
    pub body: AnswerBody<'a>,
    /// The buffer that `body` borrows from, to share parts of it without a copy.
    pub block: &'a ZSlice,
    /// Priority, congestion control and express flag, as of the question.
    pub qos: Qos,
}

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerBody<'a> {
    /// A sample.
    Sample(&'a PushBody<'a>),
    /// The question could not be answered.
    Error {
        /// What the payload is.
        encoding: Encoding<'a>,
        /// The reason, for the user; `Timeout` for a branch that did not end in time.
        payload: &'a [u8],
    },
}

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QuestionEnd {
    /// Everybody asked has said all there is to say, or there is nobody to ask.
    Complete,
    /// The time was over before; one error answer with the payload `Timeout` was given for each of those who had not
    /// finished.
    TimedOut,
    /// [`Node::cancel`].
    Cancelled,
    /// This node's link to at least one of those asked was lost before it had finished; the others have. What is lost
    /// further away is reported by an error answer, `the link to <id> was lost`.
    LinkLost {
        /// The first such neighbour.
        peer: ZenohId,
    },
    /// The node was closed.
    Closed,
}

impl Node {
    /// Asks `question`. What comes back goes to `answers`, possibly before this returns.
    ///
    /// A client without a gateway holds the question until it has one; other nodes hold one that nobody is known for
    /// while a lost connection that they opened is being restored, for at most ten seconds. For five seconds after a
    /// gateway has come back a question that nobody is known for is held until somebody is: those who would answer may
    /// be on their way back, too. The timeout counts all the same.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use zonda_codec::{Consolidation, KeyExpr, Qos, Target};
    /// use zonda_router::config::Config;
    /// use zonda_router::table::Locality;
    /// use zonda_router::node::{Answer, Answers, Node, Question, QuestionEnd, Wait};
    ///
    /// #[derive(Default)]
    /// struct Ends(Mutex<Vec<QuestionEnd>>);
    ///
    /// impl Answers for Ends {
    ///     fn reply(&self, answer: &Answer<'_>) {
    ///         println!("{}: {:?}", answer.key, answer.body);
    ///     }
    ///     fn end(&self, how: QuestionEnd) {
    ///         self.0.lock().unwrap().push(how);
    ///     }
    /// }
    ///
    /// let config = Config::peer().listen([] as [&str; 0]);
    /// let node = zonda_runtime::block_on(Node::open(config)).unwrap();
    /// let key = KeyExpr::new("demo/*").unwrap();
    /// let question = Question {
    ///     key: &key,
    ///     parameters: "",
    ///     body: None,
    ///     attachment: None,
    ///     target: Target::BestMatching,
    ///     consolidation: Consolidation::None,
    ///     timeout: node.query_timeout(),
    ///     qos: Qos::REQUEST,
    ///     source_info: None,
    ///     destination: Locality::Any,
    /// };
    /// let ends = Arc::new(Ends::default());
    /// node.ask(&question, None, Arc::clone(&ends) as Arc<dyn Answers>, Wait::Never).unwrap();
    /// // There is nobody to ask.
    /// assert_eq!(*ends.0.lock().unwrap(), [QuestionEnd::Complete]);
    /// ```
    ///
    /// # Errors
    /// Why the question was not asked; `answers` is not called then.
    ///
    /// # Blocking
    /// Under congestion control `Block` at most as long as `wait` says, for neighbours whose queue is full; else never.
    pub fn ask(
        &self,
        question: &Question<'_>,
        querier: Option<&QuerierFace>,
        answers: Arc<dyn Answers>,
        wait: Wait,
    ) -> Result<QuestionId, AskError> {
        let mut deadline = None;
        loop {
            let Full { outbox, error } = match self.shared.try_ask(question, querier, &answers) {
                Ok(id) => return Ok(id),
                Err(Failed::Error(error)) => return Err(error),
                Err(Failed::Full(full)) => full,
            };
            let (AskError::WouldBlock { peer }, Wait::AtMost(after)) = (&error, wait) else {
                return Err(error);
            };
            let deadline = *deadline.get_or_insert_with(|| zonda_runtime::after(after));
            let priority = question.qos.priority();
            if !self.shared.wait_for_room(&outbox, priority, deadline) {
                return Err(AskError::Timeout { peer: *peer, after });
            }
        }
    }

    /// As [`Node::ask`], waiting by waker for neighbours whose queue is full, at most for the question's own timeout.
    ///
    /// # Errors
    /// As [`Node::ask`].
    ///
    /// # Cancel safety
    /// A future that is dropped has not asked.
    pub async fn ask_async(
        &self,
        question: &Question<'_>,
        querier: Option<&QuerierFace>,
        answers: Arc<dyn Answers>,
    ) -> Result<QuestionId, AskError> {
        let (shared, after) = (&self.shared, question.timeout);
        let deadline = zonda_runtime::after(after);
        loop {
            let Full { outbox, error } = match shared.try_ask(question, querier, &answers) {
                Ok(id) => return Ok(id),
                Err(Failed::Error(error)) => return Err(error),
                Err(Failed::Full(full)) => full,
            };
            let AskError::WouldBlock { peer } = error else {
                return Err(error);
            };
            let priority = question.qos.priority();
            if !shared.room_by(&outbox, priority, deadline).await {
                return Err(AskError::Timeout { peer, after });
            }
        }
    }

    /// Ends a question, with [`QuestionEnd::Cancelled`] if it had not ended: at once, or when a call of its
    /// [`Answers`] that is under way elsewhere has returned.
    pub fn cancel(&self, id: QuestionId) {
        self.shared.cancel_question(id);
    }

    /// How long a question waits for its answers where nothing else is said (`queries_default_timeout`).
    #[must_use]
    pub fn query_timeout(&self) -> Duration {
        self.shared.settings.query_timeout
    }

    /// Calls `sink` with each query on a key that intersects `key`, from now on until it is undeclared. `complete`
    /// promises that it knows everything there is under the key.
    ///
    /// # Errors
    /// The node is closed, or the key is not acceptable.
    pub fn declare_queryable(
        &self,
        key: &KeyExpr<'_>,
        complete: bool,
        sink: AskedSink,
    ) -> Result<QueryableId, DeclareError> {
        self.declare_queryable_from(key, complete, Locality::Any, sink)
    }

    /// The same, for queries from there only; of one for those of the node's own session nobody else hears.
    ///
    /// # Errors
    /// As [`Node::declare_queryable`].
    pub fn declare_queryable_from(
        &self,
        key: &KeyExpr<'_>,
        complete: bool,
        origin: Locality,
        sink: AskedSink,
    ) -> Result<QueryableId, DeclareError> {
        self.shared.declare_queryable(key, complete, origin, sink)
    }

    /// Ends a queryable. A call of its sink that is under way on another thread may still finish; queries that it holds
    /// may still be answered.
    pub fn undeclare_queryable(&self, id: QueryableId) {
        self.shared.undeclare_queryable(id);
    }

    /// Declares a querier of `key`: from now on this node knows whether anybody would answer, and a question that
    /// nobody would answer ends without being sent.
    ///
    /// # Errors
    /// The node is closed, or the key is not acceptable.
    pub fn declare_querier(&self, key: &KeyExpr<'_>) -> Result<QuerierFace, DeclareError> {
        self.declare_querier_to(key, Locality::Any)
    }

    /// The same of a querier whose questions go there only, as [`Question::destination`] has to say of each.
    ///
    /// # Errors
    /// As [`Node::declare_querier`].
    pub fn declare_querier_to(
        &self,
        key: &KeyExpr<'_>,
        destination: Locality,
    ) -> Result<QuerierFace, DeclareError> {
        QuerierFace::declare(&self.shared, key, destination)
    }
}
