// SPDX-License-Identifier: MIT OR Apache-2.0
//! WebSocket by tungstenite on a blocking socket: each write is one binary message.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use bytes::{Buf, Bytes};
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

use super::{Duplex, Wire};

/// Compile-time flag: WebSocket is compiled in.
pub const AVAILABLE: bool = true;

/// One end of the connection.
struct Messages {
    socket: WebSocket<TcpStream>,
    role: Role,
    /// The unread rest of the last message.
    unread: Bytes,
}

/// Returns a configuration without size limits.
fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(None)
        .max_frame_size(None)
}

/// Connects to a WebSocket server.
pub fn connect(tcp: TcpStream, to: SocketAddr, _: &[String]) -> io::Result<Wire> {
    let url = format!("ws://{to}/");
    let asked = tungstenite::client::client_with_config(url, tcp, Some(config()));
    let (socket, _) = asked.map_err(io::Error::other)?;
    Ok(messages(socket, Role::Client))
}

/// Accepts a WebSocket connection.
pub fn accept(tcp: TcpStream, _: &[String]) -> io::Result<Wire> {
    let given = tungstenite::accept_with_config(tcp, Some(config()));
    Ok(messages(given.map_err(io::Error::other)?, Role::Server))
}

fn messages(socket: WebSocket<TcpStream>, role: Role) -> Wire {
    Box::new(Messages {
        socket,
        role,
        unread: Bytes::new(),
    })
}

/// Converts an error to the equivalent one of a plain socket.
fn plain(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        Error::ConnectionClosed | Error::AlreadyClosed | Error::Protocol(_) => {
            io::ErrorKind::UnexpectedEof.into()
        }
        other => io::Error::other(other),
    }
}

impl Read for Messages {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.unread.is_empty() {
            match self.socket.read().map_err(plain)? {
                Message::Binary(bytes) => self.unread = bytes,
                Message::Close(_) => return Ok(0),
                _ => {}
            }
        }
        let n = buffer.len().min(self.unread.len());
        self.unread.copy_to_slice(&mut buffer[..n]);
        Ok(n)
    }
}

impl Write for Messages {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let message = Message::Binary(Bytes::copy_from_slice(buffer));
        self.socket.send(message).map_err(plain)?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Duplex for Messages {
    fn writer(&self) -> io::Result<Wire> {
        let tcp = self.socket.get_ref().try_clone()?;
        let socket = WebSocket::from_raw_socket(tcp, self.role, Some(config()));
        Ok(messages(socket, self.role))
    }
}
