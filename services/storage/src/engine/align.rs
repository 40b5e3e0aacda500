// SPDX-License-Identifier: MIT OR Apache-2.0

//! The part of a replica in a storage's thread: digests, questions and answers.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use zonda::bytes::ZBytes;
use zonda::key_expr::KeyExpr;
use zonda::query::ConsolidationMode;
use zonda::sample::Sample;
use zonda::session::ZenohId;
use zonda::{Session, Wait};
use zonda_volume::{Entry, Store, StoreError, Table, Value};

use super::{Engine, SLICE_BYTES, SLICE_KEYS, SLICE_REPLIES, is_due};
use crate::answers::{Active, Reply, Slice};
use crate::counts::add;
use crate::ledger::{Effect, Update};
use crate::offline::value;
use crate::queue::{Job, Queue};
use crate::replica::wire::{Action, Answer, Digest, Event, Parts, Question, Wire};
use crate::replica::{Eras, Index, Message, aligner_key, digest_key, event_of};

/// Limit of the replicas that a replica has questions at.
const REPLICAS_MAX: usize = 64;
/// Limit of the questions that wait to be sent.
const QUESTIONS_MAX: usize = 64;
/// Limit of the time that an answer to one question may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Limit of the events in one question or answer.
const EVENTS_MAX: usize = 4096;
/// Time for the routes to other replicas before an empty replica looks for one.
const DISCOVERY: Duration = Duration::from_millis(500);

/// Tables with events, in the order in which they are read.
const TABLES: [Table; 3] = [Table::Live, Table::Deleted, Table::Patterns];

/// A question on its way to a replica, `*` for all.
struct Ask {
    to: String,
    question: Question,
    /// Shared with the callback of its answers: the replica is asked nothing new until then.
    mark: Arc<()>,
}

/// Parts of a replica that it shares with its store.
pub struct Shared {
    pub key: KeyExpr<'static>,
    /// Fingerprint of the settings.
    pub settings: u64,
    pub eras: Eras,
    pub index: Arc<Mutex<Index>>,
    pub store: Arc<Mutex<Box<dyn Store>>>,
}

/// State of a replica.
pub struct Replica {
    shared: Shared,
    id: String,
    asks: SyncSender<Ask>,
    /// The replicas that were asked; a mark is shared while answers may come.
    asked: HashMap<String, Arc<()>>,
    publish_at: Option<Instant>,
    discover_at: Option<Instant>,
    /// True until the first replica has answered that it is there.
    is_discovering: bool,
}

impl Replica {
    /// Starts the thread that sends questions.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(
        shared: Shared,
        session: &Session,
        queue: &Arc<Queue>,
    ) -> std::io::Result<Replica> {
        let settings = shared.settings;
        let (asks, questions) = sync_channel::<Ask>(QUESTIONS_MAX);
        let (session, queue) = (session.clone(), Arc::clone(queue));
        let id = session.zid().to_string();
        let thread = std::thread::Builder::new().name("zonda-replica".into());
        thread.spawn(move || {
            // Ends with the storage, which has the other end.
            while let Ok(ask) = questions.recv() {
                send(&session, settings, &queue, ask);
            }
        })?;
        let is_alone = shared.index.lock().is_empty() && !shared.store.lock().is_read_only();
        Ok(Replica {
            shared,
            id,
            asks,
            asked: HashMap::new(),
            publish_at: None,
            discover_at: is_alone.then(|| Instant::now() + DISCOVERY),
            is_discovering: false,
        })
    }

    /// Returns the store, once its index has none any more.
    pub fn into_store(self) -> Option<Box<dyn Store>> {
        Arc::into_inner(self.shared.store).map(Mutex::into_inner)
    }

    /// Returns the time of its next step.
    pub fn next_time(&self) -> Option<Instant> {
        [self.publish_at, self.discover_at]
            .into_iter()
            .flatten()
            .min()
    }

    /// Sends a question, unless too many are under way.
    fn ask(&mut self, to: &str, question: Question) {
        if self.asked.len() >= REPLICAS_MAX {
            self.asked.retain(|_, mark| Arc::strong_count(mark) > 1);
        }
        if self.asked.len() >= REPLICAS_MAX && !self.asked.contains_key(to) {
            return;
        }
        let mark = Arc::clone(self.asked.entry(to.to_owned()).or_default());
        let to = to.to_owned();
        // A question that is dropped is asked again after the next digest.
        let _ = self.asks.try_send(Ask { to, question, mark });
    }

    fn is_asked(&self, replica: &str) -> bool {
        let mark = self.asked.get(replica);
        mark.is_some_and(|mark| Arc::strong_count(mark) > 1)
    }

    /// Returns the time of the next digest: a while after an interval has ended, another one for each
    /// replica.
    fn next_digest(&self) -> Instant {
        let Eras {
            interval, delay, ..
        } = self.shared.eras;
        let (until, now) = {
            let index = self.shared.index.lock();
            (index.until_next(), index.now())
        };
        let chance = twox_hash::XxHash3_64::oneshot_with_seed(now, self.id.as_bytes());
        let part = interval / 3 * u32::from(chance as u8) / u32::from(u8::MAX);
        Instant::now() + until + delay + part
    }
}

