// SPDX-License-Identifier: MIT OR Apache-2.0
//! tokio, with its pool or on one thread. The ping is a spawned task, as in the studies; its fine
//! timer is a separate one, because tokio's counts whole milliseconds.

use std::io;
use std::net;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, spawn};
use zonda_program::Failure;

use super::kind::{Backend, cannot_start};
use super::sides::{answering, asking, borrowing};
use super::tokio_timer::Timer;
use crate::rtt::flight::Flight;
use crate::rtt::native::{Done, Native, Receiver, Sender};
use crate::rtt::pipeline;
use crate::rtt::plan::{AnsweringSocket, AskingSocket, Ping};
use crate::rtt::pong::{BLOCK, DATAGRAM, is_end};
use crate::rtt::samples::Recording;

/// Compile-time flag: the backend is present.
pub const PRESENT: bool = true;

#[derive(Clone, Copy)]
struct Tokio;

impl Native for Tokio {
    type Clock = Timer;

    async fn sleep(duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    async fn yield_now() {
        tokio::task::yield_now().await;
    }
}

borrowing!(OwnedWriteHalf, OwnedReadHalf);
asking!(measure, Tokio);
answering!();

fn split(ends: AskingSocket) -> io::Result<(Out, In)> {
    Ok(match ends {
        AskingSocket::Tcp(stream) => {
            stream.set_nonblocking(true)?;
            let (input, output) = TcpStream::from_std(stream)?.into_split();
            (Out::Tcp(output), In::Tcp(input))
        }
        AskingSocket::Udp(of_std) => {
            let socket = Arc::new(socket(of_std)?);
            (Out::Udp(Arc::clone(&socket)), In::Udp(socket))
        }
    })
}

fn listener(listener: net::TcpListener) -> io::Result<TcpListener> {
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

fn socket(socket: net::UdpSocket) -> io::Result<UdpSocket> {
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket)
}

fn detach<T>(_: JoinHandle<T>) {}

async fn joined<T>(task: JoinHandle<T>) -> Result<T, Failure> {
    task.await.map_err(|e| Failure::doing("a task failed", e))
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
pub fn ping(backend: Backend, ends: AskingSocket, ping: Ping) -> Result<Recording, Failure> {
    let runtime = runtime(backend)?;
    let measured = async { joined(spawn(measure(ends, ping))).await };
    let outcome = runtime.block_on(measured);
    // the background tasks never end
    runtime.shutdown_background();
    outcome?
}

/// Answers in one task for each connection.
pub fn pong(backend: Backend, doors: AnsweringSocket) -> Result<(), Failure> {
    let runtime = runtime(backend)?;
    let answering = async { joined(spawn(serve(doors))).await };
    Ok(runtime.block_on(answering)??)
}
