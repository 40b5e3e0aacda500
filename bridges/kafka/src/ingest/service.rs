// SPDX-License-Identifier: MIT OR Apache-2.0
//! State that all connections share: the sink, the limits, the counters, and the end of the server.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::counts::Counts;
use crate::http::{Answer, Budget, Limits, Request, Target};
use crate::sink::{Offer, Sink};

/// Time limits of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Time for a request, from its first byte on, and for reading an answer.
    pub request: Duration,
    /// Time until the next request.
    pub idle: Duration,
}

impl Default for Patience {
    /// Returns 10 s and 60 s.
    fn default() -> Self {
        Patience {
            request: Duration::from_secs(10),
            idle: Duration::from_secs(60),
        }
    }
}

/// State that the connections of one server share.
pub struct Service {
    /// Receiver of messages.
    pub sink: Sink,
    /// Limits of the memory that a client may use.
    pub limits: Limits,
    /// Budget for the bytes of arriving bodies, of all connections.
    pub bodies: Budget,
    /// Time limits of a client.
    pub patience: Patience,
    /// Budget of simultaneous connections.
    pub places: Budget,
    /// Counts of events.
    pub counts: Counts,
    stopping: AtomicBool,
    /// Offers in progress.
    offers: AtomicUsize,
}

impl Service {
    /// Creates a service with the default limits and zero counters.
    pub fn new(sink: Sink) -> Service {
        Service {
            sink,
            limits: Limits::default(),
            bodies: Budget::new(64 << 20),
            patience: Patience::default(),
            places: Budget::new(usize::MAX),
            counts: Counts::default(),
            stopping: AtomicBool::new(false),
            offers: AtomicUsize::new(0),
        }
    }

    /// Returns true if the server ends: no message is accepted any more.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Stops accepting messages. Acknowledged messages are in the sink when this returns, so that
    /// the sink can be flushed then.
    ///
    /// # Blocking
    /// For the offers that are under way on other threads, which do not block.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        while self.offers.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
    }

    /// Handles a request; returns `None` for a request for the counters.
    pub(super) fn take(&self, request: &Request<'_>) -> Option<Offer> {
        match request.target {
            Target::Publish => Some(self.offer(request)),
            Target::Metrics => None,
            Target::Missing => Some(Offer::Now(Answer::NotFound)),
            Target::NotAllowed => Some(Offer::Now(Answer::MethodNotAllowed)),
        }
    }

    fn offer(&self, request: &Request<'_>) -> Offer {
        // in this order, so that `stop` sees the offer or the offer sees the stop
        self.offers.fetch_add(1, Ordering::SeqCst);
        let offer = match self.is_stopping() {
            true => Offer::Now(Answer::Busy),
            false => self.sink.offer(request.body, request.content_type),
        };
        self.offers.fetch_sub(1, Ordering::SeqCst);
        if !matches!(offer, Offer::Now(answer) if answer != Answer::Accepted) {
            let bytes = u64::try_from(request.body.len()).unwrap_or(u64::MAX);
            self.counts.body_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        offer
    }

    /// Returns the counters in the format of OpenMetrics.
    pub fn metrics(&self) -> String {
        let mut text = String::new();
        self.counts.write(&mut text);
        self.sink.metrics(&mut text);
        text.push_str("# EOF\n");
        text
    }
}
