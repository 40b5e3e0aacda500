// SPDX-License-Identifier: MIT OR Apache-2.0
//! async-std, which is discontinued: for comparison with what was published. The ping runs in `block_on`,
//! the tasks beside it on the pool.

use std::io;
use std::net;
use std::sync::Arc;
use std::time::Duration;

use async_std::io::{ReadExt, WriteExt};
use async_std::net::{TcpListener, TcpStream, UdpSocket};
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
struct AsyncStd;

impl Native for AsyncStd {
    type Clock = Usual<AsyncStd>;

    fn clock() -> io::Result<Self::Clock> {
        Ok(Usual::new())
    }

    async fn sleep(duration: Duration) {
        async_std::task::sleep(duration).await;
    }

    async fn tick() {
        async_std::task::sleep(LOOK).await;
    }

    async fn yield_now() {
        async_std::task::yield_now().await;
    }
}

enum Out {
    Tcp(TcpStream),
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
    Tcp(TcpStream),
    Udp(Arc<UdpSocket>),
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
            let stream = TcpStream::from(stream);
            (Out::Tcp(stream.clone()), In::Tcp(stream))
        }
        Ends::Udp(socket) => {
            let socket = Arc::new(UdpSocket::from(socket));
            (Out::Udp(Arc::clone(&socket)), In::Udp(socket))
        }
    })
}

/// Measures on this thread.
pub fn ping(_: Backend, ends: Ends, ping: Ping) -> Result<Recording, Failure> {
    async_std::task::block_on(measure(ends, ping))
}

async fn measure(ends: Ends, ping: Ping) -> Result<Recording, Failure> {
    for _ in 0..ping.tasks {
        async_std::task::spawn(tasks::beside::<AsyncStd>(ping.work));
    }
    let (mut sender, receiver) = split(ends)?;
    if ping.style == Style::Wait {
        return ping::wait::<AsyncStd>(sender, receiver, ping).await;
    }
    let flight = Arc::new(Flight::new());
    let reader = pipeline::read::<AsyncStd>(receiver, Arc::clone(&flight), ping.clone());
    let reader = async_std::task::spawn(reader);
    let written = pipeline::write::<AsyncStd>(&mut sender, Arc::clone(&flight), ping.clone()).await;
    pipeline::join(written, reader.await, &flight, &ping)
}

/// Answers in one task for each connection.
pub fn pong(_: Backend, doors: Doors) -> Result<(), Failure> {
    let answering = async_std::task::block_on(async {
        match doors {
            Doors::Tcp(listener) => accept(listener).await,
            Doors::Udp(socket) => reflect(socket).await,
        }
    });
    Ok(answering?)
}

async fn accept(listener: net::TcpListener) -> io::Result<()> {
    let listener = TcpListener::from(listener);
    loop {
        let (stream, _) = match listener.accept().await {
            Err(e) if is_end(&e) => continue,
            other => other?,
        };
        stream.set_nodelay(true)?;
        async_std::task::spawn(echo(stream));
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
    let socket = UdpSocket::from(socket);
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
