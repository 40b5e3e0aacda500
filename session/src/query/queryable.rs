// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queryables: a handler gets the queries on matching keys, and replies.

use std::fmt;
use std::sync::{Arc, OnceLock};

use zonda_codec::{EntityGlobalId, KeyExpr, KeyExprError};
use zonda_router::node::{
    DeclareError, IncomingQuery, OpenedQueryable, QuerySink, SharedQuerySink,
};

use super::answering::{AnsweringQueryable, Query};
use crate::callback_group::{CallbackGroup, Ended};
use crate::calls::{Calls, Declared, Tally};
use crate::declaration::Declaration;
use crate::handle::Session;
use crate::handlers::room::FullQueuePolicy;
use crate::handlers::{
    Callback, DefaultHandler, FifoChannelHandler, IntoHandler, Stored, handler_setters,
    used_as_handler,
};
use crate::namespace::incoming;
use crate::sample::Locality;
use crate::wait::{Operation, ready_at_once};

/// A queryable under construction; made by [`Session::declare_queryable`].
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct QueryableBuilder<'a, 'b, H = DefaultHandler> {
    session: &'a Session,
    key: Result<KeyExpr<'b>, KeyExprError>,
    complete: bool,
    origin: Locality,
    handler: H,
}

impl<'a, 'b> QueryableBuilder<'a, 'b, DefaultHandler> {
    pub(crate) fn new(session: &'a Session, key: Result<KeyExpr<'b>, KeyExprError>) -> Self {
        QueryableBuilder {
            session,
            key,
            complete: false,
            origin: Locality::default(),
            handler: DefaultHandler::default(),
        }
    }

    handler_setters! {
        /// Calls this function with every query, inline: on the receiving task, or on the querying
        /// thread for a query of this same session. While it runs its link is not read, so keep it
        /// short, or keep the query and reply elsewhere; it may call anything of the session.
        QueryableBuilder('a, 'b) of Query keeps session, key, complete, origin
    }
}

impl<H> QueryableBuilder<'_, '_, H> {
    /// Promises that it knows everything on its keys, so that no other queryable need get the
    /// query. Default: no.
    pub fn complete(mut self, complete: bool) -> Self {
        self.complete = complete;
        self
    }

    /// Chooses the sessions whose queries it gets: this one, other ones, or both. Other nodes do
    /// not learn of a queryable for this session only. Default: both.
    pub fn allowed_origin(mut self, origin: Locality) -> Self {
        self.origin = origin;
        self
    }
}

impl<'a, 'b> QueryableBuilder<'a, 'b, Callback<Query>> {
    /// Declares a queryable that lives as long as its session: the program keeps no handle.
    pub fn background(self) -> BackgroundQueryableBuilder<'a, 'b> {
        BackgroundQueryableBuilder(self)
    }
}

impl<H: IntoHandler<Query>> Operation for QueryableBuilder<'_, '_, H> {
    type Given = Queryable<H::Handler>;
    type Refusal = DeclareError;

    /// Declares the queryable; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let key = self.key?.into_owned();
        let (callback, handler) = self.handler.into_handler();
        let place = Arc::new(AnsweringQueryable {
            id: OnceLock::new(),
            limit: self.session.publish_limit(),
            namespace: self.session.namespace().cloned(),
        });
        let group = self.session.listeners().callbacks();
        let calls = calls_of((callback, H::STORES), place.clone(), group);
        let sink: SharedQuerySink = calls.clone();
        let node = self.session.node();
        let outgoing = self.session.outgoing(&key)?;
        let id = node.declare_queryable_from(&outgoing, self.complete, self.origin, sink)?;
        // Set once, here; a query that came first waits for it.
        let _ = place.id.set(id);
        let entry = Declaration::enter(self.session, Declared::Queryable(id), key, calls);
        Ok(Queryable { entry, handler })
    }
}

ready_at_once!([H: IntoHandler<Query>] QueryableBuilder<'_, '_, H>);

/// A queryable under construction that will live as long as its session.
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct BackgroundQueryableBuilder<'a, 'b>(QueryableBuilder<'a, 'b, Callback<Query>>);

