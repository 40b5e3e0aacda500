// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Session`] as a handle: the state that its clones share, and its end with the last of them. The
//! operations of an application are in `session.rs`; everything that is built from a session
//! imports only this.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use zonda_codec::{KeyExpr, KeyExprError};
use zonda_router::config::{Config, PublicationRule};
use zonda_router::node::{CloseError, Node};

use crate::calls::{Declared, Registry};
use crate::listening::Listeners;
use crate::namespace::Namespace;

/// A node as the application sees it: it publishes, subscribes, and is connected to peers or
/// routers.
///
/// Clones share one node. When the last clone is dropped, the node closes in the background, and its publishers and
/// subscribers end; [`Session::close`] does the same and waits for it. A session that was opened
/// [on a running node](Session::from_node) leaves the node open. A closure given to a subscriber that holds a
/// clone of its own session keeps that session open until the subscriber is gone.
#[derive(Clone)]
pub struct Session(Arc<Shared>);

struct Shared {
    node: Node,
    config: Config,
    /// Default limit of the time that a `Block` publication may wait.
    publish_limit: Duration,
    namespace: Option<Arc<Namespace>>,
    /// Service of publications by key, which overrides that of the program.
    publication_rules: Box<[PublicationRule]>,
    /// The callbacks of its subscribers and queryables.
    declared: Arc<Registry<Declared>>,
    listeners: Arc<Listeners>,
    /// The texts of the declared keys that are still in use, by their address.
    keys: Mutex<HashMap<usize, Weak<str>>>,
    /// Set once the keys of its own connections are declared.
    has_own_space: AtomicBool,
}

impl Session {
    /// Creates the session of a node that was just opened, or of a handle that was just attached.
    pub(crate) fn new(node: Node, config: Config) -> Self {
        let settings = config.settings();
        let namespace = settings.namespace.map(Namespace::new);
        Session(Arc::new(Shared {
            listeners: Listeners::new(node.clone()),
            node,
            config,
            publish_limit: settings.wait_before_close,
            namespace: namespace.map(Arc::new),
            publication_rules: settings.publication_rules.into(),
            declared: Arc::default(),
            keys: Mutex::default(),
            has_own_space: AtomicBool::new(false),
        }))
    }

    pub(crate) fn may_close(&self) -> Result<(), CloseError> {
        match self.node().is_forked() {
            true => Err(CloseError::Forked),
            false => Ok(()),
        }
    }

    pub(crate) fn node(&self) -> &Node {
        &self.0.node
    }

    pub(crate) fn configuration(&self) -> Config {
        let running = self.node().config();
        running.unwrap_or_else(|| self.0.config.values())
    }

    pub(crate) fn declared(&self) -> &Arc<Registry<Declared>> {
        &self.0.declared
    }

    pub(crate) fn listeners(&self) -> &Arc<Listeners> {
        &self.0.listeners
    }

    /// Returns a copy of `key` whose clones are recognized as declared here. In a forked process
    /// the lock may be held by a thread that does not exist there.
    pub(crate) fn remember_key(&self, key: &KeyExpr<'_>) -> KeyExpr<'static> {
        let text: Arc<str> = key.as_str().into();
        if !self.node().is_forked() {
            let mut keys = self.0.keys.lock();
            if keys.len() == keys.capacity() {
                keys.retain(|_, text| text.strong_count() > 0);
            }
            keys.insert(address(&text), Arc::downgrade(&text));
        }
        KeyExpr::from_shared_unchecked(text)
    }

    /// Returns true if this session has declared the key or the key that it is a clone of.
    pub(crate) fn has_declared(&self, key: &KeyExpr<'_>) -> bool {
        let text: Arc<str> = key.clone().into();
        !self.node().is_forked() && self.0.keys.lock().contains_key(&address(&text))
    }

    /// Returns true for the first caller, which declares the keys of the session's own connections.
    pub(crate) fn begin_own_space(&self) -> bool {
        !self.0.has_own_space.swap(true, Ordering::Relaxed)
    }

    /// Ends all callbacks.
    pub(crate) fn end_all(&self) {
        self.0.declared.end_all();
        self.0.listeners.end_all();
    }

    pub(crate) fn namespace(&self) -> Option<&Arc<Namespace>> {
        self.0.namespace.as_ref()
    }

    pub(crate) fn publish_limit(&self) -> Duration {
        self.0.publish_limit
    }

    /// Returns true if the configuration (`qos/publication`) has rules for publications.
    #[inline(always)]
    pub(crate) fn has_publication_rules(&self) -> bool {
        !self.0.publication_rules.is_empty()
    }

    /// Returns the configured service of publications on a key, which overrides that of the
    /// program: the first rule that matches the key.
    #[cold]
    pub(crate) fn publication_rule(&self, key: &KeyExpr<'_>) -> Option<&PublicationRule> {
        let is_for = |rule: &&PublicationRule| rule.keys.iter().any(|own| own.includes(key));
        self.0.publication_rules.iter().find(is_for)
    }

    /// Returns the key as other nodes know it: unchanged, unless the session has a namespace.
    ///
    /// # Errors
    /// The namespace and the key together are no key.
    pub(crate) fn outgoing<'k>(
        &self,
        key: &'k KeyExpr<'_>,
    ) -> Result<Cow<'k, KeyExpr<'k>>, KeyExprError> {
        match self.namespace() {
            None => Ok(Cow::Borrowed(key)),
            Some(namespace) => namespace.outgoing(key).map(Cow::Owned),
        }
    }
}

/// Returns the address of a text. No other text gets the same address while this one is remembered.
fn address(text: &Arc<str>) -> usize {
    text.as_ptr().addr()
}

/// A reference to a session that does not keep it open.
pub(crate) struct WeakSession(Weak<Shared>);

impl Session {
    pub(crate) fn downgrade(&self) -> WeakSession {
        WeakSession(Arc::downgrade(&self.0))
    }
}

impl WeakSession {
    /// Returns the session, if it is still open.
    pub(crate) fn upgrade(&self) -> Option<Session> {
        let session = self.0.upgrade().map(Session)?;
        (!session.node().is_closed()).then_some(session)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("zid", &self.node().zid())
            .finish_non_exhaustive()
    }
}

impl Drop for Shared {
    /// Never blocks: a separate thread closes the node.
    fn drop(&mut self) {
        if self.node.is_forked() {
            // The parts of the node belong to the parent's threads: the child does not touch them,
            // not even to drop them.
            std::mem::forget(self.node.clone());
            return;
        }
        self.declared.end_all();
        self.listeners.end_all();
        if self.node.is_closed() {
            return;
        }
        let node = self.node.clone();
        let closing = std::thread::Builder::new().name("zonda-close".into());
        let spawned = closing.spawn(move || {
            let limit = node.close_timeout().unwrap_or(CLOSE_LIMIT);
            if let Err(error) = node.close_blocking(limit) {
                tracing::warn!("a session was dropped: {error}");
            }
        });
        if let Err(error) = spawned {
            tracing::warn!("cannot close the session in the background: {error}");
        }
    }
}

/// Default limit of the time that a close may take, unless the configuration (`close_timeout_ms`)
/// sets one.
pub(crate) const CLOSE_LIMIT: Duration = Duration::from_secs(10);
