// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connected link: its socket, and the coding of the link's bytes in it.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use zonda_runtime::{LinkRead, LinkWrite, Runtime, RxBuf, Segments, Socket};

use super::carrier::{CarrierHandle, DATAGRAM_LAG_MAX, STREAM_LAG_MAX};
use super::tls;
use super::udp;
use super::ws;
use crate::protocol::certificate::CertificateNames;
use crate::protocol::parameters::Established;

/// Connected link, driven by no runtime yet: the socket, and the coding of the link's bytes in it.
#[derive(Debug)]
pub struct LinkStream {
    socket: Arc<Socket>,
    coding: Coding,
}

/// Coding of a link's bytes in its socket. Clones refer to the same link.
#[derive(Debug, Clone, Default)]
pub(crate) enum Coding {
    /// No coding.
    #[default]
    Plain,
    /// TLS records.
    Tls(std::sync::Arc<tls::Session>),
    /// A batch in each datagram, without its length.
    Datagrams(std::sync::Arc<udp::Flow>),
    /// Frames of WebSocket.
    Ws(std::sync::Arc<ws::Session>),
    /// Frames of WebSocket in TLS records.
    Wss(std::sync::Arc<ws::Session>, std::sync::Arc<tls::Session>),
    /// No coding, in a socket of this machine, whose other end belongs to the link's carrier.
    #[cfg_attr(not(feature = "quic"), allow(dead_code, reason = "nothing carries"))]
    Carried(std::sync::Arc<CarrierHandle>),
}

#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "memory is counted on Linux only")
)]
impl Coding {
    /// Returns the approximate bytes of memory for encoding and decoding, in addition to the link's
    /// own buffers. Does not wait.
    pub(crate) fn held(&self) -> usize {
        match self {
            Coding::Plain | Coding::Datagrams(_) => 0,
            Coding::Tls(tls) => tls.held(),
            Coding::Ws(session) => session.held(),
            Coding::Wss(session, tls) => session.held() + tls.held(),
            Coding::Carried(carriage) => carriage.held(),
        }
    }
}

/// Valve by which a link stops priorities at its carrier. It has no effect where all priorities
/// share one stream.
#[derive(Debug, Default)]
pub(crate) struct PriorityPause(Option<Arc<CarrierHandle>>);

impl PriorityPause {
    /// Stops reading these priorities until the next call; a bit for each.
    #[cfg_attr(
        not(feature = "quic"),
        allow(unused_variables, reason = "nothing carries")
    )]
    pub(crate) fn hold(&self, priorities: u8) {
        if let Some(carriage) = &self.0 {
            carriage.hold(priorities);
        }
    }
}

/// Time of day at which a credential expires.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expiry(SystemTime);

impl Expiry {
    /// Returns true if the time is over by the system's clock, which may be set.
    pub(crate) fn is_over(self) -> bool {
        SystemTime::now() >= self.0
    }
}

impl From<Socket> for LinkStream {
    /// Creates a link without coding.
    fn from(socket: Socket) -> Self {
        LinkStream {
            socket: Arc::new(socket),
            coding: Coding::Plain,
        }
    }
}

#[cfg(test)]
impl LinkStream {
    /// Creates a link with a carrier, and a function that returns the priorities that it holds.
    pub(crate) fn carried(socket: Socket) -> (LinkStream, impl Fn() -> u8) {
        let carriage = Arc::new(super::carrier::CarrierState::default());
        let seen = Arc::clone(&carriage);
        let coding = Coding::Carried(CarrierHandle::of(carriage));
        let look = move || seen.watch(std::task::Waker::noop()).1;
        (LinkStream::coded(socket, coding), look)
    }
}

impl LinkStream {
    pub(super) fn coded(socket: impl Into<Arc<Socket>>, coding: Coding) -> Self {
        let socket = socket.into();
        LinkStream { socket, coding }
    }

    /// Returns the socket.
    #[must_use]
    pub fn socket(&self) -> &Arc<Socket> {
        &self.socket
    }

    /// Returns the same link, with its bytes in frames of WebSocket from now on.
    #[cfg_attr(not(feature = "ws"), allow(dead_code, reason = "there are no frames"))]
    pub(super) fn framed(self, session: std::sync::Arc<ws::Session>) -> Self {
        let coding = match self.coding {
            Coding::Tls(tls) => Coding::Wss(session, tls),
            _ => Coding::Ws(session),
        };
        LinkStream::coded(self.socket, coding)
    }

