// SPDX-License-Identifier: MIT OR Apache-2.0

//! Links over QUIC: all traffic passes them, only authorized peers are let in, and one that is not
//! delays no other peer.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::authority::{Authority, Pair};
use crate::pair::{LONG, until};
use crate::quic_by_hand::stranger;
use crate::traffic::{check_each, check_traffic, port};
use zonda::{Config, Session, Wait};

pub const HOSTS: &[&str] = &["localhost", "127.0.0.1", "::1"];
const SIZES: &[usize] = &[0, 8, 5000, 70_000, 9];

pub fn with(config: Config, settings: &[(&str, &str)]) -> Config {
    settings.iter().fold(config, |config, (key, value)| {
        let value = match *value {
            "true" | "false" => (*value).to_owned(),
            path => format!("{path:?}"),
        };
        config.with(&format!("transport/link/tls/{key}"), &value)
    })
}

pub fn listening(at: &str, shown: &Pair) -> Config {
    with(
        Config::peer().listen([at]),
        &[
            ("listen_certificate", &shown.certificate),
            ("listen_private_key", &shown.key),
        ],
    )
}

pub fn listener(at: &str, shown: &Pair, more: &[(&str, &str)]) -> Session {
    let config = with(listening(at, shown), more);
    zonda::open(config).wait().expect("it listens")
}

pub fn dial(to: &str, settings: &[(&str, &str)]) -> Result<Session, String> {
    let config = with(Config::client([to]), settings);
    let opened = zonda::open(config.with("connect/timeout_ms", "0")).wait();
    opened.map_err(|error| error.to_string())
}

#[test]
fn everything_passes_a_link() {
    let authority = Authority::new();
    let shown = authority.sign("server", HOSTS);
    for (listen, host) in [("quic/localhost:0", "localhost"), ("quic/[::1]:0", "[::1]")] {
        let far = listener(listen, &shown, &[]);
        let to = format!("quic/{host}:{}", port(&far));
        let near = dial(&to, &[("root_ca_certificate", &authority.ca())]).expect(&to);
        let remote = near.info().links()[0].remote.to_string();
        assert!(remote.starts_with("quic/"), "{remote}");
        check_traffic(&near, &far, SIZES);
    }
}

/// Settings of both ends for streams and datagrams; the ends communicate, or fail at once with the
/// reason.
#[test]
fn the_two_ends_agree_on_streams_or_datagrams() {
    let authority = Authority::new();
    let shown = authority.sign("server", HOSTS);
    let ca = authority.ca();
    for (listens, dials, agree) in [
        ("", "?multistream=1", true),
        ("", "?multistream=0", true),
        ("?multistream=1", "", true),
        ("?multistream=0", "", true),
        (
            "?multistream=0;rel=1",
            "?mixed_rel=auto;multistream=0",
            true,
        ),
        ("?multistream=1", "?multistream=0", false),
        ("?multistream=0", "?multistream=1", false),
        ("?rel=0", "?rel=0", true),
        ("?rel=0", "?multistream=1", false),
    ] {
        let far = listener(&format!("quic/127.0.0.1:0{listens}"), &shown, &[]);
        let to = format!("quic/127.0.0.1:{}{dials}", port(&far));
        let near = dial(&to, &[("root_ca_certificate", &ca)]);
        match (near, agree) {
            (Ok(near), true) if dials.contains("rel=0") => check_each(&near, &far, SIZES),
            (Ok(near), true) => check_traffic(&near, &far, SIZES),
            (Err(text), false) => assert!(text.contains("multistream, mixed_rel"), "{text}"),
            (near, _) => panic!("{listens} and {dials}: {near:?}"),
        }
    }
}

