// SPDX-License-Identifier: MIT OR Apache-2.0

//! Events of connections, delivered to listeners: in order, one call at a time, with no lock held.
//! A thread of its own calls each listener while events wait, so that no part of the node waits for
//! a listener, which may block and close the node.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use zonda_codec::Endpoint;
use zonda_runtime::guard::drop_guarded;
use zonda_runtime::serial::{DrainTurn, SerialQueue, Waiting};
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
    table::{FaceId, SessionNumber},
};

/// Most events that wait for a listener; the oldest are dropped and counted.
pub const EVENTS_MAX: usize = 1024;

/// Event of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionEvent {
    /// A link is open.
    Connected(LinkStatus),
    /// A link has ended.
    Lost {
        /// Link as it was.
        link: LinkStatus,
        /// Cause of its end.
        reason: Loss,
    },
    /// One more link to a neighbour that is connected already is open.
    LinkAdded(LinkStatus),
    /// One of several links to a neighbour has ended, and another one is left.
    LinkLost {
        /// Link as it was.
        link: LinkStatus,
        /// Cause of its end.
        reason: Loss,
    },
    /// An attempt to connect to a configured endpoint failed.
    Failed {
        /// Endpoint as configured.
        endpoint: Endpoint,
        /// Cause of the failure.
        reason: Refusal,
        /// Number of attempts since the node was opened or the endpoint was connected last.
        attempts: u64,
        /// Time until the next attempt; `None` if there is none, or another endpoint took its
        /// place.
        next_retry: Option<Duration>,
    },
    /// This node refused a connection that a peer opened.
    Refused {
        /// Endpoint at which this node listens.
        listener: Endpoint,
        /// Address of the other side, if it is known.
        remote: Option<LinkAddress>,
        /// Cause of the refusal.
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

/// Text of one line.
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
                    .map_or("a connection".to_owned(), ToString::to_string);
                write!(f, "turned {remote} away at {listener}: {reason}")
            }
        }
    }
}

/// Function of a listener.
pub type Tell = Box<dyn Fn(ConnectionEvent) + Send + Sync>;

/// Function of an application that listens to connections, and the events that wait for it.
pub struct ConnectionListener {
    /// Session that listens.
    pub(crate) session: SessionNumber,
    queue: SerialQueue<Backlog>,
    dropped: AtomicU64,
}

/// Events that wait for a listener.
struct Backlog {
    waiting: VecDeque<ConnectionEvent>,
    /// Function of the listener; `None` once the listener has ended.
    tell: Option<Arc<Tell>>,
    /// True if no more events will come: the thread drops the function after the waiting ones.
    is_last: bool,
}

/// Next step of a listener's thread: it calls the function with the event, or drops the function if
/// there is none.
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
    pub(crate) fn new(
        session: SessionNumber,
        tell: Tell,
        history: VecDeque<ConnectionEvent>,
    ) -> Arc<ConnectionListener> {
        let backlog = Backlog {
            waiting: history,
            tell: Some(Arc::new(tell)),
            is_last: false,
        };
        Arc::new(ConnectionListener {
            session,
            queue: SerialQueue::new(backlog, ()),
            dropped: AtomicU64::new(0),
        })
    }

    /// Returns the number of events that were dropped because the function did not keep up with
    /// them.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Ends the listener: no call of the function begins any more. The function is dropped here, or
    /// at the end of the call under way.
    pub(crate) fn end(&self) {
        let tell = self.queue.lock().tell.take();
        // the user's closure may be dropped with it, so no lock is held
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

    /// Marks the listener as finished: no more events will be put.
    pub(crate) fn finish(&self) {
        self.queue.lock().is_last = true;
    }

    /// Starts a thread that calls the function for everything that waits and then ends, unless such
    /// a thread runs.
    pub(crate) fn call(self: &Arc<Self>) {
        let mut backlog = self.queue.lock();
        // one thread at a time has the turn
        if backlog.waiting.is_empty() && !backlog.is_last {
            return;
        }
        let Some(turn) = backlog.take_turn() else {
            return;
        };
        drop(backlog);
        // the thread gets the turn by a channel, so that it stays here if no thread starts
        let listener = Arc::clone(self);
        let (hand_over, turns) = mpsc::channel();
        let thread = std::thread::Builder::new().name("zonda-events".into());
        let started = thread.spawn(move || {
            if let Ok(turn) = turns.recv() {
                listener.drain(turn);
            }
        });
        match started {
            // the thread waits for it
            Ok(_) => hand_over.send(turn).expect("the thread waits"),
            Err(error) => {
                tracing::warn!("cannot report connection events: {error}");
                self.queue.give_back(turn);
            }
        }
    }

    fn drain(&self, turn: DrainTurn) {
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

/// Listeners, and the open links as reported to them.
#[derive(Debug)]
pub(crate) struct Events(pub(super) Mutex<Known>);

impl Default for Events {
    fn default() -> Self {
        Events(Mutex::ranked(Rank::Events, Known::default()))
    }
}

#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) listeners: Vec<Arc<ConnectionListener>>,
    /// Links by their numbers, in the order in which they were opened.
    pub(super) open: BTreeMap<FaceId, Vec<(u64, LinkStatus)>>,
    /// Latest events, for the admin space.
    pub(super) recent: Recent,
}

impl Events {
    /// Returns the latest events as JSON.
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

    /// Returns the number of the next event.
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
            SessionNumber::default(),
            Box::new(move |event| {
                send.send(event).expect("it is waited for");
                // an error means that the test has dropped the sender
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
