// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links between an opener and a listener, and each of their failures, on one runtime.
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::peers::{
    DEADLINE, Door, Event, Hand, House, acceptor, endpoint, eventually, node, opener, tcp, within,
};
use socket2::SockRef;
use zonda_runtime::{Runtime, Socket};
use zonda_transport::dial::{DialError, DialOptions, open_link, open_link_with};
use zonda_transport::link::{EndpointProblem, Link, Protocol};
use zonda_transport::listen::{ListenError, ListenOptions, listen};
use zonda_transport::protocol::handshake::{AcceptStep, HandshakeError, OpenStep, Step};

fn dial<R: Runtime>(runtime: &R, to: &str) -> Result<Link, DialError> {
    within(open_link(runtime, &endpoint(to), &node(2), DEADLINE))
}

fn dial_at<R: Runtime>(runtime: &R, to: SocketAddr) -> Result<Link, DialError> {
    dial(runtime, &format!("tcp/{to}"))
}

fn handshake_error(result: Result<Link, DialError>) -> HandshakeError {
    match result.expect_err("no link") {
        DialError::Handshake { source, .. } => source,
        other => panic!("a failed handshake was expected, not {other:?}"),
    }
}

/// Serves one connection by the test's own code, on a thread.
fn serve(serve: impl FnOnce(&mut Hand) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    thread::spawn(move || serve(&mut Hand(listener.accept().expect("a connection").0)));
    at
}

/// Checks that both ends have the same parameters, and that bytes pass.
fn check_link(near: Link, far: Link) {
    let (a, b) = (&near.established, &far.established);
    assert_eq!((a.zid, b.zid), (node(1).zid, node(2).zid));
    assert_eq!(
        (a.batch_size, a.sn_mask, a.qos, a.patch),
        (b.batch_size, b.sn_mask, b.qos, b.patch)
    );
    assert_eq!(
        (a.initial_sn_tx, a.initial_sn_rx),
        (b.initial_sn_rx, b.initial_sn_tx)
    );
    assert!(near.unread.is_empty() && far.unread.is_empty());
    if near.remote.protocol() == Protocol::Tcp {
        let (local, remote) = (near.local, near.remote);
        assert_eq!((local, remote), (far.remote, far.local));
        let mut ends = [near.stream.socket(), far.stream.socket()].into_iter();
        assert!(ends.all(|end| end.tcp_nodelay().expect("a socket")));
    }
    let ends: [&Socket; 2] = [near.stream.socket(), far.stream.socket()];
    for (mut from, mut to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
        to.set_nonblocking(false).expect("a socket");
        // A batch, as links with a stream for each priority carry only batches.
        from.write_all(b"\x03\0hel").expect("writable");
        let mut received = [0; 5];
        to.read_exact(&mut received).expect("readable");
        assert_eq!(&received, b"\x03\0hel");
    }
}

#[cfg(unix)]
pub fn links_open_over_a_path<R: Runtime>(runtime: &R) {
    let name = format!("zonda-link-{}-{}", std::process::id(), runtime.name());
    let path = std::env::temp_dir().join(name);
    let at = format!("unixsock-stream/{}", path.display());
    let house = House::at(runtime, &at, ListenOptions::default());
    assert_eq!(house.listening.locators()[0].to_string(), at);
    let lock = path.with_extension("lock");
    assert!(path.exists() && lock.exists());
    let second = listen(
        runtime,
        &endpoint(&at),
        node(3),
        Arc::new(Door::new(channel().0)),
    );
    let text = second.expect_err("it is taken").to_string();
    let expected = format!(
        "cannot listen on {at}: address in use; is another router running? take another path"
    );
    assert_eq!(text, expected);
    for _ in 0..3 {
        let near = dial(runtime, &at).expect("a link");
        let Event::Accepted(far) = house.next() else {
            panic!("a link was expected");
        };
        for link in [&near, &far] {
            let (local, remote) = (link.local.locator(), link.remote.locator());
            assert!(local.is_some() && remote.is_some() && local != remote);
        }
        assert_eq!(near.remote, far.local);
        check_link(near, *far);
    }
    within(house.listening.close());
    assert!(
        !path.exists() && !lock.exists(),
        "the listener's files go with it"
    );
    let error = dial(runtime, &at).expect_err("nobody listens").to_string();
    let expected = "check that a router or peer listens there";
    assert!(error.contains(&at) && error.ends_with(expected), "{error}");
}

