// SPDX-License-Identifier: MIT OR Apache-2.0

//! Common part of all kinds of listeners: a callback that the node notifies of changes until it
//! ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zonda_codec::EntityGlobalId;
use zonda_router::node::{DeclareError, Listen, ListenerId, Node};
use zonda_router::table::Notice;

use crate::callback_group::{CallbackGroup, Ended, GroupMembership};
use crate::calls::{self, Calls, End as _, Registry, Tally, let_go};
use crate::handlers::Taken;

/// A function that hands one notice to the handler, and returns the future to wait for before the
/// next one.
pub(crate) type Tell = Box<dyn Fn(Notice) -> Option<Taken> + Send + Sync>;

/// A handler of notices.
pub(crate) struct NoticeHandler<'a> {
    pub tell: Tell,
    /// Set if the handler fills a queue.
    pub stores: bool,
    /// The group of its callback, in addition to that of the session.
    pub group: Option<&'a CallbackGroup>,
}

/// The live listeners of a session, so that closing it ends them.
pub(crate) struct Listeners {
    node: Node,
    /// All callbacks of the session, not only those of listeners.
    callbacks: CallbackGroup,
    live: Registry<u64>,
    next: AtomicU64,
}

/// The handler of notices.
struct NoticeHandlerSlot {
    tell: Tell,
    /// Dropped after the function.
    _here: GroupMembership,
}

/// The node's handle of one listener.
struct ListenerHandle {
    calls: Arc<Calls<NoticeHandlerSlot>>,
    number: u64,
    listeners: Arc<Listeners>,
}

impl Listeners {
    pub(crate) fn new(node: Node) -> Arc<Listeners> {
        Arc::new(Listeners {
            node,
            callbacks: CallbackGroup::default(),
            live: Registry::default(),
            next: AtomicU64::new(0),
        })
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Returns the group of all callbacks of the session.
    pub(crate) fn callbacks(&self) -> &CallbackGroup {
        &self.callbacks
    }

    /// Starts a listener; `declare` declares it at the node.
    pub(crate) fn start(
        self: &Arc<Self>,
        told: NoticeHandler<'_>,
        declare: impl FnOnce(Arc<dyn Listen>) -> Result<ListenerId, DeclareError>,
    ) -> Result<Listening, DeclareError> {
        let (here, tally) = Tally::new(told.stores, [Some(&self.callbacks), told.group]);
        let teller = NoticeHandlerSlot {
            tell: told.tell,
            _here: here,
        };
        let listener = Arc::new(ListenerHandle {
            calls: Calls::new(tally, teller),
            number: self.next.fetch_add(1, Ordering::Relaxed),
            listeners: Arc::clone(self),
        });
        self.live.insert(listener.number, listener.clone());
        let declared = declare(listener.clone());
        if declared.is_err() || self.node.is_closed() {
            // The close may have ended the live listeners before this one was inserted.
            listener.end();
        }
        Ok(Listening {
            id: declared?,
            listener,
            background: false,
        })
    }

    /// Ends every listener.
    pub(crate) fn end_all(&self) {
        self.live.end_all();
    }
}

impl calls::End for ListenerHandle {
    /// Ends the calls; the closure is dropped here, or by the call that is under way.
    fn end(&self) {
        self.calls.end();
        self.listeners.live.remove(self.number);
    }
}

impl Listen for ListenerHandle {
    fn notice(&self, notice: Notice) -> Option<Taken> {
        let is_last = matches!(notice, Notice::End { .. });
        let mut taken = None;
        let teller = self.calls.opened();
        if let Some(teller) = &teller {
            let call = || taken = (teller.tell)(notice);
            self.calls.tally().call(call, || {
                tracing::error!("a listener's callback panicked; a notification is lost to it");
            });
        }
        let_go(teller);
        if is_last {
            self.end();
        }
        taken
    }
}

/// A listener that ends when this is dropped.
pub(crate) struct Listening {
    id: ListenerId,
    listener: Arc<ListenerHandle>,
    /// Set if it outlives this.
    background: bool,
}

impl Listening {
    /// Returns the id.
    pub(crate) fn id(&self) -> EntityGlobalId {
        EntityGlobalId {
            zid: self.listener.listeners.node.zid(),
            eid: self.id.0,
        }
    }

    /// Returns a future that completes when the ended callback is dropped; in a forked process it
    /// completes at once.
    pub(crate) fn ended(&self) -> Ended {
        match self.listener.listeners.node.is_forked() {
            true => Ended::now(),
            false => self.listener.calls.ended(),
        }
    }

    /// Chooses whether the listener lives as long as its subject (true) or as long as this value.
    pub(crate) fn set_background(&mut self, background: bool) {
        self.background = background;
    }

    /// Detaches the listener until it is ended.
    pub(crate) fn into_end(mut self) -> End {
        self.set_background(true);
        End(self)
    }

    /// Returns the number of notifications that were lost because the callback panicked on them.
    pub(crate) fn panics(&self) -> u64 {
        self.listener.calls.panics()
    }

    /// Returns the number of changes that were not delivered because later changes reverted them
    /// before the callback ran.
    pub(crate) fn cancelled(&self) -> u64 {
        self.listener.listeners.node.cancelled_notices(self.id)
    }
}

/// The end of a listener whose handle was given up.
pub(crate) struct End(Listening);

impl End {
    /// Ends it.
    pub(crate) fn now(mut self) {
        self.0.background = false;
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let node = &self.listener.listeners.node;
        if !self.background && !node.is_forked() {
            self.listener.end();
            node.undeclare_listener(self.id);
        }
    }
}
