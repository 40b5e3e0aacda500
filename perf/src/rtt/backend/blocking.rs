// SPDX-License-Identifier: MIT OR Apache-2.0
//! The standard library: blocking sockets, one thread for each connection and each task. The
//! futures of this backend are ready at the first poll.

use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::pin::pin;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use zonda_program::Failure;

use super::kind::Backend;
use crate::rtt::flight::Flight;
use crate::rtt::icmp::Echo;
use crate::rtt::native::{Done, LOOK, Native, Receiver, Sender};
use crate::rtt::pacing::Usual;
use crate::rtt::ping;
use crate::rtt::plan::{AnsweringSocket, AskingSocket, Ping};
use crate::rtt::pong::{BLOCK, DATAGRAM, is_end};
use crate::rtt::samples::Recording;
use crate::rtt::{pipeline, tasks};

/// Compile-time flag: the backend is always present.
pub const PRESENT: bool = true;
/// The stack size of background threads, of which there may be a thousand.
const STACK: usize = 64 * 1024;

/// Threads and sleeps.
#[derive(Clone, Copy)]
struct Blocking;

impl Native for Blocking {
    type Clock = Usual<Blocking>;

    async fn sleep(duration: Duration) {
        thread::sleep(duration);
    }

    async fn yield_now() {
        thread::yield_now();
    }
}

enum Out {
    Tcp(TcpStream),
    Udp(Arc<UdpSocket>),
    Icmp(Arc<Echo>),
}

impl Sender for Out {
    async fn send(&mut self, message: Vec<u8>) -> Done<()> {
        let result = match self {
            Out::Tcp(stream) => stream.write_all(&message),
            Out::Udp(socket) => socket.send(&message).map(|_| ()),
            Out::Icmp(echo) => echo.send(&message),
        };
        (result, message)
    }
}

enum In {
    /// A stream, and the number of bytes of the current message read so far.
    Tcp(TcpStream, usize),
    Udp(Arc<UdpSocket>),
    Icmp(Arc<Echo>),
}

impl Receiver for In {
    async fn receive(&mut self, mut buffer: Vec<u8>) -> Done<usize> {
        let result = match self {
            In::Tcp(stream, filled) => fill(stream, filled, &mut buffer),
            In::Udp(socket) => socket.recv(&mut buffer),
            In::Icmp(echo) => echo.receive(&mut buffer),
        };
        (result, buffer)
    }
}

fn fill(stream: &mut TcpStream, filled: &mut usize, buffer: &mut [u8]) -> io::Result<usize> {
    while *filled < buffer.len() {
        match stream.read(&mut buffer[*filled..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => *filled += n,
        }
    }
    *filled = 0;
    Ok(buffer.len())
}

fn split(ends: AskingSocket) -> io::Result<(Out, In)> {
    Ok(match ends {
        AskingSocket::Tcp(stream) => {
            stream.set_read_timeout(Some(LOOK))?;
            (Out::Tcp(stream.try_clone()?), In::Tcp(stream, 0))
        }
        AskingSocket::Udp(socket) => {
            socket.set_read_timeout(Some(LOOK))?;
            let socket = Arc::new(socket);
            (Out::Udp(Arc::clone(&socket)), In::Udp(socket))
        }
    })
}

/// Measures on the calling thread.
pub fn ping(_: Backend, ends: AskingSocket, ping: Ping) -> Result<Recording, Failure> {
    let (sender, receiver) = split(ends)?;
    measure(sender, receiver, ping)
}

/// Measures the system's own echo, for reference.
pub fn ping_icmp(echo: Echo, ping: Ping) -> Result<Recording, Failure> {
    let echo = Arc::new(echo);
    measure(Out::Icmp(Arc::clone(&echo)), In::Icmp(echo), ping)
}

fn measure(mut sender: Out, receiver: In, ping: Ping) -> Result<Recording, Failure> {
    // background threads, which begin together
    let gate = Arc::new(Barrier::new(ping.tasks + 1));
    for number in 0..ping.tasks {
        let (work, gate) = (ping.work, Arc::clone(&gate));
        let thread = thread::Builder::new().stack_size(STACK);
        let started = thread.spawn(move || {
            // the threads begin together, so that a running one does not slow the start of the next
            gate.wait();
            done(tasks::beside::<Blocking>(work))
        });
        started.map_err(|e| {
            let advice = "try fewer --tasks, or a backend whose tasks are not threads";
            Failure::Run(format!("cannot start thread {number}: {e}; {advice}"))
        })?;
    }
    gate.wait();
    // one message at a time on this thread, or a second thread that reads
    if !ping.is_pipelined {
        return done(ping::wait::<Blocking>(sender, receiver, ping));
    }
    let flight = Arc::new(Flight::new());
    let (of_reader, reader_ping) = (Arc::clone(&flight), ping.clone());
    let reader =
        thread::spawn(move || done(pipeline::read::<Blocking>(receiver, of_reader, reader_ping)));
    let written = done(pipeline::write::<Blocking>(
        &mut sender,
        Arc::clone(&flight),
        ping.clone(),
    ));
    let read = reader
        .join()
        .map_err(|_| Failure::Run("the reader of the answers panicked".into()))?;
    pipeline::join(written, read, &flight, &ping)
}

/// Answers on one thread for each connection.
pub fn pong(_: Backend, doors: AnsweringSocket) -> Result<(), Failure> {
    match doors {
        AnsweringSocket::Tcp(listener) => accept(&listener)?,
        AnsweringSocket::Udp(socket) => reflect(&socket)?,
    }
    Ok(())
}

fn accept(listener: &TcpListener) -> io::Result<()> {
    loop {
        let (stream, _) = match listener.accept() {
            Err(e) if is_end(&e) => continue,
            other => other?,
        };
        stream.set_nodelay(true)?;
        thread::spawn(move || echo(stream));
    }
}

fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    loop {
        match stream.read(&mut block)? {
            0 => return Ok(()),
            n => stream.write_all(&block[..n])?,
        }
    }
}

fn reflect(socket: &UdpSocket) -> io::Result<()> {
    let mut block = vec![0; DATAGRAM];
    loop {
        match socket.recv_from(&mut block) {
            Ok((n, from)) => {
                // the asking program may have left, and then the answer is lost without harm
                let _ = socket.send_to(&block[..n], from);
            }
            Err(e) if is_end(&e) => {}
            Err(e) => return Err(e),
        }
    }
}

/// Returns the output of a future that never waits.
fn done<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return done;
        }
    }
}
