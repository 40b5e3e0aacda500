// SPDX-License-Identifier: MIT OR Apache-2.0

//! Advanced subscribers under construction.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use zonda_codec::{KeyExpr, KeyExprError};
use zonda_runtime::serial::SerialQueue;

use super::error::AdvancedError;
use super::history::{HistoryConfig, RecoveryConfig};
use super::intake::{Called, Declared, Intake};
use super::keys;
use super::miss::Listeners;
use super::sources::{Rules, SampleOrigin, Sources};
use super::subscriber::AdvancedSubscriber;
use super::ticker::Ticker;
use crate::callback_group::{CallbackGroup, GroupMembership};
use crate::handle::Session;
use crate::handlers::{Callback, DefaultHandler, IntoHandler, handler_setters};
use crate::liveliness::LivelinessToken;
use crate::pubsub::{Subscriber, SubscriberBuilder};
use crate::sample::{Locality, Sample};
use crate::wait::{Operation, ready_at_once};

/// Default timeout of the caches' answers.
const QUERY_TIMEOUT: Duration = Duration::from_secs(10);

/// Default time for which a source is known after its last sample.
const RETENTION: Duration = Duration::from_secs(3600);

/// Conversion of a [`SubscriberBuilder`] to one of an [`AdvancedSubscriber`].
pub trait AdvancedSubscriberBuilderExt<'a, 'b, 'c, H> {
    /// Queries samples of the time before it was declared.
    fn history(self, config: HistoryConfig) -> AdvancedSubscriberBuilder<'a, 'b, 'c, H>;

    /// Queries samples that were lost; publishers have to number theirs (`sample_miss_detection`)
    /// and to keep some (`cache`).
    fn recovery(self, config: RecoveryConfig) -> AdvancedSubscriberBuilder<'a, 'b, 'c, H>;

    /// Announces the subscriber by a liveliness token.
    fn subscriber_detection(self) -> AdvancedSubscriberBuilder<'a, 'b, 'c, H>;

    /// Converts the builder without any of these features: as it is, it counts lost samples.
    fn advanced(self) -> AdvancedSubscriberBuilder<'a, 'b, 'c, H>;
}

impl<'a, 'b, 'c, H> AdvancedSubscriberBuilderExt<'a, 'b, 'c, H> for SubscriberBuilder<'a, 'b, H> {
    fn history(self, config: HistoryConfig) -> AdvancedSubscriberBuilder<'a, 'b, 'c, H> {
        self.advanced().history(config)
    }

    fn recovery(self, config: RecoveryConfig) -> AdvancedSubscriberBuilder<'a, 'b, 'c, H> {
        self.advanced().recovery(config)
    }

    fn subscriber_detection(self) -> AdvancedSubscriberBuilder<'a, 'b, 'c, H> {
        self.advanced().subscriber_detection()
    }

    fn advanced(self) -> AdvancedSubscriberBuilder<'a, 'b, 'c, H> {
        AdvancedSubscriberBuilder {
            session: self.session,
            key: self.key,
            manner: SubscriberOptions {
                origin: self.origin,
                history: None,
                recovery: None,
                query_timeout: QUERY_TIMEOUT,
                is_detectable: false,
                meta: None,
            },
            handler: self.handler,
        }
    }
}

/// Options of an advanced subscriber.
#[derive(Debug)]
struct SubscriberOptions<'c> {
    origin: Locality,
    history: Option<HistoryConfig>,
    recovery: Option<RecoveryConfig>,
    query_timeout: Duration,
    is_detectable: bool,
    meta: Option<Result<KeyExpr<'c>, KeyExprError>>,
}

/// An advanced subscriber under construction; made by [`AdvancedSubscriberBuilderExt`].
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct AdvancedSubscriberBuilder<'a, 'b, 'c, H = DefaultHandler> {
    session: &'a Session,
    key: Result<KeyExpr<'b>, KeyExprError>,
    manner: SubscriberOptions<'c>,
    handler: H,
}

