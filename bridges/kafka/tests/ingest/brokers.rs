// SPDX-License-Identifier: MIT OR Apache-2.0
//! States of brokers: away, back, slow, refusing a message. Acknowledged messages arrive or are
//! counted.

use std::collections::BTreeSet;

use rdkafka::mocking::MockCluster;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use zonda_kafka::ingest::{On, Service};
use zonda_kafka::producer::Producer;
use zonda_kafka::sink::Sink;
use zonda_runtime::RuntimeKind;

use super::world::{Broker, Client, LIMIT, Reader, post, serve, sink};

fn here() -> On {
    On::Runtime(RuntimeKind::default())
}

#[test]
fn the_broker_answers_for_each_request_in_order() {
    for on in On::all() {
        let broker = Broker::with_topics(&["t"]);
        let server = broker.server(on, "t", true);
        let mut client = Client::connect(server.address());
        let three = [
            post("one"),
            b"DELETE / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            post("two"),
        ];
        client.send(&three.concat());
        let statuses = [client.status(), client.status(), client.status()];
        assert_eq!(statuses, [202, 405, 202], "{on}");
        assert_eq!(broker.payloads("t", 2), [&b"one"[..], b"two"]);
        server.end(LIMIT);
    }
}

#[test]
fn a_message_that_the_broker_refuses_is_said_or_counted() {
    let broker = Broker::with_topics(&["t"]);
    let refusal = RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
    broker
        .cluster
        .request_errors(RDKafkaApiKey::Produce, &[refusal]);
    let server = broker.server(here(), "t", true);
    let mut client = Client::connect(server.address());
    client.send(&post("refused"));
    assert_eq!(client.status(), 502);
    client.send(&post("taken"));
    assert_eq!(client.status(), 202);
    client.send(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    let (_, metrics) = client.answer();
    let expected = "zonda_kafka_undelivered_total{reason=\"MessageSizeTooLarge\"} 1\n";
    assert!(metrics.contains(expected), "{metrics}");
    assert_eq!(server.end(LIMIT).lost, 1, "counted to the end");
    assert_eq!(broker.payloads("t", 1), [b"taken"]);
}

#[test]
fn a_message_beyond_the_limit_of_every_broker_is_refused_at_once() {
    let broker = Broker::with_topics(&["t"]);
    let mut config = broker.config();
    config.set("message.max.bytes", "2000");
    let producer = Producer::start(&config, None).expect("a producer");
    let server = serve(here(), sink(producer, "t", false));
    let mut client = Client::connect(server.address());
    client.send(&post(&"a".repeat(3000)));
    assert_eq!(client.status(), 413);
    client.send(&post("fits"));
    assert_eq!(client.status(), 202, "the connection goes on");
    assert_eq!(server.end(LIMIT).lost, 0);
}

/// Without a broker the queue fills: 503 with a time to retry, not memory; waiting messages arrive
/// when the broker is back.
#[test]
fn a_broker_that_is_away_fills_the_queue_and_gets_everything_when_it_comes() {
    let broker = Broker::with_topics(&["t"]);
    broker.cluster.broker_down(1).expect("a broker that goes");
    let mut config = broker.config();
    config.set("queue.buffering.max.messages", "10");
    let producer = Producer::start(&config, None).expect("a producer");
    let server = serve(here(), sink(producer, "t", false));
    let mut client = Client::connect(server.address());
    let mut taken = BTreeSet::new();
    for number in 0..30 {
        let body = format!("message {number}");
        client.send(&post(&body));
        let (status, answer) = client.answer();
        match status {
            202 => assert!(taken.insert(body.into_bytes())),
            503 => assert!(answer.contains("Retry-After: 1\r\n"), "{answer}"),
            other => panic!("{other}"),
        }
    }
    assert_eq!(taken.len(), 10);
    broker.cluster.broker_up(1).expect("a broker that comes");
    Reader::new(&broker, "t").await_all(taken);
    assert_eq!(server.end(LIMIT).lost, 0);
}

#[test]
fn what_no_broker_takes_in_time_is_counted_as_lost() {
    let cluster = MockCluster::new(1).expect("a mock cluster");
    cluster.broker_down(1).expect("a broker that goes");
    let broker = Broker { cluster };
    let mut config = broker.config();
    config.set("message.timeout.ms", "300");
    let producer = Producer::start(&config, None).expect("a producer");
    let server = serve(here(), sink(producer, "t", true));
    let mut client = Client::connect(server.address());
    client.send(&post("lost"));
    assert_eq!(client.status(), 502);
    let ending = server.end(LIMIT);
    assert_eq!(
        (ending.lost, &ending.lines[1][..]),
        (1, "failed 1: MessageTimedOut")
    );
}

#[test]
fn a_broker_that_dies_and_comes_back_has_all_that_was_acknowledged() {
    let broker = Broker::with_topics(&["t"]);
    let server = broker.server(here(), "t", true);
    let mut client = Client::connect(server.address());
    let mut taken = BTreeSet::new();
    for round in 0..3 {
        for number in 0..20 {
            let body = format!("{round} {number}");
            client.send(&post(&body));
            if number == 10 {
                broker.cluster.broker_down(1).expect("a broker that goes");
                broker.cluster.broker_up(1).expect("a broker that comes");
            }
            assert_eq!(client.status(), 202);
            taken.insert(body.into_bytes());
        }
    }
    Reader::new(&broker, "t").await_all(taken);
    assert_eq!(server.end(LIMIT).lost, 0);
}

#[test]
fn a_server_that_ends_takes_nothing_more() {
    let server = serve(here(), Service::new(Sink::Nowhere));
    let mut client = Client::connect(server.address());
    client.send(&post("a"));
    assert_eq!(client.status(), 202);
    server.service().stop();
    client.send(&post("b"));
    let (status, answer) = client.answer();
    assert_eq!(status, 503);
    assert!(answer.contains("Connection: close\r\n"), "{answer}");
}
