// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forwarding from topics to keys: one thread for all partitions. A message counts as read when the
//! node has accepted it; a partition whose message waits for a neighbour of the node is held back,
//! and the thread continues with the other partitions.

use std::borrow::Cow;
use std::sync::Arc;
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
use super::held::{Held, HeldBack};
use super::stop::Stop;
use super::template::Field;
use super::to_kafka::{ATTACHMENT, BRIDGE, CONTENT_TYPE};

/// Interval at which the thread checks whether it has to end.
const LOOK: Duration = Duration::from_millis(100);

/// Time that one put may wait for a neighbour of the node: all partitions wait with it.
const PATIENCE: Duration = Duration::from_millis(50);

/// State of the reading thread.
pub(super) struct Reader {
    pub rules: Vec<ToZonda>,
    pub name: String,
    pub session: Session,
    pub dead: Arc<DeadLetters>,
    pub counts: Arc<BridgeCounts>,
    pub stop: Arc<Stop>,
}

/// Progress of a message through the rules.
enum Progress {
    /// Every rule has forwarded it.
    Carried,
    /// A neighbour of the node has no room for it.
    Waits,
    /// The node has been closed: the message is read again next time.
    Stopped,
}

impl Reader {
    /// Reads until the bridge ends, and commits then how far it has read. Messages that are held
    /// back at the end are read again at the next start.
    pub(super) fn run(&self, consumer: &BaseConsumer) {
        let mut held = HeldBack::new(consumer);
        let mut goes_on = true;
        while goes_on && !self.stop.has_begun() {
            match consumer.poll(held.wait().unwrap_or(LOOK)) {
                Some(Ok(message)) => goes_on = self.meet(message, &mut held),
                Some(Err(error)) => {
                    count(&self.counts.consumer_errors);
                    tracing::info!("reading topics: {error}");
                }
                None => {}
            }
            goes_on &= self.try_held(&mut held);
        }
        if let Err(error) = consumer.commit_consumer_state(CommitMode::Sync) {
            // an empty commit is such an error; uncommitted messages are read again at the next
            // start
            tracing::debug!("offsets are not committed: {error}");
        }
    }

    /// Forwards a message that has come, or holds its partition back. Returns false if the node has
    /// been closed.
    fn meet<'c>(&self, message: BorrowedMessage<'c>, held: &mut HeldBack<'c>) -> bool {
        count(&self.counts.messages);
        let mut one = Held::new(message);
        let progress = match held.is_behind(&one) {
            true => Progress::Waits,
            false => self.carry(&mut one, Some(PATIENCE)),
        };
        match progress {
            Progress::Carried => held.store(&one),
            Progress::Waits => {
                if held.hold(one) {
                    count(&self.counts.pauses);
                }
            }
            Progress::Stopped => return false,
        }
        true
    }

    /// Retries the held-back messages, if it is time. Returns false if the node has been closed.
    fn try_held(&self, held: &mut HeldBack<'_>) -> bool {
        let mut goes_on = true;
        held.each(|one| match self.carry(one, None) {
            Progress::Carried => true,
            Progress::Waits => false,
            Progress::Stopped => {
                goes_on = false;
                false
            }
        });
        goes_on
    }

    /// Forwards a message by the rules that have not forwarded it. Without patience it does not
    /// wait.
    fn carry(&self, one: &mut Held<'_>, patience: Option<Duration>) -> Progress {
        let Held { message, rules } = one;
        if header(message, BRIDGE) == Some(self.name.as_bytes()) {
            count(&self.counts.own);
            return Progress::Carried;
        }
        while let Some(rule) = self.rules.get(*rules) {
            if rule.from == message.topic() {
                match self.carry_by(rule, message, patience) {
                    Progress::Carried => {}
                    other => return other,
                }
            }
            *rules += 1;
        }
        Progress::Carried
    }

    fn carry_by(
        &self,
        rule: &ToZonda,
        message: &BorrowedMessage<'_>,
        patience: Option<Duration>,
    ) -> Progress {
        let published = key(rule, message).map(|key| self.put(rule, &key, message, patience));
        let refused = match published {
            Ok(Ok(Outcome::Sent | Outcome::Queued | Outcome::NoSubscriber)) => None,
            Ok(Err(PublishError::Closed)) => return Progress::Stopped,
            // the link of a neighbour has ended, or its queue is full
            Ok(Ok(_) | Err(PublishError::Timeout { .. } | PublishError::WouldBlock { .. })) => {
                count(&self.counts.retries);
                return Progress::Waits;
            }
            Ok(Err(error)) => Some(error.to_string()),
            Err(reason) => Some(reason),
        };
        self.counts.count_rule(rule.number, |rule| &rule.taken);
        match refused {
            Some(reason) => self.bury(rule, message, &reason),
            None => {
                count(&self.counts.published);
                self.counts.count_rule(rule.number, |rule| &rule.carried);
            }
        }
        Progress::Carried
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

    /// Publishes a message: it is then in the queue of every neighbour that subscribes to it.
    fn put(
        &self,
        rule: &ToZonda,
        key: &KeyExpr<'_>,
        message: &BorrowedMessage<'_>,
        patience: Option<Duration>,
    ) -> Result<Outcome, PublishError> {
        // a message without a payload marks its key as deleted
        let put = match message.payload() {
            Some(payload) => self.session.put(key, payload.to_vec()),
            None => self.session.delete(key),
        };
        let content_type = header(message, CONTENT_TYPE).and_then(|b| std::str::from_utf8(b).ok());
        let encoding = content_type.or(rule.encoding.as_deref());
        let attachment = header(message, ATTACHMENT).map(<[u8]>::to_vec);
        let put = put
            .encoding(encoding.map_or_else(Encoding::default, Encoding::from))
            .attachment(attachment)
            .congestion_control(CongestionControl::Block);
        match patience {
            Some(patience) => put.timeout(patience).outcome().wait(),
            None => put.try_publish(),
        }
    }
}

/// Returns the value of a header.
fn header<'m>(message: &'m BorrowedMessage<'_>, name: &str) -> Option<&'m [u8]> {
    let headers = message.headers()?;
    let found = headers.iter().find(|header| header.key == name)?;
    found.value
}

/// Returns the key that a rule makes of a message.
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
