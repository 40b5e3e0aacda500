// SPDX-License-Identifier: MIT OR Apache-2.0
//! tokio, with its pool or on one thread. The ping is a spawned task, as in the studies; its fine timer
//! is one of its own, because tokio's own counts whole milliseconds.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::runtime::{Builder, Runtime};
use zonda_program::Failure;

use super::tokio_timer::Timer;
use super::{Backend, cannot_start};
use crate::rtt::flight::Flight;
use crate::rtt::native::{Done, LOOK, Native, Receiver, Sender};
use crate::rtt::plan::{Doors, Ends, Ping, Style};
use crate::rtt::pong::{BLOCK, DATAGRAM, is_end};
use crate::rtt::samples::Recording;
use crate::rtt::{ping, pipeline, tasks};

/// It is.
pub const PRESENT: bool = true;

#[derive(Clone, Copy)]
struct Tokio;

impl Native for Tokio {
    type Clock = Timer;

    fn clock() -> io::Result<Timer> {
        Timer::new()
    }

    async fn sleep(duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    async fn tick() {
        tokio::time::sleep(LOOK).await;
    }

    async fn yield_now() {
        tokio::task::yield_now().await;
    }
}

enum Out {
    Tcp(OwnedWriteHalf),
    Udp(Arc<UdpSocket>),
}

impl Sender for Out {
    async fn send(&mut self, message: Vec<u8>) -> Done<()> {
        let result = match self {
            Out::Tcp(stream) => stream.write_all(&message).await,
            Out::Udp(socket) => socket.send(&message).await.map(|_| ()),
        };
        (result, message)
    }
}

enum In {
    Tcp(OwnedReadHalf),
    Udp(Arc<UdpSocket>),
}

impl Receiver for In {
    async fn receive(&mut self, mut buffer: Vec<u8>) -> Done<usize> {
        let result = match self {
            In::Tcp(stream) => stream.read_exact(&mut buffer).await,
            In::Udp(socket) => socket.recv(&mut buffer).await,
        };
        (result, buffer)
    }
}

fn split(ends: Ends) -> io::Result<(Out, In)> {
    Ok(match ends {
        Ends::Tcp(stream) => {
            stream.set_nonblocking(true)?;
            let (input, output) = TcpStream::from_std(stream)?.into_split();
            (Out::Tcp(output), In::Tcp(input))
        }
        Ends::Udp(socket) => {
            socket.set_nonblocking(true)?;
            let socket = Arc::new(UdpSocket::from_std(socket)?);
            (Out::Udp(Arc::clone(&socket)), In::Udp(socket))
        }
    })
}

fn runtime(backend: Backend) -> Result<Runtime, Failure> {
    let mut builder = match backend {
        Backend::TokioCurrent => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let built = builder.enable_all().build();
    built.map_err(|e| cannot_start(backend, &e))
}

/// Measures in a spawned task.
pub fn ping(backend: Backend, ends: Ends, ping: Ping) -> Result<Recording, Failure> {
    let runtime = runtime(backend)?;
    let outcome = runtime.block_on(async { tokio::spawn(measure(ends, ping)).await });
    // the tasks beside it never end
    runtime.shutdown_background();
    outcome.map_err(|e| Failure::doing("the ping failed", e))?
}

async fn measure(ends: Ends, ping: Ping) -> Result<Recording, Failure> {
    for _ in 0..ping.tasks {
        tokio::spawn(tasks::beside::<Tokio>(ping.work));
    }
    let (mut sender, receiver) = split(ends)?;
    if ping.style == Style::Wait {
        return ping::wait::<Tokio>(sender, receiver, ping).await;
    }
    let flight = Arc::new(Flight::new());
    let reader = pipeline::read::<Tokio>(receiver, Arc::clone(&flight), ping.clone());
    let reader = tokio::spawn(reader);
    let written = pipeline::write::<Tokio>(&mut sender, Arc::clone(&flight), ping.clone()).await;
    let read = reader
        .await
        .map_err(|e| Failure::doing("the reader of the answers failed", e))?;
    pipeline::join(written, read, &flight, &ping)
}

/// Answers in one task for each connection.
pub fn pong(backend: Backend, doors: Doors) -> Result<(), Failure> {
    let runtime = runtime(backend)?;
    let answering = runtime.block_on(async {
        tokio::spawn(async {
            match doors {
                Doors::Tcp(listener) => accept(listener).await,
                Doors::Udp(socket) => reflect(socket).await,
            }
        })
        .await
    });
    Ok(answering.map_err(|e| Failure::doing("the pong failed", e))??)
}

async fn accept(listener: std::net::TcpListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = match listener.accept().await {
            Err(e) if is_end(&e) => continue,
            other => other?,
        };
        stream.set_nodelay(true)?;
        tokio::spawn(echo(stream));
    }
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    loop {
        match stream.read(&mut block).await? {
            0 => return Ok(()),
            n => stream.write_all(&block[..n]).await?,
        }
    }
}

async fn reflect(socket: std::net::UdpSocket) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    let socket = UdpSocket::from_std(socket)?;
    let mut block = vec![0; DATAGRAM];
    loop {
        match socket.recv_from(&mut block).await {
            Ok((n, from)) => {
                // who asked may have left, and then nobody misses the answer
                let _ = socket.send_to(&block[..n], from).await;
            }
            Err(e) if is_end(&e) => {}
            Err(e) => return Err(e),
        }
    }
}
