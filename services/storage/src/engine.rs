// SPDX-License-Identifier: MIT OR Apache-2.0

//! The thread of a storage: it alone calls its store.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use zonda::Session;
use zonda::query::{Query, TimeRange, ZenohParameters};
use zonda::sample::{Sample, SampleKind};
use zonda::time::{Ntp64, Timestamp};
use zonda_volume::{Entry, Store, StoreError, Table, Value};

use crate::answers::{Active, Answers, Reply, Rest, Slice};
use crate::counts::{Counts, add};
use crate::ledger::{Effect, Found, Ledger, Span, Update};
use crate::offline::value;
use crate::queue::{Job, Jobs, Queue};
use crate::sampling::Sampling;

mod align;

pub use align::{Replica, Shared};

/// Parameter of a query that changes what is stored: its value, and the two that there are.
const WRITE: &str = "_write";
const WRITE_PUT: &str = "put";
const WRITE_DELETE: &str = "delete";

/// Limits of one slice of an answer: keys that it looks at, replies, their bytes.
const SLICE_KEYS: usize = 4096;
const SLICE_REPLIES: usize = 256;
const SLICE_BYTES: usize = 1 << 20;

/// Changes that are committed before more are taken; at twice as many none is taken.
const UNCOMMITTED_BYTES: usize = 16 << 20;
/// Time until a commit that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// Deletions that are looked at in one go when old ones are forgotten.
const FORGOTTEN_AT_ONCE: usize = 4096;

/// A storage, as its thread has it.
pub struct Engine {
    pub name: String,
    pub ledger: Ledger,
    pub session: Session,
    pub queue: Arc<Queue>,
    pub counts: Arc<Counts>,
    pub answers: Arc<Answers>,
    pub period: Duration,
    pub lifespan: Duration,
    /// True if queries may change what is stored.
    pub write_queries: bool,
    /// Its alignment with other replicas.
    pub replica: Option<Replica>,
    pub progress: Progress,
}

/// State of an engine between its jobs.
#[derive(Default)]
pub struct Progress {
    /// Time at which the next commit is due; `None` if there is nothing to commit.
    commit_at: Option<Instant>,
    /// Answers that wait for a commit.
    writes: Vec<(Active, Reply)>,
    /// Time at which old entries are forgotten next, and the names to continue from.
    forget_at: Option<Instant>,
    deleted_from: Option<String>,
    past_from: Option<String>,
    /// Time of the next step of an update that has not reached all its keys.
    spread_at: Option<Instant>,
    is_failing: bool,
}

impl Engine {
    /// Works until the queue is closed and empty. Returns the store, with all changes
    /// committed; `None` if it is in use elsewhere.
    pub fn run(mut self) -> Option<Box<dyn Store>> {
        self.progress.forget_at = Some(Instant::now() + self.period);
        if self.ledger.store().uncommitted_bytes() > 0 {
            // Another storage had the store, and the disk failed.
            self.note_change();
        }
        self.count_entries();
        self.align_on_time();
        let mut jobs = Jobs::default();
        let queue = Arc::clone(&self.queue);
        while queue.take(&mut jobs, self.next_time()) {
            while let Some(job) = jobs.pop() {
                self.work(job);
            }
            if !self.progress.writes.is_empty() || is_due(self.progress.commit_at) {
                self.commit();
            } else if self.ledger.store().durability().is_none() {
                // Nothing is committed that would count them.
                self.count_entries();
            }
            if is_due(self.progress.spread_at) {
                self.spread();
            }
            self.align_on_time();
            if is_due(self.progress.forget_at) {
                self.forget();
            }
        }
        self.commit();
        let store = self.ledger.into_store();
        match self.replica {
            None => Some(store),
            Some(replica) => {
                // A share of what the replica returns.
                drop(store);
                replica.into_store()
            }
        }
    }

    fn next_time(&mut self) -> Option<Instant> {
        let progress = &mut self.progress;
        if self.ledger.is_spreading() {
            progress.spread_at.get_or_insert_with(Instant::now);
        }
        let replica = self.replica.as_ref().and_then(Replica::next_time);
        let times = [
            progress.commit_at,
            progress.forget_at,
            progress.spread_at,
            replica,
        ];
        times.into_iter().flatten().min()
    }

