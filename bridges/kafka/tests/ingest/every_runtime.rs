// SPDX-License-Identifier: MIT OR Apache-2.0
//! One conversation on every runtime and on the two originals.

use std::sync::atomic::Ordering;

use zonda_kafka::http::Answer;
use zonda_kafka::ingest::{On, Service};
use zonda_kafka::sink::Sink;

use super::world::{Broker, Client, LIMIT, post, serve, until};

/// Asserts that requests in every form arrive once each, in order.
fn arrives(on: On) {
    let broker = Broker::with_topics(&["t"]);
    let server = broker.server(on, "t", false);
    let mut client = Client::connect(server.address());
    client.send(&post("one"));
    assert_eq!(client.status(), 202, "{on}");
    // pipelined, and cut at awkward positions
    let two = [post("two"), post("three")].concat();
    client.send(&two[..70]);
    client.send(&two[70..]);
    assert_eq!([client.status(), client.status()], [202, 202], "{on}");
    client.send(
        b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nfo\r\n2\r\nur\r\n0\r\n\r\n",
    );
    assert_eq!(client.status(), 202, "{on}");
    let large = "x".repeat(100_000);
    client.send(&post(&large));
    assert_eq!(client.status(), 202, "{on}");
    client.send(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let (status, metrics) = client.answer();
    assert_eq!(status, 200, "{on}");
    assert!(metrics.contains("zonda_kafka_answers_total{status=\"202\"} 5\n"));
    assert_eq!(client.ended(), b"", "{on}");
    // a connection per request
    for _ in 0..3 {
        let mut client = Client::connect(server.address());
        client.send(b"POST / HTTP/1.0\r\nContent-Length: 4\r\n\r\nfive");
        let (status, head) = client.answer();
        assert_eq!(status, 202, "{on}");
        assert!(head.contains("Connection: close\r\n"), "{head}");
        assert_eq!(client.ended(), b"", "{on}");
    }
    let ending = server.end(LIMIT);
    assert_eq!(ending.lost, 0, "{on}: {ending:?}");
    let expected = [
        "one", "two", "three", "four", &large, "five", "five", "five",
    ];
    let arrived = broker.payloads("t", expected.len());
    for (arrived, expected) in arrived.iter().zip(expected) {
        assert!(arrived == expected.as_bytes(), "{on}: {expected}");
    }
}

#[test]
fn what_is_acknowledged_arrives_on_every_runtime() {
    for on in On::all() {
        arrives(on);
    }
}

#[test]
fn many_connections_at_once_are_served_by_every_runtime() {
    const CLIENTS: usize = 16;
    const REQUESTS: usize = 50;
    for on in On::all() {
        let server = serve(on, Service::new(Sink::Nowhere));
        let address = server.address();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                std::thread::spawn(move || {
                    let mut client = Client::connect(address);
                    for _ in 0..REQUESTS {
                        client.send(&post("a"));
                        assert_eq!(client.status(), 202);
                    }
                })
            })
            .collect();
        for client in clients {
            client.join().expect("a client that is served");
        }
        let counts = &server.service().counts;
        assert_eq!(counts.acknowledged(), 800, "{on}");
        assert_eq!(counts.answered(Answer::Busy), 0);
        until("all connections are closed", || {
            counts.open.load(Ordering::Relaxed) == 0
        });
        server.end(LIMIT);
    }
}
