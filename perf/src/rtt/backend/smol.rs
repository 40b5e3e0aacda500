// SPDX-License-Identifier: MIT OR Apache-2.0
//! smol. The ping runs where the reactor does, in `block_on`, as in the studies; its tasks run on the
//! global executor.

use std::io;
use std::net;
use std::sync::Arc;
use std::time::Duration;

use smol::Timer;
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::{TcpListener, TcpStream, UdpSocket};
use zonda_program::Failure;

use super::Backend;
use crate::rtt::flight::Flight;
use crate::rtt::native::{Done, LOOK, Native, Receiver, Sender};
use crate::rtt::pacing::Usual;
use crate::rtt::plan::{Doors, Ends, Ping, Style};
use crate::rtt::pong::{BLOCK, DATAGRAM, is_end};
use crate::rtt::samples::Recording;
use crate::rtt::{ping, pipeline, tasks};

/// It is.
pub const PRESENT: bool = true;

#[derive(Clone, Copy)]
struct Smol;

impl Native for Smol {
    type Clock = Usual<Smol>;

    fn clock() -> io::Result<Self::Clock> {
        Ok(Usual::new())
    }

    async fn sleep(duration: Duration) {
        Timer::after(duration).await;
    }

    async fn tick() {
        Timer::after(LOOK).await;
    }

    async fn yield_now() {
        smol::future::yield_now().await;
    }
}

/// smol as the programs of 2022 used it, which slept on a thread of the blocking pool.
#[derive(Clone, Copy)]
struct AsPublished;

impl Native for AsPublished {
    type Clock = Usual<Smol>;

    fn clock() -> io::Result<Self::Clock> {
        Ok(Usual::new())
    }

    async fn sleep(duration: Duration) {
        smol::unblock(move || std::thread::sleep(duration)).await;
    }

    async fn tick() {
        Smol::tick().await;
    }

    async fn yield_now() {
        Smol::yield_now().await;
    }
}

enum Out {
    Tcp(TcpStream),
    Udp(UdpSocket),
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
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl Receiver for In {
    async fn receive(&mut self, mut buffer: Vec<u8>) -> Done<usize> {
        let result = match self {
            In::Tcp(stream) => stream.read_exact(&mut buffer).await.map(|()| buffer.len()),
            In::Udp(socket) => socket.recv(&mut buffer).await,
        };
        (result, buffer)
    }
}

fn split(ends: Ends) -> io::Result<(Out, In)> {
    Ok(match ends {
        Ends::Tcp(stream) => {
            let stream = TcpStream::try_from(stream)?;
            (Out::Tcp(stream.clone()), In::Tcp(stream))
        }
        Ends::Udp(socket) => {
            let socket = UdpSocket::try_from(socket)?;
            (Out::Udp(socket.clone()), In::Udp(socket))
        }
    })
}

/// Measures on this thread.
pub fn ping(_: Backend, ends: Ends, ping: Ping) -> Result<Recording, Failure> {
    match ping.quirks {
        true => smol::block_on(measure::<AsPublished>(ends, ping)),
        false => smol::block_on(measure::<Smol>(ends, ping)),
    }
}

async fn measure<N: Native>(ends: Ends, ping: Ping) -> Result<Recording, Failure> {
    beside(&ping);
    let (mut sender, receiver) = split(ends)?;
    if ping.style == Style::Wait {
        return ping::wait::<N>(sender, receiver, ping).await;
    }
    let flight = Arc::new(Flight::new());
    let reader = pipeline::read::<Smol>(receiver, Arc::clone(&flight), ping.clone());
    let reader = smol::spawn(reader);
    let written = pipeline::write::<N>(&mut sender, Arc::clone(&flight), ping.clone()).await;
    pipeline::join(written, reader.await, &flight, &ping)
}

fn beside(ping: &Ping) {
    for _ in 0..ping.tasks {
        match ping.quirks {
            true => smol::spawn(tasks::beside::<AsPublished>(ping.work)).detach(),
            false => smol::spawn(tasks::beside::<Smol>(ping.work)).detach(),
        }
    }
}

/// Answers in one task for each connection.
pub fn pong(_: Backend, doors: Doors) -> Result<(), Failure> {
    let answering = smol::block_on(async {
        match doors {
            Doors::Tcp(listener) => accept(listener).await,
            Doors::Udp(socket) => reflect(socket).await,
        }
    });
    Ok(answering?)
}

async fn accept(listener: net::TcpListener) -> io::Result<()> {
    let listener = TcpListener::try_from(listener)?;
    loop {
        let (stream, _) = match listener.accept().await {
            Err(e) if is_end(&e) => continue,
            other => other?,
        };
        stream.set_nodelay(true)?;
        smol::spawn(echo(stream)).detach();
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

async fn reflect(socket: net::UdpSocket) -> io::Result<()> {
    let socket = UdpSocket::try_from(socket)?;
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