    fn work(&mut self, job: Job) {
        match job {
            Job::Sample(sample) => self.take(&sample),
            Job::Query(query) => self.answer(query),
            Job::Rest(Rest { active, from }) if active.is_of_replica => {
                self.answer_replica(active, &from);
            }
            Job::Rest(Rest { active, from }) => self.answer_many(active, from),
            Job::Align(message) => self.align(message),
        }
        self.commit_if_due();
    }

    fn commit_if_due(&mut self) {
        let is_full = self.ledger.store().uncommitted_bytes() > UNCOMMITTED_BYTES;
        if is_due(self.progress.commit_at) || (is_full && !self.progress.is_failing) {
            self.commit();
        }
    }

    /// Notes that there is a change to commit.
    fn note_change(&mut self) {
        if self.progress.commit_at.is_none()
            && let Some(durability) = self.ledger.store().durability()
        {
            self.progress.commit_at = Some(Instant::now() + durability.delay());
        }
    }

    /// Continues an update that has not reached all its keys.
    fn spread(&mut self) {
        let is_full = self.ledger.store().uncommitted_bytes() > 2 * UNCOMMITTED_BYTES;
        if !is_full {
            match self.ledger.spread() {
                Ok(()) => self.note_change(),
                Err(error) => drop(self.failed("an update with wildcards", error)),
            }
        }
        // Else it is due as soon as the jobs that wait are done.
        let waits = is_full || self.progress.is_failing;
        self.progress.spread_at = waits.then(|| Instant::now() + RETRY);
        self.commit_if_due();
    }

    /// Takes a sample of a publisher.
    fn take(&mut self, sample: &Sample) {
        let at = sample.timestamp().copied();
        let at = at.unwrap_or_else(|| self.session.new_timestamp());
        let value = match sample.kind() {
            SampleKind::Put => Some(value(sample.payload().as_slice(), sample.encoding())),
            SampleKind::Delete => None,
        };
        let key = sample.key_expr().clone();
        // The error was counted and logged.
        let _ = self.apply(Update { key, at, value });
    }

    fn apply(&mut self, update: Update) -> Result<Effect, StoreError> {
        let length = update.value.as_ref().map(|value| value.payload.len());
        if self.ledger.store().uncommitted_bytes() > 2 * UNCOMMITTED_BYTES {
            let error = StoreError::Failed("too much waits for the disk".to_owned());
            return Err(self.failed("an update", error));
        }
        let effect = match self.ledger.apply(update) {
            Ok(effect) => effect,
            Err(error) => return Err(self.failed("an update", error)),
        };
        match (effect, length) {
            (Effect::Outdated, _) => {
                add(&self.counts.outdated, 1);
                return Ok(effect);
            }
            (_, Some(length)) => {
                add(&self.counts.puts, 1);
                add(&self.counts.bytes, length as u64);
            }
            (_, None) => add(&self.counts.deletes, 1),
        }
        if effect == Effect::TakenForOldest {
            add(&self.counts.forgotten, 1);
        }
        self.note_change();
        Ok(effect)
    }

    /// Counts and logs a failure: the first one of a row, at its whole.
    fn failed(&mut self, what: &str, error: StoreError) -> StoreError {
        add(&self.counts.failures, 1);
        match &error {
            StoreError::Failed(_) if !self.progress.is_failing => {
                self.progress.is_failing = true;
                tracing::error!("storage {}: {what} failed: {error}", self.name);
            }
            error => tracing::debug!("storage {}: {what} failed: {error}", self.name),
        }
        error
    }

