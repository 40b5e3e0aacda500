// SPDX-License-Identifier: MIT OR Apache-2.0
//! Socket of an endpoint: many datagrams in a system call, where the system supports it.

use std::io::{self, IoSliceMut};
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto::{EcnCodepoint, Transmit};
use quinn_udp::{RecvMeta, UdpSocketState};
use zonda_runtime::Socket;

use super::block_pool::BlockPool;

/// Maximum number of messages that one call receives; each is up to 64 KiB, of one datagram or of
/// several of the same length.
const MESSAGES: usize = 8;

/// Buffer size of each message.
const MESSAGE_BYTES: usize = 65_536;

/// Maximum bytes of one call, however many datagrams it is cut into. The system refuses more than
/// the payload of the largest packet of IPv4. It segments a call of one byte more than this by
/// itself, with the headers of Ethernet, IPv6 and UDP around it: a receiver in the same machine
/// then gets single datagrams, which takes twice the time.
const CALL_BYTES_MAX: usize = 65_535 - (14 + 40 + 8);

/// Handle of the socket, for the sending tasks and the receiving one.
#[derive(Debug)]
pub(super) struct UdpIo {
    socket: Socket,
    offloads: UdpSocketState,
}

impl UdpIo {
    /// Duplicates a bound socket, and makes it report the destination and the segmentation of
    /// datagrams.
    ///
    /// # Errors
    /// The errors of the system.
    pub(super) fn of(socket: &Socket) -> io::Result<UdpIo> {
        let socket = socket.try_clone()?;
        let offloads = UdpSocketState::new((&socket).into())?;
        Ok(UdpIo { socket, offloads })
    }

    /// Returns true if the network may fragment datagrams.
    pub(super) fn may_fragment(&self) -> bool {
        self.offloads.may_fragment()
    }

    /// Returns the number of datagrams of this size for one call: at most [`CALL_BYTES_MAX`] in
    /// all.
    pub(super) fn segments_max(&self, bytes: u16) -> usize {
        let fit = CALL_BYTES_MAX / usize::from(bytes).max(1);
        self.offloads.max_gso_segments().min(fit).max(1)
    }

    /// Sends packets. Those that cannot be sent for other reasons than a full socket are lost.
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

    /// Receives datagrams, as many as there is room for.
    ///
    /// # Errors
    /// The errors of the system; [`io::ErrorKind::WouldBlock`] when there is nothing.
    pub(super) fn receive(&self, mail: &mut ReceivedDatagrams) -> io::Result<()> {
        mail.count = 0;
        let mut rooms = mail.room.chunks_mut(MESSAGE_BYTES).map(IoSliceMut::new);
        let mut rooms: [IoSliceMut<'_>; MESSAGES] =
            std::array::from_fn(|_| rooms.next().unwrap_or(IoSliceMut::new(&mut [])));
        let socket = (&self.socket).into();
        mail.count = self.offloads.recv(socket, &mut rooms, &mut mail.metas)?;
        Ok(())
    }
}

/// Received datagrams. The system backs only the used part of the buffer by memory.
pub(super) struct ReceivedDatagrams {
    room: Vec<u8>,
    metas: [RecvMeta; MESSAGES],
    count: usize,
    /// Memory for copies of datagrams.
    recycled: BlockPool,
}

/// Datagrams of one length that arrived from one address.
pub(super) struct DatagramRun {
    pub(super) meta: RecvMeta,
    pub(super) bytes: BytesMut,
}

impl DatagramRun {
    /// Returns the congestion marks of the network.
    pub(super) fn ecn(&self) -> Option<EcnCodepoint> {
        let bits = self.meta.ecn.map(|ecn| ecn as u8);
        bits.and_then(EcnCodepoint::from_bits)
    }

    /// Returns the next datagram.
    pub(super) fn next(&mut self) -> Option<BytesMut> {
        let length = self.meta.stride.min(self.bytes.len());
        (length > 0).then(|| self.bytes.split_to(length))
    }
}

impl ReceivedDatagrams {
    pub(super) fn new() -> ReceivedDatagrams {
        ReceivedDatagrams {
            room: vec![0; MESSAGES * MESSAGE_BYTES],
            metas: [RecvMeta::default(); MESSAGES],
            count: 0,
            recycled: BlockPool::default(),
        }
    }

    /// Returns the datagrams of the last call.
    pub(super) fn letters(&mut self, now: Instant) -> impl Iterator<Item = DatagramRun> {
        let rooms = self.room.chunks(MESSAGE_BYTES);
        let received = self.metas[..self.count].iter().zip(rooms);
        let recycled = &mut self.recycled;
        received.map(move |(meta, room)| DatagramRun {
            meta: *meta,
            bytes: recycled.copy(&room[..meta.len], now),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::time::Duration;

    use super::super::terms::SAME_HOST_DATAGRAM;
    use super::*;

    /// The system refuses a call that is too large without an error to the link: all of its
    /// datagrams are lost.
    #[test]
    fn what_one_call_may_send_arrives() {
        let far = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let to = far.local_addr().expect("bound");
        far.set_nonblocking(true).expect("a socket");
        let far = UdpIo::of(&far.into()).expect("it is set up");
        let near = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let near = UdpIo::of(&near.into()).expect("it is set up");
        let mut mail = ReceivedDatagrams::new();
        for length in [1200, 1452, 9000, SAME_HOST_DATAGRAM, 16_384, 65_000] {
            let bytes = vec![1; near.segments_max(length) * usize::from(length)];
            let transmit = Transmit {
                destination: to,
                ecn: None,
                size: bytes.len(),
                segment_size: (bytes.len() > usize::from(length)).then_some(length.into()),
                src_ip: None,
            };
            near.send(&transmit, &bytes).expect("it is sent");
            let until = Instant::now() + Duration::from_secs(20);
            let mut missing = bytes.len();
            while missing > 0 && Instant::now() < until {
                match far.receive(&mut mail) {
                    Ok(()) => {
                        let letters = mail.letters(Instant::now());
                        missing -= letters.map(|one| one.bytes.len()).sum::<usize>();
                    }
                    Err(_) => std::thread::yield_now(),
                }
            }
            assert_eq!(missing, 0, "of datagrams of {length}");
        }
    }

    /// A call that is segmented within the machine costs twice as much there.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_one_call_sends_within_the_machine_comes_in_one_piece() {
        for host in ["127.0.0.1", "::1"] {
            let far = UdpSocket::bind((host, 0)).expect("a socket");
            let to = far.local_addr().expect("bound");
            let far = UdpIo::of(&far.into()).expect("it is set up");
            let near = UdpSocket::bind((host, 0)).expect("a socket");
            let near = UdpIo::of(&near.into()).expect("it is set up");
            let segments = near.segments_max(SAME_HOST_DATAGRAM);
            assert_eq!(segments, 4, "a quarter of a call");
            let length = usize::from(SAME_HOST_DATAGRAM);
            let bytes = vec![1; segments * length];
            let transmit = Transmit {
                destination: to,
                ecn: None,
                size: bytes.len(),
                segment_size: Some(length),
                src_ip: None,
            };
            near.send(&transmit, &bytes).expect("it is sent");
            let mut mail = ReceivedDatagrams::new();
            let until = Instant::now() + Duration::from_secs(20);
            while far.receive(&mut mail).is_err() && Instant::now() < until {
                std::thread::yield_now();
            }
            let pieces = mail.letters(Instant::now());
            let pieces: Vec<_> = pieces.map(|one| one.bytes.len()).collect();
            assert_eq!(pieces, [bytes.len()], "to {host}");
        }
    }
}
