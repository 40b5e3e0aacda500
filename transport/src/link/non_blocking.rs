// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing to a socket without waiting for it.

use std::io::{self, IoSlice};

use zonda_runtime::Socket;

use super::tls;

/// `MSG_DONTWAIT`: the call does not wait, whatever the descriptor's own mode.
pub(crate) const SEND_FLAGS: i32 = 0x40 | 0x4000; // MSG_DONTWAIT | MSG_NOSIGNAL

/// Writes as much as the socket takes now; returns the number of bytes. A single slice is sent by
/// the faster call.
pub(crate) fn send_now(socket: &Socket, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    match slices {
        [single] => socket.send_with_flags(single, SEND_FLAGS),
        slices => socket.send_vectored_with_flags(slices, SEND_FLAGS),
    }
}

/// Writer to a socket that takes as many bytes as fit now.
pub(crate) struct NonBlockingWriter<'a>(pub(crate) &'a Socket);

impl io::Write for NonBlockingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        loop {
            match send_now(self.0, slices) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writer that encrypts its bytes for the socket. Bytes that are not reported as written have to be
/// written again unchanged.
pub(crate) struct TlsWriter<'a> {
    pub(crate) tls: &'a tls::Session,
    pub(crate) sink: NonBlockingWriter<'a>,
}

impl io::Write for TlsWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tls.send(&[IoSlice::new(bytes)], &mut self.sink)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
