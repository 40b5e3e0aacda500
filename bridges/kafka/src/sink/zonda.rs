// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sink for a key of the node.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use zonda::bytes::Encoding;
use zonda::key_expr::KeyExpr;
use zonda::{Outcome, Session, Wait};

use super::Ending;
use crate::http::Answer;

/// A sink for a key.
pub struct ZondaSink {
    session: Session,
    key: KeyExpr<'static>,
    published: AtomicU64,
    refused: AtomicU64,
}

impl ZondaSink {
    /// Creates a sink for the key, with a session of its own.
    pub fn new(session: Session, key: KeyExpr<'static>) -> ZondaSink {
        ZondaSink {
            session,
            key,
            published: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Publishes without waiting: if a neighbour does not keep up, the server answers "later", as
    /// for a full queue.
    pub(super) fn offer(&self, payload: &[u8], content_type: Option<&str>) -> Answer {
        let mut put = self.session.put(&self.key, payload.to_vec());
        if let Some(content_type) = content_type {
            put = put.encoding(Encoding::from(content_type));
        }
        match put.try_publish() {
            Ok(Outcome::Sent | Outcome::Queued | Outcome::NoSubscriber) => {
                self.published.fetch_add(1, Ordering::Relaxed);
                Answer::Accepted
            }
            other => {
                tracing::debug!("a message is refused: {other:?}");
                self.refused.fetch_add(1, Ordering::Relaxed);
                Answer::Busy
            }
        }
    }

    pub(super) fn metrics(&self, out: &mut String) {
        for (name, count) in [("published", &self.published), ("refused", &self.refused)] {
            let count = count.load(Ordering::Relaxed);
            // writing to a text does not fail
            let _ = writeln!(out, "# TYPE zonda_kafka_{name} counter");
            let _ = writeln!(out, "zonda_kafka_{name}_total {count}");
        }
    }

    pub(super) fn end(&self, _limit: Duration) -> Ending {
        let mut lines = vec![format!(
            "published {}, refused {}",
            self.published.load(Ordering::Relaxed),
            self.refused.load(Ordering::Relaxed)
        )];
        if let Err(error) = self.session.close().wait() {
            lines.push(format!("the session did not close: {error}"));
        }
        Ending { lines, lost: 0 }
    }
}
