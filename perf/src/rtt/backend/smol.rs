// SPDX-License-Identifier: MIT OR Apache-2.0
//! smol. The ping runs on the reactor's thread, in `block_on`, as in the studies; its tasks run on
//! the global executor.

use std::io;
use std::net;
use std::sync::Arc;
use std::time::Duration;

use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::{TcpListener, TcpStream, UdpSocket};
use smol::{Task, Timer, block_on, spawn};
use zonda_program::Failure;

use super::kind::Backend;
use super::sides::{answering, asking, borrowing};
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
struct Smol;

impl Native for Smol {
    type Clock = Usual<Smol>;

    async fn sleep(duration: Duration) {
        Timer::after(duration).await;
    }

    async fn yield_now() {
        smol::future::yield_now().await;
    }
}

/// smol in the style of the programs of 2022, which slept on a thread of the blocking pool.
#[derive(Clone, Copy)]
struct AsPublished;

impl Native for AsPublished {
    type Clock = Usual<Smol>;

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

borrowing!(TcpStream, TcpStream);
asking!(measure, Smol);
asking!(measure_as_published, AsPublished);
answering!();

fn split(ends: AskingSocket) -> io::Result<(Out, In)> {
    Ok(match ends {
        AskingSocket::Tcp(stream) => {
            let stream = TcpStream::try_from(stream)?;
            (Out::Tcp(stream.clone()), In::Tcp(stream))
        }
        AskingSocket::Udp(of_std) => {
            let socket = Arc::new(socket(of_std)?);
            (Out::Udp(Arc::clone(&socket)), In::Udp(socket))
        }
    })
}

fn listener(listener: net::TcpListener) -> io::Result<TcpListener> {
    listener.try_into()
}

fn socket(socket: net::UdpSocket) -> io::Result<UdpSocket> {
    socket.try_into()
}

fn detach<T>(task: Task<T>) {
    task.detach();
}

async fn joined<T>(task: Task<T>) -> Result<T, Failure> {
    Ok(task.await)
}

/// Measures on the calling thread.
pub fn ping(_: Backend, ends: AskingSocket, ping: Ping) -> Result<Recording, Failure> {
    match ping.quirks {
        true => block_on(measure_as_published(ends, ping)),
        false => block_on(measure(ends, ping)),
    }
}

/// Answers in one task for each connection.
pub fn pong(_: Backend, doors: AnsweringSocket) -> Result<(), Failure> {
    Ok(block_on(serve(doors))?)
}