    #[cfg_attr(
        not(feature = "tls"),
        allow(dead_code, reason = "nothing is encrypted")
    )]
    pub(super) fn into_socket(self) -> Arc<Socket> {
        self.socket
    }

    pub(crate) fn coding(&self) -> &Coding {
        &self.coding
    }

    /// Returns true if any machine can send in the name of the peer: datagrams carry no proof of
    /// their source.
    pub(crate) fn is_forgeable(&self) -> bool {
        matches!(self.coding, Coding::Datagrams(_))
    }

    /// Returns the time at which the link has to end because the peer's credentials expire.
    pub(crate) fn valid_until(&self) -> Option<Expiry> {
        let end = match &self.coding {
            Coding::Tls(tls) | Coding::Wss(_, tls) => tls.valid_until(),
            Coding::Carried(carriage) => carriage.valid_until(),
            Coding::Plain | Coding::Datagrams(_) | Coding::Ws(_) => None,
        };
        end.map(Expiry)
    }

    /// Returns the names in the peer's certificate, if it has shown one; called while no runtime
    /// has the link. Boxed, as a handshake keeps them while it waits.
    pub(crate) fn certificate(&self) -> Option<Box<CertificateNames>> {
        let names = match &self.coding {
            Coding::Tls(tls) | Coding::Wss(_, tls) => tls.certificate(),
            Coding::Carried(carriage) => carriage.certificate(),
            Coding::Plain | Coding::Datagrams(_) | Coding::Ws(_) => None,
        };
        names.map(Box::new)
    }

    /// Returns the longest time by which a message may arrive behind a later one of another
    /// priority; `None` where the order is kept. Each priority may have a stream of its own, each
    /// batch a datagram, and there may be several links. The answer is valid once the two ends have
    /// agreed.
    #[must_use]
    pub fn lag_max(&self, established: &Established) -> Option<Duration> {
        let lag = match &self.coding {
            Coding::Carried(carriage) => carriage.lag_max(),
            Coding::Datagrams(_) => Some(DATAGRAM_LAG_MAX),
            Coding::Plain | Coding::Tls(_) | Coding::Ws(_) | Coding::Wss(..) => None,
        };
        let of_links = established.options.multilink().map(|_| STREAM_LAG_MAX);
        lag.max(of_links).filter(|_| established.qos)
    }

    /// Returns the valve by which the link stops single priorities.
    pub(crate) fn valve(&self) -> PriorityPause {
        PriorityPause(match &self.coding {
            Coding::Carried(carriage) => Some(Arc::clone(carriage)),
            _ => None,
        })
    }

    /// Notes the end of the handshake, and the agreed framing of later bytes. No runtime has the
    /// link.
    pub(crate) fn agree(&self, established: &Established) {
        match &self.coding {
            Coding::Ws(session) | Coding::Wss(session, _) => {
                session.agree(established.options.framing().is_bare());
            }
            Coding::Carried(carriage) => carriage.agree(established),
            Coding::Plain | Coding::Tls(_) | Coding::Datagrams(_) => {}
        }
    }

    /// Makes the link usable by tasks of this runtime; call it inside the task.
    ///
    /// # Errors
    /// The errors of [`Runtime::adopt`].
    pub fn adopt<R: Runtime>(self, runtime: &R) -> io::Result<Halves<R>> {
        // Register the socket, and wrap its halves in the coding.
        let (read, write) = runtime.adopt_shared(self.socket)?;
        Ok(match self.coding {
            Coding::Plain => (StreamRead::Plain(read), StreamWrite::Plain(write)),
            Coding::Carried(carriage) => (
                StreamRead::Carried(read, Arc::clone(&carriage)),
                StreamWrite::Carried(write, carriage),
            ),
            Coding::Tls(session) => (
                StreamRead::Tls(Box::new(tls::Reading::new(read, session.clone()))),
                StreamWrite::Tls(Box::new(tls::Writing::new(write, session))),
            ),
            Coding::Datagrams(flow) => (
                StreamRead::Datagrams(Box::new(udp::Reading::new(read, flow.clone()))),
                StreamWrite::Datagrams(Box::new(udp::Writing::new(
                    write,
                    flow,
                    udp::PaceTimer::of(runtime),
                ))),
            ),
            Coding::Ws(session) => (
                StreamRead::Ws(Box::new(ws::Reading::new(read, session.clone()))),
                StreamWrite::Ws(Box::new(ws::Writing::new(write, session))),
            ),
            Coding::Wss(session, tls) => {
                let read = tls::Reading::new(read, tls.clone());
                let write = tls::Writing::new(write, tls);
                (
                    StreamRead::Wss(Box::new(ws::Reading::new(read, session.clone()))),
                    StreamWrite::Wss(Box::new(ws::Writing::new(write, session))),
                )
            }
        })
    }

    /// Releases the link from the runtime, from the two halves of one [`LinkStream::adopt`].
    ///
    /// # Errors
    /// The errors of [`Runtime::release`]; [`io::ErrorKind::InvalidInput`] when the halves do not belong together.
    pub fn release<R: Runtime>(
        runtime: &R,
        read: StreamRead<R::Read>,
        write: StreamWrite<R::Write>,
    ) -> io::Result<LinkStream> {
        // Take the socket back from the halves, and keep the coding.
        match (read, write) {
            (StreamRead::Plain(read), StreamWrite::Plain(write)) => {
                let socket = runtime.release(read, write)?;
                Ok(LinkStream::coded(socket, Coding::Plain))
            }
            (StreamRead::Carried(read, carriage), StreamWrite::Carried(write, _)) => {
                let socket = runtime.release(read, write)?;
                Ok(LinkStream::coded(socket, Coding::Carried(carriage)))
            }
            (StreamRead::Tls(read), StreamWrite::Tls(write)) => {
                let (read, session) = read.into_parts();
                let socket = runtime.release(read, write.into_inner())?;
                Ok(LinkStream::coded(socket, Coding::Tls(session)))
            }
            (StreamRead::Datagrams(read), StreamWrite::Datagrams(write)) => {
                let (read, flow) = read.into_parts();
                let socket = runtime.release(read, write.into_inner())?;
                flow.note_open();
                Ok(LinkStream::coded(socket, Coding::Datagrams(flow)))
            }
            (StreamRead::Ws(read), StreamWrite::Ws(write)) => {
                let (read, session) = read.into_parts();
                let socket = runtime.release(read, write.into_inner())?;
                Ok(LinkStream::coded(socket, Coding::Ws(session)))
            }
            (StreamRead::Wss(read), StreamWrite::Wss(write)) => {
                let (read, session) = read.into_parts();
                let (read, tls) = read.into_parts();
                let socket = runtime.release(read, write.into_inner().into_inner())?;
                Ok(LinkStream::coded(socket, Coding::Wss(session, tls)))
            }
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

/// Halves of a link that a runtime drives.
pub type Halves<R> = (
    StreamRead<<R as Runtime>::Read>,
    StreamWrite<<R as Runtime>::Write>,
);

/// Receiving half of a link.
#[derive(Debug)]
pub enum StreamRead<L> {
    /// Bytes are read from the socket as they are.
    Plain(L),
    /// Bytes are decrypted.
    Tls(Box<tls::Reading<L>>),
    /// Bytes arrive in datagrams.
    Datagrams(Box<udp::Reading<L>>),
    /// Bytes are taken out of frames.
    Ws(Box<ws::Reading<L>>),
    /// Bytes are decrypted, and taken out of frames.
    Wss(Box<ws::Reading<tls::Reading<L>>>),
    /// Bytes are read as they are from a socket that a carrier fills.
    Carried(L, Arc<CarrierHandle>),
}

impl<L: LinkRead> LinkRead for StreamRead<L> {
    #[inline]
    async fn read(&mut self, buf: RxBuf) -> (io::Result<usize>, RxBuf) {
        match self {
            StreamRead::Plain(link) => link.read(buf).await,
            StreamRead::Carried(link, carriage) => {
                let (result, buf) = link.read(buf).await;
                (carriage.explain_read(result), buf)
            }
            // Boxed, as below: the future of a plain link has no room for it.
            StreamRead::Tls(link) => Box::pin(link.read(buf)).await,
            StreamRead::Datagrams(link) => Box::pin(link.read(buf)).await,
            StreamRead::Ws(link) => Box::pin(link.read(buf)).await,
            StreamRead::Wss(link) => Box::pin(link.read(buf)).await,
        }
    }
}

/// Sending half of a link.
#[derive(Debug)]
pub enum StreamWrite<L> {
    /// Bytes are written to the socket as they are.
    Plain(L),
    /// Bytes are encrypted.
    Tls(Box<tls::Writing<L>>),
    /// Batches are written as datagrams.
    Datagrams(Box<udp::Writing<L>>),
    /// Bytes are put into frames.
    Ws(Box<ws::Writing<L>>),
    /// Bytes are put into frames, and encrypted.
    Wss(Box<ws::Writing<tls::Writing<L>>>),
    /// Bytes are written as they are to a socket that a carrier reads.
    Carried(L, Arc<CarrierHandle>),
}

impl<L: LinkWrite> LinkWrite for StreamWrite<L> {
    #[inline]
    async fn write_all<S: Segments>(&mut self, segments: S) -> (io::Result<()>, S) {
        match self {
            StreamWrite::Plain(link) => link.write_all(segments).await,
            StreamWrite::Carried(link, carriage) => {
                let (result, segments) = link.write_all(segments).await;
                (carriage.explain(result), segments)
            }
            StreamWrite::Tls(link) => Box::pin(link.write_all(segments)).await,
            StreamWrite::Datagrams(link) => Box::pin(link.write_all(segments)).await,
            StreamWrite::Ws(link) => Box::pin(link.write_all(segments)).await,
            StreamWrite::Wss(link) => Box::pin(link.write_all(segments)).await,
        }
    }

    async fn writable(&mut self) -> io::Result<()> {
        match self {
            StreamWrite::Plain(link) | StreamWrite::Carried(link, _) => link.writable().await,
            StreamWrite::Tls(link) => link.writable().await,
            StreamWrite::Datagrams(link) => link.writable().await,
            StreamWrite::Ws(link) => link.writable().await,
            StreamWrite::Wss(link) => link.writable().await,
        }
    }

    async fn shutdown(&mut self) -> io::Result<()> {
        match self {
            StreamWrite::Plain(link) | StreamWrite::Carried(link, _) => link.shutdown().await,
            StreamWrite::Tls(link) => link.shutdown().await,
            StreamWrite::Datagrams(link) => link.shutdown().await,
            StreamWrite::Ws(link) => link.shutdown().await,
            StreamWrite::Wss(link) => link.shutdown().await,
        }
    }
}
