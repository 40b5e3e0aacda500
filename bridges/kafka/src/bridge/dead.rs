// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dead letters: what cannot be delivered, published on a key of its own with the reason, and counted.

use std::sync::Arc;

use serde_json::json;
use zonda::key_expr::KeyExpr;
use zonda::{Outcome, Session};

use super::counts::{BridgeCounts, count};

/// Where dead letters go.
pub(super) struct DeadLetters {
    pub session: Session,
    pub key: KeyExpr<'static>,
    pub counts: Arc<BridgeCounts>,
}

/// What is not delivered.
pub(super) struct Letter<'l> {
    /// The key or topic that it came from, as far as it is known.
    pub from: &'l str,
    /// The topic or key that it was for, as far as it is known.
    pub to: &'l str,
    pub reason: &'l str,
    pub payload: &'l [u8],
}

impl DeadLetters {
    /// Publishes a letter without waiting: its payload, and the rest as JSON in the attachment.
    pub(super) fn post(&self, letter: &Letter<'_>) {
        tracing::debug!("not delivered to {}: {}", letter.to, letter.reason);
        let about = json!({ "from": letter.from, "to": letter.to, "reason": letter.reason });
        let put = self.session.put(&self.key, letter.payload.to_vec());
        match put.attachment(about.to_string()).try_publish() {
            Ok(Outcome::Sent | Outcome::Queued) => count(&self.counts.dead),
            _ => count(&self.counts.dead_dropped),
        }
    }
}