/// Asks a replica, and queues its answers.
///
/// # Blocking
/// Until the link has room for the question.
fn send(session: &Session, settings: u64, queue: &Arc<Queue>, ask: Ask) {
    let Ask { to, question, mark } = ask;
    let key = aligner_key(&to, settings);
    let get = session.get(&key).attachment(question.to_bytes());
    let get = get.consolidation(ConsolidationMode::None).timeout(PATIENCE);
    let queue = Arc::clone(queue);
    let asked = get.callback(move |reply| {
        let _until_the_last = &mark;
        if let Ok(sample) = reply.into_result() {
            let from = to.clone();
            let answer = Message::Answer { from, sample };
            // The storage may have closed.
            let _ = queue.push(Job::Align(answer), true);
        }
    });
    if let Err(error) = asked.wait() {
        tracing::debug!("a question at {key} was not sent: {error}");
    }
}

impl Engine {
    /// Does what is due: looks for another replica, publishes a digest.
    pub(super) fn align_on_time(&mut self) {
        let Some(replica) = &mut self.replica else {
            return;
        };
        if is_due(replica.discover_at) {
            replica.discover_at = None;
            replica.is_discovering = true;
            replica.ask("*", Question::Discovery);
        }
        let was_due = is_due(replica.publish_at);
        if was_due || replica.publish_at.is_none() {
            replica.publish_at = Some(replica.next_digest());
        }
        // An update that has not reached all its keys would show as a difference.
        if !was_due || self.ledger.is_spreading() {
            return;
        }
        let digest = replica.shared.index.lock().digest();
        let key = digest_key(&replica.id, replica.shared.settings);
        match self.session.put(&key, digest.to_bytes()).wait() {
            Ok(_) => add(&self.counts.digests, 1),
            Err(error) => tracing::debug!("storage {}: no digest: {error}", self.name),
        }
    }

    pub(super) fn align(&mut self, message: Message) {
        match message {
            Message::Digest { from, bytes } => self.compare(&from, &bytes),
            Message::Question(query) => {
                let active = Active::of_replica(query, &self.counts);
                self.answer_replica(active, "");
            }
            Message::Answer { from, sample } => self.take_answer(&from, &sample),
        }
    }

