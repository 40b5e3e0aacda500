// SPDX-License-Identifier: MIT OR Apache-2.0
//! Serial lines: `serial/DEVICE`, one link at a time. A frame is a batch; a broken frame is lost
//! and not repeated.
//!
//! Unlike in the reference, a link survives a broken frame, and an opener asks again when no answer
//! arrives.

mod frames;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use serial2::{CharSize, FlowControl, Parity, SerialPort, Settings, StopBits};
use socket2::{Domain, Type};
use zonda_codec::Endpoint;
use zonda_runtime::{Runtime, Socket};

use self::frames::{Flags, FrameFault, Frames, frame};
use super::handed_sockets::HandedSockets;
use super::pump::{PumpEvent, PumpSocket, is_nothing, start, write_all};
use super::{
    BoundSocket, ConnectedSocket, EndpointProblem, LinkAddress, LinkFailure, LinkParameters,
    Protocol, ServerHandshake, option,
};
use crate::log_limit::LogLimit;
use crate::sync::Mutex;

/// Longest batch.
pub(crate) const CONTENT_BYTES_MAX: u16 = frames::CONTENT_BYTES_MAX as u16;

/// Maximum bytes of one read of the line.
const READ_BYTES_MAX: usize = 4096;

/// Bytes that may wait for the line in the system in addition to those in the line's own buffer:
/// few, as an urgent message waits for them.
const WAITING_BYTES_MAX: usize = 4096;

/// Poll interval for an answer of the listener.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Time without an answer after which to ask again: the request may be lost, or the line not be
/// open at the other end yet.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Interval of attempts to reopen a line that cannot be opened any more, as when its plug was
/// pulled.
const REOPEN_EVERY: Duration = Duration::from_secs(1);

/// Options of an endpoint for its line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    device: String,
    baud_rate: u32,
    is_exclusive: bool,
    /// Wait after the end of the previous link.
    pause: Duration,
    /// Set if a listener opens the line anew for each link.
    is_released: bool,
}

impl Line {
    fn of(endpoint: &Endpoint) -> Result<Line, EndpointProblem> {
        let device = endpoint.address().as_str();
        if device.is_empty() || device.ends_with('/') {
            return Err(EndpointProblem::Path {
                kind: "serial",
                path: device.to_owned(),
                what: "is no device",
            });
        }
        // Parsers of the options.
        let flag = |key: &'static str| {
            let found = option(endpoint, key, "true or false", |value| value.parse().ok());
            found.map(|found: Option<bool>| found.unwrap_or(true))
        };
        let baud_rate = option(
            endpoint,
            "baudrate",
            "bits in a second, such as 115200",
            |value| value.parse().ok().filter(|rate| *rate > 0),
        );
        let pause = option(endpoint, "tout", "a number of microseconds", |value| {
            value.parse().ok()
        });
        // Defaults are those of the reference.
        Ok(Line {
            device: device.to_owned(),
            baud_rate: baud_rate?.unwrap_or(9600),
            is_exclusive: flag("exclusive")?,
            pause: Duration::from_micros(pause?.unwrap_or(50_000)),
            is_released: flag("release_on_close")?,
        })
    }

    /// Opens the line with 8 bits, no parity, one stop bit and no flow control, and discards the
    /// bytes in its buffers.
    fn open(&self) -> io::Result<SerialLine> {
        let port = SerialPort::open(&self.device, |mut settings: Settings| {
            settings.set_raw();
            settings.set_baud_rate(self.baud_rate)?;
            settings.set_char_size(CharSize::Bits8);
            settings.set_parity(Parity::None);
            settings.set_stop_bits(StopBits::One);
            settings.set_flow_control(FlowControl::None);
            Ok(settings)
        })?;
        if self.is_exclusive {
            // The lock excludes processes that the system would let in all the same.
            flock(&port, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error
                .kind()
            {
                io::ErrorKind::WouldBlock => io::ErrorKind::ResourceBusy.into(),
                _ => io::Error::from(error),
            })?;
            rustix::termios::ioctl_tiocexcl(&port)?;
        }
        port.discard_buffers()?;
        Ok(SerialLine {
            port,
            writing: Mutex::default(),
        })
    }

    fn address(&self) -> LinkAddress {
        LinkAddress::named(Protocol::Serial, &self.device)
    }

    fn refused(&self, error: io::Error) -> LinkFailure {
        LinkFailure::Refused(vec![(self.address(), error.into())])
    }
}

