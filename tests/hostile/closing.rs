// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions next to routers that come and go, and peers that do not read a Close.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zonda::bytes::ZBytes;
use zonda::qos::CongestionControl;
use zonda::{Config, Session, Wait};
use zonda_codec::{Declaration, Declare, WhatAmI, WireExpr, ZenohId};
use zonda_router::node::Node;
use zonda_transport::framing::frame;
use zonda_transport::protocol::handshake::{AcceptStep, Acceptor, CookieKey};
use zonda_transport::protocol::parameters::LocalParameters;

use crate::hand::bytes;
use crate::scene::{LONG, address_of, client, node, router, until};

fn close(node: &Node) {
    node.close_blocking(LONG).expect("everything was sent");
}

/// Opens a router at the address of an earlier one.
fn reopened(place: &str) -> Node {
    let mut reopened = None;
    until("the port is free again", || {
        reopened = node(Config::router().listen([place])).ok();
        reopened.is_some()
    });
    reopened.expect("the loop ended")
}

#[test]
fn a_client_finds_its_router_again_and_tells_it_everything() {
    let mut router = node(router()).expect("a router");
    let place = format!("tcp/{}", address_of(&router));
    let retry = "{ period_init_ms: 10, period_max_ms: 50 }";
    let config = || Config::client([&place]).with("connect/retry", retry);
    let (first, second) = (
        zonda::open(config()).wait().unwrap(),
        zonda::open(config()).wait().unwrap(),
    );
    let subscriber = first.declare_subscriber("news/**").wait().unwrap();
    let publisher = second
        .declare_publisher("news/today")
        .congestion_control(CongestionControl::Block);
    let publisher = publisher.wait().unwrap();
    for round in 0..3_u64 {
        until("the publisher is matched", || {
            let status = publisher.matching_status().wait().unwrap();
            status.matching()
        });
        publisher
            .put(round.to_le_bytes().as_slice())
            .wait()
            .unwrap();
        let sample = subscriber.recv_timeout(LONG).unwrap().expect("the news");
        assert_eq!(sample.payload().as_slice(), round.to_le_bytes());
        close(&router);
        until("both notice", || {
            first.info().links().is_empty() && second.info().links().is_empty()
        });
        router = reopened(&place);
        until("both are back", || router.links().len() == 2);
    }
    close(&router);
}

#[test]
fn what_was_put_before_close_arrives() {
    const PUTS: u64 = 10_000;
    let router = node(router()).expect("a router");
    let address = address_of(&router);
    let witness = client(address);
    let received = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&received);
    let callback = move |sample: zonda::sample::Sample| {
        let number = seen.fetch_add(1, Ordering::Relaxed);
        assert_eq!(sample.payload().as_slice(), number.to_le_bytes());
    };
    witness
        .declare_subscriber("burst")
        .callback(callback)
        .background()
        .wait()
        .unwrap();
    let session = client(address);
    let publisher = session
        .declare_publisher("burst")
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    until("the publisher is matched", || {
        let status = publisher.matching_status().wait().unwrap();
        status.matching()
    });
    for number in 0..PUTS {
        publisher
            .put(number.to_le_bytes().as_slice())
            .wait()
            .unwrap();
    }
    session.close().wait().expect("everything was sent");
    until("all of them arrive", || {
        received.load(Ordering::Relaxed) == PUTS
    });
    close(&router);
}

#[test]
fn the_last_clone_goes_in_the_middle_of_traffic() {
    let router = node(router()).expect("a router");
    let address = address_of(&router);
    let witness = client(address);
    let received = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&received);
    let count = move |_| {
        seen.fetch_add(1, Ordering::Relaxed);
    };
    witness
        .declare_subscriber("traffic")
        .callback(count)
        .background()
        .wait()
        .unwrap();
    for _ in 0..5 {
        let session = client(address);
        let zid = session.zid();
        let publisher = session.declare_publisher("traffic").wait().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let publishing = std::thread::spawn(move || {
            // Ends when the session is closed: the publisher does not keep it open.
            while publisher.put("x").wait().is_ok() {
                assert!(
                    !told.load(Ordering::Relaxed),
                    "puts go on without a session"
                );
            }
        });
        let before = received.load(Ordering::Relaxed);
        until("traffic flows", || {
            received.load(Ordering::Relaxed) > before + 1000
        });
        let begin = Instant::now();
        drop(session);
        assert!(
            begin.elapsed() < Duration::from_secs(3),
            "dropping does not block"
        );
        until("the router sees it go", || {
            router.links().iter().all(|link| link.zid != zid)
        });
        publishing.join().expect("no panic");
        over.store(true, Ordering::Relaxed);
    }
    assert_eq!(router.links().len(), 1);
    close(&router);
}

