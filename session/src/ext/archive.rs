// SPDX-License-Identifier: MIT OR Apache-2.0

//! The queryable in front of a publisher's cache.

use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use zonda_codec::{EntityGlobalId, KeyExpr};
use zonda_runtime::{AnyRuntime, Runtime, with_runtime};

use super::cache::{Cache, Cached};
use super::cache_config::CacheConfig;
use super::error::AdvancedError;
use crate::error::AnswerError;
use crate::handle::Session;
use crate::pubsub::Publisher;
use crate::query::{Query, Queryable};
use crate::sample::{SampleKind, SourceInfo};
use crate::wait::Operation;

/// A publisher's cache, and who answers from it.
pub(super) struct Archive {
    pub cache: Arc<Mutex<Cache>>,
    _queryable: Queryable<()>,
}

/// What is known of every sample of a publisher.
struct Shelf {
    cache: Arc<Mutex<Cache>>,
    key: KeyExpr<'static>,
    source: EntityGlobalId,
    runtime: AnyRuntime,
}

impl Archive {
    /// Begins to keep what `publisher` sends, and to answer on its `own` key.
    pub fn open(
        session: &Session,
        config: &CacheConfig,
        own: &KeyExpr<'static>,
        publisher: &Publisher<'_>,
    ) -> Result<Archive, AdvancedError> {
        if config.max_samples == 0 {
            return Err(AdvancedError::Zero {
                what: "max_samples",
            });
        }
        let cache = Arc::new(Mutex::new(Cache::new(config)));
        let shelf = Arc::new(Shelf {
            cache: Arc::clone(&cache),
            key: publisher.key_expr().clone().into_owned(),
            source: publisher.id(),
            runtime: session.node().runtime_handle().clone(),
        });
        let queryable = session
            .declare_queryable(own)
            .callback(move |query| Shelf::answer(&shelf, query))
            .perform()?;
        Ok(Archive {
            cache,
            _queryable: queryable,
        })
    }
}

impl Shelf {
    /// Answers on a task of its own: the link that brought the query is read on meanwhile.
    fn answer(self: &Arc<Self>, query: Query) {
        let chosen = self
            .cache
            .lock()
            .chosen(query.parameters(), SystemTime::now());
        if chosen.is_empty() {
            return;
        }
        let shelf = Arc::clone(self);
        let answer = move || async move {
            for sample in chosen {
                if let Err(error) = shelf.reply(&query, sample).await {
                    tracing::debug!(%query, "the cache of an advanced publisher cannot answer: {error}");
                    return;
                }
            }
        };
        with_runtime!(&self.runtime, runtime => runtime.spawn_brief("zonda-cache", answer));
    }

    async fn reply(&self, query: &Query, sample: Cached) -> Result<(), AnswerError> {
        let source = sample.number.map(|sn| SourceInfo {
            id: self.source,
            sn,
        });
        match sample.kind {
            SampleKind::Put => {
                let reply = query
                    .reply(&self.key, sample.payload)
                    .encoding(sample.encoding);
                let reply = reply
                    .attachment(sample.attachment)
                    .timestamp(sample.timestamp);
                reply.source_info(source).typed().await
            }
            SampleKind::Delete => {
                let reply = query.reply_del(&self.key).attachment(sample.attachment);
                reply
                    .timestamp(sample.timestamp)
                    .source_info(source)
                    .typed()
                    .await
            }
        }
    }
}
