// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Querier`]: a key and options that are resolved once, so that each get is cheap.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use zonda_codec::{CongestionControl, EntityGlobalId, KeyExpr, KeyExprError, Priority};
use zonda_router::node::{DeclareError, Listen, ListenerId, Node, QuerierFace};

use super::get::UnsentGet;
use super::options::{QueryOptions, QueryParts, ReplyKeyExpr, manner_setters, matter_setters};
use super::parameters::Parameters;
use super::reply::Reply;
use crate::callback_group::{CallbackGroup, Ended};
use crate::error::GetError;
use crate::handle::Session;
use crate::handlers::{DefaultHandler, IntoHandler, handler_setters};
use crate::listening::Listeners;
use crate::matching::{Matched, MatchingListenerBuilder, MatchingStatus};
use crate::namespace::Namespace;
use crate::own_space;
use crate::wait::{Done, Operation, OperationLater, Pending, awaited, ready_at_once};

/// A querier under construction; made by [`Session::declare_querier`].
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct QuerierBuilder<'a, 'b> {
    session: &'a Session,
    key: Result<KeyExpr<'b>, KeyExprError>,
    manner: QueryOptions,
}

impl<'a, 'b> QuerierBuilder<'a, 'b> {
    pub(crate) fn new(session: &'a Session, key: Result<KeyExpr<'b>, KeyExprError>) -> Self {
        let manner = QueryOptions::default();
        QuerierBuilder {
            session,
            key,
            manner,
        }
    }

    manner_setters!(manner);
}

impl<'b> Operation for QuerierBuilder<'_, 'b> {
    type Given = Querier<'b>;
    type Refusal = DeclareError;

    /// Declares the querier; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let key = self.key?;
        own_space::begin_for(self.session, &key);
        let node = self.session.node().clone();
        Ok(Querier {
            face: node
                .declare_querier_to(&*self.session.outgoing(&key)?, self.manner.destination)?,
            outgoing: self.session.outgoing(&key)?.into_owned().into_owned(),
            namespace: self.session.namespace().cloned(),
            node,
            key,
            manner: self.manner,
            limit: self.session.publish_limit(),
            listeners: Arc::clone(self.session.listeners()),
            callbacks: CallbackGroup::default(),
        })
    }
}

ready_at_once!(['b] QuerierBuilder<'_, 'b>);

/// A querier on one key. Its session knows the matching queryables: a get is not sent where there
/// are none. Dropping the querier undeclares it, without blocking; gets that are under way
/// continue.
///
/// ```
/// use zonda::query::QueryTarget;
/// use zonda::{Config, Wait};
///
/// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// let _answers = session
///     .declare_queryable("demo/square")
///     .callback(|query| {
///         let n: u32 = query.parameters().get("n").and_then(|n| n.parse().ok()).unwrap_or(0);
///         query.reply("demo/square", (n * n).to_string()).wait().expect("it waits");
///     })
///     .wait()?;
/// let querier = session.declare_querier("demo/square").target(QueryTarget::All).wait()?;
/// for n in 1..=3 {
///     let reply = querier.get().parameters(format!("n={n}")).wait()?.recv()?;
///     assert_eq!(reply.into_result()?.payload().try_to_string()?, (n * n).to_string());
/// }
/// # Ok::<(), zonda::Error>(())
/// ```
pub struct Querier<'a> {
    face: QuerierFace,
    node: Node,
    key: KeyExpr<'a>,
    /// The key as other nodes know it.
    outgoing: KeyExpr<'static>,
    namespace: Option<Arc<Namespace>>,
    manner: QueryOptions,
    limit: Duration,
    listeners: Arc<Listeners>,
    /// The callbacks of its gets and listeners.
    callbacks: CallbackGroup,
}

impl Matched for Querier<'_> {
    fn listen(&self, listener: Arc<dyn Listen>) -> Result<ListenerId, DeclareError> {
        self.face
            .declare_matching_listener(self.manner.target, listener)
    }
}

impl<'a> Querier<'a> {
    /// Creates a get.
    pub fn get(&self) -> QuerierGetBuilder<'_, 'static, DefaultHandler> {
        QuerierGetBuilder {
            querier: self,
            parameters: Parameters::empty(),
            matter: QueryParts::default(),
            handler: DefaultHandler::default(),
        }
    }

    /// Returns the id, unique among all entities of its session.
    pub fn id(&self) -> EntityGlobalId {
        EntityGlobalId {
            zid: self.node.zid(),
            eid: self.face.id(),
        }
    }

