// SPDX-License-Identifier: MIT OR Apache-2.0
//! Neighbours that violate the protocol on links of every kind: within an established link, in the
//! layer below it, and before it. Each lie costs its own link at most, and is counted; honest
//! neighbours on links of the same kind and of another one notice nothing. Violations that are
//! possible on any link have their cases in [`crate::framing`].

use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::rustls::crypto::ring;
use quinn::rustls::pki_types::pem::PemObject;
use quinn::rustls::pki_types::{CertificateDer, ServerName};
use quinn::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use zonda::{Config, Session, Wait};
use zonda_codec::{
    Close, Endpoint, FrameHeader, InitExt, InitSyn, Priority, Push, PushBody, Put, Reliability,
    Resolution, WhatAmI, WireExpr, ZenohId,
};
use zonda_router::metrics::Sample;
use zonda_runtime::{
    AnyRuntime, LinkWrite, RuntimeKind, RuntimeOptions, Socket, ThreadsRuntime, block_on,
};
use zonda_transport::dial::open_link;
use zonda_transport::framing::frame;
use zonda_transport::link::Halves;
use zonda_transport::protocol::parameters::{Established, LocalParameters};

use crate::authority::Authority;
use crate::hand::{bytes, next_id};
use crate::scene::{LONG, Scene, until};

/// Time for which a liar may be silent by default.
pub const LEASE: Duration = Duration::from_secs(60);

/// A router that listens on links of a kind, and an honest neighbour on one of them.
pub struct Stage {
    pub scene: Scene,
    /// Endpoint that the liars connect to.
    at: Endpoint,
    runtime: ThreadsRuntime,
    pub honest: Session,
    /// Liars that may stay: the end of one would be counted as that of another.
    staying: RefCell<Vec<Liar>>,
    authority: Authority,
}

/// A neighbour that was admitted.
pub struct Liar {
    halves: Halves<ThreadsRuntime>,
    /// Socket of the link.
    beneath: Socket,
    pub zid: ZenohId,
    agreed: Established,
    next_sn: u32,
}

/// Fate of a liar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Cut,
    Ignored,
}

impl Stage {
    pub fn of(kind: &str) -> Stage {
        // Certificates for kinds with encryption.
        let (kind, metadata) = kind.split_at(kind.find('?').unwrap_or(kind.len()));
        let authority = Authority::new();
        let shown = authority.sign("server", &["localhost", "127.0.0.1"]);
        let is_encrypted = matches!(kind, "tls" | "quic" | "wss");
        let encrypted = |options: String| match is_encrypted {
            true => options,
            false => String::new(),
        };
        let shows = encrypted(format!(
            "#listen_certificate_file={};listen_private_key_file={}",
            shown.certificate, shown.key
        ));
        // A router with a listener of the kind.
        let listen = format!("{kind}/127.0.0.1:0{metadata}{shows}");
        let config = Config::router().listen(["tcp/127.0.0.1:0", &listen]);
        let scene = Scene::of(config);
        // An honest client on a link of the kind.
        let locator = scene.node.locators().remove(1);
        let trusts = encrypted(format!("#root_ca_certificate_file={}", authority.ca()));
        let at = format!("{locator}{trusts}");
        let honest = zonda::open(Config::client([&at])).wait();
        // A runtime for links of the liars.
        let started = AnyRuntime::start(RuntimeKind::Threads, &RuntimeOptions::default());
        let Ok(AnyRuntime::Threads(runtime)) = started else {
            panic!("the runtime is there")
        };
        Stage {
            scene,
            at: at.parse().expect("an endpoint"),
            runtime,
            honest: honest.expect("the router is there"),
            staying: RefCell::default(),
            authority,
        }
    }

    /// Returns the address that the router listens on.
    pub fn place(&self) -> SocketAddr {
        self.at.address().parse().expect("a socket address")
    }

    pub fn liar(&self, lease: Duration) -> Liar {
        let zid = ZenohId::random_from(u128::from(next_id()));
        let mut parameters = LocalParameters::new(zid, WhatAmI::Client);
        (parameters.batch_size, parameters.lease) = (1100, lease);
        let opening = open_link(&self.runtime, &self.at, &parameters, LONG);
        let link = block_on(opening).expect("it is let in");
        let beneath = link.stream.socket().try_clone().expect("a descriptor");
        Liar {
            next_sn: link.established.initial_sn_tx,
            agreed: link.established,
            halves: link.stream.adopt(&self.runtime).expect("a socket"),
            beneath,
            zid,
        }
    }

