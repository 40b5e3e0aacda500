// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bad clients: each gets a status or is closed and counted, and the next client is served
//! normally.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use zonda_kafka::http::{Answer, Budget, Limits};
use zonda_kafka::ingest::{On, Patience, Server, Service};
use zonda_kafka::sink::Sink;
use zonda_runtime::RuntimeKind;

use super::world::{Client, LIMIT, post, serve, until};

/// Returns the project's runtimes: the originals have no deadlines.
fn ours() -> impl Iterator<Item = On> {
    RuntimeKind::available().map(On::Runtime)
}

fn server(on: On) -> Server {
    let mut service = Service::new(Sink::Nowhere);
    service.limits = Limits {
        body_bytes: 10_000,
        ..Limits::default()
    };
    serve(on, service)
}

fn is_well(address: SocketAddr) {
    let mut client = Client::connect(address);
    client.send(&post("well"));
    assert_eq!(client.status(), 202);
}

#[test]
fn every_bad_request_has_a_status_and_ends_its_connection_only() {
    let endless = [b"POST / HTTP/1.1\r\nX: ".to_vec(), vec![b'a'; 100_000]].concat();
    let beyond = [
        post(""),
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10001\r\n\r\n".to_vec(),
    ]
    .concat();
    let cases: [(&[u8], &[u16]); 6] = [
        (b"\x16\x03\x01\x02\x00\x01\x00", &[400]),
        (b"GET /\r\n", &[400]),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[505]),
        (&endless, &[431]),
        (&beyond, &[202, 413]),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            &[400],
        ),
    ];
    for on in On::all() {
        let server = server(on);
        for (bytes, statuses) in cases {
            let mut client = Client::connect(server.address());
            client.send(bytes);
            for status in statuses {
                assert_eq!(
                    client.status(),
                    *status,
                    "{on}: {}",
                    bytes[..20.min(bytes.len())].escape_ascii()
                );
            }
            assert_eq!(client.ended(), b"", "{on}");
        }
        is_well(server.address());
        server.end(LIMIT);
    }
}

/// Starts a server with short deadlines.
fn hasty(on: On) -> Server {
    let mut service = Service::new(Sink::Nowhere);
    service.patience = Patience {
        request: Duration::from_millis(200),
        idle: Duration::from_millis(300),
    };
    serve(on, service)
}

#[test]
fn slow_and_silent_clients_are_given_up_and_counted() {
    for on in ours() {
        let server = hasty(on);
        let counts = &server.service().counts;
        // a head that never ends, a body with a wrong length, a chunk that does not come
        for part in [
            &b"POST / HTTP/1.1\r\nHo"[..],
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nten bytes.",
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        ] {
            let mut client = Client::connect(server.address());
            client.send(part);
            assert_eq!(client.status(), 408, "{on}");
            assert_eq!(client.ended(), b"", "{on}");
        }
        // nothing at all
        let client = Client::connect(server.address());
        assert_eq!(client.ended(), b"", "{on}");
        assert_eq!(counts.idle.load(Ordering::Relaxed), 1, "{on}");
        // closes in the middle
        let mut client = Client::connect(server.address());
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n");
        drop(client);
        until("the broken connection is counted", || {
            counts.broken.load(Ordering::Relaxed) == 1
        });
        is_well(server.address());
        server.end(LIMIT);
    }
}

#[test]
fn a_client_that_takes_no_answers_is_given_up() {
    for on in ours() {
        let server = hasty(on);
        let mut client = Client::connect(server.address());
        let stuck = || server.service().counts.stuck.load(Ordering::Relaxed) > 0;
        let gone = || server.service().counts.broken.load(Ordering::Relaxed) > 0;
        // answers fill the buffers of both sockets, then the server cannot write
        let many = post("").repeat(1000);
        let writer = std::thread::spawn(move || {
            for _ in 0..1000 {
                client.send(&many);
            }
            client
        });
        until("the client is given up", || stuck() || gone());
        assert!(stuck(), "{on}: given up because it took nothing");
        drop(writer);
        is_well(server.address());
        server.end(LIMIT);
    }
}

