// SPDX-License-Identifier: MIT OR Apache-2.0
//! From topics to keys: one thread, which reads on when the node has taken what was read.

use std::borrow::Cow;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rdkafka::Message as _;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::message::{BorrowedMessage, Headers};
use zonda::bytes::Encoding;
use zonda::key_expr::KeyExpr;
use zonda::qos::CongestionControl;
use zonda::{Outcome, PublishError, Session, Wait};

use super::config::ToZonda;
use super::counts::{BridgeCounts, count};
use super::dead::{DeadLetters, Letter};
use super::stop::Stop;
use super::template::Field;
use super::to_kafka::{ATTACHMENT, BRIDGE, CONTENT_TYPE};

/// How long the thread waits before it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// How long the node may wait for a neighbour at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// Between two attempts for a neighbour whose link has ended.
const PAUSE: Duration = Duration::from_millis(50);

/// What the thread works with.
pub(super) struct Reader {
    pub rules: Vec<ToZonda>,
    pub name: String,
    pub session: Session,
    pub dead: Arc<DeadLetters>,
    pub counts: Arc<BridgeCounts>,
    pub stop: Arc<Stop>,
}

/// The bridge ends before the node has taken the message: it is read again next time.
struct Stopped;

impl Reader {
    /// Reads until the bridge ends, and says then how far it has come.
    pub(super) fn run(&self, consumer: &BaseConsumer) {
        while !self.stop.has_begun() {
            match consumer.poll(LOOK) {
                Some(Ok(message)) => {
                    if self.carry(&message).is_err() {
                        break;
                    }
                    if let Err(error) = consumer.store_offset_from_message(&message) {
                        // the partition went to another member of the group, which reads the message again
                        tracing::debug!("an offset is not stored: {error}");
                    }
                }
                Some(Err(error)) => {
                    count(&self.counts.consumer_errors);
                    tracing::info!("reading topics: {error}");
                }
                None => {}
            }
        }
        if let Err(error) = consumer.commit_consumer_state(CommitMode::Sync) {
            // nothing to commit is such an error; what was not committed is read again next time
            tracing::debug!("offsets are not committed: {error}");
        }
    }

    fn carry(&self, message: &BorrowedMessage<'_>) -> Result<(), Stopped> {
        count(&self.counts.messages);
        if header(message, BRIDGE) == Some(self.name.as_bytes()) {
            count(&self.counts.own);
            return Ok(());
        }
        let rules = self.rules.iter();
        for rule in rules.filter(|rule| rule.from == message.topic()) {
            self.counts.count_rule(rule.number, |rule| &rule.taken);
            let key = match key(rule, message) {
                Ok(key) => key,
                Err(reason) => {
                    self.bury(rule, message, &reason);
                    continue;
                }
            };
            if let Err(reason) = self.publish(rule, &key, message)? {
                self.bury(rule, message, &reason);
            }
        }
        Ok(())
    }

    fn bury(&self, rule: &ToZonda, message: &BorrowedMessage<'_>, reason: &str) {
        self.counts.count_rule(rule.number, |rule| &rule.refused);
        self.dead.post(&Letter {
            from: message.topic(),
            to: &rule.key.to_string(),
            reason,
            payload: message.payload().unwrap_or_default(),
        });
    }

    /// Publishes until every neighbour that wants the message has it in its queue. The reason, if that cannot be.
    fn publish(
        &self,
        rule: &ToZonda,
        key: &KeyExpr<'_>,
        message: &BorrowedMessage<'_>,
    ) -> Result<Result<(), String>, Stopped> {
        loop {
            match self.put(rule, key, message) {
                Ok(Outcome::Sent | Outcome::Queued) => {
                    count(&self.counts.published);
                    self.counts.count_rule(rule.number, |rule| &rule.carried);
                    return Ok(Ok(()));
                }
                Ok(_) => thread::sleep(PAUSE),
                Err(PublishError::Timeout { .. } | PublishError::WouldBlock { .. }) => {}
                Err(PublishError::Closed) => return Err(Stopped),
                Err(error) => return Ok(Err(error.to_string())),
            }
            count(&self.counts.retries);
            if self.stop.has_begun() {
                return Err(Stopped);
            }
        }
    }

    fn put(
        &self,
        rule: &ToZonda,
        key: &KeyExpr<'_>,
        message: &BorrowedMessage<'_>,
    ) -> Result<Outcome, PublishError> {
        // a message without a payload says that its key has no value any more
        let put = match message.payload() {
            Some(payload) => self.session.put(key, payload.to_vec()),
            None => self.session.delete(key),
        };
        let content_type = header(message, CONTENT_TYPE).and_then(|b| std::str::from_utf8(b).ok());
        let encoding = content_type.or(rule.encoding.as_deref());
        let attachment = header(message, ATTACHMENT).map(<[u8]>::to_vec);
        put.encoding(encoding.map_or_else(Encoding::default, Encoding::from))
            .attachment(attachment)
            .congestion_control(CongestionControl::Block)
            .timeout(PATIENCE)
            .outcome()
            .wait()
    }
}

/// The value of a header.
fn header<'m>(message: &'m BorrowedMessage<'_>, name: &str) -> Option<&'m [u8]> {
    let headers = message.headers()?;
    let found = headers.iter().find(|header| header.key == name)?;
    found.value
}

/// The key that a rule makes of a message.
fn key(rule: &ToZonda, message: &BorrowedMessage<'_>) -> Result<KeyExpr<'static>, String> {
    let text = |bytes: Option<&'_ [u8]>| {
        let text = std::str::from_utf8(bytes?).ok()?;
        Some(Cow::Owned(text.to_owned()))
    };
    let key = rule.key.fill(|field| match field {
        Field::Key => text(message.key()),
        Field::Topic => Some(Cow::Owned(message.topic().to_owned())),
        Field::Header(name) => text(header(message, name)),
        Field::Chunk(_) => None,
    })?;
    match key.contains(['*', '$']) {
        true => Err(format!("\"{key}\" has wildcards")),
        false => KeyExpr::try_from(key).map_err(|error| error.to_string()),
    }
}
