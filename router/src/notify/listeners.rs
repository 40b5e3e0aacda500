// SPDX-License-Identifier: MIT OR Apache-2.0

//! Listeners: what the table tells the session is queued for each of them and delivered by a task of the node's runtime, one
//! notice after another, with no lock held. Who changes the table never waits for a listener, and no listener for another.
//!
//! A listener that does not keep up loses nothing but what has been undone meanwhile: beyond [`NOTICES_MAX`] in its queue,
//! a change that takes back one that waits in it cancels it out, both untold and counted. So the queue holds no more than
//! the limit and one notice for each key.

use std::{
    collections::{BTreeMap, HashMap},
    future::{Future, poll_fn},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
};

use event_listener::Event;
use zonda_codec::KeyExpr;
use zonda_runtime::{
    AnyRuntime, Runtime,
    guard::caught,
    serial::{SerialQueue, Turn, Waiting},
    with_runtime,
};
use zonda_transport::log_limit::LogLimit;

use crate::node::log::log_panic;
use crate::table::Notice;

/// Notices that wait for a listener before changes cancel each other out.
const NOTICES_MAX: usize = 16_384;

/// Notices delivered before other tasks have their turn.
const BURST: usize = 64;

/// Something of the session that hears of changes.
pub trait Listen: Send + Sync {
    /// Takes a notice. Calls do not overlap and keep the order of the changes; [`Notice::End`] is the last. No lock is
    /// held. A panic is logged, and costs that notice. If something is given back, the next notice waits for it.
    fn notice(&self, notice: Notice) -> Option<Taken>;
}

/// Waits until a notice is taken.
pub type Taken = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Names a listener of a node, until it is undeclared or has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListenerId(pub u32);

/// A listener as the node keeps it.
pub(crate) struct Listener {
    listen: Arc<dyn Listen>,
    queue: SerialQueue<Queue>,
    cancelled: AtomicU64,
    /// Notified when nothing more will be queued.
    pub(crate) over: Event,
    /// Notified when nothing more will be delivered.
    ended: Event,
}

/// A task to be started that delivers what is queued for a listener.
pub(crate) struct NoticeTask {
    listener: Arc<Listener>,
    turn: Turn,
}

impl NoticeTask {
    /// Queues a notice for a listener; the task that must be started for it, if there is none.
    pub(crate) fn of(listener: Arc<Listener>, notice: Notice) -> Option<Self> {
        let turn = listener.queue(notice)?;
        Some(NoticeTask { listener, turn })
    }

    pub(crate) fn start(self, runtime: &AnyRuntime) {
        self.listener.start_task(self.turn, runtime);
    }
}

/// The notices that wait for a listener.
#[derive(Default)]
struct Queue {
    /// By the order in which they are delivered.
    notices: BTreeMap<u64, Notice>,
    /// The number of the next one.
    next: u64,
    /// The newest that waits for each key; kept up only while the queue is over its limit.
    newest: Option<HashMap<KeyExpr<'static>, u64>>,
    /// Nothing is queued any more.
    over: bool,
    /// Nothing is delivered any more.
    ended: bool,
}

impl Queue {
    /// Queues a notice; false if it cancelled one that waits.
    fn push(&mut self, notice: Notice) -> bool {
        let is_full = self.notices.len() >= NOTICES_MAX;
        match &notice {
            Notice::Token { key, .. } => {
                if is_full {
                    self.index();
                }
                if let Some(newest) = &mut self.newest {
                    if let Some(other) = newest.remove(key) {
                        self.notices.remove(&other);
                        return false;
                    }
                    newest.insert(key.clone(), self.next);
                }
            }
            // Each is the opposite of the one before.
            Notice::Matching(_) if is_full => {
                self.notices.pop_last();
                return false;
            }
            _ => {}
        }
        self.notices.insert(self.next, notice);
        self.next += 1;
        true
    }

    fn index(&mut self) {
        if self.newest.is_some() {
            return;
        }
        let tokens = self.notices.iter().filter_map(|(at, notice)| match notice {
            Notice::Token { key, .. } => Some((key.clone(), *at)),
            _ => None,
        });
        self.newest = Some(tokens.collect());
    }
}

impl Waiting for Queue {
    type Item = Notice;

    fn pop(&mut self) -> Option<Notice> {
        let (at, notice) = self.notices.pop_first()?;
        if self.notices.is_empty() {
            self.newest = None;
        }
        if let (Some(newest), Notice::Token { key, .. }) = (&mut self.newest, &notice)
            && newest.get(key) == Some(&at)
        {
            newest.remove(key);
        }
        Some(notice)
    }
}