/// Checks that this process may open the device of an endpoint, without opening it: that would change
/// the state of the line.
pub(super) fn try_device(endpoint: &Endpoint) -> Result<(), LinkFailure> {
    let line = Line::of(endpoint)?;
    let access = rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK;
    let may_open = rustix::fs::access(&line.device, access);
    may_open.map_err(|error| line.refused(error.into()))
}

pub(super) fn check(endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    Line::of(endpoint).map(drop)
}

/// Open line.
#[derive(Debug)]
struct SerialLine {
    port: SerialPort,
    /// Lock held while a frame is written, as two threads write.
    writing: Mutex<()>,
}

impl SerialLine {
    /// Sends a frame without content.
    fn say(&self, flags: Flags) -> io::Result<()> {
        let mut line = Vec::new();
        frame(flags, &[], &mut line);
        let _writing = self.writing.lock();
        self.port.write_all(&line)
    }

    /// Reads the bytes that have arrived.
    fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        match self.port.read(into) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(0),
            Err(error) if is_nothing(&error) => Ok(0),
            result => result,
        }
    }

    /// Returns true if there are bytes to read, or an error.
    fn is_ready(&self) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.port, PollFlags::IN)];
        Ok(poll(&mut fds, Some(&Timespec::default()))? > 0)
    }
}

/// Requests a link from the other end of the line, until it confirms.
pub(super) async fn connect<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<ConnectedSocket, LinkFailure> {
    let line = Line::of(terms.endpoint)?;
    let refused = |error| line.refused(error);
    let port = line.open().map_err(refused)?;
    let mut frames = Frames::default();
    let mut ask_at = Instant::now();
    // Request a link until the other end confirms, within the time.
    loop {
        let now = Instant::now();
        if now >= terms.deadline {
            return Err(LinkFailure::Expired);
        }
        if now >= ask_at {
            port.say(Flags::INIT).map_err(refused)?;
            ask_at = now + ASK_AGAIN;
        }
        // Poll the line until it has bytes.
        if !port.is_ready().map_err(refused)? {
            let next = ask_at.min(now + LOOK_EVERY).min(terms.deadline);
            runtime.sleep_until(next).await;
            continue;
        }
        match answer(&port, &mut frames).map_err(refused)? {
            Some(Answer::Accepted) => break,
            Some(Answer::Reset) => ask_at = Instant::now() + line.pause,
            None => {}
        }
    }
    // Start the threads of the link.
    let stream = carry(port, frames, &line.device).map_err(refused)?;
    Ok(ConnectedSocket {
        stream: stream.into(),
        local: line.address(),
        remote: line.address(),
    })
}

/// Answer of the other end to a request.
enum Answer {
    Accepted,
    Reset,
}

fn answer(port: &SerialLine, frames: &mut Frames) -> io::Result<Option<Answer>> {
    let mut bytes = [0; READ_BYTES_MAX];
    let count = port.read(&mut bytes)?;
    let mut found = None;
    frames.take(&bytes[..count], |one| match one {
        Ok((flags, _)) if flags.has(Flags::ACCEPTED) => found = Some(Answer::Accepted),
        Ok((flags, _)) if flags.has(Flags::RESET) => found = Some(Answer::Reset),
        // Rest of an earlier link.
        Ok(_) | Err(_) => {}
    });
    Ok(found)
}

