// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`FetchingSubscriber`]: fetches samples from before its declaration, by a function of the
//! application.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use zonda_codec::{EntityGlobalId, KeyExpr};

use super::merging::{Fetch, Merging};
use super::{ExtractSample, FetchError, KeySpace, SubscriberTarget};
use crate::callback_group::{CallbackGroup, Ended, GroupMembership};
use crate::ext::intake::Called;
use crate::handlers::{
    Callback, DefaultHandler, FifoChannelHandler, IntoHandler, handler_setters, used_as_handler,
};
use crate::pubsub::Subscriber;
use crate::sample::{Locality, Sample};
use crate::wait::{Operation, ready_at_once};

/// A [`FetchingSubscriber`] under construction; made by
/// [`SubscriberBuilderExt::fetching`](super::SubscriberBuilderExt::fetching).
#[must_use = "nothing is declared before .await or .wait()"]
pub struct FetchingSubscriberBuilder<'a, 'b, K, F, T, H = DefaultHandler> {
    about: SubscriberTarget<'a, 'b>,
    fetch: F,
    types: PhantomData<fn(T) -> K>,
    handler: H,
}

impl<'a, 'b, K, F, T, H> FetchingSubscriberBuilder<'a, 'b, K, F, T, H> {
    pub(super) fn new(about: SubscriberTarget<'a, 'b>, fetch: F, handler: H) -> Self {
        FetchingSubscriberBuilder {
            about,
            fetch,
            types: PhantomData,
            handler,
        }
    }
}

impl<'a, 'b, K, Fetcher, T> FetchingSubscriberBuilder<'a, 'b, K, Fetcher, T, DefaultHandler> {
    handler_setters! {
        /// Calls this function with every sample, one at a time, on the thread that brings it or ends a fetch.
        FetchingSubscriberBuilder('a, 'b, K, Fetcher, T) of Sample keeps about, fetch, types
    }
}

impl<F, T, H> FetchingSubscriberBuilder<'_, '_, super::UserSpace, F, T, H> {
    /// Chooses the publishers it receives from, as
    /// [`SubscriberBuilder::allowed_origin`](crate::pubsub::SubscriberBuilder::allowed_origin).
    pub fn allowed_origin(mut self, origin: Locality) -> Self {
        self.about.origin = origin;
        self
    }
}

impl<'a, 'b, K, F, T> FetchingSubscriberBuilder<'a, 'b, K, F, T, Callback<Sample>> {
    /// Declares a subscriber that lives as long as its session: the program keeps no handle.
    pub fn background(self) -> BackgroundFetchingSubscriberBuilder<'a, 'b, K, F, T> {
        BackgroundFetchingSubscriberBuilder(self)
    }
}

impl<K, F, T, H> Operation for FetchingSubscriberBuilder<'_, '_, K, F, T, H>
where
    F: FnOnce(Box<dyn Fn(T) + Send + Sync>) -> crate::Result<()>,
    T: ExtractSample + 'static,
    H: IntoHandler<Sample>,
{
    type Given = FetchingSubscriber<H::Handler>;
    type Refusal = FetchError;

    /// Declares the subscriber, and begins to fetch.
    ///
    /// # Blocking
    /// Blocks as long as the function that fetches.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let (subscriber, fetch) = declare(self.about, self.handler)?;
        fetch.run(self.fetch).map_err(failed)?;
        Ok(subscriber)
    }
}

ready_at_once!([K, F: FnOnce(Box<dyn Fn(T) + Send + Sync>) -> crate::Result<()>, T: ExtractSample + 'static, H: IntoHandler<Sample>] FetchingSubscriberBuilder<'_, '_, K, F, T, H>);

impl<K, F, T, H> fmt::Debug for FetchingSubscriberBuilder<'_, '_, K, F, T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchingSubscriberBuilder")
            .field("about", &self.about)
            .finish_non_exhaustive()
    }
}

/// A [`FetchingSubscriber`] under construction that will live as long as its session.
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct BackgroundFetchingSubscriberBuilder<'a, 'b, K, F, T>(
    FetchingSubscriberBuilder<'a, 'b, K, F, T, Callback<Sample>>,
);

impl<K, F, T> Operation for BackgroundFetchingSubscriberBuilder<'_, '_, K, F, T>
where
    F: FnOnce(Box<dyn Fn(T) + Send + Sync>) -> crate::Result<()>,
    T: ExtractSample + 'static,
{
    type Given = ();
    type Refusal = FetchError;

    /// Declares the subscriber, and begins to fetch.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        self.0.perform()?.set_background(true);
        Ok(())
    }
}

