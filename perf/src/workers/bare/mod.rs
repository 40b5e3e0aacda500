// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick: what blocking sockets of the standard library reach with the least framing that a
//! message can have. No keys, no routing, no protocol; a node can come close to this but not pass it
//! by much.

mod answer;
mod ask;
mod flow;
mod framing;
mod relay;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

use clap::{Args, Subcommand};

use crate::event::Event;

/// The workers.
#[derive(Subcommand, Clone, Debug)]
pub enum Worker {
    /// Worker: count messages from any number of bare-pub
    #[command(name = "bare-sub", hide = true)]
    Sub(flow::Subscribe),
    /// Worker: send messages to any number of bare-sub, as fast as blocking sockets can
    #[command(name = "bare-pub", hide = true)]
    Pub {
        /// Payload of a message in bytes
        size: usize,
        /// Connect to this address (repeatable)
        #[arg(long, value_name = "IP:PORT", required = true)]
        connect: Vec<SocketAddr>,
    },
    /// Worker: copy bytes from every bare-pub to every bare-sub
    #[command(name = "bare-fan", hide = true)]
    Fan {
        /// Where the senders connect
        address: SocketAddr,
        /// How many send
        #[arg(long, value_name = "N", default_value_t = 1)]
        senders: u16,
        /// How many receive
        #[arg(long, value_name = "N", default_value_t = 1)]
        receivers: u16,
    },
    /// Worker: copy bytes between two connections, the yardstick of a router
    #[command(name = "bare-relay", hide = true)]
    Relay {
        /// Where the sender connects
        address: SocketAddr,
    },
    /// Worker: send back what lat-bare-ping sends
    #[command(name = "bare-pong", hide = true)]
    Answer {
        #[command(flatten)]
        side: Side,
    },
    /// Worker: ask bare-pong, back to back or on a schedule
    #[command(name = "lat-bare-ping", hide = true)]
    Ask(ask::Asking),
}

impl Worker {
    /// Does its work until the others leave.
    pub fn run(&self) -> io::Result<()> {
        match self {
            Worker::Sub(options) => flow::subscribe(options),
            Worker::Pub { size, connect } => flow::publish(*size, connect),
            Worker::Fan {
                address,
                senders,
                receivers,
            } => flow::forward(*address, *senders, *receivers),
            Worker::Relay { address } => relay::relay(*address),
            Worker::Answer { side } => answer::pong(side),
            Worker::Ask(asking) => ask::ask(asking),
        }
    }
}

/// Where a yardstick worker finds its other side.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub struct Side {
    /// Wait for the connections on this address; port 0 chooses one, which is printed
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<SocketAddr>,
    /// Connect to this address
    #[arg(long, value_name = "IP:PORT")]
    connect: Option<SocketAddr>,
}

impl Side {
    /// So many connections, and the line that says the worker is there.
    pub fn open(&self, links: u16) -> io::Result<Vec<TcpStream>> {
        let all = 0..links;
        let streams: Vec<TcpStream> = match (self.listen, self.connect) {
            (Some(address), _) => {
                let listener = TcpListener::bind(address)?;
                announce(&[&listener])?;
                let accept = |_| Ok(listener.accept()?.0);
                all.map(accept).collect::<io::Result<_>>()?
            }
            (None, Some(address)) => {
                let connect = |_| TcpStream::connect(address);
                let streams = all.map(connect).collect::<io::Result<_>>()?;
                announce(&[])?;
                streams
            }
            (None, None) => return Err(io::ErrorKind::InvalidInput.into()),
        };
        for stream in &streams {
            stream.set_nodelay(true)?;
        }
        Ok(streams)
    }

    /// The only connection.
    pub fn open_one(&self) -> io::Result<TcpStream> {
        let only = self.open(1)?.pop();
        only.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

fn announce(listeners: &[&TcpListener]) -> io::Result<()> {
    let listening = listeners.iter().map(|l| Ok(l.local_addr()?.to_string()));
    let ready = Event::Ready {
        listening: listening.collect::<io::Result<_>>()?,
    };
    ready.say();
    Ok(())
}

/// True for the errors by which a connection ends when the other process is gone.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
    )
}