    fn commit(&mut self) {
        let committed = self.ledger.store().commit();
        let writes = std::mem::take(&mut self.progress.writes);
        match committed {
            Ok(()) => {
                if self.progress.commit_at.take().is_some() {
                    add(&self.counts.commits, 1);
                }
                if std::mem::take(&mut self.progress.is_failing) {
                    tracing::info!("storage {}: it stores again", self.name);
                }
                for (active, reply) in writes {
                    self.reply(active, reply);
                }
            }
            Err(error) => {
                self.progress.commit_at = Some(Instant::now() + RETRY);
                let error = self.failed("a commit", error).to_string();
                for (active, _) in writes {
                    self.refuse(active, &error);
                }
            }
        }
        self.count_entries();
    }

    fn answer(&mut self, query: Query) {
        add(&self.counts.queries, 1);
        let mut active = Active::new(query, &self.counts);
        let sampling = Sampling::of(active.query.parameters(), self.ledger.has_history());
        match sampling {
            Ok(sampling) => active.sampling = sampling,
            Err(error) => return self.refuse(active, &error),
        }
        let write = active.query.parameters().get(WRITE).map(str::to_owned);
        match write {
            Some(write) => self.write(active, &write),
            None if active.query.key_expr().is_wild() || self.asks_history(&active.query) => {
                self.answer_many(active, String::new());
            }
            None => self.answer_one(active),
        }
    }

    /// Returns true if a query is for former values: those of a time.
    fn asks_history(&self, query: &Query) -> bool {
        self.ledger.has_history() && query.parameters().time_range().is_some()
    }

    fn answer_one(&mut self, active: Active) {
        let key = active.query.key_expr().clone();
        let range = match range_of(&active.query) {
            Ok(range) => range,
            Err(error) => return self.refuse(active, &error),
        };
        match self.ledger.get(&key) {
            Ok(Some(entry)) if is_within(&range, &entry.at) => {
                self.reply(active, Reply::Entry(key, entry));
            }
            Ok(_) => {}
            Err(error) => {
                let error = self.failed("a query", error).to_string();
                self.refuse(active, &error);
            }
        }
    }

