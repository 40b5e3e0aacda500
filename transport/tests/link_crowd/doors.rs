// SPDX-License-Identifier: MIT OR Apache-2.0
//! Peers at listeners with a step in front of the handshake, TLS or the request for a WebSocket,
//! that never complete the step.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use zonda_runtime::{Runtime, block_on_until};
use zonda_transport::dial::{DialOptions, open_link_with};
use zonda_transport::link::{LinkSettings, Pem, TlsSettings};
use zonda_transport::listen::ListenOptions;

use crate::peers::{House, endpoint, eventually, node};
use crate::{PATIENCE, from, room_for_a_crowd};

/// Behaviour of peers at such a listener.
#[derive(Debug, Clone, Copy)]
enum Manner {
    /// The peer sends nothing.
    Silent,
    /// The peer sends bytes of another protocol.
    Garbage,
    /// The peer sends the first half of its part, and then nothing.
    HalfOpen,
}

/// Returns settings for two ends that trust each other.
fn trust() -> LinkSettings {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).expect("a certificate");
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("parameters");
    let shown = params.signed_by(&key, &issuer).expect("a certificate");
    let tls = TlsSettings {
        root_ca_certificate: Some(Pem::Text(authority.pem())),
        listen_certificate: Some(Pem::Text(shown.pem())),
        listen_private_key: Some(Pem::Text(key.serialize_pem())),
        ..TlsSettings::default()
    };
    LinkSettings {
        tls,
        ..LinkSettings::default()
    }
}

fn house<R: Runtime>(runtime: &R, kind: &str, links: &LinkSettings) -> House {
    let options = ListenOptions {
        accept_timeout: Duration::from_secs(3600),
        links: links.clone(),
        ..ListenOptions::default()
    };
    House::at(runtime, &format!("{kind}/127.0.0.1:0"), options)
}

/// Returns the first bytes that a client of this kind sends.
fn first_flight<R: Runtime>(runtime: &R, kind: &str, links: &LinkSettings) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    let heard = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut bytes = vec![0; 4096];
        let count = stream.read(&mut bytes).expect("the first bytes");
        bytes.truncate(count);
        bytes
    });
    let options = DialOptions {
        links: links.clone(),
        ..DialOptions::default()
    };
    let (to, own) = (endpoint(&format!("{kind}/{at}")), node(3));
    let attempt = open_link_with(runtime, &to, &own, &options);
    let ended = block_on_until(Instant::now() + PATIENCE, attempt).expect("it hangs up");
    ended.expect_err("nobody answers");
    heard.join().expect("it ends")
}

/// Opens a link from this address of the machine; returns the time that it took.
fn honest_link<R: Runtime>(
    runtime: &R,
    kind: &str,
    from: &str,
    at: SocketAddr,
    links: &LinkSettings,
) -> Duration {
    let begin = Instant::now();
    let options = DialOptions {
        timeout: PATIENCE,
        links: links.clone(),
        ..DialOptions::default()
    };
    let (to, own) = (endpoint(&format!("{kind}/{at}#bind={from}:0")), node(2));
    let attempt = open_link_with(runtime, &to, &own, &options);
    let link = block_on_until(begin + 2 * PATIENCE, attempt).expect("in time");
    assert_eq!(link.expect("a link").established.zid, node(1).zid);
    begin.elapsed()
}

fn crowd(house: &House, count: usize, manner: Manner, flight: &[u8]) -> Vec<TcpStream> {
    let stranger = || {
        let mut stream = house.visit().0;
        // The listener may hang up during this write.
        let _ = match manner {
            Manner::Silent => Ok(()),
            Manner::Garbage => stream.write_all(&[0x18; 2000]),
            // TLS gets a whole first message, which makes the listener work; a request causes work
            // at its end only.
            Manner::HalfOpen if flight[0] == 0x16 => stream.write_all(flight),
            Manner::HalfOpen => stream.write_all(&flight[..flight.len() / 2]),
        };
        stream
    };
    (0..count).map(|_| stranger()).collect()
}

fn a_crowd_at_the_entrance<R: Runtime>(runtime: &R, kind: &str) {
    let count = room_for_a_crowd();
    let links = trust();
    let flight = first_flight(runtime, kind, &links);
    for manner in [Manner::Silent, Manner::Garbage, Manner::HalfOpen] {
        let house = house(runtime, kind, &links);
        let strangers = crowd(&house, count, manner, &flight);
        let took = (0..5).map(|_| honest_link(runtime, kind, "127.0.0.2", house.address(), &links));
        let worst = took.max().expect("some");
        println!("{kind}, {count} {manner:?}: in within {worst:?}");
        assert!(worst < PATIENCE, "{kind}, {manner:?}: {worst:?}");
        let garbage = match manner {
            Manner::Garbage => count,
            Manner::Silent | Manner::HalfOpen => 0,
        };
        eventually("each is refused or waits", || {
            let counts = house.listening.counts();
            let refused = counts.unencrypted + counts.malformed + counts.io;
            refused as usize == garbage && house.listening.pending() == count - garbage
        });
        assert_eq!(house.listening.counts().evicted, 0);
        drop(strangers);
        eventually("they are gone", || house.listening.pending() == 0);
    }
}

#[cfg(feature = "tls")]
#[test]
fn an_honest_peer_gets_in_past_handshakes_of_tls() {
    let _alone = crate::alone();
    let runtime = crate::peers::runtimes().next().expect("one is compiled in");
    zonda_runtime::with_runtime!(&runtime, runtime => a_crowd_at_the_entrance(runtime, "tls"));
}

#[cfg(feature = "ws")]
#[test]
fn an_honest_peer_gets_in_past_requests_for_websockets() {
    let _alone = crate::alone();
    let runtime = crate::peers::runtimes().next().expect("one is compiled in");
    zonda_runtime::with_runtime!(&runtime, runtime => a_crowd_at_the_entrance(runtime, "ws"));
}

/// One peer begins handshakes as fast as it can, and lets the listener answer each: the answer
/// costs the listener a signature and a key, the request costs the peer nothing.
#[cfg(feature = "tls")]
#[test]
fn one_address_does_not_spend_the_processor_on_handshakes() {
    let _alone = crate::alone();
    let runtime = crate::peers::runtimes().next().expect("one is compiled in");
    zonda_runtime::with_runtime!(&runtime, runtime => {
        let links = trust();
        let house = house(runtime, "tls", &links);
        let flight = first_flight(runtime, "tls", &links);
        let at = house.address();
        let alone = (0..5).map(|_| honest_link(runtime, "tls", "127.0.0.2", at, &links)).max();
        let (is_over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
        let begin = Instant::now();
        let (worst, took) = thread::scope(|scope| {
            for _ in 0..50 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let mut stream = from([127, 0, 0, 3], at).0;
                        let _ = stream.set_read_timeout(Some(Duration::from_millis(500)));
                        let sent = stream.write_all(&flight);
                        if sent.is_ok() && stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
            let end = begin + Duration::from_secs(1);
            let mut worst = Duration::ZERO;
            while Instant::now() < end {
                worst = worst.max(honest_link(runtime, "tls", "127.0.0.2", at, &links));
            }
            is_over.store(true, Ordering::Relaxed);
            (worst, begin.elapsed())
        });
        let answered = answered.into_inner();
        println!("{answered} handshakes begun in {took:?}; honest: alone {alone:?}, beside them {worst:?}");
        assert!(worst < PATIENCE, "{worst:?}");
    });
}
