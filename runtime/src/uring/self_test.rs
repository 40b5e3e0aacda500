// SPDX-License-Identifier: MIT OR Apache-2.0
//! A test of the ring's operations: made with real messages, not derived from a kernel version.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use compio::buf::{BufResult, IntoInner};
use compio::driver::op::{Interest, PollOnce, Recv, Send};
use compio::driver::{Key, OpCode, PushEntry};
use rustix::net::{RecvFlags, SendFlags};

use super::ring::Ring;

/// The time limit of the test's messages.
const PATIENCE: Duration = Duration::from_secs(2);

/// A wait that must not end early, or the thread would spin.
const WAIT: Duration = Duration::from_millis(2);

const MESSAGE: &[u8] = b"zonda";

/// Sends a message through the ring to a reader that waits for it, waits for a socket to take
/// bytes, and waits for a timeout.
///
/// # Errors
/// Returns the failed step, with the system's error where there is one.
pub(super) fn run(ring: &mut Ring) -> io::Result<()> {
    let (near, far) = UnixStream::pair()?;
    let (near, far) = (Arc::new(near), Arc::new(far));
    let buffer = vec![0; MESSAGE.len()].into_boxed_slice();
    let read = ring.push(Recv::new(far, buffer, RecvFlags::empty()));
    // the reader waits before there are bytes to read
    ring.poll(Some(Duration::ZERO))?;
    // write, and wait for the message and for room to write
    let write = ring.push(Send::new(near.clone(), MESSAGE, SendFlags::NOSIGNAL));
    let writable = ring.push(PollOnce::new(near, Interest::Writable));
    let (written, _) = finish(ring, write)?;
    let (received, read) = finish(ring, read)?;
    finish(ring, writable)?;
    if written != MESSAGE.len() || received != written || *read.into_inner() != *MESSAGE {
        return Err(io::Error::other("a message did not arrive as it was sent"));
    }
    // a timeout must not end early
    let started = Instant::now();
    // the first wait may end early because of an event that came with the messages
    for _ in 0..2 {
        ring.poll(Some(WAIT))?;
    }
    if started.elapsed() < WAIT {
        return Err(io::Error::other("its waits end before their time"));
    }
    Ok(())
}

fn finish<T: OpCode + std::marker::Send + 'static>(
    ring: &mut Ring,
    mut entry: PushEntry<Key<T>, BufResult<usize, T>>,
) -> io::Result<(usize, T)> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let key = match entry {
            PushEntry::Ready(BufResult(result, op)) => return Ok((result?, op)),
            PushEntry::Pending(key) => key,
        };
        if Instant::now() >= deadline {
            ring.abandon(key, None);
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "an operation did not complete",
            ));
        }
        ring.poll(Some(Duration::from_millis(10)))?;
        entry = ring.pop(key, Waker::noop());
    }
}
