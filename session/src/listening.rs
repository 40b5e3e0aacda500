// SPDX-License-Identifier: MIT OR Apache-2.0

//! What listeners of all kinds have in common: a callback that the node tells of changes until it ends.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use zonda_codec::EntityGlobalId;
use zonda_router::forwarding::Notice;
use zonda_router::node::{DeclareError, Listen, ListenerId, Node};

use crate::calls::let_go;
use crate::handlers::Taken;

/// Gives one notice to the handler, and what to wait for before the next one.
pub(crate) type Tell = Box<dyn Fn(Notice) -> Option<Taken> + Send + Sync>;

/// The live listeners of a session, so that closing it ends them.
pub(crate) struct Listeners {
    node: Node,
    live: Mutex<HashMap<u64, Arc<Calls>>>,
    next: AtomicU64,
}

/// A callback, until the end.
pub(crate) struct Calls {
    tell: ArcSwapOption<Tell>,
    /// No call begins any more.
    ended: AtomicBool,
    /// Calls that panicked.
    panics: AtomicU64,
    number: u64,
    listeners: Arc<Listeners>,
}

impl Listeners {
    pub(crate) fn new(node: Node) -> Arc<Listeners> {
        Arc::new(Listeners {
            node,
            live: Mutex::default(),
            next: AtomicU64::new(0),
        })
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Starts a listener; `declare` makes it known to the node.
    pub(crate) fn start(
        self: &Arc<Self>,
        tell: Tell,
        declare: impl FnOnce(Arc<dyn Listen>) -> Result<ListenerId, DeclareError>,
    ) -> Result<Listening, DeclareError> {
        let calls = Arc::new(Calls {
            tell: ArcSwapOption::from_pointee(tell),
            ended: AtomicBool::new(false),
            panics: AtomicU64::new(0),
            number: self.next.fetch_add(1, Ordering::Relaxed),
            listeners: Arc::clone(self),
        });
        self.live.lock().insert(calls.number, Arc::clone(&calls));
        let declared = declare(calls.clone());
        if declared.is_err() || self.node.is_closed() {
            // The close may have looked at those that live before this one was among them.
            calls.end();
        }
        Ok(Listening {
            id: declared?,
            calls,
            background: false,
        })
    }

    /// Ends every listener.
    pub(crate) fn end_all(&self) {
        let all = std::mem::take(&mut *self.live.lock());
        // Closures are dropped here, where the lock is free again.
        for calls in all.values() {
            calls.end();
        }
    }
}

impl Calls {
    /// No call begins any more. The closure is dropped here, or by the call that is under way.
    fn end(&self) {
        self.ended.store(true, Ordering::Release);
        let_go(self.tell.swap(None));
        let ended = self.listeners.live.lock().remove(&self.number);
        drop(ended);
    }
}

impl Listen for Calls {
    fn notice(&self, notice: Notice) -> Option<Taken> {
        let is_last = matches!(notice, Notice::End { .. });
        let mut taken = None;
        let tell = self.tell.load_full();
        if let Some(tell) = tell
            .as_ref()
            .filter(|_| !self.ended.load(Ordering::Acquire))
        {
            match catch_unwind(AssertUnwindSafe(|| tell(notice))) {
                Ok(waits) => taken = waits,
                Err(_) => {
                    self.panics.fetch_add(1, Ordering::Relaxed);
                    tracing::error!("a listener's callback panicked; a notification is lost to it");
                }
            }
        }
        let_go(tell);
        if is_last {
            self.end();
        }
        taken
    }
}

/// A listener that ends when this is dropped.
pub(crate) struct Listening {
    id: ListenerId,
    calls: Arc<Calls>,
    /// Outlives this.
    background: bool,
}

impl Listening {
    /// Its id.
    pub(crate) fn id(&self) -> EntityGlobalId {
        EntityGlobalId {
            zid: self.calls.listeners.node.zid(),
            eid: self.id.0,
        }
    }

    /// Lets it live as long as what it belongs to.
    pub(crate) fn detach(&mut self) {
        self.background = true;
    }

    /// How many notifications were lost because the callback panicked on them.
    pub(crate) fn panics(&self) -> u64 {
        self.calls.panics.load(Ordering::Relaxed)
    }

    /// How many changes were not told because others took them back before the callback had time for them.
    pub(crate) fn cancelled(&self) -> u64 {
        self.calls.listeners.node.cancelled_notices(self.id)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let node = &self.calls.listeners.node;
        if !self.background && !node.is_forked() {
            self.calls.end();
            node.undeclare_listener(self.id);
        }
    }
}
