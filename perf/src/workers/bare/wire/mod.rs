// SPDX-License-Identifier: MIT OR Apache-2.0
//! The transports of bare workers: blocking sockets, and the protocol of the link on them, without
//! any node. All look like a stream; where the protocol has messages, each write is one of them.

mod datagrams;
#[cfg_attr(not(all(feature = "quic", feature = "tokio")), path = "absent_quic.rs")]
mod quic;
#[cfg_attr(not(feature = "tls"), path = "absent.rs", allow(clippy::duplicate_mod))]
mod tls;
#[cfg_attr(not(feature = "ws"), path = "absent.rs", allow(clippy::duplicate_mod))]
mod ws;

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
use std::str::FromStr;

use clap::Args;

use crate::link::Link;

/// One end of a connection.
pub trait Duplex: Read + Write + Send {
    /// Returns a second handle. From then on only that one writes, and the first one reads.
    fn writer(&self) -> io::Result<Wire>;
}

/// One end of a connection, of any kind.
pub type Wire = Box<dyn Duplex>;

/// The place to listen on or to connect to, in the notation of endpoints; TCP if it names no kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The kind of link.
    pub link: Link,
    at: String,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (link, at) = match text.split_once('/') {
            None => (Link::Tcp, text),
            Some((scheme, at)) => {
                let link = Link::of_scheme(scheme);
                (link.ok_or_else(|| format!("{scheme}: no such link"))?, at)
            }
        };
        let is_path = link.scheme() == "unixsock-stream";
        if !is_path && at.parse::<SocketAddr>().is_err() {
            return Err(format!("{at}: expected IP:PORT"));
        }
        let at = at.to_owned();
        Ok(Place { link, at })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.link.scheme(), self.at)
    }
}

impl Place {
    /// Returns another place of the same kind on the same host.
    pub fn beside(&self) -> Place {
        let at = match self.at.parse::<SocketAddr>() {
            Ok(address) => SocketAddr::new(address.ip(), 0).to_string(),
            Err(_) => format!("{}.back", self.at),
        };
        Place { at, ..*self }
    }

    fn address(&self) -> io::Result<SocketAddr> {
        let parsed = self.at.parse();
        parsed.map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))
    }
}

/// Data that a link needs in addition to its address.
#[derive(Args, Clone, Debug, Default)]
pub struct LinkMaterial {
    /// Certificates, as the configuration of a node names them (repeatable)
    #[arg(long = "cfg", value_name = "KEY:VALUE")]
    settings: Vec<String>,
}

impl LinkMaterial {
    /// Connects to a place.
    pub fn connect(&self, to: &Place) -> io::Result<Wire> {
        let tcp = || -> io::Result<TcpStream> {
            let stream = TcpStream::connect(to.address()?)?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        match to.link {
            Link::Tcp => Ok(Box::new(tcp()?)),
            #[cfg(unix)]
            Link::Unix => Ok(Box::new(UnixStream::connect(&to.at)?)),
            Link::Tls => tls::connect(tcp()?, to.address()?, &self.settings),
            Link::Ws => ws::connect(tcp()?, to.address()?, &self.settings),
            Link::Udp => datagrams::connect(to.address()?),
            Link::Quic => quic::connect(to.address()?, &self.settings),
        }
    }

    /// Listens on a place.
    pub fn listen(&self, at: &Place) -> io::Result<Listener> {
        let socket = match at.link {
            #[cfg(unix)]
            Link::Unix => Socket::Unix(UnixListener::bind(&at.at)?),
            Link::Udp => Socket::Datagrams(datagrams::bind(at.address()?)?),
            Link::Quic => Socket::Quic(quic::bind(at.address()?, &self.settings)?),
            _ => Socket::Tcp(TcpListener::bind(at.address()?)?),
        };
        let (means, place) = (self.clone(), at.clone());
        Ok(Listener {
            socket,
            means,
            place,
        })
    }
}

/// Returns true if this build has the link.
pub fn is_available(link: Link) -> bool {
    match link {
        Link::Tls => tls::AVAILABLE,
        Link::Ws => ws::AVAILABLE,
        Link::Quic => quic::AVAILABLE,
        _ => true,
    }
}

/// A listening socket.
pub struct Listener {
    socket: Socket,
    means: LinkMaterial,
    place: Place,
}

enum Socket {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener),
    Datagrams(socket2::Socket),
    Quic(quic::QuicListener),
}

impl Listener {
    /// Returns the place of the listener, with the port that the system chose.
    pub fn place(&self) -> io::Result<Place> {
        let at = match &self.socket {
            Socket::Tcp(listener) => listener.local_addr()?.to_string(),
            #[cfg(unix)]
            Socket::Unix(_) => self.place.at.clone(),
            Socket::Datagrams(socket) => datagrams::address(socket)?.to_string(),
            Socket::Quic(door) => door.address()?.to_string(),
        };
        Ok(Place { at, ..self.place })
    }

    /// Accepts the next connection.
    pub fn accept(&self) -> io::Result<Wire> {
        let tcp = match &self.socket {
            Socket::Tcp(listener) => listener.accept()?.0,
            #[cfg(unix)]
            Socket::Unix(listener) => return Ok(Box::new(listener.accept()?.0)),
            Socket::Datagrams(socket) => return datagrams::accept(socket),
            Socket::Quic(door) => return door.accept(),
        };
        tcp.set_nodelay(true)?;
        match self.place.link {
            Link::Tls => tls::accept(tcp, &self.means.settings),
            Link::Ws => ws::accept(tcp, &self.means.settings),
            _ => Ok(Box::new(tcp)),
        }
    }
}

impl Duplex for TcpStream {
    fn writer(&self) -> io::Result<Wire> {
        Ok(Box::new(self.try_clone()?))
    }
}

#[cfg(unix)]
impl Duplex for UnixStream {
    fn writer(&self) -> io::Result<Wire> {
        Ok(Box::new(self.try_clone()?))
    }
}

#[cfg(test)]
mod tests;
