// SPDX-License-Identifier: MIT OR Apache-2.0
//! The study's benchmark: requests per second of each server, as the interval that Criterion prints (`thrpt: [lower middle
//! upper]`). The server is in this process, before the broker of `ZONDA_KAFKA_BROKERS`, or before a simulated one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rdkafka::config::ClientConfig;
use rdkafka::mocking::MockCluster;
use zonda_kafka::ingest::{On, Server, Service};
use zonda_kafka::perf::{Load, Mode};
use zonda_kafka::producer::Producer;
use zonda_kafka::sink::{KafkaSink, Sink};

/// Clients at the same time.
const CLIENTS: usize = 8;

fn serve(on: On, brokers: &str) -> Server {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", brokers)
        .set("linger.ms", "5")
        .set("batch.size", "131072")
        .set("compression.type", "lz4");
    let producer = Producer::start(&config, None).expect("a producer");
    let sink = Sink::Kafka(KafkaSink::new(producer, "bench".to_owned(), false));
    let address: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    Server::start(on, address, Arc::new(Service::new(sink))).expect("a server")
}

fn requests(criterion: &mut Criterion) {
    let mock = MockCluster::new(1).expect("a mock cluster");
    let brokers = std::env::var("ZONDA_KAFKA_BROKERS").unwrap_or_else(|_| mock.bootstrap_servers());
    for mode in [Mode::KeepAlive, Mode::Close] {
        let mut group = criterion.benchmark_group(mode.name());
        group.throughput(Throughput::Elements(1));
        for on in On::all() {
            let server = serve(on, &brokers);
            let load = Load {
                address: server.address(),
                clients: CLIENTS,
                mode,
                body: 100,
                rate: None,
            };
            group.bench_function(on.to_string(), |bencher| {
                bencher.iter_custom(|requests| {
                    let (seen, took) = load.send(requests);
                    assert_eq!(seen.failures(), 0, "{on}: {:?}", seen.failed);
                    // scaled to the accepted requests
                    took.mul_f64(requests as f64 / seen.accepted.max(1) as f64)
                });
            });
            server.end(Duration::from_secs(30));
        }
        group.finish();
    }
}

criterion_group!(benches, requests);
criterion_main!(benches);
