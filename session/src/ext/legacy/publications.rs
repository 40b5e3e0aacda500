// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`PublicationCache`]: a cache of the session's publications on a key, for queries.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use zonda_codec::{KeyExpr, KeyExprError};
use zonda_runtime::{AnyRuntime, Runtime, with_runtime};

use crate::callback_group::Ended;
use crate::ext::error::AdvancedError;
use crate::ext::sources::held::held_bytes;
use crate::handle::Session;
use crate::handlers::Stored;
use crate::pubsub::Subscriber;
use crate::query::{Query, Queryable, ZenohParameters};
use crate::sample::{Locality, Sample};
use crate::wait::{Operation, ready_at_once};

/// Default limit of the bytes of a cache.
const BYTES_MAX: usize = 64 << 20;

/// A [`PublicationCache`] under construction; made by
/// [`SessionExt::declare_publication_cache`](super::SessionExt::declare_publication_cache).
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct PublicationCacheBuilder<'a, 'b, 'c> {
    session: &'a Session,
    key: Result<KeyExpr<'b>, KeyExprError>,
    suffix: Option<Result<KeyExpr<'c>, KeyExprError>>,
    origin: Locality,
    complete: bool,
    limits: CacheLimits,
}

#[derive(Debug, Clone, Copy)]
struct CacheLimits {
    history: usize,
    keys: usize,
    bytes: usize,
}

impl<'a, 'b, 'c> PublicationCacheBuilder<'a, 'b, 'c> {
    pub(super) fn new(session: &'a Session, key: Result<KeyExpr<'b>, KeyExprError>) -> Self {
        PublicationCacheBuilder {
            session,
            key,
            suffix: None,
            origin: Locality::default(),
            complete: false,
            limits: CacheLimits {
                history: 1,
                keys: usize::MAX,
                bytes: BYTES_MAX,
            },
        }
    }

    /// Sets the part behind the keys in queries that are answered. Default: nothing.
    pub fn queryable_suffix<K>(mut self, suffix: K) -> Self
    where
        K: TryInto<KeyExpr<'c>>,
        K::Error: Into<KeyExprError>,
    {
        self.suffix = Some(suffix.try_into().map_err(Into::into));
        self
    }

    /// Chooses the sessions whose queries it answers: this one, other ones, or both. Default: both.
    pub fn queryable_allowed_origin(mut self, origin: Locality) -> Self {
        self.origin = origin;
        self
    }

    /// Promises that the cache knows everything on its keys. Default: no.
    pub fn queryable_complete(mut self, complete: bool) -> Self {
        self.complete = complete;
        self
    }

    /// Sets the number of samples of each key that are kept. Default: 1.
    pub fn history(mut self, samples: usize) -> Self {
        self.limits.history = samples;
        self
    }

    /// Sets the number of keys that samples are kept of; samples of further keys are not kept. Default: no limit.
    pub fn resources_limit(mut self, keys: usize) -> Self {
        self.limits.keys = keys;
        self
    }

    /// Sets the limit of bytes of the samples of all keys together, including their administration.
    /// The oldest samples of a key are evicted in favour of its new ones; a sample that does not
    /// fit even so is not kept. Default: 64 MiB.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.limits.bytes = bytes;
        self
    }

    /// Declares a cache that lives as long as its session: the program keeps no handle.
    pub fn background(self) -> BackgroundPublicationCacheBuilder<'a, 'b, 'c> {
        BackgroundPublicationCacheBuilder(self)
    }
}

impl Operation for PublicationCacheBuilder<'_, '_, '_> {
    type Given = PublicationCache;
    type Refusal = AdvancedError;

    /// Declares the cache; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let (session, key) = (self.session, self.key?.into_owned());
        let suffix = self.suffix.transpose()?.map(KeyExpr::into_owned);
        // Samples are distinguished by their timestamps.
        if !session.node().stamps() {
            return Err(AdvancedError::Unstamped { key });
        }
        let answered = match &suffix {
            None => key.clone(),
            Some(suffix) => &key / suffix,
        };
        // The subscriber fills the cache, the queryable answers from it.
        let kept = Arc::new(Mutex::new(SamplesByKey::new(self.limits)));
        let (keeping, shelf) = (
            Arc::clone(&kept),
            CachedSamples {
                kept: Arc::clone(&kept),
                suffix,
                runtime: session.node().runtime_handle().clone(),
            },
        );
        let subscriber = session
            .declare_subscriber(&key)
            .allowed_origin(Locality::SessionLocal)
            .callback(move |sample| keep(&keeping, sample))
            .perform()?;
        let queryable = session.declare_queryable(answered);
        let queryable = queryable.complete(self.complete);
        let queryable = queryable
            .allowed_origin(self.origin)
            .callback(move |query| shelf.answer(query))
            .perform()?;
        Ok(PublicationCache {
            subscriber,
            queryable,
            kept,
        })
    }
}