/// Plays a router by hand: admits one session, subscribes to `key`, and then never reads again.
pub fn deaf_router(listener: &TcpListener, key: &str) -> TcpStream {
    use std::io::{Read, Write};
    let (mut stream, _) = listener.accept().expect("the session");
    let parameters = LocalParameters::new(ZenohId::random_from(9), WhatAmI::Router);
    let mut acceptor = Acceptor::new(parameters, Arc::new(CookieKey::new([3; 32])));
    let (mut out, mut framed) = (Vec::new(), Vec::new());
    let agreed = loop {
        let mut prefix = [0; 2];
        stream.read_exact(&mut prefix).expect("a prefix");
        let mut batch = vec![0; usize::from(u16::from_le_bytes(prefix))];
        stream.read_exact(&mut batch).expect("a batch");
        let step = acceptor
            .handle_batch(&batch, &mut out)
            .expect("an honest session");
        let agreed = match step {
            AcceptStep::Continue => None,
            AcceptStep::Admit(agreed) => {
                acceptor.admit(&mut out);
                Some(agreed)
            }
        };
        framed.clear();
        frame(&out, &mut framed);
        stream.write_all(&framed).expect("writable");
        if let Some(agreed) = agreed {
            break agreed;
        }
    };
    let head = zonda_codec::FrameHeader {
        reliability: zonda_codec::Reliability::Reliable,
        priority: zonda_codec::Priority::Data,
        sn: agreed.initial_sn_tx,
    };
    let body = Declaration::Subscriber {
        id: 1,
        wire_expr: WireExpr::full(key),
    };
    // The answer to the first interest of a session, which a publisher declares.
    let wanted = Declare {
        interest_id: None,
        ..Declare::new(body)
    };
    framed.clear();
    frame(&[bytes(&head), bytes(&wanted)].concat(), &mut framed);
    stream.write_all(&framed).expect("writable");
    stream
}

/// Opens a session whose router does not read, and puts until nothing moves any more.
fn muted() -> (Session, TcpStream) {
    const LIMIT: Duration = Duration::from_millis(200);
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let place = format!("tcp/{}", listener.local_addr().expect("bound"));
    let router = std::thread::spawn(move || deaf_router(&listener, "demo"));
    let session = zonda::open(Config::client([&place]))
        .wait()
        .expect("it lets us in");
    let deaf = router.join().expect("no panic");
    let payload = ZBytes::from(vec![0; 1 << 20]);
    let publisher = session
        .declare_publisher("demo")
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    let begin = Instant::now();
    while publisher.put(&payload).timeout(LIMIT).wait().is_ok() {
        assert!(begin.elapsed() < LONG, "never full");
    }
    (session, deaf)
}

#[test]
fn close_keeps_its_deadline_beside_a_router_that_never_reads() {
    let (session, _deaf) = muted();
    let begin = Instant::now();
    let closed = session.close().timeout(Duration::from_millis(300)).wait();
    assert!(
        begin.elapsed() < Duration::from_secs(3),
        "it took {:?}",
        begin.elapsed()
    );
    assert!(closed.is_err(), "what was lost is told");
    assert!(session.is_closed());
    assert!(
        session.close().wait().is_ok() || session.is_closed(),
        "a second close has nothing to do"
    );
}

#[test]
fn dropping_does_not_wait_for_a_router_that_never_reads() {
    let (session, _deaf) = muted();
    let begin = Instant::now();
    drop(session);
    assert!(
        begin.elapsed() < Duration::from_secs(2),
        "it took {:?}",
        begin.elapsed()
    );
}

/// No step of opening waits for a fixed time.
#[test]
fn opening_takes_no_longer_than_it_must() {
    let router = node(router()).expect("a router");
    let address = address_of(&router);
    let mut fastest = Duration::MAX;
    for _ in 0..10 {
        let begin = Instant::now();
        let session = client(address);
        fastest = fastest.min(begin.elapsed());
        drop(session);
    }
    assert!(
        fastest < Duration::from_millis(100),
        "opening took at least {fastest:?}"
    );
    close(&router);
}
