// SPDX-License-Identifier: MIT OR Apache-2.0

//! Writes of the configuration that are published: the subscriber that takes them queues them, and
//! a task makes one after the other. A put has no reply, so refusals are logged and counted.

use std::{
    sync::{Arc, Weak},
    time::Instant,
};

use zonda_codec::{KeyExpr, PushBody};
use zonda_runtime::{Runtime, with_runtime};
use zonda_transport::{log_limit::LogLimit, text::shown};

use crate::{
    admin::{
        config_space::{apart, kept, may_block, write_value},
        writes::{PublishedWrite, Pushed, Written},
    },
    flow::{
        receiving::{Delivery, Opened, Receive, Take},
        resolve,
    },
    model::DeclareError,
    node::{sessions::NodeSession, shared::Shared},
    table::Locality,
};

/// Subscriber to the writes of a node's configuration.
struct Inlet(Weak<Shared>);

impl Take for Inlet {
    fn take(&self, delivery: &Delivery<'_>) {
        let Some(node) = self.0.upgrade() else {
            return;
        };
        let write = PublishedWrite {
            key: delivery.key.clone(),
            value: match &delivery.push.body {
                PushBody::Put(put) => Some(kept(put.payload, &node.settings).into()),
                PushBody::Del(_) => None,
            },
        };
        let key = write.key.clone();
        match node.config_writes.push(write) {
            Pushed::First => start_writing(node),
            Pushed::Next => (),
            Pushed::Dropped => {
                node.config_writes.count(Written::Dropped);
                log_refusal(&key, "too many writes wait");
            }
        }
    }
}

/// A callback that is open for as long as the node is.
struct Inlets(Opened);

impl Receive for Inlets {
    fn open(&self) -> Option<Opened> {
        Some(Arc::clone(&self.0))
    }
}

/// Subscribes to the writes of the node's configuration if they are allowed.
///
/// # Errors
/// The subscriber cannot be declared.
pub(crate) fn take_published_writes(
    node: &Arc<Shared>,
    session: &NodeSession,
) -> Result<(), DeclareError> {
    if !(node.settings.adminspace_enabled && node.settings.adminspace_writable) {
        return Ok(());
    }
    let root = node.state.lock().table.admin_key().clone();
    // The key of any node fits.
    let Ok(key) = root.join("config/**") else {
        return Ok(());
    };
    let inlet: Box<dyn Take> = Box::new(Inlet(Arc::downgrade(node)));
    let sink = Arc::new(Inlets(Arc::new(inlet)));
    resolve::declare_subscriber(node, session, &key, Locality::Any, sink).map(drop)
}

/// Starts the task that makes the writes that wait.
fn start_writing(node: Arc<Shared>) {
    let runtime = node.runtime.clone();
    let work = move || async move {
        while let Some(write) = node.config_writes.pop() {
            // Writes and answers together take a part of one processor.
            if let Some(until) = node.admin_questions.pause(Instant::now()) {
                node.runtime.sleep_until(until).await;
            }
            let begin = Instant::now();
            let key = write.key.clone();
            let made = match may_block(&node, &key) {
                true => {
                    let node = Arc::clone(&node);
                    apart(move || make(&node, &write)).await
                }
                false => make(&node, &write),
            };
            if let Err(error) = made {
                log_refusal(&key, &error);
            }
            node.admin_questions.note_work(begin, Instant::now());
            with_runtime!(&node.runtime, runtime => runtime.yield_now().await);
        }
    };
    with_runtime!(&runtime, runtime => runtime.spawn_brief("zonda-admin-writes", work));
}

fn make(node: &Shared, write: &PublishedWrite) -> Result<(), String> {
    let who = format!("a publication on {}", shown(write.key.as_str()));
    write_value(node, &who, &write.key, write.value.as_deref()).map(drop)
}

fn log_refusal(key: &KeyExpr<'_>, reason: &str) {
    static LIMIT: LogLimit = LogLimit::new();
    if let Some(left_out) = LIMIT.admit(Instant::now()) {
        let (key, reason) = (shown(key.as_str()), shown(reason));
        tracing::warn!(
            "a publication on {key} does not change the configuration: {reason}{left_out}"
        );
    }
}