/// Starts the threads of a requested link. They end with it.
fn carry(port: SerialLine, frames: Frames, device: &str) -> io::Result<Socket> {
    let (inner, link) = PumpSocket::pair(Some(WAITING_BYTES_MAX))?;
    let port = Arc::new(port);
    let (sender, out) = (Arc::clone(&port), inner.clone());
    let device = device.to_owned();
    start("zonda-serial-rx", move || {
        carry_in(&inner, &port, frames, &device);
    })?;
    start("zonda-serial-tx", move || carry_out(&out, &sender))?;
    Ok(link)
}

/// Passes frames from the line to the link, until one of them ends; then the other does.
fn carry_in(inner: &PumpSocket, port: &SerialLine, mut frames: Frames, device: &str) {
    let broken = LogLimit::default();
    let mut bytes = [0; READ_BYTES_MAX];
    let mut batches = Vec::new();
    loop {
        let read = inner
            .wait(&port.port, PumpEvent::Bytes)
            .and_then(|is_ready| match is_ready {
                true => port.read(&mut bytes).map(Some),
                false => Ok(None),
            });
        let count = match read {
            Ok(Some(count)) => count,
            // No owner of the link is left.
            Ok(None) => return,
            Err(error) => {
                tracing::debug!("{device}: the line has ended: {error}");
                return inner.end();
            }
        };
        let mut is_over = false;
        frames.take(&bytes[..count], |one| match one {
            Ok((flags, content)) => is_over |= !batch(flags, content, &mut batches),
            Err(reason) => note_broken(device, reason, &broken),
        });
        if inner.give(&batches).is_err() {
            return;
        }
        batches.clear();
        if is_over {
            // The other end restarts, and asks again.
            let _ = port.say(Flags::RESET);
            return inner.end();
        }
    }
}

/// Appends a batch with its length; false if the other end has restarted, or requests a restart of
/// this one.
fn batch(flags: Flags, content: &[u8], batches: &mut Vec<u8>) -> bool {
    if flags.has(Flags::ACCEPTED) {
        // The other end has answered twice, as it was asked twice.
        return true;
    }
    if flags.has(Flags::INIT) || flags.has(Flags::RESET) {
        return false;
    }
    if !content.is_empty() {
        crate::framing::frame(content, batches);
    }
    true
}

fn note_broken(device: &str, reason: FrameFault, limit: &LogLimit) {
    if let Some(left_out) = limit.admit(Instant::now()) {
        tracing::warn!(
            "{device}: a frame is lost, {reason}; is the line free of other text, and the baud rate the same?{left_out}"
        );
    }
}

/// Writes the link's batches to the line.
fn carry_out(inner: &PumpSocket, port: &SerialLine) {
    let mut batch = vec![0; frames::CONTENT_BYTES_MAX];
    let mut line = Vec::new();
    while let Ok(Some(length)) = take_batch(inner, &mut batch) {
        line.clear();
        frame(Flags::DATA, &batch[..length], &mut line);
        let _writing = port.writing.lock();
        if write_all(inner, &port.port, &line).is_err() {
            return inner.end();
        }
    }
}

/// Returns the next batch; `None` at the end of the link.
fn take_batch(inner: &PumpSocket, into: &mut [u8]) -> io::Result<Option<usize>> {
    let mut length = [0; 2];
    if !fill(inner, &mut length)? {
        return Ok(None);
    }
    let length = usize::from(u16::from_le_bytes(length));
    // Both ends agreed on no longer batch.
    let batch = into.get_mut(..length).ok_or(io::ErrorKind::InvalidData)?;
    Ok(fill(inner, batch)?.then_some(length))
}

fn fill(inner: &PumpSocket, mut into: &mut [u8]) -> io::Result<bool> {
    while !into.is_empty() {
        match inner.take(into)? {
            0 => return Ok(false),
            count => into = &mut into[count..],
        }
    }
    Ok(true)
}

