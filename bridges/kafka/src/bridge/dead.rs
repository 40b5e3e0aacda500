// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dead letters: messages that cannot be delivered, published on a key of their own with the
//! reason, and counted.

use std::sync::Arc;

use serde_json::json;
use zonda::key_expr::KeyExpr;
use zonda::qos::CongestionControl;
use zonda::{Outcome, Session, Wait};

use super::counts::{BridgeCounts, count};
use super::stop::Stop;

/// Destination of dead letters.
pub(super) struct DeadLetters {
    pub session: Session,
    pub key: KeyExpr<'static>,
    pub counts: Arc<BridgeCounts>,
    pub stop: Arc<Stop>,
}

/// A message that was not delivered.
pub(super) struct Letter<'l> {
    /// Key or topic that it came from, if known.
    pub from: &'l str,
    /// Topic or key that it was for, if known.
    pub to: &'l str,
    pub reason: &'l str,
    pub payload: &'l [u8],
}

impl DeadLetters {
    /// Publishes a letter: its payload, and the rest as JSON in the attachment. Does not wait while
    /// the bridge runs; at its end there may be very many letters at once, and nothing else to do.
    pub(super) fn post(&self, letter: &Letter<'_>) {
        tracing::debug!("not delivered to {}: {}", letter.to, letter.reason);
        let about = json!({ "from": letter.from, "to": letter.to, "reason": letter.reason });
        let put = self.session.put(&self.key, letter.payload.to_vec());
        let put = put.attachment(about.to_string());
        let outcome = match self.stop.left_to_say() {
            None => put.try_publish(),
            Some(left) => {
                let put = put.congestion_control(CongestionControl::Block);
                put.timeout(left).outcome().wait()
            }
        };
        match outcome {
            Ok(Outcome::Sent | Outcome::Queued | Outcome::NoSubscriber) => count(&self.counts.dead),
            _ => count(&self.counts.dead_dropped),
        }
    }
}
