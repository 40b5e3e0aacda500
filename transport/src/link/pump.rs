// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two threads for a link that is no socket: they copy its bytes between its file and a socket of
//! this process, which every runtime can drive.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Type};
use zonda_runtime::Socket;

/// Maximum bytes that are copied at once.
const CARRIED_BYTES_MAX: usize = 64 * 1024;

/// Time for the peer to take the last bytes of a link that has ended.
const GRACE: Duration = Duration::from_secs(1);

/// End of a socket pair that the threads of a link have.
#[derive(Debug, Clone)]
pub(super) struct PumpSocket(Arc<Socket>);

/// Event that [`PumpSocket::wait`] waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PumpEvent {
    /// Something to read.
    Bytes,
    /// Room to write.
    Room,
}

impl PumpSocket {
    /// Creates a socket pair: the inner end blocks, the other one does not and belongs to the link.
    /// `buffer_bytes` limits the bytes that wait in the system on the way out.
    pub(super) fn pair(buffer_bytes: Option<usize>) -> io::Result<(PumpSocket, Socket)> {
        let (near, far) = Socket::pair(Domain::UNIX, Type::STREAM, None)?;
        near.set_nonblocking(true)?;
        if let Some(bytes) = buffer_bytes {
            near.set_send_buffer_size(bytes)?;
        }
        Ok((PumpSocket(Arc::new(far)), near))
    }

    /// Waits until `file` has bytes or room, an error, or its end: true. False once no owner of the
    /// link is left; for room, only after the time that the peer has then.
    pub(super) fn wait(&self, file: &impl AsFd, wanted: PumpEvent) -> io::Result<bool> {
        let flag = match wanted {
            PumpEvent::Bytes => PollFlags::IN,
            PumpEvent::Room => PollFlags::OUT,
        };
        let mut until = None;
        loop {
            let mut fds = [
                PollFd::new(file, flag),
                PollFd::new(&*self.0, PollFlags::empty()),
            ];
            // An ended link makes every further wait for both return at once.
            let (count, left) = match until {
                None => (2, None),
                Some(until) => (1, Some(left(until))),
            };
            match poll(&mut fds[..count], left.as_ref()) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(0) => return Ok(false),
                Ok(_) => {}
            }
            if !fds[0].revents().is_empty() {
                return Ok(true);
            }
            if wanted == PumpEvent::Bytes {
                return Ok(false);
            }
            until = Some(Instant::now() + GRACE);
        }
    }

    /// Writes bytes to the link; blocks until it takes them.
    pub(super) fn give(&self, bytes: &[u8]) -> io::Result<()> {
        (&*self.0).write_all(bytes)
    }

    /// Reads bytes of the link, when there are some; 0 at its end.
    pub(super) fn take(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match (&*self.0).read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    /// Ends the link's receiving direction.
    pub(super) fn end_in(&self) {
        let _ = self.0.shutdown(Shutdown::Write);
    }

    /// Ends both directions of the link.
    pub(super) fn end(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

fn left(until: Instant) -> Timespec {
    let left = until.saturating_duration_since(Instant::now());
    Timespec {
        tv_sec: left.as_secs() as i64,
        tv_nsec: i64::from(left.subsec_nanos()),
    }
}

/// Writes everything to a non-blocking file, unless the link has ended and the peer takes nothing.
pub(super) fn write_all<F>(inner: &PumpSocket, file: &F, mut bytes: &[u8]) -> io::Result<()>
where
    F: AsFd,
    for<'a> &'a F: Write,
{
    while !bytes.is_empty() {
        match { file }.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_full(&error) => {
                if !inner.wait(file, PumpEvent::Room)? {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Starts the threads of a link that reads one file and writes another, neither of which blocks.
/// They end with the link.
///
/// # Errors
/// The errors of the system: no descriptors, no thread.
pub(super) fn carry<F>(read: F, write: F) -> io::Result<Socket>
where
    F: AsFd + Send + 'static,
    for<'a> &'a F: Read + Write,
{
    let (inner, link) = PumpSocket::pair(None)?;
    let out = inner.clone();
    start("zonda-pipe-rx", move || {
        // The link sees the end, whatever its cause.
        let _ = carry_in(&inner, &read);
        inner.end_in();
    })?;
    start("zonda-pipe-tx", move || {
        if carry_out(&out, &write).is_err() {
            out.end();
        }
    })?;
    Ok(link)
}

/// Starts a thread of this name.
pub(super) fn start(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(run)?;
    Ok(())
}

fn carry_in<F>(inner: &PumpSocket, file: &F) -> io::Result<()>
where
    F: AsFd,
    for<'a> &'a F: Read,
{
    let mut buffer = vec![0; CARRIED_BYTES_MAX];
    while inner.wait(file, PumpEvent::Bytes)? {
        match { file }.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => inner.give(&buffer[..count])?,
            Err(error) if is_nothing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn carry_out<F>(inner: &PumpSocket, file: &F) -> io::Result<()>
where
    F: AsFd,
    for<'a> &'a F: Write,
{
    let mut buffer = vec![0; CARRIED_BYTES_MAX];
    loop {
        match inner.take(&mut buffer)? {
            0 => return Ok(()),
            count => write_all(inner, file, &buffer[..count])?,
        }
    }
}

/// Returns true if a read found no bytes, and another one may.
pub(super) fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Returns true if a write found no room. A serial line blocks for a while before it returns this
/// error.
fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
