// SPDX-License-Identifier: MIT OR Apache-2.0

//! Listeners of the session. Notices of the table are queued for each listener, and a task of the
//! node's runtime delivers them in order, with no lock held. A thread that changes the table never
//! waits for a listener, and no listener waits for another.
//!
//! A slow listener loses only changes that cancel out: once its queue has [`NOTICES_MAX`] notices,
//! a change that reverts a queued one removes it, and both are counted instead of delivered. So the
//! queue has at most that many notices plus one for each key.

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
    serial::{DrainTurn, SerialQueue, Waiting},
    with_runtime,
};
use zonda_transport::log_limit::LogLimit;

use crate::node::log::log_panic;
use crate::table::{Notice, SessionNumber};

/// Number of queued notices from which changes cancel each other out.
const NOTICES_MAX: usize = 16_384;

/// Number of notices delivered before the task yields.
const BURST: usize = 64;

/// A listener of the session.
pub trait Listen: Send + Sync {
    /// Receives a notice. Calls do not overlap and keep the order of the changes; [`Notice::End`]
    /// is the last. No lock is held. A panic is logged, and the notice is lost. If a future is
    /// returned, the next notice waits for it.
    fn notice(&self, notice: Notice) -> Option<Taken>;
}

/// Future that completes when the listener has taken a notice.
pub type Taken = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Id of a listener in its node, until it is undeclared or has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListenerId(pub u32);

/// A listener as the node keeps it.
pub(crate) struct NoticeListener {
    /// Session that declared it.
    pub(crate) session: SessionNumber,
    listen: Arc<dyn Listen>,
    queue: SerialQueue<Queue>,
    cancelled: AtomicU64,
    /// Notified when no more notices will be queued.
    pub(crate) over: Event,
    /// Notified when no more notices will be delivered.
    ended: Event,
}

/// A task to start, which delivers the queued notices of a listener.
pub(crate) struct NoticeTask {
    listener: Arc<NoticeListener>,
    turn: DrainTurn,
}

impl NoticeTask {
    /// Queues a notice for a listener; returns the task to start if none is running.
    pub(crate) fn of(listener: Arc<NoticeListener>, notice: Notice) -> Option<Self> {
        let turn = listener.queue(notice)?;
        Some(NoticeTask { listener, turn })
    }

    pub(crate) fn start(self, runtime: &AnyRuntime) {
        self.listener.start_task(self.turn, runtime);
    }
}

/// The queued notices of a listener.
#[derive(Default)]
struct Queue {
    /// Notices by number, in the order of delivery.
    notices: BTreeMap<u64, Notice>,
    /// The number of the next notice.
    next: u64,
    /// Number of the newest notice for each key; maintained only while the queue is over its limit.
    newest: Option<HashMap<KeyExpr<'static>, u64>>,
    /// True if no more notices are queued.
    over: bool,
    /// True if no more notices are delivered.
    ended: bool,
}

impl Queue {
    /// Queues a notice; returns false if it cancelled a queued one instead.
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
            // Each matching notice reverts the one before.
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

impl NoticeListener {
    /// Number of changes that were cancelled out before their delivery.
    pub(crate) fn cancelled(&self) -> u64 {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn new(listen: Arc<dyn Listen>, session: SessionNumber) -> Arc<Self> {
        Arc::new(Self {
            session,
            listen,
            queue: SerialQueue::default(),
            cancelled: AtomicU64::new(0),
            over: Event::new(),
            ended: Event::new(),
        })
    }

    /// Queues a notice; returns the turn if a task must be started to deliver it.
    fn queue(&self, notice: Notice) -> Option<DrainTurn> {
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

    /// Ends delivery at once and discards queued notices. A running call may still finish.
    pub(crate) fn end(&self) {
        let mut queue = self.queue.lock();
        (queue.over, queue.ended) = (true, true);
        let dropped = std::mem::take(&mut queue.notices);
        drop(queue);
        drop(dropped);
        self.over.notify(usize::MAX);
        self.ended.notify(usize::MAX);
    }

    /// Returns true if no more notices will be queued.
    pub(crate) fn is_over(&self) -> bool {
        self.queue.lock().over
    }

    /// Starts the task that delivers queued notices. The task ends when the queue is empty.
    pub(crate) fn start_task(self: &Arc<Self>, turn: DrainTurn, runtime: &AnyRuntime) {
        let (listener, yields) = (Arc::clone(self), runtime.clone());
        runtime.spawn("zonda-notices", move || async move {
            let mut turn = turn;
            while let Some(next) = listener.deliver_some(turn).await {
                turn = next;
                with_runtime!(&yields, runtime => runtime.yield_now().await);
            }
        });
    }

    /// Delivers a bounded number of notices; returns the turn if more may be queued.
    async fn deliver_some(&self, mut turn: DrainTurn) -> Option<DrainTurn> {
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

    /// Waits until the listener has taken a notice or has ended.
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