/// Opens the line, and accepts requests for a link on a thread.
pub(super) fn bind<R: Runtime>(
    _runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<Vec<BoundSocket>, LinkFailure> {
    let line = Line::of(terms.endpoint)?;
    let bound = listen(line.clone()).map_err(|error| line.refused(error))?;
    Ok(vec![bound])
}

fn listen(line: Line) -> io::Result<BoundSocket> {
    let address = line.address();
    let port = line.open()?;
    let (handed, socket) = HandedSockets::new()?;
    let (stop, stopped) = Socket::pair(Domain::UNIX, Type::STREAM, None)?;
    let desk = SerialListener {
        line,
        stopped,
        handed: Arc::clone(&handed),
        failed: LogLimit::new(),
    };
    start("zonda-serial", move || desk.serve(port))?;
    Ok(BoundSocket {
        socket,
        address,
        belongings: Some(Box::new(stop)),
        entrance: ServerHandshake::Handed(handed),
    })
}

/// State of a listener's thread.
struct SerialListener {
    line: Line,
    stopped: Socket,
    handed: Arc<HandedSockets>,
    failed: LogLimit,
}

impl SerialListener {
    /// Serves one link after the other, until the listener is gone and the last link has ended.
    fn serve(self, port: SerialLine) {
        let mut port = Some(Arc::new(port));
        loop {
            // Open the line, or wait and try again.
            let Some(open) = port.take().or_else(|| self.line.open().ok().map(Arc::new)) else {
                match self.wait_for_stop() {
                    true => return,
                    false => continue,
                }
            };
            match self.meet(&open) {
                Ok(Some(frames)) => {
                    // Serve a link until its end.
                    let device = &self.line.device;
                    if let Err(error) = self.have_link(&open, frames)
                        && let Some(left_out) = self.failed.admit(Instant::now())
                    {
                        tracing::warn!("{device}: there is no link: {error}{left_out}");
                    }
                    port = Some(open).filter(|_| !self.line.is_released);
                }
                Ok(None) => return,
                Err(error) => {
                    // Reopen a line that has failed.
                    let device = &self.line.device;
                    if let Some(left_out) = self.failed.admit(Instant::now()) {
                        tracing::warn!(
                            "{device}: the line has ended, and is opened again: {error}{left_out}"
                        );
                    }
                    drop(open);
                    if self.wait_for_stop() {
                        return;
                    }
                }
            }
        }
    }

    /// Waits for a while; true when the listener is gone.
    fn wait_for_stop(&self) -> bool {
        let wait = Timespec {
            tv_sec: REOPEN_EVERY.as_secs() as i64,
            tv_nsec: 0,
        };
        let mut fds = [PollFd::new(&self.stopped, PollFlags::IN)];
        matches!(poll(&mut fds, Some(&wait)), Ok(1..))
    }

    /// Waits for a node that requests a link; `None` when the listener is gone.
    fn meet(&self, port: &SerialLine) -> io::Result<Option<Frames>> {
        let mut frames = Frames::default();
        let mut bytes = [0; READ_BYTES_MAX];
        loop {
            // Wait for bytes, or for the stop.
            let mut fds = [
                PollFd::new(&self.stopped, PollFlags::IN),
                PollFd::new(&port.port, PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => continue,
                result => result?,
            };
            if !fds[0].revents().is_empty() {
                return Ok(None);
            }
            // Look for a request among the frames.
            let count = port.read(&mut bytes)?;
            let mut is_asked = false;
            frames.take(&bytes[..count], |one| {
                is_asked |= one.is_ok_and(|(flags, _)| flags == Flags::INIT);
            });
            if is_asked {
                port.say(Flags::ACCEPTED)?;
                return Ok(Some(frames));
            }
        }
    }

    /// Serves a link until its end.
    fn have_link(&self, port: &Arc<SerialLine>, frames: Frames) -> io::Result<()> {
        let (inner, link) = PumpSocket::pair(Some(WAITING_BYTES_MAX))?;
        let (sender, out) = (Arc::clone(port), inner.clone());
        let name = "zonda-serial-tx".to_owned();
        let writer = std::thread::Builder::new().name(name);
        let writer = writer.spawn(move || carry_out(&out, &sender))?;
        self.handed.hand(link);
        carry_in(&inner, port, frames, &self.line.device);
        // The last bytes of this link precede the next link.
        let _ = writer.join();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
