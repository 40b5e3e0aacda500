// SPDX-License-Identifier: MIT OR Apache-2.0
//! The link's socket, which a sender writes to from its own thread without waiting.

use std::{
    io::{self, IoSlice},
    net::Shutdown,
    os::fd::AsFd,
    sync::Arc,
    time::Duration,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use zonda_runtime::Socket;

use crate::{
    framing::PREFIX_BYTES,
    link::{
        BacklogGauge, Coding, Flow, LinkStream, is_lost,
        non_blocking::{NonBlockingWriter, SEND_FLAGS, TlsWriter, send_now},
        send_parts,
    },
    outbox::{spent::SLICES_MAX, transmit::Transmit},
};

/// Number of batches whose slices cost little to prepare: those of a message of 256 KiB.
const FEW: usize = 4;

/// Longest time for which the peer of a link that has ended may take none of the bytes that the
/// system has still to send, megabytes of a link: a peer whose window stays shut would keep them
/// for minutes, and one that takes a few bytes now and then for hours.
const REST_STALLS_MAX: Duration = Duration::from_secs(30);

/// The link's socket, shared with the runtime that drives it, for writing from the sender's own thread without waiting.
/// Clones share it.
#[derive(Debug, Clone)]
pub struct DirectSocket(Arc<Direct>);

#[derive(Debug)]
struct Direct {
    socket: Arc<Socket>,
    coding: Coding,
}

impl DirectSocket {
    /// Duplicates the descriptor of `stream`. `None` where the platform has no way to write without
    /// waiting regardless of the descriptor's mode: there the driver makes every write.
    ///
    /// # Errors
    /// The operating system's, if it has no descriptor left.
    pub fn beside(stream: &impl AsFd) -> io::Result<Option<Self>> {
        let socket: Socket = stream.as_fd().try_clone_to_owned()?.into();
        Ok(Some(Self::coded(Arc::new(socket), Coding::Plain)))
    }

    /// Shares the descriptor of a link, with the link's coding. `None` as for
    /// [`DirectSocket::beside`].
    #[must_use]
    pub fn of(link: &LinkStream) -> Option<Self> {
        let socket = Arc::clone(link.socket());
        Some(Self::coded(socket, link.coding().clone()))
    }

    fn coded(socket: Arc<Socket>, coding: Coding) -> Self {
        Self(Arc::new(Direct { socket, coding }))
    }

    /// Returns the largest batch up to `max` bytes that fills whole segments: a last segment with a
    /// few bytes costs the peer another wake-up.
    pub(in crate::outbox) fn batch_size(&self, max: u16) -> u16 {
        let segment = self.0.socket.tcp_mss().unwrap_or(1);
        let segments = u32::from(max) / segment.max(1);
        u16::try_from(segments * segment)
            .ok()
            .filter(|whole| *whole > max / 2)
            .unwrap_or(max)
    }

    /// Returns the bytes of memory that the link's coding takes.
    pub(in crate::outbox) fn held(&self) -> usize {
        self.0.coding.held()
    }

    /// Returns the gauge of what the peer leaves unread; `None` where the system has none.
    pub(in crate::outbox) fn gauge(&self) -> Option<BacklogGauge> {
        if let Coding::Datagrams(_) | Coding::Carried(_) = &self.0.coding {
            return None;
        }
        BacklogGauge::of(&self.0.socket)
            .inspect_err(|error| tracing::debug!("what a peer leaves unread is unknown: {error}"))
            .ok()
    }

    /// Writes as much of the batches under way as the socket takes now; returns the number of
    /// bytes.
    pub(in crate::outbox) fn send(&self, transmit: &Transmit) -> io::Result<usize> {
        let socket = &self.0.socket;
        match &self.0.coding {
            Coding::Plain | Coding::Carried(_) => Self::send_plain(socket, transmit),
            Coding::Tls(session) => Self::send_encoded(transmit, |slices| {
                session.send(slices, &mut NonBlockingWriter(socket))
            }),
            Coding::Ws(session) => Self::send_encoded(transmit, |slices| {
                session.send(slices, &mut NonBlockingWriter(socket))
            }),
            Coding::Wss(session, tls) => Self::send_encoded(transmit, |slices| {
                let sink = NonBlockingWriter(socket);
                session.send(slices, &mut TlsWriter { tls, sink })
            }),
            Coding::Datagrams(flow) => Self::send_datagrams(socket, flow, transmit),
        }
    }

    fn send_plain(socket: &Socket, transmit: &Transmit) -> io::Result<usize> {
        if let Some(single) = transmit.single() {
            return socket.send_with_flags(single, SEND_FLAGS);
        }
        // Preparing the slices of many batches costs more than writing few.
        match transmit.len() {
            ..=FEW => Self::send_slices::<{ 2 * FEW }>(socket, transmit),
            _ => Self::send_slices::<SLICES_MAX>(socket, transmit),
        }
    }

    fn send_slices<const MOST: usize>(socket: &Socket, transmit: &Transmit) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); MOST];
        let count = transmit.slices(&mut slices);
        send_now(socket, &slices[..count])
    }

    fn send_encoded(
        transmit: &Transmit,
        send: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let count = transmit.slices(&mut slices);
        send_parts::<SLICES_MAX>(&mut slices[..count], send)
    }

    /// Sends each batch without its length. A datagram that is lost on the way out counts as sent.
    #[cold]
    fn send_datagrams(socket: &Socket, flow: &Flow, transmit: &Transmit) -> io::Result<usize> {
        let mut sent = 0;
        for index in 0..transmit.len() {
            let batch = transmit.datagram(index).map(IoSlice::new);
            let bytes = batch[0].len() + batch[1].len();
            if !flow.pace().permits(&batch[0]) {
                return match sent {
                    0 => Err(io::ErrorKind::WouldBlock.into()),
                    _ => Ok(sent),
                };
            }
            // Most datagrams have no second piece.
            let pieces = 1 + usize::from(!batch[1].is_empty());
            match send_now(socket, &batch[..pieces]) {
                Err(error) if !is_lost(&error) && sent == 0 => return Err(error),
                // The error is returned by the next call.
                Err(error) if !is_lost(&error) => return Ok(sent),
                Err(error) => drop(flow.note_lost(bytes, &error)),
                Ok(_) => flow.pace().note_sent(&batch[0], bytes),
            }
            sent += PREFIX_BYTES + bytes;
        }
        Ok(sent)
    }

    /// Shuts both directions of the socket down.
    pub(crate) fn shutdown(&self) {
        if let Coding::Datagrams(flow) = &self.0.coding {
            return flow.end();
        }
        // Links of other kinds than TCP leave no bytes behind that a peer could hold back.
        let _ = self.0.socket.set_tcp_user_timeout(Some(REST_STALLS_MAX));
        // The socket may be gone already; then there is nothing to shut down.
        let _ = self.0.socket.shutdown(Shutdown::Both);
    }

    /// Blocks until the socket takes bytes, is closed, or the time is over (false).
    pub(in crate::outbox) fn wait_writable(&self, left: Duration) -> bool {
        if let Coding::Datagrams(flow) = &self.0.coding
            && flow.pace().holds()
        {
            let held = flow.pace().left();
            std::thread::sleep(held.min(left));
            return held < left;
        }
        let mut fds = [PollFd::new(&self.0.socket, PollFlags::OUT)];
        let left = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        matches!(poll(&mut fds, Some(&left)), Ok(count) if count > 0)
    }

    /// Returns true if the peer's system has confirmed nearly all that was written; `None` if the
    /// connection is gone. The send buffer is made so small that the socket is writable only when
    /// it is nearly empty: no thread may write to it any more.
    pub(in crate::outbox) fn is_confirmed(&self) -> Option<bool> {
        if let Coding::Datagrams(_) = &self.0.coding {
            // No peer confirms a datagram, and what the socket has is on its way.
            return Some(true);
        }
        if let Coding::Carried(_) = &self.0.coding {
            return self.is_carried();
        }
        self.0.socket.set_send_buffer_size(1).ok()?;
        let mut fds = [PollFd::new(&self.0.socket, PollFlags::OUT)];
        poll(&mut fds, Some(&Timespec::default())).ok()?;
        let found = fds[0].revents();
        let is_gone = found.intersects(PollFlags::HUP | PollFlags::ERR);
        (!is_gone).then(|| found.contains(PollFlags::OUT))
    }
}

impl DirectSocket {
    /// Shuts down the socket that a carrier reads; the carrier closes its end once the peer has
    /// confirmed all bytes before the end.
    fn is_carried(&self) -> Option<bool> {
        let socket = &self.0.socket;
        socket.shutdown(Shutdown::Write).ok()?;
        let mut fds = [PollFd::new(socket, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).ok()?;
        Some(fds[0].revents().contains(PollFlags::HUP))
    }
}
