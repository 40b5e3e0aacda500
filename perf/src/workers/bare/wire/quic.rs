// SPDX-License-Identifier: MIT OR Apache-2.0
//! QUIC by quinn: one stream of one connection, by blocking calls. The waiting thread runs quinn's
//! tasks itself.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, ServerConfig};
use tokio::runtime::{Builder, Runtime};

use super::{Duplex, Wire, tls};

/// Compile-time flag: QUIC is compiled in.
pub const AVAILABLE: bool = true;

/// The first bytes on a stream, without which the peer does not see it.
const HELLO: [u8; 1] = [1];

/// Returns the runtime of all connections of the process, which runs while a thread waits for one.
fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = Builder::new_current_thread().enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| made))
}

/// A listening endpoint.
pub struct QuicListener(Endpoint);

/// One end of the connection. Dropping it ends the connection.
struct Stream {
    receiving: Option<RecvStream>,
    sending: Arc<Mutex<SendStream>>,
    /// Kept alive, because both end with their last handles.
    _connection: (Endpoint, Connection),
}

/// Listens on an address.
pub fn bind(at: SocketAddr, settings: &[String]) -> io::Result<QuicListener> {
    let crypto = QuicServerConfig::try_from(tls::server(settings)?).map_err(io::Error::other)?;
    let config = ServerConfig::with_crypto(Arc::new(crypto));
    let _inside = runtime()?.enter();
    Endpoint::server(config, at).map(QuicListener)
}

/// Connects to an address.
pub fn connect(to: SocketAddr, settings: &[String]) -> io::Result<Wire> {
    let crypto = QuicClientConfig::try_from(tls::client(settings)?).map_err(io::Error::other)?;
    runtime()?.block_on(async {
        let any = match to {
            SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
            SocketAddr::V6(_) => SocketAddr::from(([0; 16], 0)),
        };
        let endpoint = Endpoint::client(any)?;
        let config = ClientConfig::new(Arc::new(crypto));
        let connecting = endpoint.connect_with(config, to, &to.ip().to_string());
        let connection = connecting.map_err(io::Error::other)?.await?;
        let (mut sending, receiving) = connection.open_bi().await?;
        sending.write_all(&HELLO).await?;
        Ok(stream(endpoint, connection, sending, receiving))
    })
}

impl QuicListener {
    /// Returns the address of the listener.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Accepts the next connection.
    pub fn accept(&self) -> io::Result<Wire> {
        runtime()?.block_on(async {
            let incoming = self.0.accept().await;
            let connection = incoming.ok_or(io::ErrorKind::NotConnected)?.await?;
            let (sending, mut receiving) = connection.accept_bi().await?;
            let mut hello = [0; HELLO.len()];
            receiving
                .read_exact(&mut hello)
                .await
                .map_err(io::Error::other)?;
            Ok(stream(self.0.clone(), connection, sending, receiving))
        })
    }
}

fn stream(
    endpoint: Endpoint,
    connection: Connection,
    sending: SendStream,
    receiving: RecvStream,
) -> Wire {
    Box::new(Stream {
        receiving: Some(receiving),
        sending: Arc::new(Mutex::new(sending)),
        _connection: (endpoint, connection),
    })
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.receiving {
            Some(receiving) => {
                let read = runtime()?.block_on(receiving.read(buffer))?;
                Ok(read.unwrap_or(0))
            }
            None => Ok(0),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let mut sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(runtime()?.block_on(sending.write(buffer))?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Duplex for Stream {
    fn writer(&self) -> io::Result<Wire> {
        let (endpoint, connection) = &self._connection;
        Ok(Box::new(Stream {
            receiving: None,
            sending: Arc::clone(&self.sending),
            _connection: (endpoint.clone(), connection.clone()),
        }))
    }
}