#[cfg(feature = "ws")]
pub fn links_open_over_websockets<R: Runtime>(runtime: &R) {
    for listen_at in ["ws/127.0.0.1:0", "ws/[::1]:0"] {
        if listen_at.contains("::") && TcpListener::bind("[::1]:0").is_err() {
            eprintln!("SKIPPED: {listen_at}: this machine has no IPv6");
            continue;
        }
        let house = House::at(runtime, listen_at, ListenOptions::default());
        let to = house.listening.locators()[0].to_string();
        assert!(to.starts_with("ws/"), "{to}");
        for _ in 0..3 {
            let near = dial(runtime, &to).expect("a link");
            let Event::Accepted(far) = house.next() else {
                panic!("a link was expected");
            };
            let local = near.local.locator().map(|at| at.to_string());
            assert_eq!(local, far.remote.locator().map(|at| at.to_string()));
            assert_eq!(near.remote, far.local);
            check_link(near, *far);
        }
    }
}

/// Returns settings with the certificate of a link, and trust in it.
#[cfg(feature = "quic")]
fn trusting() -> zonda_transport::link::LinkSettings {
    use zonda_transport::link::{LinkSettings, Pem, TlsSettings};

    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    let certificate = Some(Pem::Text(made.cert.pem()));
    let tls = TlsSettings {
        root_ca_certificate: certificate.clone(),
        listen_certificate: certificate,
        listen_private_key: Some(Pem::Text(made.signing_key.serialize_pem())),
        ..TlsSettings::default()
    };
    LinkSettings {
        tls,
        ..LinkSettings::default()
    }
}

/// Returns a listener, and the settings to dial it with.
#[cfg(feature = "quic")]
fn house_of_quic<R: Runtime>(
    runtime: &R,
    at: &str,
    links: &zonda_transport::link::LinkSettings,
) -> (House, DialOptions) {
    let listening = ListenOptions {
        links: links.clone(),
        ..ListenOptions::default()
    };
    let dialling = DialOptions {
        links: links.clone(),
        ..DialOptions::default()
    };
    (House::at(runtime, at, listening), dialling)
}

/// A connection holds bytes that its peer has no room for, and those that the link has not read:
/// memory of the node's.
#[cfg(all(feature = "quic", target_os = "linux"))]
pub fn a_link_over_quic_counts_what_it_holds<R: Runtime>(runtime: &R) {
    use zonda_transport::outbox::{DirectSocket, Outbox};

    const WINDOW: usize = 1 << 20;
    let (house, dialling) = house_of_quic(runtime, "quic/127.0.0.1:0", &trusting());
    let to = endpoint(house.listening.locators()[0].as_ref());
    let near = within(open_link_with(runtime, &to, &node(2), &dialling)).expect("a link");
    let Event::Accepted(far) = house.next() else {
        panic!("a link was expected");
    };
    let [sending, receiving] = [&near, &*far]
        .map(|link| Outbox::new(&link.established, WINDOW, DirectSocket::of(&link.stream)));
    let held = |outbox: &Outbox| outbox.memory().own;
    let [mut from, mut into]: [&Socket; 2] = [near.stream.socket(), far.stream.socket()];
    let batch = [&60_000_u16.to_le_bytes()[..], &[7; 60_000]].concat();
    let (mut sent, mut received) = (0, 0);
    eventually("both ends hold what is not read", || {
        while let Ok(count) = from.write(&batch[sent % batch.len()..]) {
            sent += count;
        }
        held(&sending) > WINDOW / 4 && held(&receiving) > WINDOW / 2
    });
    let whole = sent - sent % batch.len();
    let mut bytes = vec![0; WINDOW];
    eventually("all of it is read, and nothing is held", || {
        while let Ok(count @ 1..) = into.read(&mut bytes) {
            received += count;
        }
        received == whole && held(&sending) < WINDOW / 8 && held(&receiving) < WINDOW / 8
    });
}

