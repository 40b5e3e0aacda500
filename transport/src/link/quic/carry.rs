// SPDX-License-Identifier: MIT OR Apache-2.0
//! Carrier task between a link and its connection: bytes that the link writes into its socket are
//! sent in the streams of the connection, or its datagrams, and received bytes are written back.
//!
//! A connection of QUIC has no socket of its own. A link therefore gets one end of a socket pair,
//! which every runtime and every sender can use like any other socket; this task has the other end.
//! The cost is a copy each way and, for sent bytes, a task between the sender and the network.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use zonda_runtime::{LinkWrite, Runtime, Socket, after};

use super::super::carrier::{CarrierState, Framed};
use super::super::raw::Raw;
use super::connection::{Closing, Connection};
use super::incoming::Incoming;
use super::outgoing::{Outgoing, PREFIX_BYTES};
use super::terms::Carrier;

/// Time for the peer, once the link has ended, to make room for the bytes sent before and to
/// confirm them.
const LINGER: Duration = Duration::from_secs(10);

/// Poll interval for the departure of the last datagrams.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Cause of the end of a direction.
#[derive(PartialEq, Eq)]
enum End {
    /// The source has ended: all bytes have arrived.
    Orderly,
    /// The connection is lost.
    Lost,
}

/// Creates a pair of connected sockets of this machine.
#[cfg(unix)]
pub(super) fn pair() -> io::Result<(Socket, Socket)> {
    let (near, far) = std::os::unix::net::UnixStream::pair()?;
    Ok((ready(near.into())?, ready(far.into())?))
}

/// Creates the two ends of a connection to itself, on systems without socket pairs.
#[cfg(not(unix))]
pub(super) fn pair() -> io::Result<(Socket, Socket)> {
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    loop {
        let (far, from) = listener.accept()?;
        // Another program may have connected first.
        if from == near.local_addr()? {
            near.set_nodelay(true)?;
            far.set_nodelay(true)?;
            return Ok((ready(near.into())?, ready(far.into())?));
        }
    }
}

fn ready(socket: Socket) -> io::Result<Socket> {
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Starts the task, which closes the connection when it ends. Returns the link's end of the pair.
///
/// # Errors
/// The errors of the system.
pub(super) fn start<R: Runtime>(
    runtime: &R,
    held: Closing,
    carriage: Arc<CarrierState>,
) -> io::Result<Socket> {
    let (near, far) = pair()?;
    let own = runtime.clone();
    runtime.spawn("zonda-quic", move || async move {
        match own.adopt(near) {
            Ok(halves) => {
                let carrying = carry(&own, &held.0, halves, &carriage);
                while_used(&own, &carriage, carrying).await;
            }
            Err(error) => tracing::debug!("no socket for a link: {error}"),
        }
        drop(held);
    });
    Ok(far)
}

/// Copies until no owner of the link is left, and for a while the bytes that the link has sent: a
/// peer that makes no room for them, or reads nothing, could delay the end for ever.
async fn while_used<R: Runtime>(
    runtime: &R,
    carriage: &CarrierState,
    carrying: impl Future<Output = ()>,
) {
    let mut carrying = pin!(carrying);
    let mut lingering = pin!(async {
        carriage.left().await;
        runtime.sleep_until(after(LINGER)).await;
    });
    poll_fn(|context| match carrying.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => lingering.as_mut().poll(context),
    })
    .await;
}

/// Copies both ways until the link has ended and the peer has the bytes sent before, or the
/// connection is lost.
async fn carry<R: Runtime>(
    runtime: &R,
    connection: &Connection,
    halves: (R::Read, R::Write),
    carriage: &CarrierState,
) {
    let (read, write) = halves;
    if connection.carrier() == Carrier::Datagrams {
        let out = send_datagrams(runtime, connection, read);
        return both(out, receive_datagrams(connection, write, carriage)).await;
    }
    let out = send(runtime, connection, read, carriage);
    both(out, receive(connection, write, carriage)).await;
}