impl Listener {
    /// How many changes it did not get because others took them back before it had time for them.
    pub(crate) fn cancelled(&self) -> u64 {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn new(listen: Arc<dyn Listen>) -> Arc<Self> {
        Arc::new(Self {
            listen,
            queue: SerialQueue::default(),
            cancelled: AtomicU64::new(0),
            over: Event::new(),
            ended: Event::new(),
        })
    }

    /// Queues a notice; with the turn if a task must be started to deliver it.
    fn queue(&self, notice: Notice) -> Option<Turn> {
        let mut queue = self.queue.lock();
        if queue.over {
            return None;
        }
        if matches!(notice, Notice::End { .. }) {
            queue.over = true;
            self.over.notify(usize::MAX);
        }
        if !queue.push(notice) {
            self.cancelled.fetch_add(2, Ordering::Relaxed);
        }
        queue.take_turn()
    }

    /// Nothing more is delivered, not even what is queued. A call that is under way may still end.
    pub(crate) fn end(&self) {
        let mut queue = self.queue.lock();
        (queue.over, queue.ended) = (true, true);
        let dropped = std::mem::take(&mut queue.notices);
        drop(queue);
        drop(dropped);
        self.over.notify(usize::MAX);
        self.ended.notify(usize::MAX);
    }

    /// Tells if nothing more will be queued.
    pub(crate) fn is_over(&self) -> bool {
        self.queue.lock().over
    }

    /// Starts the task that delivers what is queued. It ends when the queue is empty.
    pub(crate) fn start_task(self: &Arc<Self>, turn: Turn, runtime: &AnyRuntime) {
        let (listener, yields) = (Arc::clone(self), runtime.clone());
        runtime.spawn("zonda-notices", move || async move {
            let mut turn = turn;
            while let Some(next) = listener.deliver_some(turn).await {
                turn = next;
                with_runtime!(&yields, runtime => runtime.yield_now().await);
            }
        });
    }

    /// Delivers a few notices; gives back the turn if more may be left.
    async fn deliver_some(&self, mut turn: Turn) -> Option<Turn> {
        for _ in 0..BURST {
            let (notice, next) = self.queue.next(turn)?;
            turn = next;
            match caught(|| self.listen.notice(notice)) {
                Ok(None) => {}
                Ok(Some(taken)) => self.wait_for(taken).await,
                Err(_) => {
                    static PANICKED: LogLimit = LogLimit::new();
                    log_panic(
                        &PANICKED,
                        format_args!("a listener panicked; the notice is lost for it"),
                    );
                }
            }
        }
        Some(turn)
    }

    /// Waits until a notice is taken or need not be taken any more.
    async fn wait_for(&self, mut taken: Taken) {
        let mut ended = self.ended.listen();
        if self.queue.lock().ended {
            return;
        }
        poll_fn(|context| match taken.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => Pin::new(&mut ended).poll(context),
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(key: &str, alive: bool) -> Notice {
        let key = KeyExpr::new(key.to_owned()).expect("a key");
        Notice::Token { key, alive }
    }

    fn all(queue: &mut Queue) -> Vec<Notice> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn notices_keep_their_order() {
        let mut queue = Queue::default();
        let some = [
            token("a", true),
            token("a", false),
            token("b", true),
            token("a", true),
        ];
        for notice in &some {
            assert!(queue.push(notice.clone()));
        }
        assert_eq!(all(&mut queue), some);
    }

    #[test]
    fn a_listener_that_is_stuck_costs_a_bounded_queue_and_is_told_how_it_stands_in_the_end() {
        let mut queue = Queue::default();
        for round in 0..5 * NOTICES_MAX {
            queue.push(token("flaps", round % 2 == 0));
            queue.push(token(&format!("gone/{round}"), true));
            queue.push(token(&format!("gone/{round}"), false));
        }
        queue.push(token("flaps", true));
        queue.push(token("last", true));
        assert!(
            queue.notices.len() <= NOTICES_MAX + 4,
            "{}",
            queue.notices.len()
        );
        let mut alive = HashMap::new();
        for notice in all(&mut queue) {
            if let Notice::Token { key, alive: now } = notice {
                let before = alive.insert(key, now).unwrap_or(false);
                assert_ne!(before, now, "each is a change");
            }
        }
        alive.retain(|_, alive| *alive);
        let left: Vec<&str> = alive.keys().map(KeyExpr::as_str).collect();
        assert_eq!((left.len(), queue.newest.is_none()), (2, true), "{left:?}");
    }

    #[test]
    fn matching_that_changes_for_ever_is_bounded_too() {
        let mut queue = Queue::default();
        for round in 0..3 * NOTICES_MAX + 1 {
            queue.push(Notice::Matching(round % 2 == 0));
        }
        let told = all(&mut queue);
        assert!(told.len() <= NOTICES_MAX + 1);
        for (at, notice) in told.iter().enumerate() {
            assert_eq!(*notice, Notice::Matching(at % 2 == 0));
        }
        assert_eq!(told.last(), Some(&Notice::Matching(true)));
    }
}
