// SPDX-License-Identifier: MIT OR Apache-2.0

//! Close of a node: it stops its listeners, says goodbye to every peer, and is done by the
//! deadline.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::{ZenohId, transport::reason};
use zonda_transport::{
    driver::Ended,
    listen::Listening,
    outbox::{Outbox, Unsent},
};

use crate::{
    model::{CloseError, Lost},
    node::{handle::Node, shared::Shared, state::State},
};

/// Longest wait of a node for its listeners: they have to close sockets and remove files, and no
/// peer takes part.
const LISTENERS_END: Duration = Duration::from_secs(1);

impl Node {
    /// Closes the node: stops reading from its peers, sends the queued messages, sends Close to
    /// every peer, ends all publishers and subscribers. Each peer has until the deadline to take
    /// the queued messages, and where the platform reports it (Linux) the peer's system has until
    /// then to acknowledge them. Idempotent; the second call waits like the first. Legal from
    /// inside callbacks. On the handle of an [added](Node::add_session) session it ends the
    /// declarations and queries of this session and leaves the node open, at once.
    ///
    /// # Errors
    /// [`CloseError::Timeout`] if peers had not taken everything by the deadline: it names them,
    /// and how much is lost. Those links are cut. Messages that a peer leaves behind when it hangs
    /// up during the close are no failure of the close: they are logged, and counted by
    /// [`Node::ended_links`].
    pub async fn close(&self, deadline: Duration) -> Result<(), CloseError> {
        if let Some(detached) = self.detach() {
            return detached;
        }
        let at = zonda_runtime::after(deadline);
        let listening = self.say_goodbye(at)?;
        let all_gone = self.all_gone(at, listening).await;
        self.finish(all_gone, deadline)
    }

    /// Closes the node like [`Node::close`], from a thread without a runtime. The thread may also
    /// drive the node's own runtime, as in a callback: work that only this thread could do is then
    /// cut off at the deadline.
    ///
    /// # Errors
    /// See [`Node::close`].
    ///
    /// # Blocking
    /// At most `deadline`.
    pub fn close_blocking(&self, deadline: Duration) -> Result<(), CloseError> {
        if let Some(detached) = self.detach() {
            return detached;
        }
        let at = zonda_runtime::after(deadline);
        let listening = self.say_goodbye(at)?;
        // the thread's own clock, because this very thread may drive the runtime's
        let all_gone = self.all_gone(at, listening);
        let all_gone = zonda_runtime::block_on_until(at, all_gone).unwrap_or(false);
        self.finish(all_gone, deadline)
    }

    /// Returns the configured time limit of closing (`close_timeout_ms`), if there is one.
    #[must_use]
    pub fn close_timeout(&self) -> Option<Duration> {
        self.shared.settings.close_timeout
    }

    async fn all_gone(&self, at: Instant, listening: Vec<Listening>) -> bool {
        let shared = &self.shared;
        let ended = async {
            for listening in listening {
                listening.close().await;
            }
        };
        let ended = shared.until(at.min(zonda_runtime::after(LISTENERS_END)), ended);
        let faces_gone = shared.wait_until(at, |state| {
            state.faces.is_empty() && shared.events.has_declared_all()
        });
        ended.await;
        faces_gone.await
    }

    /// Stops the node, says goodbye to the peers and returns the listeners, which are stopped.
    fn say_goodbye(&self, at: Instant) -> Result<Vec<Listening>, CloseError> {
        let shared = &self.shared;
        if shared.is_forked() {
            return Err(CloseError::Forked);
        }
        // a closed node admits no more links
        shared.set_closed();
        // take everything that ends with the node
        let mut state = shared.state.lock();
        let outboxes: Vec<Arc<Outbox>> = state
            .faces
            .values()
            .map(|face| Arc::clone(&face.outbox))
            .collect();
        let (listening, scouting) = state.peers.take_doors();
        let routes = std::mem::take(&mut state.routes);
        let notices = std::mem::take(&mut state.notices);
        let queries = std::mem::take(&mut state.queries);
        drop(state);
        notices.end();
        // users' closures may be dropped with these, so no lock is held
        listening.iter().for_each(Listening::stop);
        drop((routes, notices, scouting));
        // queries end with an error, and each peer gets a Close after its queued messages
        queries.close();
        for outbox in outboxes {
            outbox.close(reason::GENERIC, at);
        }
        shared.changed.notify(usize::MAX);
        Ok(listening)
    }

    /// Aborts connections that did not end by themselves, and returns an error with their lost
    /// messages.
    fn finish(&self, all_gone: bool, after: Duration) -> Result<(), CloseError> {
        if all_gone {
            self.shared.events.end_listeners();
        }
        let mut state = self.shared.state.lock();
        let left: Vec<(ZenohId, Arc<Outbox>)> = state
            .faces
            .values()
            .map(|face| (face.status.zid, Arc::clone(&face.outbox)))
            .collect();
        drop(state);
        // abort before the count, so that nothing is written afterwards
        left.iter().for_each(|(_, outbox)| outbox.abort());
        // losses that were noted when faces ended, and those of the remaining faces
        state = self.shared.state.lock();
        let mut lost = state.lost_by_closing.clone();
        drop(state);
        let more = left
            .iter()
            .filter_map(|(peer, outbox)| what_is_lost(*peer, outbox.unsent()));
        for more in more {
            // its face may have ended since
            if lost.iter().all(|known| known.peer != more.peer) {
                lost.push(more);
            }
        }
        match lost.is_empty() {
            true => Ok(()),
            false => Err(CloseError::Timeout { lost, after }),
        }
    }
}

impl Shared {
    /// Notes the messages lost with a link that this node has ended while it closes.
    pub(crate) fn note_lost(
        &self,
        state: &mut State,
        peer: ZenohId,
        outbox: &Outbox,
        ended: &Ended,
    ) {
        if self.is_closed() && !ended.is_departure() {
            state
                .lost_by_closing
                .extend(what_is_lost(peer, outbox.unsent()));
        }
    }
}

fn what_is_lost(peer: ZenohId, unsent: Unsent) -> Option<Lost> {
    let lost = Lost {
        peer,
        messages: unsent.messages,
        bytes: unsent.bytes,
    };
    (!unsent.is_nothing()).then_some(lost)
}