#[cfg(feature = "quic")]
pub fn links_open_over_quic<R: Runtime>(runtime: &R) {
    let links = trusting();
    for listen_at in ["quic/127.0.0.1:0", "quic/[::1]:0", "quic/localhost:0"] {
        if listen_at.contains("::") && TcpListener::bind("[::1]:0").is_err() {
            eprintln!("SKIPPED: {listen_at}: this machine has no IPv6");
            continue;
        }
        let (house, dialling) = house_of_quic(runtime, listen_at, &links);
        let to = house.listening.locators()[0].to_string();
        let (at, own) = (endpoint(&to), node(2));
        for round in 0..3 {
            let opening = open_link_with(runtime, &at, &own, &dialling);
            let near = within(opening).expect("a link");
            let Event::Accepted(far) = house.next() else {
                panic!("a link was expected");
            };
            assert_eq!(near.remote, far.local);
            if round == 2 {
                // The closed links have ended, and an open one stays after the listener has
                // stopped.
                within(house.listening.close());
                check_link(near, *far);
                break;
            }
            check_link(near, *far);
        }
    }
}

pub fn links_open_over_addresses_and_names<R: Runtime>(runtime: &R) {
    for (listen_at, dial_host) in [
        ("tcp/127.0.0.1:0", "127.0.0.1"),
        ("tcp/[::1]:0", "[::1]"),
        ("tcp/[::]:0", "127.0.0.1"),
        ("tcp/[::]:0", "[::1]"),
        ("tcp/0.0.0.0:0", "localhost"),
        ("tcp/localhost:0", "localhost"),
    ] {
        if listen_at.contains("::") && TcpListener::bind("[::1]:0").is_err() {
            eprintln!("SKIPPED: {listen_at} to {dial_host}: this machine has no IPv6");
            continue;
        }
        let house = House::at(runtime, listen_at, ListenOptions::default());
        let port = house.address().port();
        assert_ne!(port, 0);
        let near = dial(runtime, &format!("tcp/{dial_host}:{port}")).expect("a link");
        check_link(near, house.link());
        assert_eq!(house.listening.counts().accepted, 1);
    }
}

pub fn locators_name_the_bound_port_and_keep_metadata<R: Runtime>(runtime: &R) {
    let house = House::at(
        runtime,
        "tcp/127.0.0.1:0?rel=1#so_sndbuf=9000",
        ListenOptions::default(),
    );
    let expected = format!("tcp/127.0.0.1:{}?rel=1", house.address().port());
    let locators: Vec<_> = house
        .listening
        .locators()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(locators, [expected]);
    // Locators that another node announces are dialled, even with an option that this node does not
    // know.
    let told = format!("tcp/{}?novelty=1;prio=1-3", house.address());
    assert!(dial(runtime, &told).is_ok(), "{told}");
}

pub fn socket_options_are_honoured<R: Runtime>(runtime: &R) {
    let house = House::at(
        runtime,
        "tcp/127.0.0.1:0#so_rcvbuf=20000",
        ListenOptions::default(),
    );
    let to = format!(
        "{}#bind=127.0.0.2;dscp=0xb8;iface=lo;so_sndbuf=30000",
        tcp(house.address())
    );
    let near = dial(runtime, &to).expect("a link");
    let far = house.link();
    let from = far.remote.socket_address().expect("of the internet");
    assert_eq!(from.ip().to_string(), "127.0.0.2");
    let class = SockRef::from(near.stream.socket()).tos_v4();
    assert_eq!(class.expect("a socket"), 0xb8);
    // Linux doubles the sizes, for its own bookkeeping.
    let near_size = SockRef::from(near.stream.socket())
        .send_buffer_size()
        .expect("a socket");
    let far_size = SockRef::from(far.stream.socket())
        .recv_buffer_size()
        .expect("a socket");
    assert!((30_000..=60_000).contains(&near_size), "{near_size}");
    assert!((20_000..=40_000).contains(&far_size), "{far_size}");
    let wrong = format!("{}#iface=nosuch0", tcp(house.address()));
    let error = dial(runtime, &wrong)
        .expect_err("no such interface")
        .to_string();
    assert!(error.contains("interface nosuch0: "), "{error}");
}

