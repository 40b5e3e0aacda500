// SPDX-License-Identifier: MIT OR Apache-2.0
//! The task between a link and its connection: what the link writes into its socket goes into the stream of the connection,
//! and what comes there goes back.
//!
//! A connection of QUIC has no socket of its own. So a link gets one end of a pair of sockets, which every runtime, and
//! every sender, can use as any other; this task has the other end. It costs a copy each way and, for what is sent, a task
//! between the sender and the network.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use zonda_runtime::{LinkWrite, Runtime, Socket, after};

use super::super::raw::Raw;
use super::connection::{Connection, Held};

/// How long a peer may take to confirm what was sent before the link ended.
const LINGER: Duration = Duration::from_secs(10);

/// What ended a direction.
#[derive(PartialEq, Eq)]
enum End {
    /// Its source: all has arrived.
    Orderly,
    /// The connection.
    Lost,
}

/// A pair of connected sockets of this machine.
#[cfg(unix)]
pub(super) fn pair() -> io::Result<(Socket, Socket)> {
    let (near, far) = std::os::unix::net::UnixStream::pair()?;
    Ok((ready(near.into())?, ready(far.into())?))
}

/// The same where there is none: two ends of a connection to itself.
#[cfg(not(unix))]
pub(super) fn pair() -> io::Result<(Socket, Socket)> {
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    loop {
        let (far, from) = listener.accept()?;
        // Somebody else may have been faster.
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
/// Those of the system.
pub(super) fn start<R: Runtime>(runtime: &R, held: Held) -> io::Result<Socket> {
    let (near, far) = pair()?;
    let own = runtime.clone();
    runtime.spawn("zonda-quic", move || async move {
        match own.adopt(near) {
            Ok((read, write)) => carry(&own, &held.0, (read, write)).await,
            Err(error) => tracing::debug!("no socket for a link: {error}"),
        }
        drop(held);
    });
    Ok(far)
}

/// Carries both ways until the link has ended and the peer has what it sent, or the connection is lost.
async fn carry<R: Runtime>(runtime: &R, connection: &Connection, halves: (R::Read, R::Write)) {
    let (read, write) = halves;
    let mut out = pin!(send(runtime, connection, read));
    let mut back = pin!(receive(connection, write));
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
        // What came before a connection was lost is for the link all the same.
        match sending || receiving {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    })
    .await;
}

/// From the link to the peer.
async fn send<R: Runtime>(runtime: &R, connection: &Connection, mut link: R::Read) -> End {
    let mut bytes = Raw::default();
    while let Ok(1..) = bytes.fill(&mut link).await {
        while !bytes.is_empty() {
            let writing = poll_fn(|context| connection.poll_write(context, bytes.rest()));
            match writing.await {
                Ok(count) => bytes.take(count),
                Err(_) => return End::Lost,
            }
        }
    }
    connection.finish();
    runtime
        .timeout_at(after(LINGER), connection.finished())
        .await;
    End::Orderly
}

/// From the peer to the link.
async fn receive(connection: &Connection, mut link: impl LinkWrite) -> End {
    loop {
        match poll_fn(|context| connection.poll_read(context)).await {
            Err(_) => return End::Lost,
            Ok(bytes) if bytes.is_empty() => {
                // The link reads the end, and ends itself.
                let _ = link.shutdown().await;
                return End::Orderly;
            }
            Ok(bytes) => {
                if link.write_all(bytes).await.0.is_err() {
                    return End::Orderly;
                }
            }
        }
    }
}
