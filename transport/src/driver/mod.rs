// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks between the sans-IO connection and its socket: one reads, one writes what senders could
//! not.
//!
//! The reading task owns the [`Receiver`] and calls the [`Handler`] for each message, on whatever thread the
//! runtime runs it, holding no lock. The writing task wakes only for what needs waiting: a full socket, the ticks of
//! a dense stream, keep-alives, the lease, the end. Both end together.

mod bundle;
mod read;
mod write;

use std::{future::Future, sync::Arc};

use zonda_runtime::Runtime;

use crate::{
    link::LinkStream,
    outbox::Outbox,
    protocol::{
        rx::{Deliver, Receiver},
        timers::Timers,
    },
};

pub use crate::ended::Ended;
pub use bundle::{Bundle, JoiningLink};

/// Owner of a connection, which gets all messages that arrive. The reading task makes all calls,
/// one at a time.
pub trait Handler: Deliver + Send + 'static {
    /// Called when all messages of one read are delivered: time to flush what was forwarded.
    ///
    /// Also called when the handler [wants a pause](Deliver::wants_pause) within a read, and
    /// repeated until it wants none: the remaining messages are then delivered in order.
    ///
    /// The future completes when the source may be read again; while it waits, only this source is paused.
    fn burst_end(&mut self) -> impl Future<Output = ()> + Send;

    /// Returns true if other tasks have to run before `burst_end` is repeated.
    #[inline(always)]
    fn is_turn_over(&self) -> bool {
        true
    }

    /// Notes the counts and the memory of the receiver, which has what a read brought.
    #[inline(always)]
    fn received(&mut self, _receiver: &Receiver) {}

    /// Called when a message is dropped because it is too large, for the first time on this
    /// connection.
    fn missed_too_large(&mut self) {}

    /// Called when the connection is over. No message is delivered after this call.
    fn closed(&mut self, ended: Ended);
}

/// Parts of an established connection that its driver needs.
#[derive(Debug)]
pub struct Drive {
    /// The connected socket; adopted by the runtime on the task's own thread.
    pub stream: LinkStream,
    /// Bytes that were read behind the handshake.
    pub unread: Vec<u8>,
    /// The receiving half of the protocol.
    pub receiver: Receiver,
    /// Lease and keep-alive.
    pub timers: Timers,
    /// Sending half, shared with all senders.
    pub outbox: Arc<Outbox>,
}

/// Starts the two tasks of a connection on `runtime`.
pub fn spawn<R: Runtime, H: Handler>(runtime: &R, drive: Drive, mut handler: H) {
    let tasks = runtime.clone();
    runtime.spawn("zonda-rx", move || async move {
        let Drive {
            stream,
            unread,
            receiver,
            timers,
            outbox,
        } = drive;
        // Adopt the socket on the task's own thread.
        let (valid_until, valve) = (stream.valid_until(), stream.valve());
        let is_forgeable = stream.is_forgeable();
        let halves = stream.adopt(&tasks);
        let (read, write) = match halves {
            Ok(halves) => halves,
            Err(error) => {
                outbox.abort();
                handler.closed(Ended::Io(error.kind()));
                outbox.release();
                return;
            }
        };
        // Start the writing task, and continue as the reading task.
        let keep_alive = timers.remote_keep_alive();
        let timers = timers.steady(receiver.framing().is_bare());
        let writer = write::WriteTask::new(tasks.clone(), Arc::clone(&outbox), timers);
        let writer = writer.valid_until(valid_until);
        tasks.spawn("zonda-tx", move || writer.run(write));
        read::ReadTask::new(tasks, receiver, outbox, handler)
            .holding_by(valve)
            .forgeable(is_forgeable, keep_alive)
            .run(read, unread)
            .await;
    });
}

/// Starts the task that writes what senders could not, for batches that arrive by other links than
/// the one that it writes to. Returns the reading half of that link, which the caller has to keep
/// as long as the task runs.
///
/// # Errors
/// The errors of [`LinkStream::adopt`].
pub(crate) fn start_writing<R: Runtime>(
    runtime: &R,
    stream: LinkStream,
    outbox: Arc<Outbox>,
    timers: Timers,
) -> std::io::Result<impl Send + use<R>> {
    let (read, write) = stream.adopt(runtime)?;
    let writer = write::WriteTask::new(runtime.clone(), outbox, timers);
    runtime.spawn("zonda-tx", move || writer.run(write));
    Ok(read)
}
