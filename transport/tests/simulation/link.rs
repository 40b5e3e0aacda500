// SPDX-License-Identifier: MIT OR Apache-2.0
//! Socket of a simulated side, in its three forms: the one that senders write to, and the two
//! halves of the driver.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::{Duration, Instant};

use zonda_runtime::{LinkRead, LinkWrite, RxBuf, Segments};

use crate::clock;
use crate::outbox::SimulatedSocket;

use super::executor::Executor;
use super::pipe::SharedPipe;

/// Receiving half of a side.
pub struct Reader(pub SharedPipe);

impl LinkRead for Reader {
    async fn read(&mut self, mut buffer: RxBuf) -> (io::Result<usize>, RxBuf) {
        let count = poll_fn(|context| {
            let mut pipe = self.0.lock();
            match pipe.read(clock::now(), buffer.spare_mut()) {
                Some(count) => Poll::Ready(count),
                None => {
                    pipe.await_reading(context.waker());
                    Poll::Pending
                }
            }
        })
        .await;
        buffer.advance(count);
        (Ok(count), buffer)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.lock().abandon();
    }
}

/// Sending half of a side.
pub struct Writer(pub SharedPipe);

impl LinkWrite for Writer {
    async fn write_all<S: Segments>(&mut self, segments: S) -> (io::Result<()>, S) {
        let all = (0..segments.count()).map(|index| segments.segment(index));
        let (bytes, mut at) = (all.collect::<Vec<_>>().concat(), 0);
        while at < bytes.len() {
            let _ = self.writable().await;
            match self.0.lock().write(clock::now(), &bytes[at..]) {
                Ok(count) => at += count,
                Err(error) => return (Err(error), segments),
            }
        }
        (Ok(()), segments)
    }

    async fn writable(&mut self) -> io::Result<()> {
        poll_fn(|context| {
            let mut pipe = self.0.lock();
            if pipe.is_writable(clock::now()) {
                return Poll::Ready(Ok(()));
            }
            pipe.await_writing(context.waker());
            Poll::Pending
        })
        .await
    }

    async fn shutdown(&mut self) -> io::Result<()> {
        self.0.lock().hang_up(clock::now());
        Ok(())
    }
}

/// Socket that senders write to by themselves.
pub struct Socket {
    pub out: SharedPipe,
    pub back: SharedPipe,
    /// Tasks to run while a sender is in a call of the socket, like other threads. Only where no
    /// connection ends during the call: the end waits for the writer.
    pub beside: Option<Beside>,
}

/// Concurrent work while a sender is in a call of the socket.
#[derive(Clone)]
pub struct Beside {
    pub executor: Executor,
    pub pipes: [SharedPipe; 2],
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").finish_non_exhaustive()
    }
}

impl SimulatedSocket for Socket {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(beside) = &self.beside {
            beside.executor.run_beside(bytes.len() as u64 % 4);
        }
        let result = self.out.lock().write(clock::now(), bytes);
        if let Some(beside) = &self.beside {
            beside.executor.run_beside(bytes.len() as u64 % 3);
        }
        result
    }

    fn wait_writable(&self, left: Duration) -> bool {
        let until = clock::now() + left;
        let Some(beside) = &self.beside else {
            return self.out.lock().is_writable(clock::now());
        };
        while !self.out.lock().is_writable(clock::now()) {
            if clock::now() >= until {
                return false;
            }
            beside.pass(until, &self.out);
        }
        true
    }

    fn is_confirmed(&self) -> Option<bool> {
        Some(self.out.lock().is_confirmed())
    }

    fn shutdown(&self) {
        self.out.lock().hang_up(clock::now());
        self.back.lock().abandon();
    }
}

impl Beside {
    /// Advances the time to the next event, at most to `until`.
    fn pass(&self, until: Instant, waits_for: &SharedPipe) {
        let events = self
            .pipes
            .iter()
            .filter_map(|pipe| pipe.lock().next_event(false));
        let room = waits_for.lock().next_room();
        let next = events.chain(self.executor.next_timer()).chain(room).min();
        let now = clock::now().max(next.map_or(until, |next| next.min(until)));
        self.executor.turn(now);
        self.pipes.iter().for_each(|pipe| pipe.lock().wake(now));
        self.executor.run_beside(u64::MAX);
    }
}
