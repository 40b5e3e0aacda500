// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Session`] as a handle: what its clones share, and what ends with the last of them. What an application does with it is in
//! `session.rs`; everything that is built from a session imports only this.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use zonda_codec::{KeyExpr, KeyExprError};
use zonda_router::config::{Config, PublicationRule};
use zonda_router::node::{CloseError, Node};

use crate::calls::{Declared, Registry};
use crate::listening::Listeners;
use crate::namespace::Namespace;

/// A node seen by the application: publishes, subscribes, and is connected to peers or routers.
///
/// Clones share one node. When the last clone is dropped, the node closes in the background, and its publishers and
/// subscribers end; [`Session::close`] does the same and waits for it. A closure given to a subscriber that holds a
/// clone of its own session keeps that session open until the subscriber is gone.
#[derive(Clone)]
pub struct Session(Arc<Shared>);

struct Shared {
    node: Node,
    config: Config,
    /// How long a `Block` publication may wait, unless it says otherwise.
    publish_limit: Duration,
    namespace: Option<Arc<Namespace>>,
    /// How publications are carried, whatever the program says.
    publication_rules: Box<[PublicationRule]>,
    /// Its subscribers and queryables.
    declared: Arc<Registry<Declared>>,
    listeners: Arc<Listeners>,
    /// The texts of the keys that it has declared and that somebody still has, by their address.
    keys: Mutex<HashMap<usize, Weak<str>>>,
}

impl Session {
    /// The session of a node that was just opened.
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

    pub(crate) fn configuration(&self) -> &Config {
        &self.0.config
    }

    pub(crate) fn declared(&self) -> &Arc<Registry<Declared>> {
        &self.0.declared
    }

    pub(crate) fn listeners(&self) -> &Arc<Listeners> {
        &self.0.listeners
    }

    /// A key of its own for `key`: the clones of it are known as declared here. In a process that was forked off, the lock may
    /// be somebody's who is not there.
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

    /// Whether this is a key that this session has declared, or a clone of one.
    pub(crate) fn has_declared(&self, key: &KeyExpr<'_>) -> bool {
        let text: Arc<str> = key.clone().into();
        !self.node().is_forked() && self.0.keys.lock().contains_key(&address(&text))
    }

    /// Ends everything that calls back.
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

    /// Whether the configuration (`qos/publication`) says anything about publications.
    #[inline(always)]
    pub(crate) fn has_publication_rules(&self) -> bool {
        !self.0.publication_rules.is_empty()
    }

    /// What it says about publications on a key, whatever the program says: the first rule that is for the key.
    #[cold]
    pub(crate) fn publication_rule(&self, key: &KeyExpr<'_>) -> Option<&PublicationRule> {
        let is_for = |rule: &&PublicationRule| rule.keys.iter().any(|own| own.includes(key));
        self.0.publication_rules.iter().find(is_for)
    }

    /// The key as others know it: the same, unless the session has a namespace.
    ///
    /// # Errors
    /// The two together are no key.
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

/// Where a text is. No other one comes to the same place as long as this one is remembered.
fn address(text: &Arc<str>) -> usize {
    text.as_ptr().addr()
}

/// A session that this does not keep open.
#[cfg(feature = "ext")]
pub(crate) struct WeakSession(Weak<Shared>);

#[cfg(feature = "ext")]
impl Session {
    pub(crate) fn downgrade(&self) -> WeakSession {
        WeakSession(Arc::downgrade(&self.0))
    }
}

#[cfg(feature = "ext")]
impl WeakSession {
    /// The session, if it is still open.
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
    /// Never blocks: a thread of its own closes the node.
    fn drop(&mut self) {
        if self.node.is_forked() {
            // What the node is made of belongs to the parent's threads: it is left alone, not even dropped.
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

/// How long a close may take unless it or the configuration (`close_timeout_ms`) says otherwise.
pub(crate) const CLOSE_LIMIT: Duration = Duration::from_secs(10);
