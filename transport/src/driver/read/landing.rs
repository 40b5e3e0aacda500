// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading the fragments of a large message to their final place, and releasing such memory when no
//! large message has arrived for a while.

use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
    task::Poll,
    time::{Duration, Instant},
};

use zonda_runtime::{LinkRead, Runtime, RxBuf};

use crate::{
    clock,
    driver::Handler,
    protocol::rx::{ReadBuffer, Receiver},
};

use super::{Ended, ReadTask};

/// The time for which the memory of a large message is kept for the next one.
const KEEP: Duration = Duration::from_secs(1);

impl<R: Runtime, H: Handler> ReadTask<R, H> {
    /// Reads once, to the place of the next bytes. Frees memory during the wait that no message has
    /// needed for a while.
    ///
    /// # Errors
    /// The end of the link, as the peer was silent for too long.
    pub(super) async fn read_once<L: LinkRead>(
        &mut self,
        link: &mut L,
    ) -> Result<io::Result<usize>, Ended> {
        let mut bound = self.bound();
        let lent = self.receiver.lend();
        let lands = lent.is_some();
        let (buffer, keeps_until) = match lent {
            Some(ReadBuffer {
                bytes,
                filled,
                spare,
            }) => (RxBuf::over(bytes, filled, spare), None),
            None => {
                let until = release_unneeded(&mut self.receiver, &mut self.keeps_until);
                (self.next_buffer(), until)
            }
        };
        let read = {
            let runtime = self.runtime.clone();
            // Boxed, because it is rarely needed and would make every reading task larger.
            let mut over = keeps_until.map(|until| Box::pin(runtime.sleep_until(until)));
            let mut reading = pin!(link.read(buffer));
            poll_fn(|context| {
                let done = reading.as_mut().poll(context);
                if let Poll::Ready(read) = done {
                    return Poll::Ready(Ok(read));
                }
                self.turn.waited();
                if let Poll::Ready(ended) = self.poll_silence(&mut bound, context) {
                    return Poll::Ready(Err(ended));
                }
                while let Some(sleep) = &mut over
                    && sleep.as_mut().poll(context).is_ready()
                {
                    let until = release_unneeded(&mut self.receiver, &mut self.keeps_until);
                    over = until.map(|until| Box::pin(runtime.sleep_until(until)));
                }
                Poll::Pending
            })
            .await
        };
        let (result, buffer) = read?;
        if lands {
            self.keeps_until = None;
            let received = *result.as_ref().unwrap_or(&0);
            self.receiver.give_back(buffer.into_bytes().0, received);
        } else {
            self.put_back(buffer);
        }
        Ok(result)
    }

    /// Delivers the message that the last read has completed in its place, and moves the bytes
    /// behind it to the block.
    pub(super) fn deliver_landed(&mut self) {
        if !self.receiver.is_landing() {
            return;
        }
        let mut buffer = self.next_buffer();
        self.receiver.landed(&mut self.handler, |rest| {
            buffer.spare_mut()[..rest.len()].copy_from_slice(rest);
            buffer.advance(rest.len());
        });
        self.put_back(buffer);
    }

    /// Directs the next reads to the place of a fragment that has begun at the end of the block.
    pub(super) fn land(&mut self) {
        let start = self.block.0.filled().get(self.consumed..).unwrap_or(&[]);
        if self.receiver.land(start) {
            self.consumed = self.block.0.filled().len();
        }
    }
}

/// Frees the memory of large messages that is not needed any more. Returns the time of the next look, if some is left.
fn release_unneeded(receiver: &mut Receiver, keeps_until: &mut Option<Instant>) -> Option<Instant> {
    if !receiver.defragmenter().keeps_much() {
        return None;
    }
    let now = clock::now();
    let until = *keeps_until.get_or_insert(now + KEEP);
    if until > now {
        return Some(until);
    }
    receiver.defragmenter_mut().release();
    None
}