    /// Compares the digest of another replica, and asks for what is different.
    fn compare(&mut self, from: &str, bytes: &ZBytes) {
        let Some(replica) = &mut self.replica else {
            return;
        };
        if from == replica.id || from.parse::<ZenohId>().is_err() || replica.is_asked(from) {
            return;
        }
        if self.ledger.is_spreading() || self.ledger.store().is_read_only() {
            return;
        }
        let Ok(theirs) = Digest::from_bytes(&bytes.to_bytes()) else {
            add(&self.counts.failures, 1);
            return;
        };
        let ours = replica.shared.index.lock().digest();
        if ours.settings != theirs.settings {
            return;
        }
        if let Some(difference) = ours.difference(&theirs) {
            replica.ask(from, Question::Difference(difference));
        }
    }

    /// Answers a question of another replica, or goes on with it from a place on.
    pub(super) fn answer_replica(&mut self, active: Active, from: &str) {
        let Some(replica) = &self.replica else {
            return;
        };
        let question = active.query.attachment().map(ZBytes::to_bytes);
        let question = question.map(|bytes| Question::from_bytes(&bytes));
        let Some(Ok(question)) = question else {
            add(&self.counts.failures, 1);
            return self.refuse(active, "a question of a replica has another form");
        };
        let index = replica.shared.index.lock();
        let mut answers = Vec::new();
        let mut wanted = Parts::new();
        match question {
            Question::Discovery => answers.push(Answer::Discovery(replica.id.clone())),
            Question::Intervals(intervals) => {
                answers.push(Answer::Parts(index.part_prints(intervals)));
            }
            Question::Parts(parts) => wanted = parts,
            Question::Difference(difference) => {
                if difference.cold && from.is_empty() {
                    answers.push(Answer::Intervals(index.cold()));
                }
                if !difference.warm.is_empty() && from.is_empty() {
                    answers.push(Answer::Parts(index.part_prints(difference.warm)));
                }
                wanted = difference.hot;
            }
            Question::All => {
                drop(index);
                return self.answer_with_values(active, from);
            }
            Question::Events(events) => {
                drop(index);
                return self.answer_with_events(active, &events, from);
            }
        }
        let recent = index.recent_events(&wanted);
        drop(index);
        let mut replies: VecDeque<Reply> = answers.iter().map(of_replica).collect();
        let mut next = None;
        match recent {
            Some(events) => replies.extend(in_answers(&events)),
            None => match self.events_in(&wanted, from) {
                Ok((events, rest)) => {
                    replies.extend(in_answers(&events));
                    next = rest;
                }
                Err(error) => {
                    let error = self.failed("a question of a replica", error).to_string();
                    return self.refuse(active, &error);
                }
            },
        }
        self.send_slice(active, replies, next);
    }

    fn send_slice(&self, active: Active, replies: VecDeque<Reply>, next: Option<String>) {
        let next = next.map(|next| (next, Arc::clone(&self.queue)));
        self.answers.send(Slice {
            active,
            replies,
            next,
        });
    }

    /// Reads entries from a place on, until `visit` breaks or a slice of them was read. Returns the
    /// place to continue from.
    fn scan_events(
        &mut self,
        from: &str,
        visit: &mut dyn FnMut(Event, Entry) -> ControlFlow<()>,
    ) -> Result<Option<String>, StoreError> {
        let (table, name) = from.split_at_checked(1).unwrap_or(("0", ""));
        let first = table.parse().unwrap_or(0_usize);
        let (mut seen, mut next) = (0, None);
        for (number, table) in TABLES.into_iter().enumerate().skip(first) {
            let from = if number == first { name } else { "" };
            self.ledger.store().scan(table, from, &mut |name, entry| {
                let event = event_of(table, name, &entry);
                let is_over =
                    seen == SLICE_KEYS || event.is_some_and(|event| visit(event, entry).is_break());
                if is_over {
                    next = Some(format!("{number}{name}"));
                    return ControlFlow::Break(());
                }
                seen += 1;
                ControlFlow::Continue(())
            })?;
            if next.is_some() {
                break;
            }
        }
        Ok(next)
    }

