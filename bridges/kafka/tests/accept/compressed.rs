// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages with every compression, in both directions.

use std::collections::BTreeSet;

use zonda_kafka::producer::{Producer, Record};

use super::real::{LONG, World, await_all, client, log_of, name};
use super::world::Reader;

const MESSAGES: usize = 200;

/// Returns a kilobyte that compresses well.
fn payload(number: usize) -> Vec<u8> {
    format!("{number} ").repeat(250).into_bytes()
}

/// Carries messages in both directions with one compression; returns the bytes that the broker
/// stores for each message.
fn carried(codec: &str) -> usize {
    let (up, down) = (name(&format!("up-{codec}")), name(&format!("down-{codec}")));
    let rules = format!(
        "{{ from: {{ key: 'up' }}, to: {{ topic: '{up}' }} }}, {{ from: {{ topic: '{down}' }}, to: {{ key: 'down' }} }}"
    );
    let properties = format!("'compression.type': '{codec}', 'linger.ms': 200");
    let world = World::new(&rules, &properties);
    let subscriber = world.subscribe("down");
    world.await_interest("up");
    let mut config = client();
    config
        .set("compression.type", codec)
        .set("linger.ms", "200");
    let producer = Producer::start(&config, None).expect("a producer");
    for number in 0..MESSAGES {
        let payload = payload(number);
        world.put("up", &payload);
        let record = Record {
            topic: &down,
            payload: Some(&payload),
            ..Record::default()
        };
        producer.send(record).expect("a place in the queue");
    }
    assert!(producer.flush(LONG), "the broker takes it");
    await_all(
        &subscriber,
        (0..MESSAGES).map(payload).collect::<BTreeSet<_>>(),
    );
    let mut reader = Reader::of(client(), &up);
    for number in 0..MESSAGES {
        assert!(reader.next().payload == payload(number), "{codec} {number}");
    }
    world.end();
    let sizes = [&up, &down].map(|topic| {
        let log = std::fs::metadata(log_of(topic)).expect("the log of the topic");
        usize::try_from(log.len()).expect("a small log") / MESSAGES
    });
    println!(
        "{codec}: {} and {} bytes of each message are kept",
        sizes[0], sizes[1]
    );
    sizes[0].max(sizes[1])
}

#[test]
fn each_compression_is_written_and_read() {
    let plain = carried("none");
    for codec in ["gzip", "snappy", "lz4", "zstd"] {
        let size = carried(codec);
        assert!(size < plain / 2, "{codec}: {size} of {plain} bytes");
    }
}