#[test]
fn bodies_of_all_clients_share_a_budget() {
    let mut service = Service::new(Sink::Nowhere);
    service.bodies = Budget::new(20_000);
    let server = serve(On::Runtime(RuntimeKind::default()), service);
    let head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 30000\r\n\r\n";
    let mut first = Client::connect(server.address());
    first.send(head);
    first.send(&[b'a'; 15_000]);
    until("the first body is there", || {
        server.service().bodies.left() < 6000
    });
    let mut second = Client::connect_from(2, server.address());
    second.send(head);
    second.send(&[b'b'; 15_000]);
    let (status, answer) = second.answer();
    assert_eq!(status, 503);
    assert!(answer.contains("Retry-After: 1\r\n"), "{answer}");
    drop((first, second));
    until("everything is given back", || {
        server.service().bodies.left() == 20_000
    });
    server.end(LIMIT);
}

#[test]
fn unfinished_bodies_of_one_address_leave_bytes_to_another() {
    const STEP: usize = 4096;
    for on in On::all() {
        let mut service = Service::new(Sink::Nowhere);
        service.bodies = Budget::new(10 * STEP);
        service.patience.request = 10 * LIMIT;
        let server = serve(on, service);
        let (bodies, counts) = (&server.service().bodies, &server.service().counts);
        let head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n";
        let begin = |mut client: Client| {
            let (left, refused) = (bodies.left(), counts.answered(Answer::Busy));
            client.send(head);
            client.send(&[b'a'; STEP]);
            until("the body is taken or refused", || {
                bodies.left() < left || counts.answered(Answer::Busy) > refused
            });
            client
        };
        let crowd: Vec<Client> = (0..10)
            .map(|_| begin(Client::connect_from(2, server.address())))
            .collect();
        let mut client = begin(Client::connect(server.address()));
        client.send(&[b'a'; 5000 - STEP]);
        assert_eq!(client.status(), 202, "{on}");
        assert_eq!(counts.answered(Answer::Busy), 3, "{on}");
        drop(crowd);
        server.end(LIMIT);
    }
}

#[test]
fn connections_of_one_address_leave_places_to_another() {
    for on in On::all() {
        let mut service = Service::new(Sink::Nowhere);
        service.places = Budget::new(8);
        service.patience.idle = 10 * LIMIT;
        service.patience.request = 10 * LIMIT;
        let server = serve(on, service);
        let crowd: Vec<Client> = (0..8)
            .map(|_| {
                let mut client = Client::connect_from(2, server.address());
                client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\na");
                client
            })
            .collect();
        is_well(server.address());
        let counts = &server.service().counts;
        let seen = [&counts.open, &counts.refused].map(|count| count.load(Ordering::Relaxed));
        assert!(seen[0] >= 6, "{on}: {seen:?}");
        assert_eq!(seen[1], 2, "{on}: {seen:?}");
        drop(crowd);
        server.end(LIMIT);
    }
}

#[test]
fn accepting_pauses_when_no_place_is_left_and_goes_on_when_one_is() {
    for on in On::all() {
        let mut service = Service::new(Sink::Nowhere);
        service.places = Budget::new(2);
        let server = serve(on, service);
        let mut clients: Vec<_> = (2..4)
            .map(|last| {
                let mut client = Client::connect_from(last, server.address());
                client.send(&post("a"));
                assert_eq!(client.status(), 202);
                client
            })
            .collect();
        let counts = &server.service().counts;
        until("accepting pauses", || {
            // the server may already wait for a connection when the second place is taken: that one
            // is accepted
            clients.push(Client::connect(server.address()));
            counts.pauses.load(Ordering::Relaxed) == 1
        });
        // their address may have used up its share while the server has not noticed that they left
        let mut waiting = Client::connect_from(4, server.address());
        waiting.send(&post("b"));
        drop(clients);
        assert_eq!(waiting.status(), 202, "{on}");
        server.end(LIMIT);
    }
}
