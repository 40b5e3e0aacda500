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
pub(crate) fn send(socket: &Socket, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    match slices {
        [single] => socket.send_with_flags(single, FLAGS),
        slices => socket.send_vectored_with_flags(slices, FLAGS),
    }
}