pub fn bytes_behind_the_handshake_are_kept<R: Runtime>(runtime: &R) {
    // At the acceptor, behind OpenSyn.
    let house = House::open(runtime);
    let (mut hand, mut opener, mut out) = (house.visit(), opener(2), Vec::new());
    opener.start(&mut out);
    hand.send(&out);
    opener
        .handle_batch(&hand.receive(), &mut out)
        .expect("InitAck");
    let mut bytes = Vec::new();
    zonda_transport::framing::frame(&out, &mut bytes);
    bytes.extend_from_slice(b"early");
    hand.raw(&bytes);
    assert_eq!(house.link().unread, b"early");
    // At the opener, behind OpenAck.
    let at = serve(|hand| {
        let (mut acceptor, mut out) = (acceptor(1), Vec::new());
        acceptor
            .handle_batch(&hand.receive(), &mut out)
            .expect("InitSyn");
        hand.send(&out);
        acceptor
            .handle_batch(&hand.receive(), &mut out)
            .expect("OpenSyn");
        acceptor.admit(&mut out);
        let mut bytes = vec![0, 0]; // an empty batch means nothing
        zonda_transport::framing::frame(&out, &mut bytes);
        bytes.extend_from_slice(b"early");
        hand.raw(&bytes);
    });
    assert_eq!(dial_at(runtime, at).expect("a link").unread, b"early");
}

pub fn batches_in_small_pieces_are_put_together<R: Runtime>(runtime: &R) {
    let house = House::open(runtime);
    let (mut hand, mut opener, mut out) = (house.visit(), opener(2), Vec::new());
    hand.0.set_nodelay(true).expect("a socket");
    opener.start(&mut out);
    loop {
        let mut bytes = Vec::new();
        zonda_transport::framing::frame(&out, &mut bytes);
        bytes.iter().for_each(|byte| hand.raw(&[*byte]));
        match opener
            .handle_batch(&hand.receive(), &mut out)
            .expect("an answer")
        {
            OpenStep::Continue => {}
            OpenStep::Done(established) => break assert_eq!(established.zid, node(1).zid),
        }
    }
    assert_eq!(house.link().established.zid, node(2).zid);
}

pub fn another_version_is_named_on_both_sides<R: Runtime>(runtime: &R) {
    let house = House::open(runtime);
    let (mut hand, mut out) = (house.visit(), Vec::new());
    opener(2).start(&mut out);
    out[1] = 8;
    hand.send(&out);
    assert_eq!(house.failure(), HandshakeError::Version { theirs: 8 });
    assert_eq!(house.listening.counts().wrong_version, 1);
    // The peer gets Close{invalid}.
    let answer = opener(2).handle_batch(&hand.receive(), &mut out);
    assert_eq!(answer, Err(HandshakeError::Refused { reason: 2 }));
    assert!(hand.is_left_alone());

    let at = serve(|hand| {
        let mut out = Vec::new();
        let step = acceptor(1).handle_batch(&hand.receive(), &mut out);
        assert_eq!(step, Ok(AcceptStep::Continue));
        out[1] = 10;
        hand.send(&out);
        hand.is_left_alone();
    });
    assert_eq!(
        handshake_error(dial_at(runtime, at)),
        HandshakeError::Version { theirs: 10 }
    );
}

