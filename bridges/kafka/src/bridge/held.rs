// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partitions that are held back: a neighbour of the node has no room for the next message of each.
//! The client library pauses these partitions and delivers the messages of the other ones.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::message::BorrowedMessage;
use rdkafka::{Message as _, TopicPartitionList};

/// Pause between two attempts for held-back messages.
const PAUSE: Duration = Duration::from_millis(20);

/// A message that is being forwarded.
pub(super) struct Held<'c> {
    pub message: BorrowedMessage<'c>,
    /// Number of rules that have forwarded the message.
    pub rules: usize,
}

impl<'c> Held<'c> {
    pub(super) fn new(message: BorrowedMessage<'c>) -> Self {
        Held { message, rules: 0 }
    }

    fn partition(&self) -> Partition {
        (self.message.topic().to_owned(), self.message.partition())
    }
}

type Partition = (String, i32);

/// State of held-back partitions; see the module.
pub(super) struct HeldBack<'c> {
    consumer: &'c BaseConsumer,
    /// Waiting messages of each partition, in order: a single one, as none follows while the
    /// partition is held back.
    waiting: BTreeMap<Partition, VecDeque<Held<'c>>>,
    /// Time of the last attempt.
    tried: Instant,
}

impl<'c> HeldBack<'c> {
    pub(super) fn new(consumer: &'c BaseConsumer) -> Self {
        HeldBack {
            consumer,
            waiting: BTreeMap::new(),
            tried: Instant::now(),
        }
    }

    /// Returns the time until the next attempt, or `None` if no partition is held back.
    pub(super) fn wait(&self) -> Option<Duration> {
        let left = PAUSE.saturating_sub(self.tried.elapsed());
        (!self.waiting.is_empty()).then_some(left)
    }

    /// Returns true if an earlier message of the same partition waits. A partition that was revoked
    /// and assigned again is read from its last committed message on, so its waiting messages come
    /// again.
    pub(super) fn is_behind(&mut self, one: &Held<'_>) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        let Some(waiting) = self.waiting.get_mut(&one.partition()) else {
            return false;
        };
        waiting.retain(|held| held.message.offset() < one.message.offset());
        !waiting.is_empty()
    }

    /// Holds a message back, and its partition with it. Returns true if the partition was not held
    /// back before.
    pub(super) fn hold(&mut self, one: Held<'c>) -> bool {
        let partition = one.partition();
        let waiting = self.waiting.get(&partition);
        let is_new = waiting.is_none_or(VecDeque::is_empty);
        if is_new {
            self.change(&partition, BaseConsumer::pause);
        }
        self.waiting.entry(partition).or_default().push_back(one);
        is_new
    }

    /// Retries each waiting message in the order of its partition, if it is time; messages for
    /// which `attempt` returns true count as read. A partition with no waiting message left is
    /// resumed.
    pub(super) fn each(&mut self, mut attempt: impl FnMut(&mut Held<'c>) -> bool) {
        if self.wait() != Some(Duration::ZERO) {
            return;
        }
        self.tried = Instant::now();
        let mut free = Vec::new();
        for (partition, waiting) in &mut self.waiting {
            while waiting.front_mut().is_some_and(&mut attempt) {
                let done = waiting.pop_front();
                done.iter().for_each(|one| store(self.consumer, one));
            }
            if waiting.is_empty() {
                free.push(partition.clone());
            }
        }
        for partition in free {
            self.waiting.remove(&partition);
            self.change(&partition, BaseConsumer::resume);
        }
    }

    /// Counts a message as read.
    pub(super) fn store(&self, one: &Held<'_>) {
        store(self.consumer, one);
    }

    fn change(
        &self,
        partition: &Partition,
        change: impl Fn(&BaseConsumer, &TopicPartitionList) -> Result<(), KafkaError>,
    ) {
        let mut list = TopicPartitionList::new();
        list.add_partition(&partition.0, partition.1);
        if let Err(error) = change(self.consumer, &list) {
            // the partition went to another member of the group
            tracing::debug!("{partition:?} is not paused or resumed: {error}");
        }
    }
}

fn store(consumer: &BaseConsumer, one: &Held<'_>) {
    if let Err(error) = consumer.store_offset_from_message(&one.message) {
        // the partition went to another member of the group, which reads the message again
        tracing::debug!("an offset is not stored: {error}");
    }
}
