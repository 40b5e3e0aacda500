// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared parts of the tests of links: a runtime, an owner of listeners that reports all calls, and
//! peers played by the test.
#![allow(dead_code)] // each test binary uses its part of this

use std::future::Future;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use zonda_codec::{Endpoint, WhatAmI, ZenohId};
use zonda_runtime::{AnyRuntime, Runtime, RuntimeKind, RuntimeOptions, block_on_until};
use zonda_transport::link::{Link, LinkAddress};
use zonda_transport::listen::{Admission, ListenOptions, Listening, listen_with};
use zonda_transport::protocol::handshake::{Acceptor, CookieKey, HandshakeError, Opener};
use zonda_transport::protocol::parameters::{Established, LocalParameters};

/// Maximum wait for any event, also on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Runs `future` to its end, which must come soon.
pub fn within<F: Future>(future: F) -> F::Output {
    block_on_until(Instant::now() + DEADLINE, future).expect("in time")
}

/// Returns every runtime that is compiled in and that the system has.
pub fn runtimes() -> impl Iterator<Item = AnyRuntime> {
    let options = RuntimeOptions {
        threads: Some(2),
        uring_required: true,
        ..RuntimeOptions::default()
    };
    RuntimeKind::available().filter_map(move |kind| {
        let started = AnyRuntime::start(kind, &options);
        match &started {
            Ok(_) => eprintln!("on {kind}"),
            Err(error) if kind == RuntimeKind::Uring => eprintln!("SKIPPED: {error}"),
            Err(error) => panic!("{kind} does not start: {error}"),
        }
        started.ok()
    })
}

/// Evaluates an expression with each of [`runtimes`] in turn.
macro_rules! each_runtime {
    ($runtime:ident => $body:expr) => {
        for any in $crate::peers::runtimes() {
            zonda_runtime::with_runtime!(&any, $runtime => $body)
        }
    };
}

pub fn node(id: u128) -> LocalParameters {
    LocalParameters::new(ZenohId::random_from(id), WhatAmI::Peer)
}

pub fn endpoint(text: &str) -> Endpoint {
    text.parse().expect("an endpoint")
}

pub fn tcp(address: SocketAddr) -> Endpoint {
    endpoint(&format!("tcp/{address}"))
}

/// Call of a listener to its owner.
#[derive(Debug)]
pub enum Event {
    Accepted(Box<Link>),
    Withdrawn(ZenohId),
    Failed(HandshakeError),
}

type Decision = Box<dyn Fn(&Established) -> Result<(), u8> + Send + Sync>;

/// Owner of a listener: decides by a function, and reports all calls.
pub struct Door {
    decide: Decision,
    events: Mutex<Sender<Event>>,
}

impl Door {
    /// Creates an owner that admits every peer.
    pub fn new(events: Sender<Event>) -> Door {
        Door {
            decide: Box::new(|_| Ok(())),
            events: Mutex::new(events),
        }
    }

    fn tell(&self, event: Event) {
        // The test may be over.
        let _ = self.events.lock().expect("not poisoned").send(event);
    }
}

impl Admission for Door {
    fn admit(&self, established: &Established, _remote: &LinkAddress) -> Result<(), u8> {
        (self.decide)(established)
    }
    fn accepted(&self, link: Link, _listener: &Endpoint) {
        self.tell(Event::Accepted(Box::new(link)));
    }
    fn withdrawn(&self, established: &Established) {
        self.tell(Event::Withdrawn(established.zid));
    }
    fn failed(&self, _remote: Option<&LinkAddress>, error: HandshakeError) {
        self.tell(Event::Failed(error));
    }
}

/// Listener of node 1 with its reports.
pub struct House {
    pub listening: Listening,
    pub events: Receiver<Event>,
}

impl House {
    pub fn at<R: Runtime>(runtime: &R, place: &str, options: ListenOptions) -> House {
        House::guarded(runtime, place, options, |_| Ok(()))
    }

    pub fn open<R: Runtime>(runtime: &R) -> House {
        House::at(runtime, "tcp/127.0.0.1:0", ListenOptions::default())
    }

    pub fn guarded<R: Runtime>(
        runtime: &R,
        place: &str,
        options: ListenOptions,
        decide: impl Fn(&Established) -> Result<(), u8> + Send + Sync + 'static,
    ) -> House {
        let (sender, events) = channel();
        let door = Arc::new(Door {
            decide: Box::new(decide),
            events: Mutex::new(sender),
        });
        let listening = listen_with(runtime, &endpoint(place), node(1), door, options);
        House {
            listening: listening.expect("a free port"),
            events,
        }
    }

    pub fn address(&self) -> SocketAddr {
        let address = self.listening.addresses()[0].socket_address();
        address.expect("of the internet")
    }

    pub fn next(&self) -> Event {
        self.events
            .recv_timeout(DEADLINE)
            .expect("an event in time")
    }

    pub fn failure(&self) -> HandshakeError {
        match self.next() {
            Event::Failed(error) => error,
            other => panic!("a failure was expected, not {other:?}"),
        }
    }

    pub fn link(&self) -> Link {
        match self.next() {
            Event::Accepted(link) => *link,
            other => panic!("a link was expected, not {other:?}"),
        }
    }

    /// Connects a peer that the test plays.
    pub fn visit(&self) -> Hand {
        Hand(TcpStream::connect(self.address()).expect("loopback"))
    }
}

/// Waits until `condition` holds.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not come about");
        std::thread::yield_now();
    }
}

/// End of a link whose bytes the test chooses.
pub struct Hand(pub TcpStream);

impl Hand {
    pub fn send(&mut self, batch: &[u8]) {
        let mut bytes = Vec::new();
        zonda_transport::framing::frame(batch, &mut bytes);
        self.raw(&bytes);
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("writable");
    }

    pub fn receive(&mut self) -> Vec<u8> {
        self.0.set_read_timeout(Some(DEADLINE)).expect("a socket");
        let mut prefix = [0; 2];
        self.0.read_exact(&mut prefix).expect("a prefix");
        let mut batch = vec![0; u16::from_le_bytes(prefix).into()];
        self.0.read_exact(&mut batch).expect("a batch");
        batch
    }

    /// Returns true if the peer ends or resets the connection, after any last batch.
    pub fn is_left_alone(&mut self) -> bool {
        self.0.set_read_timeout(Some(DEADLINE)).expect("a socket");
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

pub fn opener(id: u128) -> Opener {
    Opener::new(node(id), None)
}

pub fn acceptor(id: u128) -> Acceptor {
    Acceptor::new(node(id), Arc::new(CookieKey::new([7; 32])))
}