pub fn a_refusal_and_a_second_link_are_told_apart<R: Runtime>(runtime: &R) {
    let zid = node(2).zid;
    let cases = [
        (2, HandshakeError::NotAdmitted { zid, reason: 2 }),
        (4, HandshakeError::SameId { zid }),
    ];
    for (reason, expected) in cases {
        let house = House::guarded(
            runtime,
            "tcp/127.0.0.1:0",
            ListenOptions::default(),
            move |_| Err(reason),
        );
        let error = handshake_error(dial_at(runtime, house.address()));
        match reason {
            4 => assert!(matches!(error, HandshakeError::Linked { .. }), "{error:?}"),
            _ => assert_eq!(error, HandshakeError::Refused { reason }),
        }
        assert_eq!(house.failure(), expected);
        assert_eq!(house.listening.counts().turned_away, 1);
    }
}

pub fn a_link_to_oneself_and_a_wrong_id_are_refused<R: Runtime>(runtime: &R) {
    let house = House::open(runtime);
    let own = within(open_link(
        runtime,
        &tcp(house.address()),
        &node(1),
        DEADLINE,
    ));
    assert_eq!(handshake_error(own), HandshakeError::OwnId);
    assert_eq!(house.failure(), HandshakeError::Refused { reason: 7 });
    let options = DialOptions {
        expected: Some(node(3).zid),
        ..DialOptions::default()
    };
    let wrong = within(open_link_with(
        runtime,
        &tcp(house.address()),
        &node(2),
        &options,
    ));
    let expected = HandshakeError::WrongId {
        expected: node(3).zid,
        found: node(1).zid,
    };
    assert_eq!(handshake_error(wrong), expected);
}

pub fn silence_ends_with_a_timeout_on_either_side<R: Runtime>(runtime: &R) {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = tcp(silent.local_addr().expect("bound"));
    let result = within(open_link(runtime, &at, &node(2), Duration::from_millis(50)));
    assert_eq!(
        handshake_error(result),
        HandshakeError::Timeout {
            step: Step::InitAck
        }
    );

    let options = ListenOptions {
        accept_timeout: Duration::from_millis(50),
        ..ListenOptions::default()
    };
    let house = House::at(runtime, "tcp/127.0.0.1:0", options);
    let mut hand = house.visit();
    assert_eq!(
        house.failure(),
        HandshakeError::Timeout {
            step: Step::InitSyn
        }
    );
    assert!(hand.is_left_alone());
    let (mut hand, mut out) = (house.visit(), Vec::new());
    opener(2).start(&mut out);
    hand.send(&out);
    assert_eq!(
        house.failure(),
        HandshakeError::Timeout {
            step: Step::OpenSyn
        }
    );
    assert_eq!(house.listening.counts().timed_out, 2);
}

