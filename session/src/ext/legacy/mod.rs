// SPDX-License-Identifier: MIT OR Apache-2.0

//! Deprecated parts of the reference, replaced by advanced publishers and subscribers, for programs
//! that use them: a cache for a session's publishers, and subscribers that fetch earlier samples.

mod fetching;
mod merging;
mod publications;
mod querying;

use std::fmt;

use zonda_codec::{KeyExpr, KeyExprError};

use crate::error::{DeclareError, Refusal};
use crate::handle::Session;
use crate::liveliness::LivelinessSubscriberBuilder;
use crate::pubsub::SubscriberBuilder;
use crate::query::Reply;
use crate::sample::{Locality, Sample};

pub use fetching::{
    BackgroundFetchingSubscriberBuilder, FetchBuilder, FetchingSubscriber,
    FetchingSubscriberBuilder,
};
pub use publications::{
    BackgroundPublicationCacheBuilder, PublicationCache, PublicationCacheBuilder,
};
pub use querying::{BackgroundQueryingSubscriberBuilder, QueryingSubscriberBuilder};

/// Subject of a [`FetchingSubscriber`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySpace {
    /// Publications.
    User,
    /// Liveliness tokens.
    Liveliness,
}

/// [`KeySpace::User`] as a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserSpace;

/// [`KeySpace::Liveliness`] as a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LivelinessSpace;

impl From<UserSpace> for KeySpace {
    fn from(_: UserSpace) -> Self {
        KeySpace::User
    }
}

impl From<LivelinessSpace> for KeySpace {
    fn from(_: LivelinessSpace) -> Self {
        KeySpace::Liveliness
    }
}

/// Error of a [`FetchingSubscriber`] that was not declared, or that fetches nothing.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The declaration failed.
    #[error(transparent)]
    Declare(#[from] DeclareError),
    /// The function that fetches failed.
    #[error("nothing is fetched: {reason}")]
    Fetch {
        /// The error of the function, as text.
        reason: String,
    },
}

zonda_codec::debug_as_text!(FetchError);

impl From<KeyExprError> for FetchError {
    fn from(error: KeyExprError) -> Self {
        FetchError::Declare(error.into())
    }
}

impl Refusal for FetchError {
    fn is_closed(&self) -> bool {
        matches!(self, FetchError::Declare(error) if error.is_closed())
    }
}

/// Result of a fetch.
pub trait ExtractSample {
    /// Returns the sample.
    ///
    /// # Errors
    /// The value has no sample.
    fn extract(self) -> crate::Result<Sample>;
}

impl ExtractSample for Reply {
    fn extract(self) -> crate::Result<Sample> {
        Ok(self.into_result()?)
    }
}

/// Session and subject of a subscriber that is to be declared.
pub(super) struct SubscriberTarget<'a, 'b> {
    session: &'a Session,
    key: Result<KeyExpr<'b>, KeyExprError>,
    space: KeySpace,
    origin: Locality,
}

impl fmt::Debug for SubscriberTarget<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("About")
            .field("key", &self.key)
            .field("space", &self.space)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// Extension of sessions for programs that use a [`PublicationCache`].
pub trait SessionExt {
    /// Declares a cache of the session's publications on a key. New programs use
    /// [`AdvancedPublisher`](super::AdvancedPublisher).
    fn declare_publication_cache<'a, 'b, 'c, K>(
        &'a self,
        key: K,
    ) -> PublicationCacheBuilder<'a, 'b, 'c>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>;
}

impl SessionExt for Session {
    fn declare_publication_cache<'a, 'b, 'c, K>(
        &'a self,
        key: K,
    ) -> PublicationCacheBuilder<'a, 'b, 'c>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>,
    {
        PublicationCacheBuilder::new(self, key.try_into().map_err(Into::into))
    }
}

/// Conversion of the builder of a subscriber to one of a [`FetchingSubscriber`]. New programs use
/// [`AdvancedSubscriber`](super::AdvancedSubscriber).
pub trait SubscriberBuilderExt<'a, 'b, H> {
    /// The subject of the subscriber.
    type KeySpace: Into<KeySpace>;

    /// Fetches older samples by a function, whose argument takes each of them.
    fn fetching<F, T>(self, fetch: F) -> FetchingSubscriberBuilder<'a, 'b, Self::KeySpace, F, T, H>
    where
        F: FnOnce(Box<dyn Fn(T) + Send + Sync>) -> crate::Result<()>,
        T: ExtractSample + 'static;

    /// Fetches older samples by a query, on its own key by default.
    fn querying(self) -> QueryingSubscriberBuilder<'a, 'b, Self::KeySpace, H>;
}

impl<'a, 'b, H> SubscriberBuilderExt<'a, 'b, H> for SubscriberBuilder<'a, 'b, H> {
    type KeySpace = UserSpace;

    fn fetching<F, T>(self, fetch: F) -> FetchingSubscriberBuilder<'a, 'b, UserSpace, F, T, H>
    where
        F: FnOnce(Box<dyn Fn(T) + Send + Sync>) -> crate::Result<()>,
        T: ExtractSample + 'static,
    {
        let (about, handler) = of_data(self);
        FetchingSubscriberBuilder::new(about, fetch, handler)
    }

    fn querying(self) -> QueryingSubscriberBuilder<'a, 'b, UserSpace, H> {
        let (about, handler) = of_data(self);
        QueryingSubscriberBuilder::new(about, handler)
    }
}

impl<'a, 'b, H> SubscriberBuilderExt<'a, 'b, H> for LivelinessSubscriberBuilder<'a, 'b, H> {
    type KeySpace = LivelinessSpace;

    fn fetching<F, T>(self, fetch: F) -> FetchingSubscriberBuilder<'a, 'b, LivelinessSpace, F, T, H>
    where
        F: FnOnce(Box<dyn Fn(T) + Send + Sync>) -> crate::Result<()>,
        T: ExtractSample + 'static,
    {
        let (about, handler) = of_tokens(self);
        FetchingSubscriberBuilder::new(about, fetch, handler)
    }

    fn querying(self) -> QueryingSubscriberBuilder<'a, 'b, LivelinessSpace, H> {
        let (about, handler) = of_tokens(self);
        QueryingSubscriberBuilder::new(about, handler)
    }
}

fn of_data<'a, 'b, H>(builder: SubscriberBuilder<'a, 'b, H>) -> (SubscriberTarget<'a, 'b>, H) {
    let about = SubscriberTarget {
        session: builder.session,
        key: builder.key,
        space: KeySpace::User,
        origin: builder.origin,
    };
    (about, builder.handler)
}

fn of_tokens<'a, 'b, H>(
    builder: LivelinessSubscriberBuilder<'a, 'b, H>,
) -> (SubscriberTarget<'a, 'b>, H) {
    let about = SubscriberTarget {
        session: builder.session,
        key: builder.key,
        space: KeySpace::Liveliness,
        origin: Locality::default(),
    };
    (about, builder.handler)
}
