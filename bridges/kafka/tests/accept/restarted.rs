// SPDX-License-Identifier: MIT OR Apache-2.0
//! A broker that is killed and restarted in the middle, and topics that are created by their first
//! message.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use zonda_kafka::producer::{Producer, Record};

use super::real::{World, await_all, broker, client, name};
use super::world::{Reader, until};

const MESSAGES: usize = 20_000;

fn number(number: usize) -> Vec<u8> {
    number.to_string().into_bytes()
}

fn all() -> BTreeSet<Vec<u8>> {
    (0..MESSAGES).map(number).collect()
}

#[test]
fn everything_arrives_both_ways_across_a_restart_of_the_broker() {
    let (up, down) = (name("up"), name("down"));
    let rules = format!(
        "{{ from: {{ key: 'up/*' }}, to: {{ topic: '{up}', partition_key: '{{chunk:2}}' }} }},
        {{ from: {{ topic: '{down}' }}, to: {{ key: 'down/{{key}}' }} }}"
    );
    let world = World::new(&rules, "");
    let subscriber = world.subscribe("down/*");
    world.await_interest("up/0");
    let producer = Producer::start(&client(), None).expect("a producer");
    let carry = |part: std::ops::Range<usize>| {
        for n in part {
            let (key, payload) = (format!("{}", n % 8), number(n));
            world.put(&format!("up/{key}"), &payload);
            let record = Record {
                topic: &down,
                key: Some(key.as_bytes()),
                payload: Some(&payload),
                ..Record::default()
            };
            producer.send(record).expect("a place in the queue");
        }
    };
    carry(0..MESSAGES / 2);
    until("the bridge is in the middle of both", || {
        let counts = world.bridge.counts();
        counts.published.load(Ordering::Relaxed) > 0 && counts.queued.load(Ordering::Relaxed) > 0
    });
    broker("kill");
    carry(MESSAGES / 2..MESSAGES * 3 / 4);
    broker("start");
    carry(MESSAGES * 3 / 4..MESSAGES);
    let twice = await_all(&subscriber, all());
    println!("from the topic: {MESSAGES} messages, {twice} of them came again");
    // the topic has one partition, and the producer of the bridge is idempotent: each message comes
    // once, in order
    let mut reader = Reader::of(client(), &up);
    for n in 0..MESSAGES {
        assert_eq!(reader.next().payload, number(n));
    }
    println!("to the topic: {MESSAGES} messages, each once and in order");
    world.end();
}

#[test]
fn a_topic_that_is_made_later_is_read_and_one_that_is_not_there_is_made() {
    let (later, new) = (name("later"), name("new"));
    let rules = format!(
        "{{ from: {{ topic: '{later}' }}, to: {{ key: 'later' }} }}, {{ from: {{ key: 'new' }}, to: {{ topic: '{new}' }} }}"
    );
    let world = World::new(&rules, "");
    let subscriber = world.subscribe("later");
    until("the broker says that there is no such topic", || {
        let counts = world.bridge.counts();
        counts.consumer_errors.load(Ordering::Relaxed) > 0
    });
    let producer = Producer::start(&client(), None).expect("a producer");
    let record = Record {
        topic: &later,
        payload: Some(b"made"),
        ..Record::default()
    };
    producer.send(record).expect("a place in the queue");
    let twice = await_all(&subscriber, BTreeSet::from([b"made".to_vec()]));
    assert_eq!(twice, 0);
    world.await_interest("new");
    world.put("new", b"first");
    assert_eq!(Reader::of(client(), &new).next().payload, b"first");
    world.end();
}
