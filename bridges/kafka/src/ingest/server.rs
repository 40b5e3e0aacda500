// SPDX-License-Identifier: MIT OR Apache-2.0
//! Life of a server on any runtime: started, and ended so that no acknowledged message is lost.

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use zonda_runtime::{
    AnyRuntime, Runtime, RuntimeKind, RuntimeOptions, Socket, oneshot, with_runtime,
};

use super::accept::{accept, listen, listen_std};
use super::service::Service;
use super::{original_tokio, original_uring};
use crate::sink::Ending;

/// The runtime of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// A runtime of the project.
    Runtime(RuntimeKind),
    /// The study's server on tokio itself.
    OriginalTokio,
    /// The study's server on the crate `tokio-uring`.
    OriginalUring,
}

impl On {
    /// Names of the study's two servers.
    const ORIGINALS: [(&str, On); 2] = [
        ("original-tokio", On::OriginalTokio),
        ("original-uring", On::OriginalUring),
    ];

    /// Returns every server that is compiled in, the two originals first.
    pub fn all() -> Vec<On> {
        let originals = Self::ORIGINALS.into_iter().map(|(_, on)| on);
        originals
            .chain(RuntimeKind::available().map(On::Runtime))
            .collect()
    }

    /// Returns the names of all servers.
    pub fn names() -> String {
        let names: Vec<_> = On::all().iter().map(On::to_string).collect();
        names.join(", ")
    }
}

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            On::Runtime(kind) => kind.fmt(f),
            On::OriginalTokio => f.write_str("original-tokio"),
            On::OriginalUring => f.write_str("original-uring"),
        }
    }
}

impl FromStr for On {
    type Err = String;

    fn from_str(text: &str) -> Result<On, String> {
        let original = Self::ORIGINALS.iter().find(|(name, _)| *name == text);
        match original {
            Some((_, on)) => Ok(*on),
            None => match text.parse() {
                Ok(kind) => Ok(On::Runtime(kind)),
                Err(_) => Err(format!("is none of {}", On::names())),
            },
        }
    }
}

/// Handles that keep a server running.
enum Engine {
    Ours {
        _runtime: AnyRuntime,
        _stop: oneshot::Sender<()>,
    },
    OriginalTokio {
        _running: original_tokio::Running,
    },
    OriginalUring,
}

/// A running server.
pub struct Server {
    service: Arc<Service>,
    address: SocketAddr,
    engine: Engine,
}

impl Server {
    /// Starts a server that listens at `address`.
    ///
    /// # Errors
    /// The address is taken, or the runtime cannot be started.
    pub fn start(on: On, address: SocketAddr, service: Arc<Service>) -> io::Result<Server> {
        // The address is read from the socket, as the port may have been 0.
        let (engine, address) = match on {
            On::Runtime(kind) => {
                let socket = listen(address)?;
                let address = address_of(&socket)?;
                (start_ours(kind, socket, &service)?, address)
            }
            On::OriginalTokio => {
                let listener = listen_std(address)?;
                let address = listener.local_addr()?;
                let engine = Engine::OriginalTokio {
                    _running: original_tokio::start(listener, Arc::clone(&service))?,
                };
                (engine, address)
            }
            On::OriginalUring => {
                let listener = listen_std(address)?;
                let address = listener.local_addr()?;
                original_uring::start(listener, Arc::clone(&service))?;
                (Engine::OriginalUring, address)
            }
        };
        Ok(Server {
            service,
            address,
            engine,
        })
    }

    /// Returns the address that it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the state that its connections share.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Stops accepting messages, and flushes the acknowledged ones.
    ///
    /// # Blocking
    /// At most `limit` for the broker.
    pub fn end(self, limit: Duration) -> Ending {
        self.service.stop();
        let ending = self.service.sink.end(limit);
        drop(self.engine);
        ending
    }
}

fn address_of(socket: &Socket) -> io::Result<SocketAddr> {
    let address = socket.local_addr()?.as_socket();
    address.ok_or_else(|| io::Error::other("the socket has no address"))
}

fn start_ours(kind: RuntimeKind, socket: Socket, service: &Arc<Service>) -> io::Result<Engine> {
    let options = RuntimeOptions {
        threads: threads(kind),
        uring_required: true,
        ..RuntimeOptions::default()
    };
    let runtime = AnyRuntime::start(kind, &options)?;
    let (stop, stopped) = oneshot::channel();
    let service = Arc::clone(service);
    with_runtime!(&runtime, inside => {
        let runtime = inside.clone();
        inside.spawn("accept", move || async move {
            if let Err(error) = accept(runtime, socket, service, stopped).await {
                zonda_program::complain(format_args!("error: no connection is accepted: {error}"));
            }
        });
    });
    Ok(Engine::Ours {
        _runtime: runtime,
        _stop: stop,
    })
}

/// Returns a thread for each processor, also if a node has fewer by default: a server's connections
/// share nothing.
fn threads(kind: RuntimeKind) -> Option<usize> {
    let has_workers = matches!(
        kind,
        RuntimeKind::Tokio | RuntimeKind::Smol | RuntimeKind::Uring
    );
    let processors = std::thread::available_parallelism();
    processors.ok().map(usize::from).filter(|_| has_workers)
}