#[test]
fn both_ends_show_a_certificate_where_both_have_to() {
    let authority = Authority::new();
    let shown = authority.sign("server", HOSTS);
    let own = authority.sign("client", &["client"]);
    let ca = authority.ca();
    let mtls = [
        ("enable_mtls", "true"),
        ("root_ca_certificate", ca.as_str()),
    ];
    let far = listener("quic/127.0.0.1:0", &shown, &mtls);
    let to = format!("quic/127.0.0.1:{}", port(&far));
    let mut settings = mtls.to_vec();
    settings.push(("connect_certificate", &own.certificate));
    settings.push(("connect_private_key", &own.key));
    let near = dial(&to, &settings).expect("trusted");
    check_traffic(&near, &far, SIZES);
    let refused = dial(&to, &[("root_ca_certificate", &ca)]).expect_err("it shows none");
    assert!(refused.contains(&to), "{refused}");
    assert!(refused.contains("connect_certificate"), "{refused}");
    let stranger = Authority::new();
    let foreign = stranger.sign("client", &["client"]);
    settings.truncate(mtls.len());
    settings.push(("connect_certificate", &foreign.certificate));
    settings.push(("connect_private_key", &foreign.key));
    let refused = dial(&to, &settings).expect_err("not trusted");
    assert!(refused.contains("trusts no authority"), "{refused}");
}

#[test]
fn what_is_wrong_is_said() {
    let authority = Authority::new();
    let (ca, other) = (authority.ca(), Authority::new());
    for (shown, expected) in [
        (
            authority.sign("name", &["router.example"]),
            "is for router.example, and not for localhost",
        ),
        (authority.sign_expired("old", HOSTS), "expired"),
        (other.sign("other", HOSTS), "set root_ca_certificate"),
    ] {
        let far = listener("quic/127.0.0.1:0", &shown, &[]);
        let to = format!("quic/localhost:{}", port(&far));
        let trusted = [("root_ca_certificate", ca.as_str())];
        let text = dial(&to, &trusted).expect_err(expected);
        assert!(text.contains(expected) && text.contains(&to), "{text}");
        let any = [trusted[0], ("verify_name_on_connect", "false")];
        let opened = dial(&to, &any);
        assert_eq!(opened.is_ok(), expected.contains("router"), "{expected}");
    }
    for (endpoint, expected) in [
        ("quic/localhost:7447?rel=2", "rel=0 for datagrams"),
        ("quic/localhost:7447?mixed_rel=1", "use rel=0"),
        ("quic/localhost:7447?multistream=8", "multistream=1"),
        ("quic/localhost", "has no port"),
        ("quic/localhost:7447#initial_mtu=9", "initial_mtu=9"),
    ] {
        let text = dial(endpoint, &[]).expect_err(endpoint);
        assert!(text.contains(expected), "{text}");
    }
    let text = dial("quic/127.0.0.1:1", &[]).expect_err("nobody is there");
    assert!(
        !cfg!(target_os = "linux") || text.contains("connection refused"),
        "{text}"
    );
    let unready = Config::peer().listen(["quic/127.0.0.1:0"]);
    let unready = zonda::open(unready.with("listen/exit_on_failure", "true")).wait();
    let text = unready.expect_err("it has no certificate").to_string();
    assert!(text.contains("listen_certificate is needed"), "{text}");
}

#[test]
fn a_certificate_is_renewed_without_a_restart() {
    let authority = Authority::new();
    let shown = authority.sign("server", &["first.example"]);
    let far = listener("quic/127.0.0.1:0", &shown, &[]);
    let to = format!("quic/localhost:{}", port(&far));
    let ca = authority.ca();
    let trusted = [("root_ca_certificate", ca.as_str())];
    dial(&to, &trusted).expect_err("it is for another host");
    authority.sign("server", HOSTS);
    until("the new one is shown", || {
        std::thread::sleep(Duration::from_millis(200));
        dial(&to, &trusted).is_ok()
    });
}