impl BackgroundQueryableBuilder<'_, '_> {
    /// Declares the queryable as complete, as [`QueryableBuilder::complete`].
    pub fn complete(mut self, complete: bool) -> Self {
        self.0.complete = complete;
        self
    }
}

impl Operation for BackgroundQueryableBuilder<'_, '_> {
    type Given = ();
    type Refusal = DeclareError;

    /// Declares the queryable; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let mut queryable = self.0.perform()?;
        queryable.set_background(true);
        Ok(())
    }
}

ready_at_once!([] BackgroundQueryableBuilder<'_, '_>);

/// A receiver of the queries on every key that matches its own. Dropping it undeclares it, without
/// blocking; queries that wait in its handler are then dropped with it, which ends them.
///
/// The queryable dereferences to its handler, so that the default one is used like a queue:
///
/// ```
/// use zonda::{Config, Wait};
///
/// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// let queryable = session.declare_queryable("demo/**").complete(true).wait()?;
/// let replies = session.get("demo/greeting").wait()?;
///
/// let query = queryable.recv()?;
/// query.reply(query.key_expr(), "hello").wait()?;
/// drop(query);
///
/// let sample = replies.recv()?.into_result()?;
/// assert_eq!(sample.payload().try_to_string()?, "hello");
/// assert!(replies.recv().is_err(), "that was all");
/// # Ok::<(), zonda::Error>(())
/// ```
///
/// A queryable does not keep its session open.
#[must_use = "it is undeclared at once: keep it in a variable, or call .background() before .await or .wait()"]
pub struct Queryable<H = FifoChannelHandler<Query>> {
    entry: Declaration<Call>,
    handler: H,
}

impl<H> Queryable<H> {
    /// Returns the key expression it was declared with.
    pub fn key_expr(&self) -> &KeyExpr<'static> {
        self.entry.key()
    }

    /// Returns the id, which its replies carry.
    pub fn id(&self) -> EntityGlobalId {
        self.entry.id()
    }

    /// Returns the handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// Returns the handler, mutably.
    pub fn handler_mut(&mut self) -> &mut H {
        &mut self.handler
    }

    /// Chooses whether it stays declared when this is dropped, for as long as the session. Default: no.
    pub fn set_background(&mut self, background: bool) {
        self.entry.set_background(background);
    }

    /// Returns the number of queries that were lost because the callback panicked on them.
    pub fn panics(&self) -> u64 {
        self.entry.panics()
    }

    /// Undeclares it, also if it is in the background: no call of the handler begins afterwards. One
    /// that runs on another thread may still be running; waiting for the returned [`Ended`] waits for
    /// it. Never fails.
    pub fn undeclare(mut self) -> Ended {
        self.set_background(false);
        let ended = self.entry.ended();
        drop(self);
        ended
    }
}

used_as_handler!(Queryable);

impl<H> fmt::Debug for Queryable<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queryable")
            .field("key", self.entry.key())
            .finish_non_exhaustive()
    }
}

/// Function that calls the callback with one query.
type Call = Box<dyn Fn(IncomingQuery) + Send + Sync>;

fn calls_of(
    called: (Callback<Query>, bool),
    place: Arc<AnsweringQueryable>,
    group: &CallbackGroup,
) -> Arc<Calls<Call>> {
    let (callback, stores) = called;
    let (here, tally) = Tally::new(stores, [Some(group), None]);
    let known = tally.clone();
    // Dropped in this order.
    let called = (callback, here);
    let call: Call = Box::new(move |asked| {
        let (callback, _) = &called;
        // A query outside of the namespace is dropped, which is its answer.
        let Some(key) = incoming(place.namespace.as_ref(), asked.key().clone()) else {
            return;
        };
        let room = FullQueuePolicy::Until(asked.deadline());
        let call = || {
            let query = Query::new(asked, key.clone(), place.clone());
            let query = match stores {
                true => query.before_storing(),
                false => query,
            };
            room.during(|| callback.call(query));
        };
        known.call(call, || {
            tracing::error!(%key, "a queryable's callback panicked; this query is lost to it");
        });
    });
    Calls::new(tally, call)
}

impl QuerySink for Calls<Call> {
    fn open(&self) -> Option<OpenedQueryable> {
        self.opened()
    }
}
