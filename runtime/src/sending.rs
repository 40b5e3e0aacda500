// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing to a socket without a signal for a peer that is gone: an error says it.

use std::io::{self, IoSlice};

use socket2::Socket;

#[cfg(all(unix, not(target_vendor = "apple")))]
const FLAGS: i32 = rustix::net::SendFlags::NOSIGNAL.bits() as i32;
/// There an option of the socket keeps it from raising signals, or there are none.
#[cfg(not(all(unix, not(target_vendor = "apple"))))]
const FLAGS: i32 = 0;

/// Gives the socket what it takes; tells how many bytes that is.
#[cfg(any(feature = "tokio", feature = "smol", feature = "async-std"))]
pub(crate) fn send(socket: &Socket, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    send_with(socket, slices, FLAGS)
}

/// The same without waiting, also where the socket is one that blocks.
#[cfg(all(feature = "uring", target_os = "linux"))]
pub(crate) fn send_now(socket: &Socket, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    const NOW: i32 = FLAGS | rustix::net::SendFlags::DONTWAIT.bits() as i32;
    send_with(socket, slices, NOW)
}

fn send_with(socket: &Socket, slices: &[IoSlice<'_>], flags: i32) -> io::Result<usize> {
    match slices {
        [single] => socket.send_with_flags(single, flags),
        slices => socket.send_vectored_with_flags(slices, flags),
    }
}
