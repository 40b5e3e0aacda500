// SPDX-License-Identifier: MIT OR Apache-2.0

//! Callbacks of declared entities, which the node calls until their end. A declaration with a
//! callback makes [`Calls`], hands them to the node, and enters them in the session's [`Registry`].

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use zonda_router::node::{Node, QueryableId, SubscriberId};
use zonda_runtime::guard::{caught, drop_guarded};

use crate::callback_group::{CallbackGroup, Ended, GroupMembership, InsideCallback};

/// A callback that the declaration and the node share, empty after its end.
///
/// The node may keep this for a while after the end (in a remembered route), so the user's closure
/// is dropped earlier.
pub(crate) struct Calls<C> {
    opened: ArcSwapOption<C>,
    tally: Arc<Tally>,
}

/// State of the calls of one callback.
pub(crate) struct Tally {
    /// Set once no call begins any more.
    ended: AtomicBool,
    /// Calls that panicked.
    panics: AtomicU64,
    gone: CallbackGroup,
    /// Set if the callback fills a queue, whose reader may be any thread.
    stores: bool,
}

impl<C> Calls<C> {
    /// Shares `call`, which the node calls through `tally`.
    pub fn new(tally: Arc<Tally>, call: C) -> Arc<Calls<C>> {
        let opened = ArcSwapOption::from_pointee(call);
        Arc::new(Calls { opened, tally })
    }

    /// Returns the callback; `None` after the end.
    pub fn opened(&self) -> Option<Arc<C>> {
        self.opened.load_full()
    }

    /// Ends the calls: none begins any more. The closure is dropped here, or at the end of the
    /// burst that uses it now.
    pub fn end(&self) {
        self.tally.ended.store(true, Ordering::Release);
        let_go(self.opened.swap(None));
    }

    /// Returns the number of calls that panicked.
    pub fn panics(&self) -> u64 {
        self.tally.panics.load(Ordering::Relaxed)
    }

    /// Returns a future that completes when the ended callback is dropped.
    pub fn ended(&self) -> Ended {
        let gone = self.tally.gone.clone();
        match self.tally.stores {
            true => Ended::upon_asking(gone),
            false => Ended::waiting(gone),
        }
    }

    /// Returns the tally, which makes the calls.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}

impl Tally {
    /// Creates a tally, and the [`GroupMembership`] to keep with its callback, which belongs to these `groups`
    /// too.
    pub fn new(
        stores: bool,
        [first, second]: [Option<&CallbackGroup>; 2],
    ) -> (GroupMembership, Arc<Tally>) {
        let gone = CallbackGroup::default();
        let here = GroupMembership::of([Some(&gone), first, second]);
        let tally = Tally {
            ended: AtomicBool::new(false),
            panics: AtomicU64::new(0),
            gone,
            stores,
        };
        (here, Arc::new(tally))
    }

    /// Calls the callback, if it has not ended; contains a panic, and reports it.
    #[inline(always)]
    pub fn call(&self, callback: impl FnOnce(), report: impl FnOnce()) {
        if self.ended.load(Ordering::Acquire) {
            return;
        }
        let _inside = InsideCallback::enter();
        if caught(callback).is_err() {
            self.panics.fetch_add(1, Ordering::Relaxed);
            report();
        }
    }

    /// Calls `call` again and again until it returns false or the callback has ended. The calls
    /// continue after one that panics.
    #[inline(always)]
    pub fn call_all(&self, mut call: impl FnMut() -> bool, report: impl Fn()) {
        let mut all = || {
            loop {
                if self.ended.load(Ordering::Acquire) || !call() {
                    return;
                }
            }
        };
        let _inside = InsideCallback::enter();
        while caught(&mut all).is_err() {
            self.panics.fetch_add(1, Ordering::Relaxed);
            report();
        }
    }
}

/// Drops a value that may belong to a user. Catches a panic of the drop, so that other callbacks
/// are still ended and the session is closed.
pub(crate) fn let_go<T>(value: T) {
    let _inside = InsideCallback::enter();
    if !drop_guarded(value) {
        tracing::error!("a value of a callback panicked while it was dropped");
    }
}

/// A part of a session that can be ended with it.
pub(crate) trait End: Send + Sync {
    /// Ends the calls: none begins any more.
    fn end(&self);
}

impl<C: Send + Sync> End for Calls<C> {
    fn end(&self) {
        Calls::end(self);
    }
}

/// The id of a declared entity at its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Declared {
    Subscriber(SubscriberId),
    Queryable(QueryableId),
}

impl Declared {
    /// Returns the id at the node.
    pub fn number(self) -> u32 {
        match self {
            Declared::Subscriber(id) => id.0,
            Declared::Queryable(id) => id.0,
        }
    }

    /// Undeclares the entity at the node.
    pub fn undeclare(self, node: &Node) {
        match self {
            Declared::Subscriber(id) => node.undeclare_subscriber(id),
            Declared::Queryable(id) => node.undeclare_queryable(id),
        }
    }
}

/// The live callbacks of a session, so that closing the session ends them.
pub(crate) struct Registry<K>(Mutex<HashMap<K, Arc<dyn End>>>);

impl<K> Default for Registry<K> {
    fn default() -> Self {
        Registry(Mutex::default())
    }
}

impl<K: Eq + Hash> Registry<K> {
    /// Ends everything.
    pub fn end_all(&self) {
        let all = std::mem::take(&mut *self.0.lock());
        // Closures are dropped here, where the lock is free again.
        for calls in all.values() {
            calls.end();
        }
    }

    pub fn insert(&self, key: K, calls: Arc<dyn End>) {
        self.0.lock().insert(key, calls);
    }

    pub fn remove(&self, key: K) {
        let removed = self.0.lock().remove(&key);
        drop(removed);
    }
}
