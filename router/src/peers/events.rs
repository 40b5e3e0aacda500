// SPDX-License-Identifier: MIT OR Apache-2.0

//! Events of connections, delivered to listeners: in order, one call at a time, with no lock held. A thread of its
//! own calls the listener while there is something to tell, so that nothing of the node waits for it, and it may block and
//! close the node.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use zonda_codec::Endpoint;
use zonda_runtime::guard::drop_guarded;
use zonda_runtime::serial::{SerialQueue, Turn, Waiting};
use zonda_transport::{
    link::LinkAddress,
    log_limit::LogLimit,
    sync::{Mutex, Rank},
};

use crate::{
    model::LinkStatus,
    node::log::log_panic,
    peers::{
        reasons::{Loss, Refusal},
        recent::Recent,
    },
    table::FaceId,
};

/// Events that wait for a listener at most; the oldest give way and are counted.
pub const EVENTS_MAX: usize = 1024;

/// Something that happened to a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionEvent {
    /// A link is open.
    Connected(LinkStatus),
    /// A link is no more.
    Lost {
        /// The link as it was.
        link: LinkStatus,
        /// Why it ended.
        reason: Loss,
    },
    /// One more link to a neighbour that is connected already is open.
    LinkAdded(LinkStatus),
    /// One of several links to a neighbour is no more, and another one is left.
    LinkLost {
        /// The link as it was.
        link: LinkStatus,
        /// Why it ended.
        reason: Loss,
    },
    /// An attempt to connect to a configured endpoint failed.
    Failed {
        /// The endpoint as configured.
        endpoint: Endpoint,
        /// Why.
        reason: Refusal,
        /// The number of attempts since the node was opened or the endpoint was connected last.
        attempts: u64,
        /// When the next attempt is made; `None` if none is, or another endpoint took its place.
        next_retry: Option<Duration>,
    },
    /// Somebody who connected to this node was turned away.
    Refused {
        /// The endpoint at which it listens.
        listener: Endpoint,
        /// The address of the other side, if it is known.
        remote: Option<LinkAddress>,
        /// Why.
        reason: Refusal,
    },
}

impl ConnectionEvent {
    /// Names the event in one word: `connected`, `lost`, `link-added`, `link-lost`, `failed` or `refused`.
    pub fn name(&self) -> &'static str {
        match self {
            ConnectionEvent::Connected(_) => "connected",
            ConnectionEvent::Lost { .. } => "lost",
            ConnectionEvent::LinkAdded(_) => "link-added",
            ConnectionEvent::LinkLost { .. } => "link-lost",
            ConnectionEvent::Failed { .. } => "failed",
            ConnectionEvent::Refused { .. } => "refused",
        }
    }
}

/// One line.
impl fmt::Display for ConnectionEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectionEvent::Connected(link) => {
                write!(
                    f,
                    "connected to {} {} at {}",
                    link.whatami, link.zid, link.remote
                )
            }
            ConnectionEvent::Lost { link, reason } => {
                let (role, zid, remote) = (link.whatami, link.zid, &link.remote);
                write!(f, "lost {role} {zid} at {remote}: {reason}")
            }
            ConnectionEvent::LinkAdded(link) => {
                let (role, zid, remote) = (link.whatami, link.zid, &link.remote);
                write!(f, "one more link to {role} {zid} at {remote}")
            }
            ConnectionEvent::LinkLost { link, reason } => {
                let (role, zid, remote) = (link.whatami, link.zid, &link.remote);
                write!(f, "one link less to {role} {zid} at {remote}: {reason}")
            }
            ConnectionEvent::Failed {
                endpoint,
                reason,
                attempts,
                next_retry,
            } => {
                write!(
                    f,
                    "cannot connect to {endpoint}: {reason} (attempt {attempts}"
                )?;
                match next_retry {
                    Some(wait) => write!(f, ", the next in {wait:.1?})"),
                    None => f.write_str(")"),
                }
            }
            ConnectionEvent::Refused {
                listener,
                remote,
                reason,
            } => {
                let remote = remote
                    .as_ref()
                    .map_or("somebody".to_owned(), ToString::to_string);
                write!(f, "turned {remote} away at {listener}: {reason}")
            }
        }
    }
}

/// The function of a listener.
pub type Tell = Box<dyn Fn(ConnectionEvent) + Send + Sync>;

/// The function of an application that listens to connections, and the events that wait for it.
pub struct ConnectionListener {
    queue: SerialQueue<Backlog>,
    dropped: AtomicU64,
}

/// The events that wait for a listener.
struct Backlog {
    waiting: VecDeque<ConnectionEvent>,
    /// `None` once the listener has ended.
    tell: Option<Arc<Tell>>,
    /// Nothing more will come: the function goes when what waits was delivered.
    is_last: bool,
}

/// The next step of a listener's thread: it calls the function with the event, or drops the function if there is none.
struct Step {
    tell: Arc<Tell>,
    event: Option<ConnectionEvent>,
}