    /// Returns the key.
    pub fn key_expr(&self) -> &KeyExpr<'a> {
        &self.key
    }

    /// Returns the congestion control of the queries and their replies.
    pub fn congestion_control(&self) -> CongestionControl {
        self.manner.congestion_control
    }

    /// Returns the priority of its queries and their replies.
    pub fn priority(&self) -> Priority {
        self.manner.priority
    }

    /// Returns the keys on which it accepts replies.
    pub fn accept_replies(&self) -> ReplyKeyExpr {
        self.manner.accept
    }

    /// Returns whether a queryable matches, as far as this node knows now.
    pub fn matching_status(&self) -> Done<crate::Result<MatchingStatus>> {
        let matching = self.face.has_matching_queryables(self.manner.target);
        Done(Ok(MatchingStatus::new(matching)))
    }

    /// Declares a listener that is notified when the first matching queryable comes (also if one
    /// exists already) and when the last one goes.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let querier = session.declare_querier("demo/a").wait()?;
    /// let listener = querier.matching_listener().wait()?;
    /// let _answers = session.declare_queryable("demo/*").callback(drop).wait()?;
    /// assert!(listener.recv()?.matching());
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn matching_listener(&self) -> MatchingListenerBuilder<'_> {
        MatchingListenerBuilder::new(self, &self.listeners, &self.callbacks)
    }

    /// Undeclares it, as dropping it does; never fails. The wait includes its gets, which continue,
    /// and its matching listeners after [`wait_callbacks`](Ended::wait_callbacks).
    pub fn undeclare(self) -> Ended {
        let callbacks = self.callbacks.clone();
        drop(self);
        Ended::upon_asking(callbacks)
    }
}

impl fmt::Debug for Querier<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Querier")
            .field("key", &self.key)
            .field("manner", &self.manner)
            .finish_non_exhaustive()
    }
}

/// A get of a querier under construction; made by [`Querier::get`].
#[derive(Debug)]
#[must_use = "nothing is asked before .await or .wait()"]
pub struct QuerierGetBuilder<'a, 'b, H = DefaultHandler> {
    querier: &'a Querier<'a>,
    parameters: Parameters<'b>,
    matter: QueryParts,
    handler: H,
}

impl<'a, 'b> QuerierGetBuilder<'a, 'b, DefaultHandler> {
    handler_setters! {
        /// Calls a function with each reply, as
        /// [`SessionGetBuilder::callback`](super::SessionGetBuilder::callback).
        QuerierGetBuilder('a, 'b) of Reply keeps querier, parameters, matter
    }
}

impl<'a, H> QuerierGetBuilder<'a, '_, H> {
    matter_setters!(matter);

    /// Sets parameters for the queryables, such as `unit=celsius`. Default: none.
    pub fn parameters<'p>(
        self,
        parameters: impl Into<Parameters<'p>>,
    ) -> QuerierGetBuilder<'a, 'p, H> {
        QuerierGetBuilder {
            querier: self.querier,
            parameters: parameters.into(),
            matter: self.matter,
            handler: self.handler,
        }
    }
}

impl<'a, 'b: 'a, H> QuerierGetBuilder<'a, 'b, H> {
    fn inquiry(self) -> (UnsentGet<'a>, H) {
        let querier = self.querier;
        let inquiry = UnsentGet {
            node: &querier.node,
            groups: [
                Some(querier.listeners.callbacks()),
                Some(&querier.callbacks),
            ],
            querier: Some(&querier.face),
            namespace: querier.namespace.as_ref(),
            key: &querier.outgoing,
            parameters: self.parameters,
            manner: querier.manner,
            matter: self.matter,
        };
        (inquiry, self.handler)
    }
}

impl<'a, 'b: 'a, H: IntoHandler<Reply>> Operation for QuerierGetBuilder<'a, 'b, H> {
    type Given = H::Handler;
    type Refusal = GetError;

    /// Sends the query.
    ///
    /// # Blocking
    /// Blocks as [`SessionGetBuilder`](super::SessionGetBuilder) does.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let limit = self.querier.limit;
        let (inquiry, handler) = self.inquiry();
        inquiry.ask(handler, limit)
    }
}

impl<'a, 'b: 'a, H> OperationLater for QuerierGetBuilder<'a, 'b, H>
where
    H: IntoHandler<Reply> + Send + 'a,
    H::Handler: Send,
{
    type Later = Pending<'a, Result<Self::Given, Self::Refusal>>;

    /// Sends the query; under congestion control `Block` it waits by waker.
    fn perform_later(self) -> Self::Later {
        let (inquiry, handler) = self.inquiry();
        Box::pin(inquiry.ask_async(handler))
    }
}

awaited!(['a, 'b: 'a, H] QuerierGetBuilder<'a, 'b, H> where H: IntoHandler<Reply> + Send + 'a, H::Handler: Send);
