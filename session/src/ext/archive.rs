// SPDX-License-Identifier: MIT OR Apache-2.0

//! The queryable in front of a publisher's cache.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use zonda_codec::{EntityGlobalId, KeyExpr};
use zonda_router::node::Node;
use zonda_runtime::{AnyRuntime, Runtime, with_runtime};

use super::cache::Chosen;
use super::ledger::Ledger;
use super::share::{AnswerSlot, Shares};
use crate::error::{AnswerError, DeclareError};
use crate::handle::Session;
use crate::pubsub::Publisher;
use crate::query::{Query, Queryable};
use crate::sample::{SampleKind, SourceInfo};
use crate::wait::Operation;

/// The answering side of a publisher's cache, until it is dropped.
pub(super) struct Archive(#[expect(dead_code, reason = "held")] Queryable<()>);

/// The samples of a publisher, and their common data.
pub(super) struct CachedSamples {
    ledger: Arc<Mutex<Ledger>>,
    is_numbered: bool,
    key: KeyExpr<'static>,
    source: EntityGlobalId,
    runtime: AnyRuntime,
    shares: Shares,
}

impl Archive {
    /// Declares the queryable on the publisher's `own` key, which answers from the cached samples.
    pub fn open(
        session: &Session,
        own: &KeyExpr<'static>,
        shelf: CachedSamples,
    ) -> Result<Archive, DeclareError> {
        let shelf = Arc::new(shelf);
        let queryable = session
            .declare_queryable(own)
            .callback(move |query| CachedSamples::answer(&shelf, query))
            .perform()?;
        Ok(Archive(queryable))
    }
}

impl CachedSamples {
    pub fn new(
        publisher: &Publisher<'_>,
        is_numbered: bool,
        ledger: &Arc<Mutex<Ledger>>,
        node: &Node,
    ) -> CachedSamples {
        let max_bytes = ledger.lock().max_bytes();
        CachedSamples {
            shares: Shares::new(max_bytes),
            ledger: Arc::clone(ledger),
            is_numbered,
            key: publisher.key_expr().clone().into_owned(),
            source: publisher.id(),
            runtime: node.runtime_handle().clone(),
        }
    }

    /// Answers on a separate task, so that the link of the query is read while the answers are
    /// sent.
    fn answer(self: &Arc<Self>, query: Query) {
        // A query that no sample matches gets no reply.
        let bytes =
            self.ledger
                .lock()
                .weigh(query.parameters(), SystemTime::now(), self.is_numbered);
        if bytes == 0 {
            return;
        }
        // The neighbour's share decides when the answer may be sent; a query beyond the limit of
        // waiting ones is dropped.
        let share = query
            .neighbour()
            .map(|zid| self.shares.of(zid, Instant::now()));
        let now = Instant::now();
        let queued = share.as_ref().map(|share| share.queue(bytes, now));
        if let Some(None) = queued {
            tracing::debug!(%query, "too many queries of one neighbour wait for the cache of an advanced publisher");
            return;
        }
        // A separate task waits for the turn and sends.
        let shelf = Arc::clone(self);
        let answer = move || async move {
            let place = match queued.flatten() {
                Some(queued) => {
                    shelf.rest(now, queued.pause()).await;
                    Some(queued.turn().await)
                }
                None => None,
            };
            if let Err(error) = shelf.send(&query, place).await {
                tracing::debug!(%query, "the cache of an advanced publisher cannot answer: {error}");
            }
        };
        with_runtime!(&self.runtime, runtime => runtime.spawn_brief("zonda-cache", answer));
    }

    /// Sends the chosen samples, as fast as the share of the asker allows.
    async fn send(&self, query: &Query, mut place: Option<AnswerSlot>) -> Result<(), AnswerError> {
        for sample in self.chosen(query) {
            let bytes = sample.bytes();
            self.reply(query, sample).await?;
            if let Some(place) = &mut place {
                let now = Instant::now();
                self.rest(now, place.take(bytes, now)).await;
            }
        }
        Ok(())
    }

    /// Waits for a pause that begins now.
    async fn rest(&self, now: Instant, pause: Duration) {
        if !pause.is_zero() {
            self.runtime.sleep_until(now + pause).await;
        }
    }

    fn chosen(&self, query: &Query) -> Vec<Chosen> {
        let (now, ledger) = (SystemTime::now(), self.ledger.lock());
        ledger.chosen(query.parameters(), now, self.is_numbered)
    }

    async fn reply(&self, query: &Query, sample: Chosen) -> Result<(), AnswerError> {
        // A numbered sample keeps its number in the reply.
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