impl Waiting for Backlog {
    type Item = Step;

    fn pop(&mut self) -> Option<Step> {
        let event = self.waiting.pop_front();
        let tell = match event {
            Some(_) => self.tell.clone()?,
            None if self.is_last => self.tell.take()?,
            None => return None,
        };
        Some(Step { tell, event })
    }
}

impl fmt::Debug for ConnectionListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionListener")
            .field("dropped", &self.dropped())
            .finish_non_exhaustive()
    }
}

impl ConnectionListener {
    pub(crate) fn new(tell: Tell, history: VecDeque<ConnectionEvent>) -> Arc<ConnectionListener> {
        let backlog = Backlog {
            waiting: history,
            tell: Some(Arc::new(tell)),
            is_last: false,
        };
        Arc::new(ConnectionListener {
            queue: SerialQueue::new(backlog, ()),
            dropped: AtomicU64::new(0),
        })
    }

    /// The number of events that were dropped because the function did not keep up with them.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// No call of the function begins any more. It is dropped here, or when the call ends that is under way.
    pub(crate) fn end(&self) {
        let tell = self.queue.lock().tell.take();
        // The user's closure may go with it, so no lock is held.
        drop_guarded(tell);
    }

    pub(crate) fn put(&self, event: ConnectionEvent) {
        let mut backlog = self.queue.lock();
        if backlog.waiting.len() >= EVENTS_MAX {
            backlog.waiting.pop_front();
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        backlog.waiting.push_back(event);
    }

    /// Nothing more will be put.
    pub(crate) fn finish(&self) {
        self.queue.lock().is_last = true;
    }

    /// Starts a thread that calls the function for everything that waits and then ends, unless there is one.
    pub(crate) fn call(self: &Arc<Self>) {
        let mut backlog = self.queue.lock();
        if backlog.waiting.is_empty() && !backlog.is_last {
            return;
        }
        let Some(turn) = backlog.take_turn() else {
            return;
        };
        drop(backlog);
        let listener = Arc::clone(self);
        let (hand_over, turns) = mpsc::channel();
        let thread = std::thread::Builder::new().name("zonda-events".into());
        let started = thread.spawn(move || {
            if let Ok(turn) = turns.recv() {
                listener.drain(turn);
            }
        });
        match started {
            // The thread waits for it.
            Ok(_) => hand_over.send(turn).expect("the thread waits"),
            Err(error) => {
                tracing::warn!("cannot tell what happens to connections: {error}");
                self.queue.give_back(turn);
            }
        }
    }

    fn drain(&self, turn: Turn) {
        let call = |(): &mut (), step: Step| {
            if let Some(event) = step.event {
                (step.tell)(event);
            }
        };
        self.queue.drain(turn, call, |(), _| {
            static PANICKED: LogLimit = LogLimit::new();
            log_panic(
                &PANICKED,
                format_args!("a listener of connections panicked; this event is lost to it"),
            );
        });
    }
}

/// The listeners, and the links that are open by what they heard.
#[derive(Debug)]
pub(crate) struct Events(pub(crate) Mutex<Known>);

impl Default for Events {
    fn default() -> Self {
        Events(Mutex::ranked(Rank::Events, Known::default()))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) listeners: Vec<Arc<ConnectionListener>>,
    /// By their numbers, in the order in which they came.
    pub(crate) open: BTreeMap<FaceId, Vec<(u64, LinkStatus)>>,
    /// The latest events.
    pub(crate) recent: Recent,
}

impl Events {
    /// The latest events, as JSON.
    pub(crate) fn recent(&self) -> serde_json::Value {
        self.0.lock().recent.describe()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::peers::reasons::RefusalKind;

    fn event(number: usize) -> ConnectionEvent {
        ConnectionEvent::Refused {
            listener: "tcp/127.0.0.1:1".parse().expect("valid"),
            remote: None,
            reason: Refusal {
                kind: RefusalKind::Version,
                text: number.to_string(),
            },
        }
    }

    /// The number of the next event.
    fn next(told: &Receiver<ConnectionEvent>) -> String {
        match told.recv().expect("it is told") {
            ConnectionEvent::Refused { reason, .. } => reason.text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_oldest_give_way_and_are_counted() {
        let (send, told) = channel();
        let (go, waits) = channel::<()>();
        let waits = Mutex::new(waits);
        let listener = ConnectionListener::new(
            Box::new(move |event| {
                send.send(event).expect("it is waited for");
                // an error means that nobody waits any more
                let _ = waits.lock().recv();
            }),
            VecDeque::new(),
        );
        listener.put(event(0));
        listener.call();
        assert_eq!(next(&told), "0");
        for number in 1..=EVENTS_MAX + 5 {
            listener.put(event(number));
            listener.call();
        }
        assert_eq!(listener.dropped(), 5);
        drop(go);
        for number in 6..=EVENTS_MAX + 5 {
            assert_eq!(next(&told), number.to_string());
        }
        listener.end();
        assert!(told.recv().is_err(), "the function is gone");
    }
}