/// Waits for both directions.
async fn both(out: impl Future<Output = End>, back: impl Future<Output = End>) {
    let (mut out, mut back) = (pin!(out), pin!(back));
    let (mut sending, mut receiving) = (true, true);
    poll_fn(|context| {
        if receiving && let Poll::Ready(end) = back.as_mut().poll(context) {
            receiving = false;
            if end == End::Lost {
                return Poll::Ready(());
            }
        }
        if sending && let Poll::Ready(end) = out.as_mut().poll(context) {
            sending = false;
            if end == End::Orderly {
                return Poll::Ready(());
            }
        }
        // The link still gets all bytes that arrived before the connection was lost.
        match sending || receiving {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    })
    .await;
}

/// Copies from the link to the peer.
async fn send<R: Runtime>(
    runtime: &R,
    connection: &Connection,
    mut link: R::Read,
    carriage: &CarrierState,
) -> End {
    let has_lanes = connection.has_lanes();
    let (mut bytes, mut outgoing) = (Raw::default(), Outgoing::default());
    loop {
        // Read from the link, and send queued bytes during the wait.
        connection.note_buffer(bytes.next_capacity());
        let filled = {
            let mut filling = pin!(bytes.fill(&mut link));
            poll_fn(
                |context| match connection.poll_flush(context, &mut outgoing) {
                    Ok(()) => filling.as_mut().poll(context).map(Some),
                    Err(_) => Poll::Ready(None),
                },
            )
            .await
        };
        match filled {
            None => return End::Lost,
            Some(Ok(1..)) => {}
            Some(_) => break,
        }
        // Distribute the bytes over the streams.
        let framed = match has_lanes {
            true => carriage.framed(),
            false => Framed::Bare,
        };
        let spread = spread(runtime, connection, (&mut outgoing, &mut bytes), framed);
        if spread.await.is_err() {
            return End::Lost;
        }
    }
    // Send the rest after the end of the link, for a limited time.
    let rest = async {
        connection.flush(&mut outgoing).await?;
        connection.finish();
        connection.finished().await;
        io::Result::Ok(())
    };
    match runtime.timeout_at(after(LINGER), rest).await {
        Some(Err(_)) => End::Lost,
        Some(Ok(())) | None => End::Orderly,
    }
}

/// Passes the streams all whole pieces of the bytes that the link has sent.
async fn spread<R: Runtime>(
    runtime: &R,
    connection: &Connection,
    sent: (&mut Outgoing, &mut Raw),
    framed: Framed,
) -> io::Result<()> {
    let (outgoing, bytes) = sent;
    loop {
        let was_last = outgoing.is_last();
        let count = connection.put(outgoing, bytes.rest(), framed)?;
        bytes.take(count);
        poll_fn(|context| connection.poll_room(context, outgoing)).await?;
        if outgoing.is_last() == was_last {
            return Ok(());
        }
        // The closing batch is last: a peer that has read it would read no other stream any more.
        connection.flush(outgoing).await?;
        runtime
            .timeout_at(after(LINGER), connection.confirmed())
            .await;
    }
}

/// Copies from the peer to the link.
async fn receive(
    connection: &Connection,
    mut link: impl LinkWrite,
    carriage: &CarrierState,
) -> End {
    let mut incoming = Incoming::default();
    loop {
        let reading = poll_fn(|context| {
            let (framed, held) = carriage.watch(context.waker());
            connection.poll_read(context, &mut incoming, framed, held)
        });
        match reading.await {
            Err(error) => {
                carriage.note_lost(&error);
                return End::Lost;
            }
            Ok(bytes) if bytes.is_empty() => {
                // The link reads the end, and ends itself.
                let _ = link.shutdown().await;
                return End::Orderly;
            }
            Ok(bytes) => {
                if give(connection, &mut link, bytes).await.is_err() {
                    return End::Orderly;
                }
            }
        }
    }
}

/// Writes received bytes to the link.
async fn give(
    connection: &Connection,
    link: &mut impl LinkWrite,
    chunks: Vec<Bytes>,
) -> io::Result<()> {
    connection.note_given(chunks.iter().map(Bytes::len).sum());
    let (result, _) = link.write_all(chunks).await;
    connection.note_given(0);
    result
}

/// Copies from the link to the peer, where a batch is a datagram.
async fn send_datagrams<R: Runtime>(
    runtime: &R,
    connection: &Connection,
    mut link: R::Read,
) -> End {
    let mut bytes = Raw::default();
    while let Ok(1..) = bytes.fill(&mut link).await {
        while let Some(batch) = first_batch(bytes.rest()) {
            let datagram = Bytes::copy_from_slice(batch);
            bytes.take(PREFIX_BYTES + datagram.len());
            let sending = poll_fn(|context| connection.poll_send(context, &datagram));
            if !datagram.is_empty() && sending.await.is_err() {
                return End::Lost;
            }
        }
    }
    let until = after(LINGER);
    while !connection.has_sent() && Instant::now() < until {
        runtime.sleep_until(after(LOOK_EVERY)).await;
    }
    End::Orderly
}

/// Returns the batch that these bytes begin with, if it is complete.
fn first_batch(bytes: &[u8]) -> Option<&[u8]> {
    let (prefix, rest) = bytes.split_first_chunk::<PREFIX_BYTES>()?;
    rest.get(..usize::from(u16::from_le_bytes(*prefix)))
}

/// Copies from the peer to the link, where a batch is a datagram.
async fn receive_datagrams(
    connection: &Connection,
    mut link: impl LinkWrite,
    carriage: &CarrierState,
) -> End {
    loop {
        let reading = poll_fn(|context| connection.poll_receive(context));
        let datagrams = match reading.await {
            Ok(datagrams) => datagrams,
            Err(error) => {
                carriage.note_lost(&error);
                return End::Lost;
            }
        };
        let mut batches = Vec::with_capacity(2 * datagrams.len());
        for datagram in datagrams {
            // The datagram is longer than any batch: UDP has no such datagrams.
            let Ok(length) = u16::try_from(datagram.len()) else {
                continue;
            };
            batches.push(Bytes::copy_from_slice(&length.to_le_bytes()));
            batches.push(datagram);
        }
        if give(connection, &mut link, batches).await.is_err() {
            return End::Orderly;
        }
    }
}