    /// Returns the events of these parts from a place on, and the place to continue from.
    fn events_in(
        &mut self,
        parts: &Parts,
        from: &str,
    ) -> Result<(Vec<Event>, Option<String>), StoreError> {
        let Some(index) = self.replica.as_ref().map(|it| Arc::clone(&it.shared.index)) else {
            return Ok((Vec::new(), None));
        };
        let (index, mut events) = (index.lock(), Vec::new());
        // A store takes no lock of an index to read.
        let next = self.scan_events(from, &mut |event, _| {
            if index.is_in(&event, parts) && index.counts(&event) {
                events.push(event);
            }
            ControlFlow::Continue(())
        })?;
        Ok((events, next))
    }

    /// Answers with all events and values from a place on, as many as a slice has.
    fn answer_with_values(&mut self, active: Active, from: &str) {
        let (mut replies, mut bytes) = (VecDeque::new(), 0);
        let read = self.scan_events(from, &mut |event, entry| {
            if replies.len() >= SLICE_REPLIES || bytes >= SLICE_BYTES {
                return ControlFlow::Break(());
            }
            bytes += entry.weight();
            replies.push_back(Reply::Replica(Answer::Value(event).to_bytes(), entry.value));
            ControlFlow::Continue(())
        });
        match read {
            Ok(next) => self.send_slice(active, replies, next),
            Err(error) => {
                let error = self.failed("a question of a replica", error).to_string();
                self.refuse(active, &error);
            }
        }
    }

    /// Answers with the values of these events from a place on, as many as a slice has. An event
    /// that is not in force any more is left out.
    fn answer_with_events(&mut self, active: Active, events: &[Event], from: &str) {
        let (mut replies, mut bytes, mut next) = (VecDeque::new(), 0, None);
        let first = from.parse().unwrap_or(0_usize);
        for (number, event) in events.iter().enumerate().skip(first) {
            if replies.len() >= SLICE_REPLIES || bytes >= SLICE_BYTES {
                next = Some(number.to_string());
                break;
            }
            match self.entry_of(event) {
                Ok(Some(entry)) if entry.at == event.at => {
                    bytes += entry.weight();
                    let answer = Answer::Value(event.clone()).to_bytes();
                    replies.push_back(Reply::Replica(answer, entry.value));
                }
                Ok(_) => {}
                Err(error) => drop(self.failed("a question of a replica", error)),
            }
        }
        self.send_slice(active, replies, next);
    }

    /// Returns the entry that is stored for an event.
    fn entry_of(&mut self, event: &Event) -> Result<Option<Entry>, StoreError> {
        let name = event.name.as_deref().unwrap_or_default();
        match &event.action {
            Action::Put | Action::Delete => self.ledger.state(name),
            Action::WildPut(key) => {
                let name = format!("P/{key}");
                self.ledger.store().get(Table::Patterns, &name)
            }
            Action::WildDelete(key) => {
                let name = format!("D/{key}");
                self.ledger.store().get(Table::Patterns, &name)
            }
        }
    }

    fn take_answer(&mut self, from: &str, sample: &Sample) {
        let answer = sample.attachment().map(ZBytes::to_bytes);
        let answer = answer.map(|bytes| Answer::from_bytes(&bytes));
        let Some(Ok(answer)) = answer else {
            add(&self.counts.failures, 1);
            return;
        };
        let Some(replica) = &mut self.replica else {
            return;
        };
        match answer {
            Answer::Discovery(id) => {
                let is_other = id != replica.id && id.parse::<ZenohId>().is_ok();
                // The first one that answers is asked.
                if is_other && std::mem::take(&mut replica.is_discovering) {
                    replica.ask(&id, Question::All);
                }
            }
            Answer::Intervals(theirs) => {
                let other = replica.shared.index.lock().other_intervals(&theirs);
                if !other.is_empty() {
                    replica.ask(from, Question::Intervals(other));
                }
            }
            Answer::Parts(theirs) => {
                let other = replica.shared.index.lock().other_parts(&theirs);
                if !other.is_empty() {
                    replica.ask(from, Question::Parts(other));
                }
            }
            Answer::Events(events) => self.take_events(from, events),
            Answer::Value(event) => {
                let taken = value(sample.payload().as_slice(), sample.encoding());
                self.take_event(event, Some(taken));
            }
        }
    }