    /// Lets a neighbour send this lie, and asserts its fate.
    #[track_caller]
    fn tell(&self, name: &str, fate: Fate, lie: impl Fn(&mut Liar)) {
        match fate {
            Fate::Cut => self.tell_and_go(name, LEASE, lie),
            Fate::Ignored => self.tell_and_stay(name, lie),
        }
        self.honest_pass(name);
    }

    /// Asserts that the link of the liar is closed, and no other one.
    #[track_caller]
    fn tell_and_go(&self, name: &str, lease: Duration, lie: impl Fn(&mut Liar)) {
        let ended = || self.scene.node.ended_links().links;
        let before = ended();
        let mut liar = self.liar(lease);
        lie(&mut liar);
        until(name, || ended() > before);
        until(name, || self.scene.link(liar.zid).is_none());
        assert_eq!(ended(), before + 1, "{name}");
    }

    /// Asserts that the router counts the liar's messages and discards them.
    #[track_caller]
    fn tell_and_stay(&self, name: &str, lie: impl Fn(&mut Liar)) {
        let mut liar = self.liar(LEASE);
        until("the liar is known", || self.scene.link(liar.zid).is_some());
        lie(&mut liar);
        until(name, || self.ignored(&liar) > 0);
        self.staying.borrow_mut().push(liar);
    }

    /// Returns the number of discarded frames of a liar.
    fn ignored(&self, liar: &Liar) -> u64 {
        let link = self.scene.link(liar.zid);
        link.map_or(0, |link| link.discarded.frames)
    }

    /// Returns the number of malformed handshakes so far.
    fn malformed(&self) -> u64 {
        let all = self.scene.node.metrics();
        let counted = all.iter().filter(|sample| {
            sample.metric().name == "zonda_introductions"
                && sample.label("result") == Some("malformed")
        });
        counted.map(Sample::value).sum()
    }

    /// Sends a frame before any handshake and asserts that it is counted; `speak` checks that the
    /// connection ends.
    #[track_caller]
    fn hears_early(&self, speak: impl FnOnce(&[u8])) {
        let mut early = Vec::new();
        frame(&numbered(1, &push()), &mut early);
        let before = self.malformed();
        speak(&early);
        until("it is counted", || self.malformed() > before);
        self.honest_pass("a frame before any introduction");
    }

    /// Returns the configuration of a client of TLS that trusts the router, and is no node.
    fn trusting(&self, speaks: &[&[u8]]) -> ClientConfig {
        let mut trusted = RootCertStore::empty();
        let authority = CertificateDer::from_pem_file(self.authority.ca());
        let authority = authority.expect("a certificate");
        trusted.add(authority).expect("an authority");
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions();
        let config = config.expect("versions").with_root_certificates(trusted);
        let mut config = config.with_no_client_auth();
        config.alpn_protocols = speaks.iter().map(|name| name.to_vec()).collect();
        config
    }

    /// Asserts that a message of the honest neighbour passes the router and comes back.
    #[track_caller]
    pub fn honest_pass(&self, name: &str) {
        let key = format!("lies/{}", next_id());
        let subscriber = self.honest.declare_subscriber(&key).wait();
        let subscriber = subscriber.expect("a subscriber");
        until(name, || {
            self.honest.put(&key, name).wait().expect("it is sent");
            subscriber.try_recv().expect("open").is_some()
        });
    }
}

impl Liar {
    /// Sends one batch.
    pub fn say(&mut self, batch: &[u8]) {
        let mut framed = Vec::new();
        frame(batch, &mut framed);
        self.raw(&framed);
    }

    /// Sends bytes of the link. The router may have closed it.
    fn raw(&mut self, bytes: &[u8]) {
        let _ = block_on(self.halves.1.write_all(vec![bytes.to_vec()]));
    }

    pub fn frame(&mut self, messages: &[u8]) -> Vec<u8> {
        let sn = self.next_sn;
        self.next_sn = sn.wrapping_add(1) & self.agreed.sn_mask;
        numbered(sn, messages)
    }
}

fn numbered(sn: u32, messages: &[u8]) -> Vec<u8> {
    let header = FrameHeader {
        reliability: Reliability::Reliable,
        priority: Priority::Data,
        sn,
    };
    [bytes(&header), messages.to_vec()].concat()
}

