// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions, neighbours on raw connections, and waits for events.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};
use zonda::handlers::FifoChannelHandler;
use zonda::session::{ConnectionEvent, EventsListener, Refusal};
use zonda::{Config, Session, Wait};
use zonda_codec::transport::Close;
use zonda_codec::{Encode, WhatAmI, ZenohId};
use zonda_transport::framing::frame;
use zonda_transport::protocol::handshake::{HandshakeError, OpenStep, Opener};
use zonda_transport::protocol::parameters::LocalParameters;

/// Time limit that a passing test never reaches.
pub const LONG: Duration = Duration::from_secs(20);

/// Listener to all events.
pub type Events = EventsListener<FifoChannelHandler<ConnectionEvent>>;

/// Shortens the pause between attempts, so that no test waits for one.
pub fn quick(config: Config) -> Config {
    config
        .with("connect/retry", "{ period_init_ms: 20, period_max_ms: 40 }")
        .with("scouting/multicast/enabled", "false")
}

/// Opens a peer that listens on a free loopback port.
pub fn listening(config: Config) -> Session {
    let config = quick(config).listen(["tcp/127.0.0.1:0"]);
    zonda::open(config).wait().expect("it opens")
}

/// Opens a peer that listens, admits only the users of this list, and connects to these endpoints.
pub fn with_users(list: &str, connect: &[String]) -> Session {
    static WRITTEN: AtomicUsize = AtomicUsize::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let name = format!("zonda-users-{}-{number}", std::process::id());
    let file = std::env::temp_dir().join(name);
    let mut options = std::fs::OpenOptions::new();
    options.create(true).truncate(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut dictionary = options.open(&file).expect("the folder is writable");
    dictionary
        .write_all(list.as_bytes())
        .expect("there is room");
    let json = format!("{:?}", file.to_string_lossy());
    let config = Config::peer().with("transport/auth/usrpwd/dictionary_file", &json);
    let session = listening(config.connect(connect));
    // the file has been read
    std::fs::remove_file(&file).expect("it is there");
    session
}

/// Opens a peer that dials this endpoint and nothing else.
pub fn dialing(endpoint: &str) -> Session {
    let config = quick(Config::peer())
        .listen([] as [&str; 0])
        .connect([endpoint]);
    zonda::open(config).wait().expect("it opens")
}

/// Returns the address that the session listens at.
pub fn address(session: &Session) -> SocketAddr {
    let locator = session.info().locators().remove(0);
    locator.address().parse().expect("an address")
}

/// Returns the session's address as an endpoint.
pub fn endpoint(session: &Session) -> String {
    format!("tcp/{}", address(session))
}

/// Subscribes to all events from now on.
pub fn events(session: &Session) -> Events {
    session.info().events_listener().wait().expect("it is open")
}

/// Returns the next event of this name.
pub fn next(events: &Events, name: &str) -> ConnectionEvent {
    let deadline = Instant::now() + LONG;
    loop {
        match events.recv_deadline(deadline).expect("the session is open") {
            Some(event) if event.name() == name => return event,
            Some(_) => {}
            None => panic!("no event {name:?} within {LONG:?}"),
        }
    }
}

/// Returns the reason why the next attempt of this session fails.
pub fn next_failure(events: &Events) -> Refusal {
    match next(events, "failed") {
        ConnectionEvent::Failed { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

/// Returns the address and the reason of the session's next refusal.
pub fn next_refusal(events: &Events) -> (Option<SocketAddr>, Refusal) {
    match next(events, "refused") {
        ConnectionEvent::Refused { remote, reason, .. } => {
            (remote.and_then(|remote| remote.socket_address()), reason)
        }
        other => panic!("{other:?}"),
    }
}

/// Waits for a condition, with a deadline.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < LONG, "not within {LONG:?}: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Starts a listener that answers each connection with these bytes, and holds it until the peer
/// closes it. Ends with the process.
pub fn answering(bytes: &'static [u8]) -> String {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in socket.incoming().flatten() {
            std::thread::spawn(move || answer(stream, bytes));
        }
    });
    format!("tcp/{address}")
}

fn answer(mut stream: TcpStream, bytes: &[u8]) {
    let mut greeting = [0; 64];
    // a peer that has closed the connection needs no answer
    let _ = stream.read(&mut greeting);
    let _ = stream.write_all(bytes);
    while stream.read(&mut greeting).is_ok_and(|count| count > 0) {}
}

/// Returns one message in a batch of its own.
pub fn batch(message: &[u8]) -> &'static [u8] {
    let mut bytes = Vec::new();
    frame(message, &mut bytes);
    bytes.leak()
}