ready_at_once!([] PublicationCacheBuilder<'_, '_, '_>);

/// A [`PublicationCache`] under construction that will live as long as its session.
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct BackgroundPublicationCacheBuilder<'a, 'b, 'c>(PublicationCacheBuilder<'a, 'b, 'c>);

impl Operation for BackgroundPublicationCacheBuilder<'_, '_, '_> {
    type Given = ();
    type Refusal = AdvancedError;

    /// Declares the cache; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        self.0.perform()?.set_background(true);
        Ok(())
    }
}

ready_at_once!([] BackgroundPublicationCacheBuilder<'_, '_, '_>);

/// A cache of the newest samples that its session publishes on a key, which answers queries with
/// them. The session has to stamp its samples (`timestamping/enabled`). Dropping it undeclares it,
/// without blocking, and drops its samples.
///
/// The reference has deprecated it; new programs use [`AdvancedPublisher`](crate::ext::AdvancedPublisher).
///
/// ```
/// use zonda::ext::SessionExt;
/// use zonda::{Config, Wait};
///
/// let config = Config::peer().listen(["tcp/127.0.0.1:0"]).with("timestamping/enabled", "true");
/// let session = zonda::open(config).wait()?;
/// let cache = session.declare_publication_cache("demo/**").wait()?;
/// session.put("demo/a", "kept").wait()?;
/// let reply = session.get("demo/*").wait()?.recv()?;
/// assert_eq!(reply.into_result()?.payload().try_to_string()?, "kept");
/// assert_eq!(cache.not_kept(), 0);
/// # Ok::<(), zonda::Error>(())
/// ```
#[must_use = "it is undeclared at once: keep it in a variable, or call .background() before .await or .wait()"]
pub struct PublicationCache {
    subscriber: Subscriber<()>,
    queryable: Queryable<()>,
    kept: Arc<Mutex<SamplesByKey>>,
}

impl PublicationCache {
    /// Returns the key expression it was declared with.
    pub fn key_expr(&self) -> &KeyExpr<'static> {
        self.subscriber.key_expr()
    }

    /// Number of samples that were not cached for want of room.
    pub fn not_kept(&self) -> u64 {
        self.kept.lock().not_kept
    }

    /// Chooses whether it stays declared when this is dropped, for as long as the session. Default: no.
    pub fn set_background(&mut self, background: bool) {
        self.subscriber.set_background(background);
        self.queryable.set_background(background);
    }

    /// Undeclares it, as dropping it does; never fails.
    pub fn undeclare(mut self) -> Ended {
        self.set_background(false);
        drop(self.subscriber);
        self.queryable.undeclare()
    }
}

impl fmt::Debug for PublicationCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicationCache")
            .field("key", self.key_expr())
            .finish_non_exhaustive()
    }
}

/// Samples by key; for each key the oldest first.
struct SamplesByKey {
    by_key: HashMap<KeyExpr<'static>, VecDeque<Sample>>,
    bytes: usize,
    limits: CacheLimits,
    not_kept: u64,
}

impl SamplesByKey {
    fn new(limits: CacheLimits) -> SamplesByKey {
        SamplesByKey {
            by_key: HashMap::new(),
            bytes: 0,
            limits,
            not_kept: 0,
        }
    }

