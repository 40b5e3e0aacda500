// SPDX-License-Identifier: MIT OR Apache-2.0
//! The common parts of the asynchronous backends, expanded with each runtime's own calls. The parts
//! are macros instead of traits, because a trait would have to declare whether its futures are
//! `Send`, which differs between runtimes.

/// Defines the asking side with the timers of `$native`, in a file that has: `Out` and `In`,
/// `split`, `spawn`, `joined` for a task's result and `detach` for a background task.
macro_rules! asking {
    ($measure:ident, $native:ty) => {
        async fn $measure(ends: AskingSocket, ping: Ping) -> Result<Recording, Failure> {
            for _ in 0..ping.tasks {
                detach(spawn(crate::rtt::tasks::beside::<$native>(ping.work)));
            }
            let (mut sender, receiver) = split(ends)?;
            if !ping.is_pipelined {
                return crate::rtt::ping::wait::<$native>(sender, receiver, ping).await;
            }
            let flight = Arc::new(Flight::new());
            let reader = pipeline::read::<$native>(receiver, Arc::clone(&flight), ping.clone());
            let reader = spawn(reader);
            let shared = Arc::clone(&flight);
            let written = pipeline::write::<$native>(&mut sender, shared, ping.clone()).await;
            pipeline::join(written, joined(reader).await?, &flight, &ping)
        }
    };
}

/// Defines the answering side, in a file that has: `listener`, `socket`, `spawn`, `detach`, `echo`
/// and `reflect`.
macro_rules! answering {
    () => {
        async fn serve(doors: AnsweringSocket) -> io::Result<()> {
            let listener = match doors {
                AnsweringSocket::Tcp(of_std) => listener(of_std)?,
                AnsweringSocket::Udp(of_std) => return reflect(socket(of_std)?).await,
            };
            loop {
                let (stream, _) = match listener.accept().await {
                    Err(e) if is_end(&e) => continue,
                    other => other?,
                };
                stream.set_nodelay(true)?;
                detach(spawn(echo(stream)));
            }
        }
    };
}

/// Defines the sockets of a runtime that reads and writes borrowed buffers: `$out` and `$in` are
/// the halves of a stream.
#[cfg(any(feature = "tokio", feature = "smol", feature = "async-std"))]
macro_rules! borrowing {
    ($out:ty, $in:ty) => {
        enum Out {
            Tcp($out),
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
            Tcp($in),
            Udp(Arc<UdpSocket>),
        }

        impl Receiver for In {
            async fn receive(&mut self, mut buffer: Vec<u8>) -> Done<usize> {
                let size = buffer.len();
                let result = match self {
                    In::Tcp(stream) => stream.read_exact(&mut buffer).await.map(|_| size),
                    In::Udp(socket) => socket.recv(&mut buffer).await,
                };
                (result, buffer)
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

        async fn reflect(socket: UdpSocket) -> io::Result<()> {
            let mut block = vec![0; DATAGRAM];
            loop {
                match socket.recv_from(&mut block).await {
                    Ok((n, from)) => {
                        // the asking program may have left, and then the answer is lost without
                        // harm
                        let _ = socket.send_to(&block[..n], from).await;
                    }
                    Err(e) if is_end(&e) => {}
                    Err(e) => return Err(e),
                }
            }
        }
    };
}

pub(super) use answering;
pub(super) use asking;
#[cfg(any(feature = "tokio", feature = "smol", feature = "async-std"))]
pub(super) use borrowing;
