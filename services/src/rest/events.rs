// SPDX-License-Identifier: MIT OR Apache-2.0

//! Events: clients that get each publication on a key, as `text/event-stream`.
//!
//! All clients of one key share a subscriber, which writes each event once. Each client has a bound
//! of bytes that wait for it; the connection of a client that is further behind is cut, so that no
//! other one waits.

use std::collections::{HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use futures_core::Stream;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::{Interval, MissedTickBehavior, interval_at};
use zonda::access::MessageKind;
use zonda::key_expr::KeyExpr;
use zonda::pubsub::Subscriber;
use zonda::sample::{Sample, SampleKind};
use zonda::time::Timestamp;
use zonda::{DeclareError, Operation, Session};
use zonda_transport::log_limit::LogLimit;

use super::json;
use crate::http::{Client, Counts, Line};

/// Time without events after which a client gets a comment, so that proxies keep the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The comment.
const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// First lines of a stream: the time after which a client that lost its connection comes back.
const RETRY: Bytes = Bytes::from_static(b"retry: 2000\n\n");

/// Bytes that a waiting event counts in addition to its text.
const EVENT_BYTES: usize = 64;

/// One event as it is sent.
#[derive(Clone)]
struct Event {
    text: Bytes,
    timestamp: Option<Timestamp>,
}

impl Event {
    fn of(sample: &Sample) -> Event {
        let kind = match sample.kind() {
            SampleKind::Put => "PUT",
            SampleKind::Delete => "DELETE",
        };
        let data = json::of_sample(sample);
        let timestamp = sample.timestamp().copied();
        let text = match timestamp {
            Some(timestamp) => format!("event: {kind}\nid: {timestamp}\ndata: {data}\n\n"),
            None => format!("event: {kind}\ndata: {data}\n\n"),
        };
        Event {
            text: text.into(),
            timestamp,
        }
    }

    fn weight(&self) -> usize {
        self.text.len() + EVENT_BYTES
    }
}

/// A client, as the subscriber of its key sees it.
struct Receiver {
    queue: UnboundedSender<Event>,
    /// Bytes that wait in the queue.
    waiting: Arc<AtomicUsize>,
    line: Arc<Line>,
}

/// The members of a topic, by number.
type Members = Arc<Mutex<HashMap<u64, Receiver>>>;

/// Key and user of a topic: its clients have the same rights.
type TopicKey = (KeyExpr<'static>, Option<String>);

struct Topic {
    clients: Members,
    /// Undeclared with the topic.
    _subscriber: Subscriber<()>,
}

/// The keys that clients get events of.
pub(super) struct Hub {
    session: Session,
    counts: Arc<Counts>,
    bytes_max: usize,
    next: AtomicU64,
    topics: Mutex<HashMap<TopicKey, Topic>>,
}

impl Hub {
    /// Creates a hub whose clients may be `bytes_max` bytes behind.
    pub fn new(session: Session, counts: Arc<Counts>, bytes_max: usize) -> Hub {
        Hub {
            session,
            counts,
            bytes_max,
            next: AtomicU64::new(0),
            topics: Mutex::default(),
        }
    }

    /// Adds a client.
    ///
    /// # Errors
    /// The subscriber cannot be declared.
    pub fn join(
        self: &Arc<Self>,
        key: KeyExpr<'static>,
        client: Client,
        line: Arc<Line>,
    ) -> Result<Events, DeclareError> {
        let (queue, queued) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let receiver = Receiver {
            queue,
            waiting: Arc::clone(&waiting),
            line,
        };
        let key: TopicKey = (key, client.user().map(str::to_owned));
        let mut topics = locked(&self.topics);
        match topics.get(&key) {
            Some(topic) => drop(locked(&topic.clients).insert(number, receiver)),
            None => {
                let topic = self.topic(&key.0, client, HashMap::from([(number, receiver)]))?;
                topics.insert(key.clone(), topic);
            }
        }
        drop(topics);
        self.counts.add_event_client();
        let mut keep_alive = interval_at(tokio::time::Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Events {
            first: VecDeque::from([RETRY]),
            seen: HashSet::new(),
            queued,
            waiting,
            keep_alive,
            _member: Member {
                hub: Arc::clone(self),
                key,
                number,
            },
        })
    }

    fn topic(
        &self,
        key: &KeyExpr<'static>,
        client: Client,
        clients: HashMap<u64, Receiver>,
    ) -> Result<Topic, DeclareError> {
        let clients = Arc::new(Mutex::new(clients));
        let (of_callback, counts) = (Arc::clone(&clients), Arc::clone(&self.counts));
        let bytes_max = self.bytes_max;
        let subscriber = self.session.declare_subscriber(key.clone());
        let (session, asked) = (self.session.clone(), key.clone());
        let subscriber = subscriber.callback(move |sample| {
            if !may_see(&session, &client, &asked, &sample) {
                return;
            }
            let event = Event::of(&sample);
            let slow = pass_on(&mut locked(&of_callback), &event, bytes_max, &counts);
            if slow > 0 {
                tell_of_slow(slow, sample.key_expr());
            }
        });
        Ok(Topic {
            clients,
            _subscriber: subscriber.perform()?,
        })
    }

    fn leave(&self, key: &TopicKey, number: u64) {
        let mut topics = locked(&self.topics);
        let is_empty = topics.get(key).is_some_and(|topic| {
            let mut clients = locked(&topic.clients);
            clients.remove(&number);
            clients.is_empty()
        });
        let ended = if is_empty { topics.remove(key) } else { None };
        // The subscriber is undeclared without the lock.
        drop(topics);
        drop(ended);
        self.counts.remove_event_client();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if a client may still get events of a key, and this one.
fn may_see(session: &Session, client: &Client, key: &KeyExpr<'_>, sample: &Sample) -> bool {
    let kind = match sample.kind() {
        SampleKind::Put => MessageKind::Put,
        SampleKind::Delete => MessageKind::Delete,
    };
    // The rules may have changed since the client came.
    let may_subscribe = client.may_send(session, MessageKind::DeclareSubscriber, key);
    may_subscribe.is_ok() && client.may_get(session, kind, sample.key_expr()).is_ok()
}

/// Queues an event for all clients; cuts those that are too far behind, and returns their number.
fn pass_on(
    clients: &mut HashMap<u64, Receiver>,
    event: &Event,
    bytes_max: usize,
    counts: &Counts,
) -> usize {
    let weight = event.weight();
    let before = clients.len();
    clients.retain(|_, client| {
        let waiting = client.waiting.fetch_add(weight, Ordering::AcqRel);
        // An event that is larger than the bound is for clients that wait for nothing else.
        let is_in_time = waiting == 0 || waiting + weight <= bytes_max;
        if is_in_time {
            // An error means that the client is about to leave.
            let _ = client.queue.send(event.clone());
        } else {
            counts.add_slow();
            client.line.cut();
        }
        is_in_time
    });
    counts.add_events(clients.len() as u64);
    before - clients.len()
}

fn tell_of_slow(count: usize, key: &KeyExpr<'_>) {
    static LIMIT: LogLimit = LogLimit::new();
    if let Some(left_out) = LIMIT.admit(Instant::now()) {
        tracing::warn!(
            "dropped {count} HTTP clients of {:?} that do not read their events in time; \
             services/http/limits/event_bytes is what may wait for each{left_out}",
            key.as_str()
        );
    }
}

/// The place of a client among those of its key.
struct Member {
    hub: Arc<Hub>,
    key: TopicKey,
    number: u64,
}

impl Drop for Member {
    fn drop(&mut self) {
        self.hub.leave(&self.key, self.number);
    }
}

/// The events of a client, as they are sent. Dropping it takes the client off its key.
pub(super) struct Events {
    /// Texts that come before the queue.
    first: VecDeque<Bytes>,
    /// The timestamps of values in `first`, which may be in the queue again.
    seen: HashSet<Timestamp>,
    queued: UnboundedReceiver<Event>,
    waiting: Arc<AtomicUsize>,
    keep_alive: Interval,
    _member: Member,
}

impl Events {
    /// Begins with these values, the oldest first, and sends none of them again.
    pub fn begin_with<'a>(&mut self, samples: impl Iterator<Item = &'a Sample>) {
        let mut events: Vec<Event> = samples.map(Event::of).collect();
        events.sort_by_key(|event| event.timestamp);
        // Several storages may have one value.
        events.dedup_by(|a, b| a.timestamp.is_some() && a.text == b.text);
        self.seen
            .extend(events.iter().filter_map(|event| event.timestamp));
        self.first
            .extend(events.into_iter().map(|event| event.text));
    }
}

impl Stream for Events {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Some(text) = this.first.pop_front() {
            return Poll::Ready(Some(Ok(text)));
        }
        while let Poll::Ready(event) = this.queued.poll_recv(cx) {
            let Some(event) = event else {
                return Poll::Ready(None);
            };
            this.waiting.fetch_sub(event.weight(), Ordering::AcqRel);
            let is_again = event.timestamp.is_some_and(|time| this.seen.remove(&time));
            if !is_again {
                this.keep_alive.reset();
                return Poll::Ready(Some(Ok(event.text)));
            }
        }
        // The queue has nothing that came before the values of the beginning.
        this.seen = HashSet::new();
        ready!(this.keep_alive.poll_tick(cx));
        Poll::Ready(Some(Ok(COMMENT)))
    }
}
