// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`SessionGetBuilder`]: a get under construction, and how any get is asked.

use std::future::{Future, IntoFuture, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use zonda_codec::{KeyExpr, KeyExprError};
use zonda_router::node::{Answers, Node, QuerierFace, Question};

use super::asking::{Asking, Terms};
use super::manner::{Manner, Matter, manner_setters, matter_setters};
use super::parameters::{Parameters, TIME};
use super::reply::Reply;
use super::selector::Selector;
use crate::bytes::ZBytes;
use crate::error::GetError;
use crate::handlers::{Callback, DefaultHandler, IntoHandler};
use crate::namespace::Namespace;
use crate::publication::patience;
use crate::session::Session;
use crate::wait::{Pending, Wait};

/// A get under construction; made by [`Session::get`].
///
/// `.wait()` and `.await` ask and give the handler, to which the replies come. How a get ends, the
/// [module](crate::query) says.
#[derive(Debug)]
#[must_use = "nothing is asked before .await or .wait()"]
pub struct SessionGetBuilder<'a, 'b, H = DefaultHandler> {
    pub(crate) session: &'a Session,
    pub(crate) selector: Result<Selector<'b>, KeyExprError>,
    manner: Manner,
    matter: Matter,
    handler: H,
}

impl<'a, 'b> SessionGetBuilder<'a, 'b, DefaultHandler> {
    pub(crate) fn new(session: &'a Session, selector: Result<Selector<'b>, KeyExprError>) -> Self {
        SessionGetBuilder {
            session,
            selector,
            manner: Manner::default(),
            matter: Matter::default(),
            handler: DefaultHandler::default(),
        }
    }

    /// Calls this function with every reply, inline: on the receiving task, or on the asking thread for a reply of this
    /// same session. While it runs its link is not read, so keep it short; it may call anything of the session.
    pub fn callback<F>(self, callback: F) -> SessionGetBuilder<'a, 'b, Callback<Reply>>
    where
        F: Fn(Reply) + Send + Sync + 'static,
    {
        self.with(Callback::new(callback))
    }

    /// The same with a function that changes what it has captured. It is [called by one thread at a
    /// time](crate::handlers).
    pub fn callback_mut<F>(self, callback: F) -> SessionGetBuilder<'a, 'b, Callback<Reply>>
    where
        F: FnMut(Reply) + Send + 'static,
    {
        self.with(Callback::in_turn(callback))
    }

    /// Gives every reply to this handler.
    pub fn with<H: IntoHandler<Reply>>(self, handler: H) -> SessionGetBuilder<'a, 'b, H> {
        SessionGetBuilder {
            session: self.session,
            selector: self.selector,
            manner: self.manner,
            matter: self.matter,
            handler,
        }
    }
}

impl<H> SessionGetBuilder<'_, '_, H> {
    manner_setters!(manner);
    matter_setters!(matter);
}

impl<H: IntoHandler<Reply>> Wait for SessionGetBuilder<'_, '_, H> {
    type To = Result<H::Handler, GetError>;

    /// Asks.
    ///
    /// # Blocking
    /// Until the question is sent, not until it is answered: under congestion control `Drop` never, else at most the
    /// configuration's `wait_before_close` (5 s). Queryables of this same session are called before it returns.
    fn wait(self) -> Self::To {
        let limit = self.session.publish_limit();
        let (key, parameters) = self.selector?.split();
        let inquiry = Inquiry {
            node: self.session.node(),
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

impl<'a, H> IntoFuture for SessionGetBuilder<'a, 'a, H>
where
    H: IntoHandler<Reply> + Send + 'a,
    H::Handler: Send,
{
    type Output = Result<H::Handler, GetError>;
    type IntoFuture = Pending<'a, Self::Output>;

    /// Asks; under congestion control `Block` it waits by waker.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (key, parameters) = self.selector?.split();
            let inquiry = Inquiry {
                node: self.session.node(),
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

/// A question that is about to be asked.
pub(super) struct Inquiry<'a> {
    pub node: &'a Node,
    pub querier: Option<&'a QuerierFace>,
    /// That of the session; `key` has it already.
    pub namespace: Option<&'a Arc<Namespace>>,
    pub key: &'a KeyExpr<'a>,
    pub parameters: Parameters<'a>,
    pub manner: Manner,
    pub matter: Matter,
}

/// The callback, given replies with their keys below the namespace.
fn below(namespace: Arc<Namespace>, callback: Callback<Reply>) -> Callback<Reply> {
    Callback::new(move |reply: Reply| {
        if let Some(reply) = reply.below(&namespace) {
            callback.call(reply);
        }
    })
}

/// No timeout is longer.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);

impl Inquiry<'_> {
    /// Asks, waiting at most `limit` for peers that are slow.
    pub fn ask<H: IntoHandler<Reply>>(
        mut self,
        handler: H,
        limit: Duration,
    ) -> Result<H::Handler, GetError> {
        let (callback, handler) = handler.into_handler();
        let asking = self.begin(callback, H::STORES);
        if asking.is_over() {
            return Ok(handler);
        }
        let timeout = self.timeout();
        let wait = patience(self.manner.congestion_control, limit.min(timeout));
        let question = self.question(timeout)?;
        let answers: Arc<dyn Answers> = asking.clone();
        let ask = || self.node.ask(&question, self.querier, answers, wait);
        let id = asking.while_asking(ask)?;
        asking.is_asked(self.node, id);
        Ok(handler)
    }

    /// Asks, waiting by waker for peers that are slow.
    pub async fn ask_async<H: IntoHandler<Reply>>(
        mut self,
        handler: H,
    ) -> Result<H::Handler, GetError> {
        let (callback, handler) = handler.into_handler();
        let asking = self.begin(callback, H::STORES);
        if asking.is_over() {
            return Ok(handler);
        }
        let timeout = self.timeout();
        let question = self.question(timeout)?;
        let answers: Arc<dyn Answers> = asking.clone();
        let mut ask = pin!(self.node.ask_async(&question, self.querier, answers));
        let id = poll_fn(|context| asking.while_asking(|| ask.as_mut().poll(context))).await?;
        asking.is_asked(self.node, id);
        Ok(handler)
    }

    fn begin(&mut self, callback: Callback<Reply>, stores: bool) -> Arc<Asking> {
        self.parameters = self.manner.parameters(std::mem::take(&mut self.parameters));
        let asks_for_time = self.parameters.contains_key(TIME);
        let callback = match self.namespace {
            None => callback,
            Some(namespace) => below(Arc::clone(namespace), callback),
        };
        let asking = Arc::new(Asking::new(Terms {
            callback,
            stores,
            consolidation: self.manner.consolidation.resolved(asks_for_time),
            deadline: zonda_runtime::after(self.timeout()),
            on_end: self.matter.on_end.take(),
        }));
        if let Some(token) = self.matter.token.take()
            && !self.node.is_closed()
        {
            asking.ends_with(token, self.node);
        }
        asking
    }

    fn timeout(&self) -> Duration {
        let timeout = self.manner.timeout;
        timeout
            .unwrap_or_else(|| self.node.query_timeout())
            .min(LONGEST)
    }

    fn question(&self, timeout: Duration) -> Result<Question<'_>, GetError> {
        let asks_for_time = self.parameters.contains_key(TIME);
        Ok(Question {
            key: self.key,
            parameters: self.parameters.as_str(),
            body: self.matter.body()?,
            attachment: self.matter.attachment.as_ref().map(ZBytes::as_slice),
            target: self.manner.target,
            consolidation: self.manner.consolidation.resolved(asks_for_time),
            timeout,
            qos: self.manner.qos(),
            source_info: self.matter.source_info,
            destination: self.manner.destination,
        })
    }
}
