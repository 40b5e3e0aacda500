// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick: the speed of blocking sockets with the least framing that a message can have, and
//! with the protocol of the measured link: TLS by rustls, WebSocket by tungstenite, plain
//! datagrams. There are no keys, no routing and no protocol of the nodes; a node can come close to
//! this but hardly exceed it.

mod answer;
mod ask;
mod flow;
mod framing;
mod one_way;
mod relay;
mod wire;

use std::io;

use clap::{Args, Subcommand};

use crate::event::Event;
pub use framing::HEADER;
pub use wire::is_available;
use wire::{LinkMaterial, Listener, Place, Wire};

/// The workers.
#[derive(Subcommand, Clone, Debug)]
pub enum Worker {
    /// Worker: count messages from any number of bare-pub
    #[command(name = "bare-sub", hide = true)]
    Sub(flow::Subscribe),
    /// Worker: send messages to any number of bare-sub, as fast as blocking sockets can
    #[command(name = "bare-pub", hide = true)]
    Pub(flow::Publish),
    /// Worker: copy bytes from every bare-pub to every bare-sub
    #[command(name = "bare-fan", hide = true)]
    Fan(flow::Forward),
    /// Worker: copy bytes between two connections, the yardstick of a router
    #[command(name = "bare-relay", hide = true)]
    Relay {
        /// Address to which the sender connects
        place: Place,
        #[command(flatten)]
        means: LinkMaterial,
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
    /// Worker: send and receive on one thread
    #[command(name = "bare-one-way", hide = true)]
    OneWay(one_way::OneWay),
}

impl Worker {
    /// Runs the worker until the other programs leave.
    pub fn run(&self) -> io::Result<()> {
        match self {
            Worker::Sub(options) => flow::subscribe(options),
            Worker::Pub(options) => flow::publish(options),
            Worker::Fan(options) => flow::forward(options),
            Worker::Relay { place, means } => relay::relay(place, means),
            Worker::Answer { side } => answer::pong(side),
            Worker::Ask(asking) => ask::ask(asking),
            Worker::OneWay(options) => one_way::measure(options),
        }
    }
}

/// Address of the other side of a yardstick worker.
#[derive(Args, Clone, Debug)]
pub struct Side {
    #[command(flatten)]
    end: End,
    #[command(flatten)]
    means: LinkMaterial,
}

/// One of the two.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
struct End {
    /// Wait for the connections on this endpoint; port 0 chooses one, which is printed
    #[arg(long, value_name = "ENDPOINT")]
    listen: Option<Place>,
    /// Connect to this endpoint
    #[arg(long, value_name = "ENDPOINT")]
    connect: Option<Place>,
}

impl Side {
    /// Opens this many connections, and prints that the worker is ready.
    pub fn open(&self, links: u16) -> io::Result<Vec<Wire>> {
        let all = 0..links;
        match (&self.end.listen, &self.end.connect) {
            (Some(place), _) => {
                let listener = self.means.listen(place)?;
                announce(&[&listener])?;
                all.map(|_| listener.accept()).collect()
            }
            (None, Some(place)) => {
                let wires = all.map(|_| self.means.connect(place)).collect();
                announce(&[])?;
                wires
            }
            (None, None) => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Opens the only connection.
    pub fn open_one(&self) -> io::Result<Wire> {
        let only = self.open(1)?.pop();
        only.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Returns the maximum size of a write on a link where each write is one message.
    pub fn batch(&self) -> Option<usize> {
        let place = self.end.listen.as_ref().or(self.end.connect.as_ref());
        place.and_then(|place| place.link.batch())
    }
}

fn announce(listeners: &[&Listener]) -> io::Result<()> {
    let listening = listeners.iter().map(|l| Ok(l.place()?.to_string()));
    let ready = Event::Ready {
        listening: listening.collect::<io::Result<_>>()?,
    };
    ready.say();
    Ok(())
}

/// Returns true for the errors by which a connection ends when the other process is gone.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, UnexpectedEof,
    };
    matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionRefused | ConnectionReset | UnexpectedEof
    )
}