    /// Answers with the keys from a name on, as many as a slice has.
    fn answer_many(&mut self, mut active: Active, from: String) {
        let is_spreading = self.ledger.is_spreading() && !self.progress.is_failing;
        if is_spreading && self.asks_history(&active.query) {
            // An update enters the history of each key as it reaches the key.
            return self.queue.push_rest(Rest { active, from });
        }
        let range = match range_of(&active.query) {
            Ok(range) => range,
            Err(error) => return self.refuse(active, &error),
        };
        let (mut replies, mut bytes, mut next) = (VecDeque::new(), 0, None);
        let pattern = active.query.key_expr().clone();
        let mut sampling = active.sampling.take();
        let mut visit = |found: Found<'_>| {
            let Found { name, key, entry } = found;
            if replies.len() >= SLICE_REPLIES || bytes >= SLICE_BYTES {
                next = Some(name.to_owned());
                return ControlFlow::Break(());
            }
            let is_wanted = is_within(&range, &entry.at);
            let mut sampling = sampling.as_mut();
            if is_wanted && sampling.as_mut().is_none_or(|it| it.takes(&key, &entry.at)) {
                bytes += entry.weight();
                replies.push_back(Reply::Entry(key, entry));
            }
            ControlFlow::Continue(())
        };
        let table = match self.asks_history(&active.query) {
            true => Table::Past,
            false => Table::Live,
        };
        let span = Span {
            from: &from,
            most: SLICE_KEYS,
        };
        let read = self.ledger.matching(table, &pattern, span, &mut visit);
        active.sampling = sampling;
        let next = match read {
            Ok(looked_at) => next.or(looked_at),
            Err(error) => {
                // The replies that were read go first, and the error after them.
                let error = self.failed("a query", error);
                replies.push_back(Reply::Error(format!("storage {}: {error}", self.name)));
                None
            }
        };
        let next = next.map(|next| (next, Arc::clone(&self.queue)));
        self.answers.send(Slice {
            active,
            replies,
            next,
        });
    }

    /// Stores what a query brings, and answers once it is on the disk.
    fn write(&mut self, active: Active, write: &str) {
        if !self.write_queries {
            return self.refuse(
                active,
                "it takes no writes by query: its `write_queries` is not true",
            );
        }
        let key = active.query.key_expr().clone();
        let payload = active.query.payload();
        let value = match (write, payload) {
            (WRITE_PUT, Some(payload)) => {
                let encoding = active.query.encoding().cloned().unwrap_or_default();
                Some(value(payload.as_slice(), &encoding))
            }
            (WRITE_PUT, None) => return self.refuse(active, "`_write=put` without a payload"),
            (WRITE_DELETE, _) => None,
            _ => return self.refuse(active, "`_write` is neither put nor delete"),
        };
        let at = self.session.new_timestamp();
        let entry = Entry::new(at, value.as_ref().map(|_| Value::default()));
        let update = Update {
            key: key.clone(),
            at,
            value,
        };
        match self.apply(update) {
            Ok(Effect::Outdated) => {
                self.refuse(active, "the storage has a newer update of this key")
            }
            Ok(_) => self
                .progress
                .writes
                .push((active, Reply::Entry(key, entry))),
            Err(error) => self.refuse(active, &error.to_string()),
        }
    }

    fn reply(&self, active: Active, reply: Reply) {
        self.answers.send(Slice {
            active,
            replies: [reply].into(),
            next: None,
        });
    }

    fn refuse(&self, active: Active, reason: &str) {
        let text = format!("storage {}: {reason}", self.name);
        self.reply(active, Reply::Error(text));
    }

    /// Forgets old deletions and former values, a part of them at a time.
    fn forget(&mut self) {
        let progress = &mut self.progress;
        let mut from = (progress.deleted_from.take(), progress.past_from.take());
        if from == (None, None) {
            // All of them, from the first on.
            from = (Some(String::new()), Some(String::new()));
        }
        if !self.ledger.store().is_read_only()
            && let Err(error) = self.forget_from(from)
        {
            self.failed("forgetting old entries", error);
        }
        let progress = &self.progress;
        let pause = match (&progress.deleted_from, &progress.past_from) {
            (None, None) => self.period,
            _ => Duration::ZERO,
        };
        self.progress.forget_at = Some(Instant::now() + pause);
        let is_changed = self.ledger.store().uncommitted_bytes() > 0;
        if is_changed && self.progress.commit_at.is_none() {
            self.progress.commit_at = Some(Instant::now() + RETRY);
        }
        self.count_entries();
    }

    /// Forgets a part of each kind, from a name on.
    fn forget_from(&mut self, from: (Option<String>, Option<String>)) -> Result<(), StoreError> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or_default();
        let limit = Ntp64::from_unix(now.saturating_sub(self.lifespan));
        if let Some(from) = from.0 {
            let next = self.ledger.forget(limit, &from, FORGOTTEN_AT_ONCE)?;
            self.progress.deleted_from = next;
        }
        if let Some(from) = from.1 {
            self.progress.past_from = self.ledger.expire(now, &from, FORGOTTEN_AT_ONCE)?;
        }
        Ok(())
    }

    fn count_entries(&mut self) {
        let patterns = self.ledger.patterns() as u64;
        self.counts.patterns.store(patterns, Ordering::Relaxed);
        let store = self.ledger.store();
        for (table, gauge) in [
            (Table::Live, &self.counts.keys),
            (Table::Deleted, &self.counts.tombstones),
        ] {
            // A store that cannot be read fails the next query, which tells.
            if let Ok(count) = store.len(table) {
                gauge.store(count, Ordering::Relaxed);
            }
        }
    }
}

fn is_due(time: Option<Instant>) -> bool {
    time.is_some_and(|time| time <= Instant::now())
}

type Range = Option<TimeRange<SystemTime>>;

/// Returns the times that a query asks for.
fn range_of(query: &Query) -> Result<Range, String> {
    match query.parameters().time_range() {
        None => Ok(None),
        Some(Ok(range)) => Ok(Some(range.resolve())),
        Some(Err(error)) => Err(format!("`_time`: {error}")),
    }
}

fn is_within(range: &Range, at: &Timestamp) -> bool {
    let contains = |range: &TimeRange<SystemTime>| range.contains(at.time().to_system_time());
    range.as_ref().is_none_or(contains)
}
