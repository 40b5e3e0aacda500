// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading the fragments of a large message to the place where they belong, and letting go of such memory when no
//! large message has come for a while.

use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
    task::Poll,
    time::{Duration, Instant},
};

use zonda_runtime::{LinkRead, Runtime, RxBuf};

use crate::{driver::Handler, protocol::rx::Lent};

use super::Reading;

/// How long the memory of a large message is kept for the next one.
const KEEP: Duration = Duration::from_secs(1);

impl<R: Runtime, H: Handler> Reading<R, H> {
    /// One read to where the next bytes belong.
    pub(super) async fn read_once<L: LinkRead>(&mut self, link: &mut L) -> io::Result<usize> {
        let Some(lent) = self.receiver.lend() else {
            let buffer = self.next_buffer();
            let (result, buffer) = self.read_patiently(link, buffer).await;
            self.put_back(buffer);
            return result;
        };
        let Lent {
            bytes,
            filled,
            spare,
        } = lent;
        self.keeps_until = None;
        let (result, buffer) = link.read(RxBuf::over(bytes, filled, spare)).await;
        let (bytes, _) = buffer.into_bytes();
        self.receiver
            .give_back(bytes, *result.as_ref().unwrap_or(&0));
        result
    }

    /// Reads, and meanwhile lets go of memory that nobody has needed for a while.
    async fn read_patiently<L: LinkRead>(
        &mut self,
        link: &mut L,
        buffer: RxBuf,
    ) -> (io::Result<usize>, RxBuf) {
        if !self.receiver.defragmenter().keeps_much() {
            return link.read(buffer).await;
        }
        let now = Instant::now();
        let until = *self.keeps_until.get_or_insert(now + KEEP);
        if until <= now {
            self.receiver.defragmenter_mut().release();
            return link.read(buffer).await;
        }
        let mut reading = pin!(link.read(buffer));
        let mut over = pin!(self.runtime.sleep_until(until));
        let early = poll_fn(|context| {
            if let Poll::Ready(done) = reading.as_mut().poll(context) {
                return Poll::Ready(Some(done));
            }
            over.as_mut().poll(context).map(|()| None)
        })
        .await;
        match early {
            Some(done) => done,
            None => {
                self.receiver.defragmenter_mut().release();
                reading.await
            }
        }
    }

    /// What the last read has brought to its place: hands on the message that it completes, and puts what follows where
    /// everything else is read to.
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

    /// Lets the rest of a fragment that has begun at the end of the block be read to its place.
    pub(super) fn land(&mut self) {
        let start = self.block.0.filled().get(self.consumed..).unwrap_or(&[]);
        if self.receiver.land(start) {
            self.consumed = self.block.0.filled().len();
        }
    }
}
