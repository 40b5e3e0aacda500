// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick: what blocking sockets of the standard library reach with the least framing that a
//! message can have. No keys, no routing, no protocol; a node can come close to this but not pass it
//! by much.

pub mod crowd;
mod relay;
mod round_trip;
mod throughput;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

use clap::Args;

pub use relay::relay;
pub use round_trip::{ping, pong};
pub use throughput::{publish, subscribe};

use super::event::Event;

/// Where a yardstick worker finds its other side.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub struct Side {
    /// Wait for one connection on this address; port 0 chooses one, which is printed
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<SocketAddr>,
    /// Connect to this address
    #[arg(long, value_name = "IP:PORT")]
    connect: Option<SocketAddr>,
}

impl Side {
    /// The connection, and the line that says the worker is there.
    pub fn open(&self) -> io::Result<TcpStream> {
        let stream = match (self.listen, self.connect) {
            (Some(address), _) => {
                let listener = TcpListener::bind(address)?;
                announce(&[&listener])?;
                listener.accept()?.0
            }
            (None, Some(address)) => {
                let stream = TcpStream::connect(address)?;
                announce(&[])?;
                stream
            }
            (None, None) => return Err(io::ErrorKind::InvalidInput.into()),
        };
        stream.set_nodelay(true)?;
        Ok(stream)
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
