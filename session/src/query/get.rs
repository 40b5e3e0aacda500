// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`SessionGetBuilder`]: a get under construction, and the sending of any get.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use zonda_codec::{KeyExpr, KeyExprError};
use zonda_router::node::{Node, OpenQuery, OutgoingQuery, QuerierFace, QueryStack};

use super::consolidation::{ConsolidationMode, Merging};
use super::options::{QueryOptions, QueryParts, manner_setters, matter_setters};
use super::parameters::{Parameters, TIME};
use super::reply::Reply;
use super::selector::Selector;
use super::sink::{Cancellation, GetSink};
use crate::bytes::ZBytes;
use crate::callback_group::{CallbackGroup, GroupMembership};
use crate::cancellation::CancellationToken;
use crate::error::GetError;
use crate::handle::Session;
use crate::handlers::{Callback, DefaultHandler, IntoHandler, handler_setters};
use crate::namespace::Namespace;
use crate::own_space;
use crate::publication::patience;
use crate::wait::{Operation, OperationLater, Pending, awaited};

/// A get under construction; made by [`Session::get`].
///
/// `.wait()` and `.await` send the query and return the handler, which gets the replies. The
/// [module](crate::query) describes the end of a get.
#[derive(Debug)]
#[must_use = "nothing is asked before .await or .wait()"]
pub struct SessionGetBuilder<'a, 'b, H = DefaultHandler> {
    pub(crate) session: &'a Session,
    pub(crate) selector: Result<Selector<'b>, KeyExprError>,
    manner: QueryOptions,
    matter: QueryParts,
    handler: H,
}

impl<'a, 'b> SessionGetBuilder<'a, 'b, DefaultHandler> {
    pub(crate) fn new(session: &'a Session, selector: Result<Selector<'b>, KeyExprError>) -> Self {
        SessionGetBuilder {
            session,
            selector,
            manner: QueryOptions::default(),
            matter: QueryParts::default(),
            handler: DefaultHandler::default(),
        }
    }

    handler_setters! {
        /// Calls this function with every reply, inline: on the receiving task, or on the querying
        /// thread for a reply of this same session. While it runs its link is not read, so keep it
        /// short; it may call anything of the session.
        SessionGetBuilder('a, 'b) of Reply keeps session, selector, manner, matter
    }
}

impl<H> SessionGetBuilder<'_, '_, H> {
    manner_setters!(manner);
    matter_setters!(matter);
}

impl<H: IntoHandler<Reply>> Operation for SessionGetBuilder<'_, '_, H> {
    type Given = H::Handler;
    type Refusal = GetError;

    /// Sends the query.
    ///
    /// # Blocking
    /// Until the query is sent, not until it is answered: under congestion control `Drop` never, else at most the
    /// configuration's `wait_before_close` (5 s). Queryables of this same session are called before it returns.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let limit = self.session.publish_limit();
        let (key, parameters) = self.selector?.split();
        own_space::begin_for(self.session, &key);
        let inquiry = UnsentGet {
            node: self.session.node(),
            groups: [Some(self.session.listeners().callbacks()), None],
            querier: None,
            namespace: self.session.namespace(),
            key: &*self.session.outgoing(&key)?,
            parameters,
            manner: self.manner,
            matter: self.matter,
        };
        inquiry.ask(self.handler, limit)
    }
}

impl<'a, H> OperationLater for SessionGetBuilder<'a, 'a, H>
where
    H: IntoHandler<Reply> + Send + 'a,
    H::Handler: Send,
{
    type Later = Pending<'a, Result<Self::Given, Self::Refusal>>;

    /// Sends the query; under congestion control `Block` it waits by waker.
    fn perform_later(self) -> Self::Later {
        Box::pin(async move {
            let (key, parameters) = self.selector?.split();
            own_space::begin_for(self.session, &key);
            let inquiry = UnsentGet {
                node: self.session.node(),
                groups: [Some(self.session.listeners().callbacks()), None],
                querier: None,
                namespace: self.session.namespace(),
                key: &*self.session.outgoing(&key)?,
                parameters,
                manner: self.manner,
                matter: self.matter,
            };
            inquiry.ask_async(self.handler).await
        })
    }
}

