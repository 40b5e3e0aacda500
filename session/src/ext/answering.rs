// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries of an advanced subscriber that are under way.
//!
//! A query goes to every cache that matches, and ends when all of them have answered. A cache that
//! never answers must not delay the samples of the other ones: a query that has brought nothing for
//! a while counts as answered. The subscriber takes later answers as before.

use std::future::{Future, IntoFuture, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use event_listener::Event;
use parking_lot::Mutex;
use zonda_runtime::AnyRuntime;

use super::intake::Intake;
use super::sources::{QueriedSources, SampleOrigin};
use crate::handle::Session;
use crate::query::{ConsolidationMode, QueryTarget, Reply, ReplyKeyExpr, Selector};

/// Time limit of a query without any reply.
const FIRST: Duration = Duration::from_secs(3);

/// Minimum time limit of the next reply of a query that has replies.
const NEXT: Duration = Duration::from_millis(250);

/// Factor between the longest silence so far and the time for the next reply.
const TIMES: u32 = 4;

/// Time limits of a query.
#[derive(Debug)]
struct QueryTimeLimits {
    /// Time of the query, or of its last reply.
    since: Instant,
    /// The longest silence so far; `None` before the first reply.
    longest: Option<Duration>,
}

impl QueryTimeLimits {
    fn new(now: Instant) -> QueryTimeLimits {
        let longest = None;
        QueryTimeLimits {
            since: now,
            longest,
        }
    }

    /// Records that a reply came.
    fn hear(&mut self, now: Instant) {
        let silence = now.saturating_duration_since(self.since);
        self.longest = self.longest.max(Some(silence));
        self.since = now;
    }

    /// Returns the time at which the limit is over if no reply comes before.
    fn over(&self) -> Instant {
        let wait = match self.longest {
            None => FIRST,
            Some(longest) => NEXT.max(longest.saturating_mul(TIMES)),
        };
        self.since + wait
    }
}

/// A query and the subscriber that sends it.
struct SubscriberQuery {
    intake: Arc<Intake>,
    about: QueriedSources,
    patience: Mutex<QueryTimeLimits>,
    /// Set once the sources do not wait for it any more.
    is_released: AtomicBool,
    /// Set once the last of its replies has come.
    is_over: AtomicBool,
    over: Event,
}

impl SubscriberQuery {
    fn take(&self, reply: Reply) {
        self.patience.lock().hear(Instant::now());
        let Ok(sample) = reply.into_result() else {
            return;
        };
        if self.intake.key.intersects(sample.key_expr()) {
            self.intake.take(sample, SampleOrigin::Answered);
        }
    }

    /// Releases the sources, which waited for the query; once.
    fn release(&self) {
        if !self.is_released.swap(true, Ordering::AcqRel) {
            self.intake.change(|sources| sources.end(self.about));
        }
    }

    /// Waits until the query is over or has brought nothing for too long.
    async fn wait(&self, runtime: &AnyRuntime) {
        loop {
            let due = self.patience.lock().over();
            if due <= Instant::now() {
                return;
            }
            let mut over = pin!(self.over.listen());
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            let mut sleep = pin!(runtime.sleep_until(due));
            poll_fn(|context| match over.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(()),
                Poll::Pending => sleep.as_mut().poll(context).map(drop),
            })
            .await;
        }
    }
}

/// The end of a query, at the drop after its last reply.
struct Answering(Arc<SubscriberQuery>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.over.notify(usize::MAX);
        self.0.release();
    }
}

/// A query before it is sent. It counts as answered when this is dropped.
pub(super) struct UnsentQuery(Answering);

impl UnsentQuery {
    pub fn new(intake: &Arc<Intake>, about: QueriedSources) -> UnsentQuery {
        UnsentQuery(Answering(Arc::new(SubscriberQuery {
            intake: Arc::clone(intake),
            about,
            patience: Mutex::new(QueryTimeLimits::new(Instant::now())),
            is_released: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            over: Event::new(),
        })))
    }

    /// Sends the query, and waits until the sources need not wait any more.
    pub async fn ask(self, session: Session, selector: Selector<'static>) {
        let UnsentQuery(answering) = self;
        let asked = Arc::clone(&answering.0);
        let timeout = asked.intake.query_timeout;
        let token = asked.intake.questions.clone();
        *asked.patience.lock() = QueryTimeLimits::new(Instant::now());
        let get = session.get(selector).callback(move |reply| {
            // Named so that the closure owns the whole of it, and ends the query when it is
            // dropped.
            let Answering(asked) = &answering;
            asked.take(reply);
        });
        let get = get
            .consolidation(ConsolidationMode::None)
            .accept_replies(ReplyKeyExpr::Any)
            .target(QueryTarget::All)
            .timeout(timeout)
            .cancellation_token(token);
        if let Err(error) = get.into_future().await {
            tracing::debug!("an advanced subscriber cannot query samples: {error}");
        }
        let runtime = session.node().runtime_handle().clone();
        drop(session);
        asked.wait(&runtime).await;
        asked.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_waited_for_as_long_as_it_brings_something() {
        let begin = Instant::now();
        let mut patience = QueryTimeLimits::new(begin);
        assert_eq!(patience.over(), begin + FIRST);
        let soon = begin + Duration::from_millis(10);
        patience.hear(soon);
        assert_eq!(patience.over(), soon + NEXT);
        // Replies on a slow link come slowly.
        let late = soon + Duration::from_secs(1);
        patience.hear(late);
        patience.hear(late + Duration::from_millis(1));
        let over = late + Duration::from_millis(1) + Duration::from_secs(4);
        assert_eq!(patience.over(), over);
    }
}