pub fn peers_of_another_kind_are_recognised_at_once<R: Runtime>(runtime: &R) {
    let at = serve(|hand| {
        hand.receive();
        hand.raw(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        hand.is_left_alone();
    });
    let error = dial_at(runtime, at).expect_err("no link");
    assert!(
        matches!(error, DialError::Foreign { speaks: "HTTP", .. }),
        "{error:?}"
    );
    let text = format!(
        "cannot connect to tcp/{at}: {at} speaks HTTP; check the port, a Zenoh router listens on 7447 by default"
    );
    assert_eq!(error.to_string(), text);

    // A length whose bytes never arrive, and a first byte that no message of the protocol has.
    let at = serve(|hand| {
        hand.raw(&[0xff, 0xff, 0xff, 1, 2, 3]);
        hand.is_left_alone();
    });
    let error = handshake_error(dial_at(runtime, at));
    assert!(
        matches!(
            error,
            HandshakeError::Undecodable {
                step: Step::InitAck,
                ..
            }
        ),
        "{error:?}"
    );

    // An alert of TLS: as a batch it would have 789 bytes.
    let at = serve(|hand| {
        hand.receive();
        hand.raw(&[0x15, 3, 3, 0, 2, 2, 0x32]);
        hand.is_left_alone();
    });
    let error = dial_at(runtime, at).expect_err("no link").to_string();
    assert!(
        error.ends_with("speaks TLS; connect to tls/ instead"),
        "{error}"
    );

    let house = House::open(runtime);
    let mut hand = house.visit();
    hand.raw(&[9; 300]);
    let error = house.failure();
    assert!(
        matches!(
            error,
            HandshakeError::Undecodable {
                step: Step::InitSyn,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(hand.is_left_alone());
    assert_eq!(house.listening.counts().malformed, 1);
}

pub fn strangers_of_another_kind_are_named_at_once<R: Runtime>(runtime: &R) {
    let house = House::open(runtime);
    for (bytes, protocol) in [
        (&b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"[..], "HTTP"),
        (b"SSH-2.0-client\r\n", "SSH"),
        // These would have 790 and 3600 bytes, which never arrive.
        (b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03", "TLS"),
        (b"\x10\x0e\x00\x04MQTT\x04\x02\x00\x3c\x00\x02ab", "MQTT"),
    ] {
        let mut hand = house.visit();
        hand.raw(bytes);
        let error = house.failure();
        assert_eq!(error, HandshakeError::Foreign { speaks: protocol });
        assert!(hand.is_left_alone());
    }
    assert_eq!(house.listening.counts().malformed, 4);
}

pub fn an_introduction_that_is_too_long_is_refused_before_it_arrives<R: Runtime>(runtime: &R) {
    let house = House::open(runtime);
    let mut hand = house.visit();
    hand.raw(&[0xff, 0xff, 0x01]);
    let expected = HandshakeError::Parameter {
        step: Step::InitSyn,
        what: "batch length",
        value: 65_535,
        min: 0,
        max: 4094,
    };
    assert_eq!(house.failure(), expected);
    assert!(hand.is_left_alone());
}

pub fn a_message_out_of_turn_is_named<R: Runtime>(runtime: &R) {
    let house = House::open(runtime);
    house.visit().send(&[0x04]);
    let expected = HandshakeError::Unexpected {
        step: Step::InitSyn,
        found: "KeepAlive",
    };
    assert_eq!(house.failure(), expected);
}

pub fn an_end_in_the_middle_is_told<R: Runtime>(runtime: &R) {
    let at = serve(|hand| {
        hand.receive();
        hand.raw(&[20, 0, 0x21]);
    });
    let error = handshake_error(dial_at(runtime, at));
    assert_eq!(error, HandshakeError::Io(ErrorKind::UnexpectedEof));

    let house = House::open(runtime);
    let mut hand = house.visit();
    hand.raw(&[20, 0, 0x01]);
    hand.0.shutdown(Shutdown::Write).expect("open");
    assert_eq!(
        house.failure(),
        HandshakeError::Io(ErrorKind::UnexpectedEof)
    );
    assert_eq!(house.listening.counts().io, 1);
}

pub fn a_peer_that_is_lost_after_its_admission_is_withdrawn<R: Runtime>(runtime: &R) {
    let (enter, entered) = channel();
    let (go, may_go) = channel::<()>();
    let (enter, may_go) = (Mutex::new(enter), Mutex::new(may_go));
    let house = House::guarded(
        runtime,
        "tcp/127.0.0.1:0",
        ListenOptions::default(),
        move |_| {
            enter
                .lock()
                .expect("not poisoned")
                .send(())
                .expect("the test waits");
            may_go
                .lock()
                .expect("not poisoned")
                .recv_timeout(DEADLINE)
                .expect("the test goes on");
            Ok(())
        },
    );
    let (mut hand, mut opener, mut out) = (house.visit(), opener(2), Vec::new());
    opener.start(&mut out);
    hand.send(&out);
    opener
        .handle_batch(&hand.receive(), &mut out)
        .expect("InitAck");
    hand.send(&out);
    entered
        .recv_timeout(DEADLINE)
        .expect("the peer is asked for");
    // With a linger of zero the connection is reset, at once on loopback.
    SockRef::from(&hand.0)
        .set_linger(Some(Duration::ZERO))
        .expect("a socket");
    drop(hand);
    go.send(()).expect("the door waits");
    let (first, second) = (house.next(), house.next());
    assert!(
        matches!(first, Event::Withdrawn(zid) if zid == node(2).zid),
        "{first:?}"
    );
    assert!(
        matches!(second, Event::Failed(HandshakeError::Io(_))),
        "{second:?}"
    );
}

pub fn what_cannot_be_reached_is_said_in_one_line<R: Runtime>(runtime: &R) {
    let unused = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("bound");
    let error = dial_at(runtime, unused).expect_err("nobody listens");
    assert!(matches!(&error, DialError::Connect { failures, .. }
        if failures.len() == 1 && failures[0].1.kind() == ErrorKind::ConnectionRefused));
    let text = format!(
        "cannot connect to tcp/{unused}: connection refused; check that a router or peer listens there"
    );
    assert_eq!(error.to_string(), text);

    let error = dial(runtime, "tcp/name.invalid:7447").expect_err("no such name");
    assert!(
        matches!(&error, DialError::Resolve { host, .. } if host == "name.invalid"),
        "{error:?}"
    );
    let text = error.to_string();
    let start =
        "cannot connect to tcp/name.invalid:7447: no address found for host \"name.invalid\": ";
    assert!(text.starts_with(start) && !text.contains('\n'), "{text}");

    let error = dial(runtime, "carrier-pigeon/roof:1").expect_err("no such protocol");
    let text = "cannot connect to carrier-pigeon/roof:1: protocol \"carrier-pigeon\" is not supported; use one of: ";
    assert!(error.to_string().starts_with(text), "{error}");
}

pub fn what_cannot_be_listened_on_is_said_in_one_line<R: Runtime>(runtime: &R) {
    let house = House::open(runtime);
    let taken = tcp(house.address());
    let refuse = |place: &str| {
        let (sender, _events) = channel();
        let door = super::peers::Door::new(sender);
        listen(runtime, &endpoint(place), node(1), door.into()).expect_err("no listener")
    };
    let error = refuse(taken.as_str());
    let text = format!(
        "cannot listen on {taken}: address already in use; is another router running? try -l tcp/127.0.0.1:0"
    );
    assert_eq!(error.to_string(), text);
    let absent = refuse("tcp/192.0.2.1:0").to_string();
    assert!(
        absent.ends_with("; no interface of this machine has this address"),
        "{absent}"
    );
    let unknown = refuse("carrier-pigeon/roof:0");
    let problem = EndpointProblem::Protocol {
        name: "carrier-pigeon".into(),
    };
    assert_eq!(
        unknown,
        ListenError::Endpoint {
            endpoint: endpoint("carrier-pigeon/roof:0"),
            problem
        }
    );
    let name = refuse("tcp/name.invalid:0");
    assert!(matches!(name, ListenError::Resolve { .. }), "{name:?}");
    let interface = refuse("tcp/127.0.0.1:0#iface=nosuch0").to_string();
    assert!(interface.contains("interface nosuch0"), "{interface}");
}

pub fn the_oldest_stranger_gives_way<R: Runtime>(runtime: &R) {
    let options = ListenOptions {
        pending_max: 2,
        ..ListenOptions::default()
    };
    let house = House::at(runtime, "tcp/127.0.0.1:0", options);
    let mut first = house.visit();
    eventually("one stranger", || house.listening.pending() == 1);
    let _others = [house.visit(), house.visit()];
    assert!(first.is_left_alone());
    eventually("the count", || house.listening.counts().evicted == 1);
    assert_eq!(house.listening.pending(), 2);
    check_link(
        dial_at(runtime, house.address()).expect("a link"),
        house.link(),
    );
}

pub fn a_stopped_listener_frees_its_port_and_ends_introductions<R: Runtime>(runtime: &R) {
    let house = House::open(runtime);
    let place = tcp(house.address()).to_string();
    let mut stranger = house.visit();
    eventually("the stranger is known", || house.listening.pending() == 1);
    let near = dial_at(runtime, house.address()).expect("a link");
    let far = house.link();
    within(house.listening.close());
    assert!(stranger.is_left_alone());
    let again = House::at(runtime, &place, ListenOptions::default());
    assert_eq!(tcp(again.address()).to_string(), place);
    check_link(near, far);
}
