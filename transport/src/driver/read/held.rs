// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading while priorities wait for declarations that are still on their way: what carries the link stops these priorities, and
//! the time that they may wait is kept.

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

use super::Reading;

impl<R: Runtime, H: Handler> Reading<R, H> {
    /// One read. Priorities whose time is over meanwhile wait no more.
    ///
    /// # Errors
    /// What they had ends the connection.
    #[cold]
    pub(super) async fn read_beside_held<L: LinkRead>(
        &mut self,
        link: &mut L,
    ) -> Result<io::Result<usize>, Ended> {
        self.tell_held();
        let buffer = self.next_buffer();
        let mut reading = pin!(link.read(buffer));
        let (result, buffer) = loop {
            let Some(until) = self.receiver.held_until(clock::now) else {
                break self.turn.watch(reading.as_mut()).await;
            };
            let mut over = Box::pin(self.runtime.sleep_until(until));
            let turn = &mut self.turn;
            let done = poll_fn(|context| {
                if let Poll::Ready(done) = reading.as_mut().poll(context) {
                    return Poll::Ready(Some(done));
                }
                turn.waited();
                over.as_mut().poll(context).map(|()| None)
            });
            if let Some(done) = done.await {
                break done;
            }
            drop(over);
            self.receiver.give_up_held(Some(clock::now()));
            read_held(&self.runtime, &mut self.receiver, &mut self.handler).await?;
            self.tell_held();
        };
        self.put_back(buffer);
        Ok(result)
    }

    /// Says which priorities wait.
    fn tell_held(&mut self) {
        self.outbox.note_held(&self.receiver.received());
        self.held = self.receiver.held_lanes();
        self.valve.hold(self.held);
    }

    /// Nothing more comes: hands on what can be used of what waits, unless the connection is over for good.
    #[cold]
    pub(super) async fn end_held(&mut self, ended: &Ended) {
        if !matches!(ended, Ended::Misbehaved(_) | Ended::Local) {
            self.receiver.give_up_held(None);
            // What is wrong with it changes nothing any more.
            let _ = read_held(&self.runtime, &mut self.receiver, &mut self.handler).await;
        }
    }
}

/// Hands on what the held priorities have and may use, with as many pauses as the handler wants.
///
/// # Errors
/// What they had ends the connection.
pub(super) async fn read_held<R: Runtime, H: Handler>(
    runtime: &R,
    receiver: &mut Receiver,
    handler: &mut H,
) -> Result<(), Ended> {
    loop {
        let flow = receiver.read_held(handler);
        handler.burst_end().await;
        match flow {
            Ok(Flow::Open) => return Ok(()),
            Ok(Flow::Paused(_)) => runtime.yield_now().await,
            Ok(Flow::Closed { reason }) => return Err(Ended::Remote(reason)),
            Err(misbehaved) => return Err(Ended::Misbehaved(misbehaved.to_string())),
        }
    }
}