impl<'a, 'b, 'c> AdvancedSubscriberBuilder<'a, 'b, 'c, DefaultHandler> {
    handler_setters! {
        /// Calls this function with every sample, one after another: where it arrives, or at the
        /// end of the query whose answers it waited for. It may call anything of the session.
        AdvancedSubscriberBuilder('a, 'b, 'c) of Sample keeps session, key, manner
    }
}

impl<'c, H> AdvancedSubscriberBuilder<'_, '_, 'c, H> {
    /// Chooses samples of this session, of other sessions, or both. Default: both.
    pub fn allowed_origin(mut self, origin: Locality) -> Self {
        self.manner.origin = origin;
        self
    }

    /// Queries earlier samples, see [`AdvancedSubscriberBuilderExt::history`].
    pub fn history(mut self, config: HistoryConfig) -> Self {
        self.manner.history = Some(config);
        self
    }

    /// Queries lost samples, see [`AdvancedSubscriberBuilderExt::recovery`].
    pub fn recovery(mut self, config: RecoveryConfig) -> Self {
        self.manner.recovery = Some(config);
        self
    }

    /// Sets the timeout of the caches' answers. Default: 10 s.
    pub fn query_timeout(mut self, limit: Duration) -> Self {
        self.manner.query_timeout = limit;
        self
    }

    /// Announces the subscriber, see [`AdvancedSubscriberBuilderExt::subscriber_detection`].
    pub fn subscriber_detection(mut self) -> Self {
        self.manner.is_detectable = true;
        self
    }

    /// Adds a key with information about the subscriber to the key of its token. Default: none.
    pub fn subscriber_detection_metadata<K>(mut self, meta: K) -> Self
    where
        K: TryInto<KeyExpr<'c>>,
        K::Error: Into<KeyExprError>,
    {
        self.manner.meta = Some(meta.try_into().map_err(Into::into));
        self
    }
}

impl<'a, 'b, 'c> AdvancedSubscriberBuilder<'a, 'b, 'c, Callback<Sample>> {
    /// Declares a subscriber that lives as long as its session: the program keeps no handle.
    pub fn background(self) -> BackgroundAdvancedSubscriberBuilder<'a, 'b, 'c> {
        BackgroundAdvancedSubscriberBuilder(self)
    }
}

impl<H: IntoHandler<Sample>> Operation for AdvancedSubscriberBuilder<'_, '_, '_, H> {
    type Given = AdvancedSubscriber<H::Handler>;
    type Refusal = AdvancedError;

    /// Declares the subscriber; does not block, and does not wait for answers.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let AdvancedSubscriberBuilder {
            session,
            key,
            manner,
            handler,
        } = self;
        // Check all settings before anything is declared.
        let key = key?.into_owned();
        manner.check()?;
        let meta = manner.meta.clone().transpose()?;
        // The intake holds what all declarations share.
        let (callback, handler) = handler.into_handler();
        let gone = CallbackGroup::default();
        let _here = GroupMembership::of([Some(&gone), None, None]);
        let misses = Listeners::new(gone.clone());
        let intake = Arc::new(Intake {
            session: session.downgrade(),
            key,
            history: manner.history,
            query_timeout: manner.query_timeout,
            stores: H::STORES,
            sources: SerialQueue::new(Sources::new(manner.rules()), ()),
            callback: ArcSwapOption::from_pointee(Called { callback, _here }),
            gone,
            misses,
            questions: Default::default(),
            background: Default::default(),
        });
        // Samples come in from here on.
        let ending = Ending(Arc::clone(&intake));
        let subscriber = session
            .declare_subscriber(&intake.key)
            .allowed_origin(manner.origin)
            .callback(move |sample| {
                let Ending(intake) = &ending;
                intake.take(sample, SampleOrigin::Live);
            })
            .perform()?;
        // The history is queried once the subscriber is declared, so that no sample is missed
        // between both.
        if manner.history.is_some() {
            intake.change(Sources::ask_history);
        }
        // The remaining declarations, as configured.
        let declared = Declared {
            _heartbeats: manner.heartbeats(session, &intake)?,
            _publishers: manner.publishers(session, &intake)?,
            _periodic: manner.periodic(session, &intake),
            _token: manner.token(session, &subscriber, meta.as_ref())?,
        };
        Ok(AdvancedSubscriber::new(
            intake, subscriber, declared, handler,
        ))
    }
}