awaited!(['a, H] SessionGetBuilder<'a, 'a, H> where H: IntoHandler<Reply> + Send + 'a, H::Handler: Send);

/// A query that is about to be sent.
pub(super) struct UnsentGet<'a> {
    pub node: &'a Node,
    /// The groups of its callback.
    pub groups: [Option<&'a CallbackGroup>; 2],
    pub querier: Option<&'a QuerierFace>,
    /// The namespace of the session; `key` has it already.
    pub namespace: Option<&'a Arc<Namespace>>,
    pub key: &'a KeyExpr<'a>,
    pub parameters: Parameters<'a>,
    pub manner: QueryOptions,
    pub matter: QueryParts,
}

/// Wraps the callback: it gets replies with their keys below the namespace.
fn below(namespace: Arc<Namespace>, callback: Callback<Reply>) -> Callback<Reply> {
    Callback::from(move |reply: Reply| {
        if let Some(reply) = reply.below(&namespace) {
            callback.call(reply);
        }
    })
}

/// Limit of timeouts.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);

impl UnsentGet<'_> {
    /// Sends the query, waiting at most `limit` for slow peers.
    pub fn ask<H: IntoHandler<Reply>>(
        mut self,
        handler: H,
        limit: Duration,
    ) -> Result<H::Handler, GetError> {
        let (callback, handler) = handler.into_handler();
        let timeout = self.timeout();
        let wait = patience(self.manner.congestion_control, limit.min(timeout));
        let sink = self.sink(callback, H::STORES);
        let stack = self.stack();
        let (mut query, open) = self.open(sink, timeout)?;
        query.stack = stack.as_ref();
        self.node.query(&query, self.querier, &open, wait)?;
        Ok(handler)
    }

    /// Sends the query, waiting by waker for slow peers.
    pub async fn ask_async<H: IntoHandler<Reply>>(
        mut self,
        handler: H,
    ) -> Result<H::Handler, GetError> {
        let (callback, handler) = handler.into_handler();
        let timeout = self.timeout();
        let sink = self.sink(callback, H::STORES);
        let stack = self.stack();
        let (mut query, open) = self.open(sink, timeout)?;
        query.stack = stack.as_ref();
        self.node.query_async(&query, self.querier, &open).await?;
        Ok(handler)
    }

    fn sink(&mut self, callback: Callback<Reply>, stores: bool) -> GetSink {
        self.parameters = self.manner.parameters(std::mem::take(&mut self.parameters));
        let consolidation = self.consolidation();
        // A queue may be full, and the cancelling thread its only reader, so that cancelling must
        // not wait for it.
        let token = self.matter.token.as_ref().filter(|_| !stores);
        let token = token.map(CancellationToken::callbacks);
        let [first, second] = self.groups;
        GetSink {
            callback: match self.namespace {
                None => callback,
                Some(namespace) => below(Arc::clone(namespace), callback),
            },
            merging: Merging::new(consolidation),
            on_end: self.matter.on_end.take(),
            cancellation: None,
            stores: stores || consolidation == ConsolidationMode::Latest,
            deadline: zonda_runtime::after(self.timeout()),
            replies: 0,
            panics: 0,
            _here: GroupMembership::of([first, second, token.as_ref()]),
        }
    }

    /// Creates the query, and the state that follows it until its end.
    fn open(
        &self,
        mut sink: GetSink,
        timeout: Duration,
    ) -> Result<(OutgoingQuery<'_>, Arc<OpenQuery>), GetError> {
        let query = self.outgoing(timeout)?;
        let token = self.matter.token.as_ref();
        let token = token.filter(|_| !self.node.is_closed());
        let place: Arc<OnceLock<Weak<OpenQuery>>> = Arc::default();
        if let Some(token) = token {
            let entered = Cancellation::enter(token, self.node, &place);
            sink.cancellation = Some(entered.ok_or(GetError::Cancelled)?);
        }
        let open = OpenQuery::new(&query, Box::new(sink));
        // A cancellation before this line finds no query, and one behind it does.
        let _ = place.set(Arc::downgrade(&open));
        if token.is_some_and(CancellationToken::is_cancelled) {
            self.node.cancel(&open);
        }
        Ok((query, open))
    }

    /// Returns the time-stamp stacks of the query, if they were asked for.
    fn stack(&self) -> Option<QueryStack> {
        let points = self.matter.instrumentation.points();
        self.node.new_query_stack(points, self.manner.destination)
    }

    fn timeout(&self) -> Duration {
        let timeout = self.manner.timeout;
        timeout
            .unwrap_or_else(|| self.node.query_timeout())
            .min(LONGEST)
    }

    fn consolidation(&self) -> ConsolidationMode {
        let asks_for_time = self.parameters.contains_key(TIME);
        self.manner.consolidation.resolved(asks_for_time)
    }

    fn outgoing(&self, timeout: Duration) -> Result<OutgoingQuery<'_>, GetError> {
        Ok(OutgoingQuery {
            key: self.key,
            parameters: self.parameters.as_str(),
            body: self.matter.body()?,
            attachment: self.matter.attachment.as_ref().map(ZBytes::as_slice),
            target: self.manner.target,
            consolidation: self.consolidation(),
            timeout,
            qos: self.manner.qos(),
            source_info: self.matter.source_info,
            destination: self.manner.destination,
            stack: None,
        })
    }
}
