// SPDX-License-Identifier: MIT OR Apache-2.0
//! The socket of an endpoint: many datagrams in a system call, where the system has that.

use std::io::{self, IoSliceMut};

use bytes::BytesMut;
use quinn_proto::{EcnCodepoint, Transmit};
use quinn_udp::{RecvMeta, UdpSocketState};
use zonda_runtime::Socket;

/// Messages that are taken in one call; each is up to 64 KiB, of one datagram or of several of the same length.
const MESSAGES: usize = 8;

/// Room for each of them.
const MESSAGE_BYTES: usize = 65_536;

/// A handle of the socket, for those who send and the one who receives.
#[derive(Debug)]
pub(super) struct Post {
    socket: Socket,
    offloads: UdpSocketState,
}

impl Post {
    /// Duplicates a bound socket, and has it say where datagrams were sent to and how they are cut.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn of(socket: &Socket) -> io::Result<Post> {
        let socket = socket.try_clone()?;
        let offloads = UdpSocketState::new((&socket).into())?;
        Ok(Post { socket, offloads })
    }

    /// Whether the network may cut what is sent.
    pub(super) fn may_fragment(&self) -> bool {
        self.offloads.may_fragment()
    }

    /// How many datagrams the system takes in one call.
    pub(super) fn segments_max(&self) -> usize {
        self.offloads.max_gso_segments()
    }

    /// Sends what was made for the network. What cannot be sent for other reasons than a full socket is lost.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] while the socket is full.
    pub(super) fn send(&self, transmit: &Transmit, bytes: &[u8]) -> io::Result<()> {
        let out = quinn_udp::Transmit {
            destination: transmit.destination,
            ecn: transmit
                .ecn
                .and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8)),
            contents: &bytes[..transmit.size],
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        };
        self.offloads.send((&self.socket).into(), &out)
    }

    /// Takes what has come, as much as there is room for.
    ///
    /// # Errors
    /// Those of the system; [`io::ErrorKind::WouldBlock`] when there is nothing.
    pub(super) fn receive(&self, mail: &mut Mail) -> io::Result<()> {
        mail.count = 0;
        let mut rooms = mail.room.chunks_mut(MESSAGE_BYTES).map(IoSliceMut::new);
        let mut rooms: [IoSliceMut<'_>; MESSAGES] =
            std::array::from_fn(|_| rooms.next().unwrap_or(IoSliceMut::new(&mut [])));
        let socket = (&self.socket).into();
        mail.count = self.offloads.recv(socket, &mut rooms, &mut mail.metas)?;
        Ok(())
    }
}

/// What was received. The system gives memory only to what is used of it.
pub(super) struct Mail {
    room: Vec<u8>,
    metas: [RecvMeta; MESSAGES],
    count: usize,
}

/// Datagrams of one length that came from one address.
pub(super) struct Letter {
    pub(super) meta: RecvMeta,
    pub(super) bytes: BytesMut,
}

impl Letter {
    /// How the network marked them.
    pub(super) fn ecn(&self) -> Option<EcnCodepoint> {
        let bits = self.meta.ecn.map(|ecn| ecn as u8);
        bits.and_then(EcnCodepoint::from_bits)
    }

    /// The next datagram.
    pub(super) fn next(&mut self) -> Option<BytesMut> {
        let length = self.meta.stride.min(self.bytes.len());
        (length > 0).then(|| self.bytes.split_to(length))
    }
}

impl Mail {
    pub(super) fn new() -> Mail {
        Mail {
            room: vec![0; MESSAGES * MESSAGE_BYTES],
            metas: [RecvMeta::default(); MESSAGES],
            count: 0,
        }
    }

    /// What came with the last call.
    pub(super) fn letters(&self) -> impl Iterator<Item = Letter> {
        let rooms = self.room.chunks(MESSAGE_BYTES);
        let received = self.metas[..self.count].iter().zip(rooms);
        received.map(|(meta, room)| Letter {
            meta: *meta,
            bytes: room[..meta.len].into(),
        })
    }
}