/// Returns a Close with this reason in a batch of its own.
pub fn close(reason: u8) -> &'static [u8] {
    let session = true;
    batch(
        &Close { reason, session }
            .to_vec()
            .expect("it has a wire form"),
    )
}

/// A client on a raw connection.
pub struct Hand {
    pub stream: TcpStream,
    pub zid: ZenohId,
    /// Number of its next frame, once it is admitted.
    pub sn: u32,
}

impl Hand {
    /// Connects without sending anything.
    pub fn connect(to: SocketAddr) -> Hand {
        Hand::of(TcpStream::connect(to).expect("somebody listens"))
    }

    /// Connects from this address of the machine without sending anything.
    pub fn connect_from(ip: [u8; 4], to: SocketAddr) -> Hand {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let local = SocketAddr::from((ip, 0));
        socket.bind(&local.into()).expect("a loopback address");
        socket.connect(&to.into()).expect("somebody listens");
        Hand::of(socket.into())
    }

    /// Speaks on an open connection.
    pub fn of(stream: TcpStream) -> Hand {
        stream.set_read_timeout(Some(LONG)).expect("a socket");
        let at = stream.local_addr().expect("it is connected");
        let IpAddr::V4(ip) = at.ip() else {
            panic!("not an address of IPv4");
        };
        let zid = ZenohId::random_from(u128::from(ip.to_bits()) << 16 | u128::from(at.port()));
        let sn = 0;
        Hand { stream, zid, sn }
    }

    /// Connects and is admitted, with this lease.
    pub fn introduced(to: SocketAddr, lease: Duration) -> Hand {
        let mut hand = Hand::connect(to);
        match hand.introduce(lease) {
            Ok(()) => hand,
            Err(error) => panic!("it is not let in: {error}"),
        }
    }

    /// Performs the handshake of a client with this lease.
    pub fn introduce(&mut self, lease: Duration) -> Result<(), HandshakeError> {
        self.introduce_as(WhatAmI::Client, lease)
    }

    /// Performs the handshake of a node of this role with this lease.
    pub fn introduce_as(&mut self, role: WhatAmI, lease: Duration) -> Result<(), HandshakeError> {
        let local = LocalParameters {
            lease,
            ..LocalParameters::new(self.zid, role)
        };
        let mut opener = Opener::new(local, None);
        let mut out = Vec::new();
        opener.start(&mut out);
        loop {
            self.send(&out);
            let batch = self.receive();
            if let OpenStep::Done(agreed) = opener.handle_batch(&batch, &mut out)? {
                self.sn = agreed.initial_sn_tx;
                return Ok(());
            }
        }
    }

    /// Returns true once the session has ended the connection, after reading its last batches.
    pub fn is_hung_up_on(&mut self) -> bool {
        let mut rest = [0; 4096];
        loop {
            match self.stream.read(&mut rest) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::ConnectionReset,
            }
        }
    }

    /// Sends one batch behind its length.
    pub fn send(&mut self, message: &[u8]) {
        self.stream.write_all(batch(message)).expect("it is read");
    }

    /// Reads one batch.
    pub fn receive(&mut self) -> Vec<u8> {
        let mut length = [0; 2];
        self.stream.read_exact(&mut length).expect("an answer");
        let mut batch = vec![0; usize::from(u16::from_le_bytes(length))];
        self.stream.read_exact(&mut batch).expect("an answer");
        batch
    }
}
