// SPDX-License-Identifier: MIT OR Apache-2.0
//! io_uring through compio: one thread, with buffers lent to the kernel until an operation ends.

use std::io;
use std::net;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use compio::buf::{BufResult, IntoInner, IoBuf};
use compio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use compio::net::{TcpListener, TcpStream, UdpSocket};
use compio::runtime::{JoinHandle, Runtime, spawn};
use zonda_program::Failure;

use super::kind::{Backend, cannot_start};
use super::sides::{answering, asking};
use crate::rtt::flight::Flight;
use crate::rtt::native::{Done, Native, Receiver, Sender};
use crate::rtt::pacing::Usual;
use crate::rtt::pipeline;
use crate::rtt::plan::{AnsweringSocket, AskingSocket, Ping};
use crate::rtt::pong::{BLOCK, DATAGRAM, is_end};
use crate::rtt::samples::Recording;

/// Compile-time flag: the backend is present.
pub const PRESENT: bool = true;

#[derive(Clone, Copy)]
struct Uring;

impl Native for Uring {
    type Clock = Usual<Uring>;

    async fn sleep(duration: Duration) {
        compio::time::sleep(duration).await;
    }

    async fn yield_now() {
        let mut is_second = false;
        std::future::poll_fn(|context| {
            if is_second {
                return Poll::Ready(());
            }
            is_second = true;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

enum Out {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl Sender for Out {
    async fn send(&mut self, message: Vec<u8>) -> Done<()> {
        match self {
            Out::Tcp(stream) => {
                let BufResult(result, message) = stream.write_all(message).await;
                (result, message)
            }
            Out::Udp(socket) => {
                let BufResult(result, message) = socket.send(message).await;
                (result.map(|_| ()), message)
            }
        }
    }
}

enum In {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl Receiver for In {
    async fn receive(&mut self, buffer: Vec<u8>) -> Done<usize> {
        let size = buffer.len();
        let buffer = buffer.slice(..size);
        match self {
            In::Tcp(stream) => {
                let BufResult(result, buffer) = stream.read_exact(buffer).await;
                (result.map(|()| size), buffer.into_inner())
            }
            In::Udp(socket) => {
                let BufResult(result, buffer) = socket.recv(buffer).await;
                let mut buffer = buffer.into_inner();
                buffer.resize(size, 0);
                (result, buffer)
            }
        }
    }
}

asking!(measure, Uring);
answering!();

fn split(ends: AskingSocket) -> io::Result<(Out, In)> {
    Ok(match ends {
        AskingSocket::Tcp(stream) => {
            let stream = TcpStream::from_std(stream)?;
            (Out::Tcp(stream.clone()), In::Tcp(stream))
        }
        AskingSocket::Udp(socket) => {
            let socket = UdpSocket::from_std(socket)?;
            (Out::Udp(socket.clone()), In::Udp(socket))
        }
    })
}

fn listener(listener: net::TcpListener) -> io::Result<TcpListener> {
    TcpListener::from_std(listener)
}

fn socket(socket: net::UdpSocket) -> io::Result<UdpSocket> {
    UdpSocket::from_std(socket)
}

fn detach<T>(task: JoinHandle<T>) {
    task.detach();
}

async fn joined<T>(task: JoinHandle<T>) -> Result<T, Failure> {
    let panicked = |_| Failure::Run("a task panicked".into());
    task.await.map_err(panicked)
}

fn runtime(backend: Backend) -> Result<Runtime, Failure> {
    Runtime::new().map_err(|e| cannot_start(backend, &e))
}

/// Checks that the system lets io_uring start.
pub fn check(backend: Backend) -> Result<(), Failure> {
    runtime(backend).map(drop)
}

/// Measures on the calling thread.
pub fn ping(backend: Backend, ends: AskingSocket, ping: Ping) -> Result<Recording, Failure> {
    runtime(backend)?.block_on(measure(ends, ping))
}

/// Answers in one task for each connection.
pub fn pong(backend: Backend, doors: AnsweringSocket) -> Result<(), Failure> {
    Ok(runtime(backend)?.block_on(serve(doors))?)
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut block = Vec::with_capacity(BLOCK);
    loop {
        block.clear();
        let BufResult(result, read) = stream.read(block).await;
        if result? == 0 {
            return Ok(());
        }
        let BufResult(result, written) = stream.write_all(read).await;
        result?;
        block = written;
    }
}

async fn reflect(socket: UdpSocket) -> io::Result<()> {
    let mut block = Vec::with_capacity(DATAGRAM);
    loop {
        block.clear();
        let BufResult(result, received) = socket.recv_from(block).await;
        block = received;
        match result {
            Ok((_, from)) => {
                // the asking program may have left, and then the answer is lost without harm
                let BufResult(_, sent) = socket.send_to(block, from).await;
                block = sent;
            }
            Err(e) if is_end(&e) => {}
            Err(e) => return Err(e),
        }
    }
}