fn push() -> Vec<u8> {
    bytes(&Push::new(
        WireExpr::full("some/key"),
        PushBody::Put(Put::new(b"x")),
    ))
}

fn introduction(zid: ZenohId) -> Vec<u8> {
    bytes(&InitSyn {
        version: 9,
        whatami: WhatAmI::Client,
        zid,
        resolution: Resolution::default(),
        batch_size: u16::MAX,
        ext: InitExt::default(),
    })
}

/// Tests lies within a link.
fn lies_within(stage: &Stage) {
    use Fate::{Cut, Ignored};

    stage.tell("no message at all", Cut, |liar| liar.say(&[0x1f; 100]));
    stage.tell("a message that is cut off", Cut, |liar| {
        let whole = push();
        let cut = liar.frame(&[&whole, &whole[..whole.len() - 1]].concat());
        liar.say(&cut);
    });
    stage.tell("a payload that is said to be longer", Cut, |liar| {
        let mut message = push();
        let length = message.len() - 2;
        message.splice(length..=length, [0xff, 0xff, 0xff, 0x7f]);
        let lie = liar.frame(&message);
        liar.say(&lie);
    });
    stage.tell("a number that cannot be", Cut, |liar| {
        let beyond = numbered(liar.agreed.sn_mask + 1, &push());
        liar.say(&beyond);
    });
    stage.tell("a farewell, and more behind it", Cut, |liar| {
        let farewell = Close {
            reason: 0,
            session: true,
        };
        liar.say(&bytes(&farewell));
        let more = liar.frame(&push());
        liar.say(&more);
    });
    stage.tell("the same frame again", Ignored, |liar| {
        let once = liar.frame(&push());
        (0..3).for_each(|_| liar.say(&once));
    });
}

/// Tests lies on links that have a length in front of each batch, which datagrams have not.
fn lies_about_length(stage: &Stage) {
    stage.tell("a batch larger than agreed", Fate::Cut, |liar| {
        let large = liar.frame(&push().repeat(100));
        assert!(large.len() > 1100);
        liar.say(&large);
    });
    // The lease of the silent liar ends with it.
    let brief = Duration::from_millis(500);
    stage.tell_and_go("a batch that never ends", brief, |liar| {
        liar.raw(&[&60_000_u16.to_le_bytes()[..], &[5; 100]].concat());
    });
    stage.honest_pass("a batch that never ends");
}

/// Sends an InitSyn with another id on an established link, and asserts that no link changes.
fn an_introduction_changes_nothing(stage: &Stage) {
    let mut liar = stage.liar(LEASE);
    until("the liar is known", || stage.scene.link(liar.zid).is_some());
    let other = ZenohId::random_from(1 << 90);
    liar.say(&introduction(other));
    let on = liar.frame(&push());
    liar.say(&on);
    stage.honest_pass("an introduction by another id");
    assert!(stage.scene.link(other).is_none());
    assert!(stage.scene.link(liar.zid).is_some(), "it may go on");
    stage.staying.borrow_mut().push(liar);
}

/// Sends bytes in the layer below a link, which its kind does not allow.
fn lie_beneath(stage: &Stage, name: &str, lie: &[u8]) {
    stage.tell(name, Fate::Cut, |liar| {
        (&liar.beneath).write_all(lie).expect("it is sent");
    });
}

/// Opens a connection below all links.
fn below(stage: &Stage) -> TcpStream {
    let stream = TcpStream::connect(stage.place()).expect("it listens");
    stream.set_read_timeout(Some(LONG)).expect("a socket");
    stream
}

/// Returns true once the other end has closed the stream.
fn is_hung_up_on(mut stream: impl Read) -> bool {
    let mut rest = [0; 4096];
    loop {
        match stream.read(&mut rest) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => {
                return matches!(
                    error.kind(),
                    ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof
                );
            }
        }
    }
}