    /// Inserts a sample and evicts the oldest ones of its key; returns true if it was inserted.
    fn keep(&mut self, sample: Sample) -> bool {
        let (limits, bytes) = (self.limits, held_bytes(&sample));
        // One key more than allowed is not cached.
        let is_new = !self.by_key.contains_key(sample.key_expr().as_str());
        if is_new && self.by_key.len() >= limits.keys {
            self.not_kept += 1;
            return false;
        }
        // Evict the oldest samples of the key until the new one fits.
        let samples = self.by_key.entry(sample.key_expr().clone()).or_default();
        while samples.len() >= limits.history.max(1) || self.bytes + bytes > limits.bytes {
            let Some(oldest) = samples.pop_front() else {
                break;
            };
            self.bytes -= held_bytes(&oldest);
        }
        let has_room = limits.history > 0 && self.bytes + bytes <= limits.bytes;
        if has_room {
            self.bytes += bytes;
            samples.push_back(sample);
            return true;
        }
        // A key without samples takes no place.
        if samples.is_empty() {
            self.by_key.remove(sample.key_expr().as_str());
        }
        self.not_kept += 1;
        false
    }
}

fn keep(kept: &Mutex<SamplesByKey>, sample: Sample) {
    let key = sample.key_expr().clone();
    if !kept.lock().keep(sample.before_storing()) {
        tracing::debug!(%key, "a cache of publications has no room for a sample");
    }
}

/// The answering side.
struct CachedSamples {
    kept: Arc<Mutex<SamplesByKey>>,
    suffix: Option<KeyExpr<'static>>,
    runtime: AnyRuntime,
}

impl CachedSamples {
    /// Answers on a separate task, so that the link of the query is read while the answers are
    /// sent.
    fn answer(&self, query: Query) {
        let chosen = self.chosen(&query);
        if chosen.is_empty() {
            return;
        }
        let answer = move || async move {
            for sample in chosen {
                if let Err(error) = query.reply_sample(sample).await {
                    tracing::debug!(%query, "a cache of publications cannot answer: {error}");
                    return;
                }
            }
        };
        with_runtime!(&self.runtime, runtime => runtime.spawn_brief("zonda-cache", answer));
    }

    /// Returns the samples for a query, for each key the oldest first.
    fn chosen(&self, query: &Query) -> Vec<Sample> {
        let times = query.parameters().time_range().and_then(Result::ok);
        let times = times.map(|times| times.resolve_at(SystemTime::now()));
        let in_time = |sample: &&Sample| match (&times, sample.timestamp()) {
            (Some(times), Some(stamp)) => times.contains(UNIX_EPOCH + stamp.time().to_unix()),
            _ => true,
        };
        let asked = query.key_expr();
        let is_asked = |key: &KeyExpr<'_>| match &self.suffix {
            None => asked.intersects(key),
            Some(suffix) => asked.intersects(&(key / suffix)),
        };
        let kept = self.kept.lock();
        let queues = kept.by_key.iter().filter(|(key, _)| is_asked(key));
        let samples = queues.flat_map(|(_, samples)| samples);
        samples.filter(in_time).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::SampleBuilder;

    fn sample(key: &str, len: usize) -> Sample {
        let key = KeyExpr::new(key.to_owned()).unwrap();
        SampleBuilder::put(key, vec![0; len]).into()
    }

    fn kept(history: usize, keys: usize, bytes: usize) -> SamplesByKey {
        SamplesByKey::new(CacheLimits {
            history,
            keys,
            bytes,
        })
    }

    #[test]
    fn a_cache_is_bounded_in_samples_keys_and_bytes() {
        let mut few = kept(2, 2, usize::MAX);
        assert!((0..5).all(|_| few.keep(sample("a", 1)) && few.keep(sample("b", 1))));
        assert!(!few.keep(sample("c", 1)));
        let lens: Vec<_> = few.by_key.values().map(VecDeque::len).collect();
        assert_eq!((lens, few.not_kept), (vec![2, 2], 1));
        assert!(!kept(0, 2, usize::MAX).keep(sample("a", 1)));

        let one = held_bytes(&sample("a", 100));
        let mut small = kept(9, 9, 2 * one);
        assert!((0..5).all(|_| small.keep(sample("a", 100))));
        assert!(!small.keep(sample("b", 100)), "no other key gives way");
        assert!(!small.keep(sample("a", 1000)));
        assert_eq!((small.bytes, small.by_key.len(), small.not_kept), (0, 0, 2));
    }
}