ready_at_once!([K, F: FnOnce(Box<dyn Fn(T) + Send + Sync>) -> crate::Result<()>, T: ExtractSample + 'static] BackgroundFetchingSubscriberBuilder<'_, '_, K, F, T>);

/// Converts the error of a function that fetches.
pub(super) fn failed(error: crate::Error) -> FetchError {
    FetchError::Fetch {
        reason: error.to_string(),
    }
}

/// Declares a subscriber with a fetch that has begun before it.
pub(super) fn declare<H: IntoHandler<Sample>>(
    about: SubscriberTarget<'_, '_>,
    handler: H,
) -> Result<(FetchingSubscriber<H::Handler>, Fetch), FetchError> {
    let key = about.key?;
    // The first fetch begins before the subscriber, so that published samples are held from the
    // start.
    let (callback, handler) = handler.into_handler();
    let gone = CallbackGroup::default();
    let _here = GroupMembership::of([Some(&gone), None, None]);
    let merging = Merging::new(Called { callback, _here }, gone);
    let fetch = merging.begin();
    let ending = Ending(Arc::clone(&merging));
    let take = move |sample| {
        let Ending(merging) = &ending;
        merging.take(sample);
    };
    // Published samples, or changes of tokens.
    let subscriber = match about.space {
        KeySpace::User => {
            let data = about.session.declare_subscriber(key);
            data.allowed_origin(about.origin).callback(take).perform()?
        }
        KeySpace::Liveliness => {
            let tokens = about.session.liveliness().declare_subscriber(key);
            tokens.callback(take).perform()?
        }
    };
    let subscriber = FetchingSubscriber {
        merging,
        subscriber,
        is_background: false,
        handler,
    };
    Ok((subscriber, fetch))
}

/// Guard that ends the rest of a subscriber when the declaration of its key ends, be it by a close
/// of the session.
struct Ending(Arc<Merging>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A subscriber that fetches the samples of the time before it was declared. Samples that are
/// published while a fetch is under way are held until it ends, at most 8192 or 16 MiB of them;
/// then all are delivered in the order of their timestamps, each timestamp once: first those that
/// were fetched without a timestamp, last those that were published without one. Dropping it
/// undeclares it, without blocking.
///
/// The reference has deprecated it; new programs use [`AdvancedSubscriber`](crate::ext::AdvancedSubscriber).
///
/// ```
/// use zonda::ext::{SessionExt, SubscriberBuilderExt};
/// use zonda::{Config, Wait};
///
/// let config = Config::peer().listen(["tcp/127.0.0.1:0"]).with("timestamping/enabled", "true");
/// let session = zonda::open(config).wait()?;
/// let cache = session.declare_publication_cache("demo/**").history(2).wait()?;
/// for text in ["one", "two", "three"] {
///     session.put("demo/a", text).wait()?;
/// }
///
/// let late = session.declare_subscriber("demo/*").querying().wait()?;
/// assert_eq!(late.recv()?.payload().try_to_string()?, "two");
/// assert_eq!(late.recv()?.payload().try_to_string()?, "three");
/// late.fetch(|take| session.get("demo/a").callback(take).wait()).wait()?; // the newest
/// assert_eq!(late.recv()?.payload().try_to_string()?, "three");
/// # Ok::<(), zonda::Error>(())
/// ```
#[must_use = "it is undeclared at once: keep it in a variable, or call .background() before .await or .wait()"]
pub struct FetchingSubscriber<H = FifoChannelHandler<Sample>> {
    merging: Arc<Merging>,
    subscriber: Subscriber<()>,
    is_background: bool,
    handler: H,
}

impl<H> FetchingSubscriber<H> {
    /// Returns the id.
    pub fn id(&self) -> EntityGlobalId {
        self.subscriber.id()
    }

    /// Returns the key expression it was declared with.
    pub fn key_expr(&self) -> &KeyExpr<'static> {
        self.subscriber.key_expr()
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
        self.is_background = background;
        self.subscriber.set_background(background);
    }

    /// Fetches once more by this function, whose argument takes each fetched sample. Samples that
    /// are published during the fetch are held until that argument is dropped.
    pub fn fetch<F, T>(&self, fetch: F) -> FetchBuilder<F, T>
    where
        F: FnOnce(Box<dyn Fn(T) + Send + Sync>) -> crate::Result<()>,
        T: ExtractSample + 'static,
    {
        FetchBuilder {
            merging: Arc::clone(&self.merging),
            fetch,
            fetched: PhantomData,
        }
    }

    /// Undeclares it, as dropping it does: no call of the handler begins afterwards. Waiting for
    /// the returned [`Ended`] waits until no call runs any more and the handler is dropped; never
    /// fails.
    pub fn undeclare(mut self) -> Ended {
        self.set_background(false);
        let gone = self.merging.gone.clone();
        drop(self);
        Ended::waiting(gone)
    }
}

impl<H> Drop for FetchingSubscriber<H> {
    fn drop(&mut self) {
        if !self.is_background {
            self.merging.end();
        }
    }
}

used_as_handler!(FetchingSubscriber);

impl<H> fmt::Debug for FetchingSubscriber<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchingSubscriber")
            .field("key", self.key_expr())
            .finish_non_exhaustive()
    }
}

/// A fetch that is about to begin; made by [`FetchingSubscriber::fetch`].
#[must_use = "nothing is fetched before .await or .wait()"]
pub struct FetchBuilder<F, T> {
    merging: Arc<Merging>,
    fetch: F,
    fetched: PhantomData<fn(T)>,
}

impl<F, T> Operation for FetchBuilder<F, T>
where
    F: FnOnce(Box<dyn Fn(T) + Send + Sync>) -> crate::Result<()>,
    T: ExtractSample + 'static,
{
    type Given = ();
    type Refusal = FetchError;

    /// Begins to fetch.
    ///
    /// # Blocking
    /// Blocks as long as the function that fetches.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        self.merging.begin().run(self.fetch).map_err(failed)
    }
}

ready_at_once!([F: FnOnce(Box<dyn Fn(T) + Send + Sync>) -> crate::Result<()>, T: ExtractSample + 'static] FetchBuilder<F, T>);

impl<F, T> fmt::Debug for FetchBuilder<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchBuilder").finish_non_exhaustive()
    }
}
