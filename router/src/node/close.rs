// SPDX-License-Identifier: MIT OR Apache-2.0

//! Closing a node: stop listening, say goodbye to every peer, be done by the deadline.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::transport::reason;
use zonda_transport::outbox::Outbox;

use super::{CloseError, Node};

impl Node {
    /// Closes the node: sends what is queued, says Close to every peer, ends all publishers and subscribers.
    /// Idempotent; the second call waits like the first. Legal from inside callbacks.
    ///
    /// # Errors
    /// [`CloseError::Timeout`] if peers had not taken everything by the deadline; those links are cut.
    pub async fn close(&self, deadline: Duration) -> Result<(), CloseError> {
        let at = zonda_runtime::after(deadline);
        self.say_goodbye()?;
        let all_gone = self.all_gone(at).await;
        self.finish(all_gone, deadline)
    }

    /// The same for a thread without a runtime. Also for one that drives the node's own runtime, as in a callback:
    /// what only that thread could do is then cut by the deadline.
    ///
    /// # Errors
    /// As [`Node::close`].
    ///
    /// # Blocking
    /// At most `deadline`.
    pub fn close_blocking(&self, deadline: Duration) -> Result<(), CloseError> {
        let at = zonda_runtime::after(deadline);
        self.say_goodbye()?;
        // The thread's own clock: the runtime's may be driven by this very thread.
        let all_gone = zonda_runtime::block_on_until(at, self.all_gone(at)).unwrap_or(false);
        self.finish(all_gone, deadline)
    }

    async fn all_gone(&self, at: Instant) -> bool {
        self.shared
            .wait_until(at, |state| {
                state.faces.is_empty() && self.shared.has_told_all()
            })
            .await
    }

    fn say_goodbye(&self) -> Result<(), CloseError> {
        let shared = &self.shared;
        if shared.is_forked() {
            return Err(CloseError::Forked);
        }
        shared.set_closed();
        let mut state = shared.state.lock();
        let outboxes: Vec<Arc<Outbox>> = state
            .faces
            .values()
            .map(|face| Arc::clone(&face.outbox))
            .collect();
        let listening = std::mem::take(&mut state.listening);
        let sinks = std::mem::take(&mut state.sinks);
        let undeclared = std::mem::take(&mut state.undeclared);
        let listeners = std::mem::take(&mut state.listeners);
        let scouting = state.discovery.service.take();
        let queries = std::mem::take(&mut state.queries);
        drop(state);
        listeners.values().for_each(|listener| listener.end());
        // Users' closures may go with these, so no lock is held.
        drop((listening, sinks, undeclared, listeners, scouting));
        queries.close();
        for outbox in outboxes {
            outbox.close(reason::GENERIC);
        }
        shared.changed.notify(usize::MAX);
        Ok(())
    }

    /// Cuts what did not end by itself.
    fn finish(&self, all_gone: bool, after: Duration) -> Result<(), CloseError> {
        if all_gone {
            self.shared.end_listeners();
            return Ok(());
        }
        let state = self.shared.state.lock();
        let left: Vec<Arc<Outbox>> = state
            .faces
            .values()
            .map(|face| Arc::clone(&face.outbox))
            .collect();
        drop(state);
        let late = left.iter().filter(|outbox| outbox.has_unsent()).count();
        for outbox in &left {
            outbox.abort();
        }
        if late == 0 {
            Ok(())
        } else {
            Err(CloseError::Timeout { links: late, after })
        }
    }
}
