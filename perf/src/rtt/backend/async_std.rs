// SPDX-License-Identifier: MIT OR Apache-2.0
//! async-std, which is discontinued: for comparison with published figures. The ping runs in
//! `block_on`, the background tasks on the pool.

use std::io;
use std::net;
use std::sync::Arc;
use std::time::Duration;

use async_std::io::{ReadExt, WriteExt};
use async_std::net::{TcpListener, TcpStream, UdpSocket};
use async_std::task::{JoinHandle, block_on, spawn};
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
struct AsyncStd;

impl Native for AsyncStd {
    type Clock = Usual<AsyncStd>;

    async fn sleep(duration: Duration) {
        async_std::task::sleep(duration).await;
    }

    async fn yield_now() {
        async_std::task::yield_now().await;
    }
}

borrowing!(TcpStream, TcpStream);
asking!(measure, AsyncStd);
answering!();

fn split(ends: AskingSocket) -> io::Result<(Out, In)> {
    Ok(match ends {
        AskingSocket::Tcp(stream) => {
            let stream = TcpStream::from(stream);
            (Out::Tcp(stream.clone()), In::Tcp(stream))
        }
        AskingSocket::Udp(of_std) => {
            let socket = Arc::new(socket(of_std)?);
            (Out::Udp(Arc::clone(&socket)), In::Udp(socket))
        }
    })
}

fn listener(listener: net::TcpListener) -> io::Result<TcpListener> {
    Ok(listener.into())
}

fn socket(socket: net::UdpSocket) -> io::Result<UdpSocket> {
    Ok(socket.into())
}

fn detach<T>(_: JoinHandle<T>) {}

async fn joined<T>(task: JoinHandle<T>) -> Result<T, Failure> {
    Ok(task.await)
}

/// Measures on the calling thread.
pub fn ping(_: Backend, ends: AskingSocket, ping: Ping) -> Result<Recording, Failure> {
    block_on(measure(ends, ping))
}

/// Answers in one task for each connection.
pub fn pong(_: Backend, doors: AnsweringSocket) -> Result<(), Failure> {
    Ok(block_on(serve(doors))?)
}
