// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counters of an HTTP server.

use std::sync::atomic::{AtomicU64, Ordering};

use zonda::session::{Kind, Metric, Sample};

static REQUESTS: Metric = Metric {
    name: "zonda_http_requests",
    kind: Kind::Counter,
    help: "Requests to the HTTP server, refused ones included.",
};

static REFUSED: Metric = Metric {
    name: "zonda_http_connections_refused",
    kind: Kind::Counter,
    help: "Connections to the HTTP server that were closed because too many were open.",
};

static HEADS: Metric = Metric {
    name: "zonda_http_heads_refused",
    kind: Kind::Counter,
    help: "Connections that ended because a request head was malformed, too large or too slow.",
};

static ERRORS: Metric = Metric {
    name: "zonda_http_errors",
    kind: Kind::Counter,
    help: "Answers of the HTTP server that report an error, by their status.",
};

static EVENT_CLIENTS: Metric = Metric {
    name: "zonda_http_event_clients",
    kind: Kind::Gauge,
    help: "HTTP clients that get events.",
};

static EVENTS: Metric = Metric {
    name: "zonda_http_events",
    kind: Kind::Counter,
    help: "Events that were queued for HTTP clients.",
};

static SLOW: Metric = Metric {
    name: "zonda_http_event_clients_dropped",
    kind: Kind::Counter,
    help: "HTTP clients that were dropped because they did not read their events in time.",
};

/// Statuses of answers that are counted apart; the last one stands for all others.
const STATUSES: [&str; 13] = [
    "400", "401", "403", "404", "405", "408", "413", "414", "415", "431", "500", "503", "other",
];

/// Counters of a server.
#[derive(Debug, Default)]
pub struct Counts {
    requests: AtomicU64,
    refused: AtomicU64,
    heads: AtomicU64,
    errors: [AtomicU64; STATUSES.len()],
    event_clients: AtomicU64,
    events: AtomicU64,
    slow: AtomicU64,
}

impl Counts {
    /// Returns them as samples.
    pub fn samples(&self) -> Vec<Sample> {
        let of = |metric, count: &AtomicU64| Sample::of(metric, count.load(Ordering::Relaxed));
        let mut samples = vec![
            of(&REQUESTS, &self.requests),
            of(&REFUSED, &self.refused),
            of(&HEADS, &self.heads),
            of(&EVENT_CLIENTS, &self.event_clients),
            of(&EVENTS, &self.events),
            of(&SLOW, &self.slow),
        ];
        let errors = STATUSES.iter().zip(&self.errors);
        samples.extend(errors.map(|(status, count)| of(&ERRORS, count).with("status", *status)));
        samples
    }

    pub(super) fn add_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_head(&self) {
        self.heads.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an answer with this status if it reports an error.
    pub(super) fn add_answer(&self, status: u16) {
        if status < 400 {
            return;
        }
        let named = STATUSES.iter().position(|name| *name == status.to_string());
        if let Some(count) = self.errors.get(named.unwrap_or(STATUSES.len() - 1)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn add_event_client(&self) {
        self.event_clients.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove_event_client(&self) {
        self.event_clients.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn add_events(&self, count: u64) {
        self.events.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts a dropped client.
    pub(crate) fn add_slow(&self) {
        self.slow.fetch_add(1, Ordering::Relaxed);
    }
}