/// Returns the first datagram of a connection, as the library makes it: the test receives it at a
/// socket that never answers.
fn first_datagram() -> Vec<u8> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(LONG)).expect("a time");
    let at = socket.local_addr().expect("bound");
    let dialling = std::thread::spawn(move || {
        let config = Config::client([format!("quic/{at}")]);
        let opened = zonda::open(
            config
                .with("connect/timeout_ms", "0")
                .with("transport/unicast/open_timeout", "500"),
        )
        .wait();
        assert!(opened.is_err());
    });
    let mut datagram = vec![0; 2048];
    let count = socket.recv(&mut datagram).expect("it begins");
    drop(socket);
    dialling.join().expect("it ends");
    datagram.truncate(count);
    datagram
}

/// Returns the datagram with another connection id, which is the key of its first datagram, so that
/// the bytes behind it are nonsense.
fn changed(datagram: &[u8], number: u32) -> Vec<u8> {
    let mut changed = datagram.to_vec();
    changed[6..10].copy_from_slice(&number.to_le_bytes());
    changed
}

#[test]
fn who_begins_and_falls_silent_delays_nobody() {
    let authority = Authority::new();
    let shown = authority.sign("server", HOSTS);
    let far = listener("quic/127.0.0.1:0", &shown, &[]);
    let at: SocketAddr = ([127, 0, 0, 1], port(&far)).into();
    let first = first_datagram();
    let sockets: Vec<_> = (0..1000)
        .map(|_| UdpSocket::bind("127.0.0.1:0").expect("a port"))
        .collect();
    for (number, socket) in (0..).zip(&sockets) {
        // Half of them begin with a correct datagram, and send nothing valid after it.
        let nonsense = changed(&first, number);
        for datagram in [&first, &nonsense, &first[..100].to_vec(), &vec![0x40; 40]] {
            let _ = socket.send_to(datagram, at);
        }
    }
    let begin = Instant::now();
    let trusted = [("root_ca_certificate", authority.ca())];
    let trusted = [(trusted[0].0, trusted[0].1.as_str())];
    let near = dial(&format!("quic/{at}"), &trusted).expect("in time");
    let took = begin.elapsed();
    eprintln!("connected in {took:?}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    check_traffic(&near, &far, &[8, 5000]);
}

#[test]
fn a_link_ends_with_the_certificate_where_that_is_asked_for() {
    let authority = Authority::new();
    let shown = authority.sign_for("server", HOSTS, 6);
    let far = listener("quic/127.0.0.1:0", &shown, &[]);
    let (ca, to) = (authority.ca(), format!("quic/localhost:{}", port(&far)));
    let settings = [
        ("root_ca_certificate", ca.as_str()),
        ("close_link_on_expiration", "true"),
    ];
    // A short lease, as the clock is read with each keep-alive.
    let config = with(Config::client([&to]), &settings).with("transport/link/tx/lease", "2000");
    let near = zonda::open(config).wait().expect("valid still");
    let events = near.info().link_events_listener().wait();
    let event = events.expect("a listener").recv_timeout(LONG);
    let event = event.expect("open").expect("in time");
    let reason = event.reason().expect("it is lost").to_string();
    assert!(reason.contains("certificate has expired"), "{reason}");
}

/// Data of a peer on streams that the node does not read is not kept.
#[test]
fn streams_that_nobody_reads_are_refused() {
    let authority = Authority::new();
    let shown = authority.sign("server", HOSTS);
    let far = listener("quic/127.0.0.1:0", &shown, &[]);
    let to = SocketAddr::from(([127, 0, 0, 1], port(&far)));
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let endpoint = stranger(&authority.ca(), b"zenoh");
        let connection = endpoint.connect(to, "localhost").expect("a name");
        let connection = connection.await.expect("a connection");
        let (mut link, _answers) = connection.open_bi().await.expect("a stream");
        link.write_all(&[1]).await.expect("it is sent");
        for _ in 0..20 {
            let mut stream = connection.open_uni().await.expect("another stream");
            // it may be refused before all is sent
            let _ = stream.write_all(&[0; 1000]).await;
            let refused = tokio::time::timeout(LONG, stream.stopped()).await;
            assert_eq!(refused.expect("in time"), Ok(Some(0_u32.into())));
        }
    });
}
