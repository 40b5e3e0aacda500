// SPDX-License-Identifier: MIT OR Apache-2.0

//! Subscribers that fetch by a query.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use zonda_codec::{KeyExpr, KeyExprError};

use super::fetching::{FetchingSubscriber, declare, failed};
use super::{FetchError, KeySpace, SubscriberTarget, UserSpace};
use crate::handle::Session;
use crate::handlers::{Callback, DefaultHandler, IntoHandler, handler_setters};
use crate::query::{
    ConsolidationMode, QueryConsolidation, QueryTarget, Reply, ReplyKeyExpr, Selector,
};
use crate::sample::{Locality, Sample};
use crate::wait::{Operation, Wait, ready_at_once};

/// Default timeout of the first query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(10);

/// Options of the first query.
#[derive(Debug)]
struct Asking<'b> {
    selector: Option<Result<Selector<'b>, KeyExprError>>,
    target: QueryTarget,
    consolidation: QueryConsolidation,
    accept: ReplyKeyExpr,
    timeout: Duration,
}

/// A [`FetchingSubscriber`] that fetches by a query, under construction; made by
/// [`SubscriberBuilderExt::querying`](super::SubscriberBuilderExt::querying).
#[must_use = "nothing is declared before .await or .wait()"]
pub struct QueryingSubscriberBuilder<'a, 'b, K, H = DefaultHandler> {
    about: SubscriberTarget<'a, 'b>,
    asking: Asking<'b>,
    space: PhantomData<fn() -> K>,
    handler: H,
}

impl<'a, 'b, K, H> QueryingSubscriberBuilder<'a, 'b, K, H> {
    pub(super) fn new(about: SubscriberTarget<'a, 'b>, handler: H) -> Self {
        QueryingSubscriberBuilder {
            about,
            asking: Asking {
                selector: None,
                target: QueryTarget::All,
                // Several samples of one key are needed.
                consolidation: ConsolidationMode::None.into(),
                accept: ReplyKeyExpr::default(),
                timeout: QUERY_TIMEOUT,
            },
            space: PhantomData,
            handler,
        }
    }

    /// Sets the timeout of the query. Default: 10 s.
    pub fn query_timeout(mut self, timeout: Duration) -> Self {
        self.asking.timeout = timeout;
        self
    }
}

impl<'a, 'b, K> QueryingSubscriberBuilder<'a, 'b, K, DefaultHandler> {
    handler_setters! {
        /// Calls this function with every sample, one at a time, on the thread that brings it or ends a fetch.
        QueryingSubscriberBuilder('a, 'b, K) of Sample keeps about, asking, space
    }
}

impl<'b, H> QueryingSubscriberBuilder<'_, 'b, UserSpace, H> {
    /// Chooses the publishers it receives from, as
    /// [`SubscriberBuilder::allowed_origin`](crate::pubsub::SubscriberBuilder::allowed_origin).
    pub fn allowed_origin(mut self, origin: Locality) -> Self {
        self.about.origin = origin;
        self
    }

    /// Sets the selector of the query. Default: the subscriber's own key.
    pub fn query_selector<S>(mut self, selector: S) -> Self
    where
        S: TryInto<Selector<'b>>,
        S::Error: Into<KeyExprError>,
    {
        self.asking.selector = Some(selector.try_into().map_err(Into::into));
        self
    }

    /// Sets the queryables that get the query. Default: all.
    pub fn query_target(mut self, target: QueryTarget) -> Self {
        self.asking.target = target;
        self
    }

    /// Sets the consolidation of the replies. Default: none, so that several samples of one key are
    /// delivered.
    pub fn query_consolidation(mut self, consolidation: impl Into<QueryConsolidation>) -> Self {
        self.asking.consolidation = consolidation.into();
        self
    }

    /// Sets the keys on which replies are accepted. Default: those that intersect the query's.
    pub fn query_accept_replies(mut self, accept: ReplyKeyExpr) -> Self {
        self.asking.accept = accept;
        self
    }
}

impl<'a, 'b, K> QueryingSubscriberBuilder<'a, 'b, K, Callback<Sample>> {
    /// Declares a subscriber that lives as long as its session: the program keeps no handle.
    pub fn background(self) -> BackgroundQueryingSubscriberBuilder<'a, 'b, K> {
        BackgroundQueryingSubscriberBuilder(self)
    }
}

impl<K, H: IntoHandler<Sample>> Operation for QueryingSubscriberBuilder<'_, '_, K, H> {
    type Given = FetchingSubscriber<H::Handler>;
    type Refusal = FetchError;

    /// Declares the subscriber, and sends the query.
    ///
    /// # Blocking
    /// Until the query is sent, not until it is answered: at most the configuration's `wait_before_close`, 5 s. Queryables of
    /// this same session are called before it returns.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let (session, space) = (self.about.session, self.about.space);
        let key = self.about.key.clone()?.into_owned();
        let mut asking = self.asking;
        let selector = asking.selector.take().transpose()?;
        let (subscriber, fetch) = declare(self.about, self.handler)?;
        let asked = fetch.run(|take| match space {
            KeySpace::User => asking.ask(session, selector.unwrap_or(Selector::from(key)), take),
            KeySpace::Liveliness => asking.ask_tokens(session, key, take),
        });
        asked.map_err(failed)?;
        Ok(subscriber)
    }
}

impl Asking<'_> {
    fn ask(
        self,
        session: &Session,
        selector: Selector<'_>,
        take: Box<dyn Fn(Reply) + Send + Sync>,
    ) -> crate::Result<()> {
        let get = session.get(selector).callback(take).target(self.target);
        let get = get
            .consolidation(self.consolidation)
            .accept_replies(self.accept);
        get.timeout(self.timeout).wait()
    }

    fn ask_tokens(
        self,
        session: &Session,
        key: KeyExpr<'_>,
        take: Box<dyn Fn(Reply) + Send + Sync>,
    ) -> crate::Result<()> {
        let get = session.liveliness().get(key).callback(take);
        get.timeout(self.timeout).wait()
    }
}

ready_at_once!([K, H: IntoHandler<Sample>] QueryingSubscriberBuilder<'_, '_, K, H>);

impl<K, H> fmt::Debug for QueryingSubscriberBuilder<'_, '_, K, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryingSubscriberBuilder")
            .field("about", &self.about)
            .field("asking", &self.asking)
            .finish_non_exhaustive()
    }
}

/// A [`FetchingSubscriber`] that fetches by a query, under construction, that will live as long as its session.
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct BackgroundQueryingSubscriberBuilder<'a, 'b, K>(
    QueryingSubscriberBuilder<'a, 'b, K, Callback<Sample>>,
);

impl<K> Operation for BackgroundQueryingSubscriberBuilder<'_, '_, K> {
    type Given = ();
    type Refusal = FetchError;

    /// Declares the subscriber, and sends the query.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        self.0.perform()?.set_background(true);
        Ok(())
    }
}

ready_at_once!([K] BackgroundQueryingSubscriberBuilder<'_, '_, K>);
