// SPDX-License-Identifier: MIT OR Apache-2.0
//! TLS state of one link, between its socket and the bytes of the connection.
//!
//! Reading and writing share one [`rustls::Connection`], as TLS requires (a received key update
//! changes the sending state); the lock is held for the encryption of a [part](crate::link::parts)
//! at most, and never during a wait for a socket.

use std::io::{self, IoSlice, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use rustls::Connection;
use zonda_runtime::{Cursor, LinkRead, LinkWrite, RxBuf, Segments};

use super::{explain, names, validity};
use crate::link::parts::{LAST_BYTES, first_part};
use crate::link::raw::Raw;
use crate::protocol::certificate::CertificateNames;
use crate::sync::Mutex;

/// Maximum number of slices that are examined for a part.
const SLICES: usize = 16;

/// TLS state of a link.
pub struct Session {
    state: Mutex<Records>,
    /// Time at which the link ends because the peer's certificate expires.
    valid_until: OnceLock<SystemTime>,
    /// Size of the buffer that the link is read into.
    reads: AtomicUsize,
}

struct Records {
    tls: Connection,
    /// Set while records of a [`Session::send`] wait for the socket, and one of the bytes in them
    /// is not reported as sent.
    owes: bool,
    /// Bytes that were read and not decrypted; absent while a runtime has the link.
    records: Raw,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(mut tls: Connection) -> Arc<Self> {
        // The parts bound the bytes that are encrypted at once.
        tls.set_buffer_limit(None);
        let state = Records {
            tls,
            owes: false,
            records: Raw::default(),
        };
        Arc::new(Session {
            state: Mutex::new(state),
            valid_until: OnceLock::new(),
            reads: AtomicUsize::new(0),
        })
    }

    /// Makes the link end when the first of the peer's certificates expires.
    pub(super) fn end_with_certificate(&self) {
        let shown = self.with(|tls| tls.peer_certificates().and_then(validity::first_end));
        if let Some(end) = shown {
            self.valid_until.get_or_init(|| end);
        }
    }

    /// Returns the time at which the link ends because the peer's certificate expires.
    pub(in crate::link) fn valid_until(&self) -> Option<SystemTime> {
        self.valid_until.get().copied()
    }

    /// Returns the names in the peer's certificate.
    pub(in crate::link) fn certificate(&self) -> Option<CertificateNames> {
        self.with(|tls| tls.peer_certificates().and_then(names::names))
    }

    /// Returns the approximate bytes of its record buffers: read and not decrypted, and encrypted
    /// and not sent.
    pub(in crate::link) fn held(&self) -> usize {
        let owes = self.state.try_lock().is_some_and(|state| state.owes);
        self.reads.load(Ordering::Relaxed) + if owes { LAST_BYTES } else { 0 }
    }

    /// Calls `look` with the connection.
    pub(super) fn with<T>(&self, look: impl FnOnce(&mut Connection) -> T) -> T {
        look(&mut self.state.lock().tls)
    }

    /// Encrypts the front of `slices` and writes it to `sink`, as far as that takes it without
    /// waiting. Returns the number of bytes that count as sent.
    ///
    /// Encrypted bytes have to be sent unchanged, whatever the owner of the bytes decides later.
    /// While records wait for the socket, one byte therefore counts as unsent, which keeps its
    /// batch under way; the next call sends the records, and then counts the byte.
    ///
    /// # Errors
    /// The errors of the sink; [`io::ErrorKind::WouldBlock`] while records wait.
    #[cfg(target_os = "linux")]
    pub(crate) fn send(&self, slices: &[IoSlice<'_>], sink: &mut impl Write) -> io::Result<usize> {
        let mut state = self.state.lock();
        state.write_out(sink)?;
        if std::mem::take(&mut state.owes) {
            return Ok(1);
        }
        let count = state.tls.writer().write_vectored(slices)?;
        match state.write_out(sink) {
            Ok(()) => Ok(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && count > 0 => {
                state.owes = true;
                match count - 1 {
                    0 => Err(error),
                    sent => Ok(sent),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Returns true if the next byte of the link is already encrypted, in records that are sent
    /// first.
    fn take_owed(&self) -> bool {
        std::mem::take(&mut self.state.lock().owes)
    }

    /// Takes the undecrypted bytes, for the task that reads from now on.
    pub(super) fn take_unread(&self) -> Raw {
        std::mem::take(&mut self.state.lock().records)
    }

    /// Keeps the undecrypted bytes, for the task that reads next.
    pub(super) fn keep_unread(&self, records: Raw) {
        self.state.lock().records = records;
    }

    /// Encrypts all of the slices; the records are returned by [`Session::take_records`].
    fn seal(&self, slices: &[IoSlice<'_>]) -> io::Result<()> {
        let mut state = self.state.lock();
        // Without a limit the buffer takes everything.
        state.tls.writer().write_vectored(slices).map(drop)
    }

    /// Returns the records that wait to be sent.
    pub(super) fn take_records(&self) -> io::Result<Vec<u8>> {
        let mut records = Vec::new();
        self.state.lock().write_out(&mut records)?;
        Ok(records)
    }

    /// Processes a part of the records.
    pub(super) fn take_in(&self, records: &mut Raw) -> io::Result<()> {
        self.state.lock().take_in(records)
    }

    /// Decrypts records into `plain`, as far as there is room. Returns the number of bytes: `None`
    /// if more records are needed from the socket, 0 at the end of the stream.
    fn open(&self, records: &mut Raw, plain: &mut [u8]) -> io::Result<Option<usize>> {
        let mut state = self.state.lock();
        let mut total = 0;
        loop {
            match state.tls.reader().read(&mut plain[total..]) {
                Ok(0) if total < plain.len() => return Ok(Some(total)),
                Ok(count) => total += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The stream ended between two records, as the reference ends it.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Ok(Some(total));
                }
                Err(error) => return Err(error),
            }
            if total == plain.len() || records.is_empty() {
                return Ok((total > 0).then_some(total));
            }
            state.take_in(records)?;
        }
    }
}

impl Records {
    fn write_out(&mut self, sink: &mut impl Write) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(sink)?;
        }
        Ok(())
    }

    fn take_in(&mut self, records: &mut Raw) -> io::Result<()> {
        self.tls.read_tls(records)?;
        let processed = self.tls.process_new_packets();
        processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(())
    }
}

/// Returns the error with a description: the peer's fault with this node's certificate arrives
/// after the handshake is over here.
fn in_words(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), explain(error))
}

/// Receiving half of an encrypted link.
#[derive(Debug)]
pub struct Reading<L> {
    link: L,
    session: Arc<Session>,
    records: Raw,
}

impl<L> Reading<L> {
    pub(in crate::link) fn new(link: L, session: Arc<Session>) -> Self {
        Reading {
            link,
            records: session.take_unread(),
            session,
        }
    }

    pub(in crate::link) fn into_parts(self) -> (L, Arc<Session>) {
        self.session.keep_unread(self.records);
        (self.link, self.session)
    }
}

impl<L: LinkRead> LinkRead for Reading<L> {
    async fn read(&mut self, mut buf: RxBuf) -> (io::Result<usize>, RxBuf) {
        if buf.spare_mut().is_empty() {
            return (Err(io::ErrorKind::InvalidInput.into()), buf);
        }
        loop {
            match self.session.open(&mut self.records, buf.spare_mut()) {
                Ok(Some(count)) => {
                    buf.advance(count);
                    return (Ok(count), buf);
                }
                Ok(None) => {}
                Err(error) => return (Err(in_words(&error)), buf),
            }
            let bytes = self.records.next_capacity();
            self.session.reads.store(bytes, Ordering::Relaxed);
            match self.records.fill(&mut self.link).await {
                Ok(1..) => {}
                end => return (end, buf),
            }
        }
    }
}

/// Sending half of an encrypted link.
#[derive(Debug)]
pub struct Writing<L> {
    link: L,
    session: Arc<Session>,
}

impl<L> Writing<L> {
    pub(in crate::link) fn new(link: L, session: Arc<Session>) -> Self {
        Writing { link, session }
    }

    pub(in crate::link) fn into_inner(self) -> L {
        self.link
    }
}

impl<L> Writing<L> {
    /// Encrypts the next part of the segments; `None` when none is left.
    fn seal(&self, segments: &impl Segments, at: &mut Cursor) -> io::Result<Option<Vec<u8>>> {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let used = at.gather(segments, &mut slices);
        let mut part = [IoSlice::new(&[]); SLICES];
        let (count, bytes) = first_part(&slices[..used], &mut part);
        self.session.seal(&part[..count])?;
        at.advance(segments, bytes);
        let records = self.session.take_records()?;
        Ok((!records.is_empty()).then_some(records))
    }
}

impl<L: LinkWrite> LinkWrite for Writing<L> {
    async fn write_all<S: Segments>(&mut self, segments: S) -> (io::Result<()>, S) {
        let mut at = Cursor::default();
        if self.session.take_owed() {
            at.advance(&segments, 1);
        }
        loop {
            let result = match self.seal(&segments, &mut at) {
                Ok(Some(records)) => self.link.write_all(vec![records]).await.0,
                Ok(None) => return (Ok(()), segments),
                Err(error) => Err(error),
            };
            if let Err(error) = result {
                return (Err(error), segments);
            }
        }
    }

    async fn writable(&mut self) -> io::Result<()> {
        self.link.writable().await
    }

    /// Ends the stream without a last record of TLS, as the reference does: a connection ends by
    /// its Close message, which is encrypted and authenticated like all messages.
    async fn shutdown(&mut self) -> io::Result<()> {
        self.link.shutdown().await
    }
}
