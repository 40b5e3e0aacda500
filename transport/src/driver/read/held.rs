// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading while priorities wait for declarations that are still on their way: the carrier of the
//! link stops these priorities, and the reading task bounds their wait.

use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
    task::Poll,
};

use zonda_runtime::{LinkRead, Runtime};

use crate::{
    clock,
    driver::{Ended, Handler},
    protocol::rx::{Flow, Receiver},
};

use super::ReadTask;

impl<R: Runtime, H: Handler> ReadTask<R, H> {
    /// Reads once. Priorities whose waiting time ends before or during the read wait no more.
    ///
    /// # Errors
    /// A message of theirs ends the connection, or the peer is silent for too long.
    #[cold]
    pub(super) async fn read_beside_held<L: LinkRead>(
        &mut self,
        link: &mut L,
    ) -> Result<io::Result<usize>, Ended> {
        // The clock is checked even if the socket always has bytes.
        let is_over = |until| until <= clock::now();
        if self.receiver.held_until(clock::now).is_some_and(is_over) {
            self.give_up_held().await?;
        }
        self.tell_held();
        let (mut bound, runtime) = (self.bound(), self.runtime.clone());
        let buffer = self.next_buffer();
        let mut reading = pin!(link.read(buffer));
        let (result, buffer) = loop {
            let until = self.receiver.held_until(clock::now);
            let mut over = until.map(|until| Box::pin(runtime.sleep_until(until)));
            let done = poll_fn(|context| {
                if let Poll::Ready(done) = reading.as_mut().poll(context) {
                    return Poll::Ready(Ok(Some(done)));
                }
                self.turn.waited();
                if let Poll::Ready(ended) = self.poll_silence(&mut bound, context) {
                    return Poll::Ready(Err(ended));
                }
                match &mut over {
                    Some(over) => over.as_mut().poll(context).map(|()| Ok(None)),
                    None => Poll::Pending,
                }
            });
            if let Some(done) = done.await? {
                break done;
            }
            self.give_up_held().await?;
            self.tell_held();
        };
        self.put_back(buffer);
        Ok(result)
    }

    /// Delivers the messages of priorities whose waiting time is over.
    async fn give_up_held(&mut self) -> Result<(), Ended> {
        self.receiver.give_up_held(Some(clock::now()));
        self.read_held().await
    }

    async fn read_held(&mut self) -> Result<(), Ended> {
        let note = || self.outbox.note_received(clock::now());
        read_held(&self.runtime, &mut self.receiver, &mut self.handler, note).await
    }

    /// Notes in outbox and valve which priorities wait.
    fn tell_held(&mut self) {
        self.outbox.note_held(&self.receiver.received());
        self.held = self.receiver.held_lanes();
        self.valve.hold(self.held);
    }

    /// Delivers the held messages that can be used, as no more arrive; none if this side has ended
    /// the connection.
    #[cold]
    pub(super) async fn end_held(&mut self, ended: &Ended) {
        if !matches!(ended, Ended::Misbehaved(_) | Ended::Local) {
            self.receiver.give_up_held(None);
            // An error has no effect any more: the connection has ended.
            let _ = self.read_held().await;
        }
    }
}

/// Delivers the usable messages of the held priorities, with as many pauses as the handler wants.
/// Calls `note` in each pause: a peer that this task does not read does not count as silent.
///
/// # Errors
/// A message of theirs ends the connection.
pub(super) async fn read_held<R: Runtime, H: Handler>(
    runtime: &R,
    receiver: &mut Receiver,
    handler: &mut H,
    note: impl Fn(),
) -> Result<(), Ended> {
    loop {
        let flow = receiver.read_held(handler);
        handler.burst_end().await;
        match flow {
            Ok(Flow::Open) => return Ok(()),
            Ok(Flow::Paused(_)) => {
                note();
                runtime.yield_now().await;
            }
            Ok(Flow::Closed { reason }) => return Err(Ended::Remote(reason)),
            Err(misbehaved) => return Err(Ended::Misbehaved(misbehaved.to_string())),
        }
    }
}