ready_at_once!([H: IntoHandler<Sample>] AdvancedSubscriberBuilder<'_, '_, '_, H>);

/// Guard that ends the rest of a subscriber when the declaration of its key ends, be it by a close
/// of the session.
struct Ending(Arc<Intake>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl SubscriberOptions<'_> {
    fn check(&self) -> Result<(), AdvancedError> {
        let history = self.history.unwrap_or_default();
        if history.max_samples == Some(0) {
            return Err(AdvancedError::Zero {
                what: "max_samples",
            });
        }
        if history.max_age == Some(0.0) {
            return Err(AdvancedError::Zero { what: "max_age" });
        }
        let period = self.recovery.and_then(|r| r.periodic_queries);
        match period.is_some_and(|period| period.is_zero()) {
            true => Err(AdvancedError::Zero {
                what: "the period of periodic_queries",
            }),
            false => Ok(()),
        }
    }

    fn rules(&self) -> Rules {
        let depth = self.history.and_then(|history| history.max_samples);
        let retention = self.recovery.and_then(|recovery| recovery.retention);
        Rules {
            recovery: self.recovery.is_some(),
            depth: depth.unwrap_or(usize::MAX),
            retention: retention.unwrap_or(RETENTION),
        }
    }

    fn heartbeats(
        &self,
        session: &Session,
        intake: &Arc<Intake>,
    ) -> Result<Option<Subscriber<()>>, AdvancedError> {
        if !self.recovery.is_some_and(|recovery| recovery.heartbeat) {
            return Ok(None);
        }
        let hearing = Arc::clone(intake);
        let subscriber = session
            .declare_subscriber(keys::publishers(&intake.key)?)
            .allowed_origin(self.origin)
            .callback(move |beat| hearing.take_heartbeat(&beat))
            .perform()?;
        Ok(Some(subscriber))
    }

    fn publishers(
        &self,
        session: &Session,
        intake: &Arc<Intake>,
    ) -> Result<Option<Subscriber<()>>, AdvancedError> {
        if !self.history.is_some_and(|history| history.late_publishers) {
            return Ok(None);
        }
        let hearing = Arc::clone(intake);
        let subscriber = session
            .liveliness()
            .declare_subscriber(keys::publishers(&intake.key)?)
            .history(true)
            .callback(move |token| hearing.take_token(&token))
            .perform()?;
        Ok(Some(subscriber))
    }

    fn periodic(&self, session: &Session, intake: &Arc<Intake>) -> Option<Ticker> {
        let period = self.recovery?.periodic_queries?;
        let asking = Arc::downgrade(intake);
        let ticker = Ticker::start(session.node(), "zonda-periodic", period, move || {
            let intake = asking.upgrade();
            let intake = intake.filter(|intake| intake.session.upgrade().is_some());
            if let Some(intake) = &intake {
                intake.change(Sources::ask_everybody);
            }
            std::future::ready(intake.is_some())
        });
        Some(ticker)
    }

    fn token(
        &self,
        session: &Session,
        subscriber: &Subscriber<()>,
        meta: Option<&KeyExpr<'_>>,
    ) -> Result<Option<LivelinessToken>, AdvancedError> {
        if !self.is_detectable {
            return Ok(None);
        }
        let key = keys::subscriber(subscriber.key_expr(), subscriber.id(), meta)?;
        Ok(Some(session.liveliness().declare_token(key).perform()?))
    }
}

/// An advanced subscriber under construction that will live as long as its session.
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct BackgroundAdvancedSubscriberBuilder<'a, 'b, 'c>(
    AdvancedSubscriberBuilder<'a, 'b, 'c, Callback<Sample>>,
);

impl Operation for BackgroundAdvancedSubscriberBuilder<'_, '_, '_> {
    type Given = ();
    type Refusal = AdvancedError;

    /// Declares the subscriber; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        self.0.perform()?.detach();
        Ok(())
    }
}

ready_at_once!([] BackgroundAdvancedSubscriberBuilder<'_, '_, '_>);
