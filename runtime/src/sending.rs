// SPDX-License-Identifier: MIT OR Apache-2.0
//! Socket writes without SIGPIPE: a closed peer is reported as an error.

use std::io::{self, IoSlice};

use socket2::Socket;

#[cfg(all(unix, not(target_vendor = "apple")))]
const FLAGS: i32 = rustix::net::SendFlags::NOSIGNAL.bits() as i32;
/// No flag here: a socket option suppresses the signal, or the system has no such signal.
#[cfg(not(all(unix, not(target_vendor = "apple"))))]
const FLAGS: i32 = 0;

/// Writes as many bytes as the socket takes; returns their number.
#[cfg(any(feature = "tokio", feature = "smol", feature = "async-std"))]
pub(crate) fn send(socket: &Socket, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    send_with(socket, slices, FLAGS)
}

/// Writes without waiting, even on a blocking socket; returns the number of bytes taken.
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
