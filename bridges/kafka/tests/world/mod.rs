// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers of the tests: a mock cluster, a consumer that counts, and a client that speaks bytes.
#![allow(dead_code, reason = "each suite uses a part of it")]

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::Message as _;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::{Offset, TopicPartitionList};
use socket2::{Domain, Socket, Type};
use zonda_kafka::ingest::{On, Server, Service};
use zonda_kafka::producer::Producer;
use zonda_kafka::sink::{KafkaSink, Sink};

/// Time limit for every step on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(60);

/// A simulated broker of the client library.
pub struct Broker {
    pub cluster: MockCluster<'static, DefaultProducerContext>,
}

impl Broker {
    pub fn with_topics(topics: &[&str]) -> Broker {
        let cluster = MockCluster::new(1).expect("a mock cluster");
        for topic in topics {
            cluster.create_topic(topic, 1, 1).expect("a topic");
        }
        Broker { cluster }
    }

    pub fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", self.cluster.bootstrap_servers())
            .set("linger.ms", "1")
            .set("reconnect.backoff.max.ms", "200");
        config
    }

    /// Starts a server in front of `topic`.
    pub fn server(&self, on: On, topic: &str, by_broker: bool) -> Server {
        let producer = Producer::start(&self.config(), None).expect("a producer");
        serve(on, sink(producer, topic, by_broker))
    }

    /// Returns the next `count` payloads of `topic`, from its beginning.
    pub fn payloads(&self, topic: &str, count: usize) -> Vec<Vec<u8>> {
        let mut reader = Reader::new(self, topic);
        (0..count).map(|_| reader.next().payload).collect()
    }
}

pub fn sink(producer: Producer, topic: &str, by_broker: bool) -> Service {
    Service::new(Sink::Kafka(KafkaSink::new(
        producer,
        topic.to_owned(),
        by_broker,
    )))
}

pub fn serve(on: On, service: Service) -> Server {
    let address = "127.0.0.1:0".parse().expect("an address");
    Server::start(on, address, Arc::new(service)).expect("a server")
}

/// A message of a topic.
#[derive(Debug, PartialEq, Eq)]
pub struct Arrived {
    pub key: Option<Vec<u8>>,
    pub payload: Vec<u8>,
    pub headers: Vec<(String, Vec<u8>)>,
}

/// Reads a topic from its beginning.
pub struct Reader {
    consumer: BaseConsumer,
}

impl Reader {
    pub fn new(broker: &Broker, topic: &str) -> Reader {
        Reader::of(broker.config(), topic)
    }

    /// Creates a reader of a topic at any broker, by the settings of a client.
    pub fn of(mut config: ClientConfig, topic: &str) -> Reader {
        config.set("group.id", "reader");
        let consumer: BaseConsumer = config.create().expect("a consumer");
        let mut all = TopicPartitionList::new();
        all.add_partition_offset(topic, 0, Offset::Beginning)
            .expect("a partition");
        consumer.assign(&all).expect("an assignment");
        Reader { consumer }
    }

    /// Returns the next message.
    pub fn next(&mut self) -> Arrived {
        let end = Instant::now() + LIMIT;
        while Instant::now() < end {
            // the poll is repeated while a broker is unavailable
            if let Some(Ok(message)) = self.consumer.poll(Duration::from_millis(100)) {
                return read(&message);
            }
        }
        panic!("no message came");
    }

    /// Reads payloads until all of `wanted` were seen.
    pub fn await_all(&mut self, mut wanted: BTreeSet<Vec<u8>>) {
        while !wanted.is_empty() {
            wanted.remove(&self.next().payload);
        }
    }
}

fn read(message: &rdkafka::message::BorrowedMessage<'_>) -> Arrived {
    use rdkafka::message::Headers;
    let headers = message.headers().map(|headers| {
        let headers = headers.iter();
        headers
            .map(|h| (h.key.to_owned(), h.value.unwrap_or_default().to_vec()))
            .collect()
    });
    Arrived {
        key: message.key().map(<[u8]>::to_vec),
        payload: message.payload().unwrap_or_default().to_vec(),
        headers: headers.unwrap_or_default(),
    }
}

/// A client of the server.
pub struct Client {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        Client::on(TcpStream::connect(address).expect("a connection"))
    }

    /// Connects from another address of this machine: 127.0.0.`last`.
    pub fn connect_from(last: u8, address: SocketAddr) -> Client {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let from = SocketAddr::from(([127, 0, 0, last], 0));
        socket.bind(&from.into()).expect("an address");
        socket.connect(&address.into()).expect("a connection");
        Client::on(socket.into())
    }

    fn on(stream: TcpStream) -> Client {
        stream.set_read_timeout(Some(LIMIT)).expect("a timeout");
        stream.set_write_timeout(Some(LIMIT)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Client {
            stream,
            read: Vec::new(),
        }
    }

    /// Sends bytes; a server that has already refused may have closed.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Reads the next answer: its status, headers and body.
    pub fn answer(&mut self) -> (u16, String) {
        loop {
            if let Some(at) = find(&self.read, b"\r\n\r\n") {
                let head = String::from_utf8(self.read[..at + 4].to_vec()).expect("text");
                let status: u16 = head[9..12].parse().expect("a number");
                let length = head
                    .lines()
                    .find_map(|l| l.strip_prefix("Content-Length: "));
                let length: usize = length.map_or(0, |l| l.parse().expect("a number"));
                if self.read.len() >= at + 4 + length {
                    let whole: Vec<u8> = self.read.drain(..at + 4 + length).collect();
                    return (status, String::from_utf8(whole).expect("text"));
                }
            }
            assert!(self.fill(), "the connection ended without an answer");
        }
    }

    pub fn status(&mut self) -> u16 {
        self.answer().0
    }

    fn fill(&mut self) -> bool {
        let mut part = [0; 4096];
        match self.stream.read(&mut part) {
            Ok(0) => false,
            Ok(n) => {
                self.read.extend_from_slice(&part[..n]);
                true
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Waits for the server to end the connection, and returns the bytes it sent before.
    pub fn ended(mut self) -> Vec<u8> {
        while self.fill() {}
        self.read
    }
}

fn find(all: &[u8], part: &[u8]) -> Option<usize> {
    all.windows(part.len()).position(|window| window == part)
}

/// Returns a request that publishes `body`.
pub fn post(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

/// Waits until a condition holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