#[test]
fn lies_on_links_of_tls() {
    let stage = Stage::of("tls");
    lies_within(&stage);
    lies_about_length(&stage);
    an_introduction_changes_nothing(&stage);
    lie_beneath(
        &stage,
        "a record of nonsense",
        &[23, 3, 3, 0, 64, 7].repeat(20),
    );
    lie_beneath(&stage, "a record larger than any", &[23, 3, 3, 0xff, 0xff]);
    lie_beneath(&stage, "no record", &[0xff; 300]);
    stage.hears_early(|early| {
        let name = ServerName::try_from("localhost").expect("a name");
        let client = ClientConnection::new(Arc::new(stage.trusting(&[])), name);
        let mut stream = StreamOwned::new(client.expect("a client"), below(&stage));
        stream.write_all(early).expect("it is sent");
        assert!(is_hung_up_on(stream));
    });
    stage.scene.is_well();
}

#[test]
fn lies_on_links_of_websockets() {
    let stage = Stage::of("ws");
    lies_within(&stage);
    lies_about_length(&stage);
    an_introduction_changes_nothing(&stage);
    lie_beneath(&stage, "a frame without a mask", &[0x82, 3, 4, 4, 4]);
    lie_beneath(
        &stage,
        "a frame larger than any",
        &[
            0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4,
        ],
    );
    lie_beneath(&stage, "a frame of no kind", &[0x8b, 0x80, 0, 0, 0, 0]);
    // A frame of ours before any handshake, within one of WebSocket.
    let mut early = below(&stage);
    let request = "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    early.write_all(request.as_bytes()).expect("it is sent");
    let frame = numbered(1, &push());
    let head = [0x82, 0x80 | frame.len() as u8, 0, 0, 0, 0];
    early
        .write_all(&[&head, &frame[..]].concat())
        .expect("it is sent");
    assert!(is_hung_up_on(early));
    stage.scene.is_well();
}

#[test]
fn lies_on_links_of_datagrams() {
    let stage = Stage::of("udp");
    lies_within(&stage);
    an_introduction_changes_nothing(&stage);
    stage.tell("a batch larger than agreed", Fate::Cut, |liar| {
        let large = liar.frame(&push().repeat(100));
        liar.say(&large);
    });
    // Frames of peers without a link, and other messages in place of an InitSyn.
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let links = stage.scene.node.links().len();
    for lie in [
        &numbered(1, &push())[..],
        &[0x1f; 64],
        &[],
        &[1, 9],
        &[3, 0],
        &[4],
    ] {
        for _ in 0..100 {
            stranger.send_to(lie, stage.place()).expect("it is sent");
        }
    }
    stage.honest_pass("strangers that say frames");
    assert_eq!(stage.scene.node.links().len(), links);
    stage.scene.is_well();
}

#[test]
fn lies_on_links_of_quic() {
    let stage = Stage::of("quic");
    lies_within(&stage);
    lies_about_length(&stage);
    an_introduction_changes_nothing(&stage);
    // Below it are datagrams, which any process can send.
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a port");
    for first in [0x40, 0xc0, 0xff, 0x00] {
        for length in [1, 40, 1200] {
            let lie = vec![first; length];
            stranger.send_to(&lie, stage.place()).expect("it is sent");
        }
    }
    stage.hears_early(|early| {
        speak_quic(&stage, b"zenoh", async |connection| {
            let (mut out, _back) = connection.open_bi().await.expect("a stream");
            out.write_all(early).await.expect("it is sent");
            connection.closed().await;
        });
    });
    stage.scene.is_well();
}

/// Runs `act` on a connection of QUIC with these protocols, which must end in time.
fn speak_quic(stage: &Stage, speaks: &[u8], act: impl AsyncFnOnce(quinn::Connection)) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let config = QuicClientConfig::try_from(stage.trusting(&[speaks])).expect("for QUIC");
        let endpoint = quinn::Endpoint::client((Ipv4Addr::LOCALHOST, 0).into());
        let endpoint = endpoint.expect("a socket");
        let config = quinn::ClientConfig::new(Arc::new(config));
        let opening = endpoint.connect_with(config, stage.place(), "localhost");
        let spoken = async {
            act(opening.expect("a name").await.expect("a connection")).await;
        };
        tokio::time::timeout(LONG, spoken).await.expect("in time");
    });
}

#[test]
fn lies_on_links_of_datagrams_of_quic() {
    let stage = Stage::of("quic?rel=0");
    lies_within(&stage);
    an_introduction_changes_nothing(&stage);
    stage.hears_early(|early| {
        speak_quic(&stage, b"hq-29", async |connection| {
            let frame = early[2..].to_vec();
            connection.send_datagram(frame.into()).expect("it is sent");
            connection.closed().await;
        });
    });
    stage.scene.is_well();
}