    /// Takes deletions, and asks for the values of the events that are newer than the own ones.
    fn take_events(&mut self, from: &str, events: Vec<Event>) {
        let mut wanted = Vec::new();
        for event in events {
            match event.action {
                Action::Put | Action::WildPut(_) => match self.wants(&event) {
                    Ok(true) => wanted.push(event),
                    Ok(false) => {}
                    Err(error) => drop(self.failed("an event of a replica", error)),
                },
                Action::Delete | Action::WildDelete(_) => self.take_event(event, None),
            }
        }
        let Some(replica) = &mut self.replica else {
            return;
        };
        for events in wanted.chunks(EVENTS_MAX) {
            replica.ask(from, Question::Events(events.to_vec()));
        }
    }

    /// Returns true if an event is newer than what is here.
    fn wants(&mut self, event: &Event) -> Result<bool, StoreError> {
        match &event.action {
            Action::Put | Action::Delete => {
                let name = event.name.as_deref().unwrap_or_default();
                let own = event.own.unwrap_or(event.at);
                let known = self.ledger.state(name)?;
                Ok(known.is_none_or(|known| (known.own, known.at) < (own, event.at)))
            }
            Action::WildPut(_) | Action::WildDelete(_) => match self.update_of(event, None) {
                Some(update) => Ok(!self.ledger.knows(&update)?),
                None => Ok(false),
            },
        }
    }

    /// Returns the update of an event with wildcards, if it concerns this storage.
    fn update_of(&self, event: &Event, value: Option<Value>) -> Option<Update> {
        let (key, value) = match &event.action {
            Action::WildPut(key) => (key, Some(value.unwrap_or_default())),
            Action::WildDelete(key) => (key, None),
            Action::Put | Action::Delete => return None,
        };
        let key = KeyExpr::new(key.clone()).ok()?;
        let covered = &self.replica.as_ref()?.shared.key;
        let is_ours = key.is_wild() && key.intersects(covered);
        let at = event.at;
        is_ours.then_some(Update { key, at, value })
    }

    /// Applies an event of another replica.
    fn take_event(&mut self, event: Event, value: Option<Value>) {
        let Some(replica) = &self.replica else {
            return;
        };
        if !replica.shared.index.lock().counts(&event) {
            return;
        }
        let applied = match &event.action {
            Action::Put | Action::Delete => {
                let key = self
                    .ledger
                    .key_of(event.name.as_deref().unwrap_or_default());
                let Some(key) = key.filter(|key| key.intersects(&replica.shared.key)) else {
                    add(&self.counts.failures, 1);
                    return;
                };
                let entry = Entry {
                    own: event.own.unwrap_or(event.at),
                    at: event.at,
                    value: value.filter(|_| event.action == Action::Put),
                };
                self.ledger.merge(&key, entry)
            }
            Action::WildPut(_) | Action::WildDelete(_) => match self.update_of(&event, value) {
                Some(update) => self.ledger.apply(update),
                None => return,
            },
        };
        match applied {
            Ok(Effect::Outdated) => {}
            Ok(_) => {
                add(&self.counts.aligned, 1);
                self.note_change();
            }
            Err(error) => drop(self.failed("an update of a replica", error)),
        }
    }
}

fn of_replica(answer: &Answer) -> Reply {
    Reply::Replica(answer.to_bytes(), None)
}

/// Returns the answers that hold these events.
fn in_answers(events: &[Event]) -> impl Iterator<Item = Reply> {
    let parts = events.chunks(EVENTS_MAX);
    parts.map(|events| of_replica(&Answer::Events(events.to_vec())))
}
