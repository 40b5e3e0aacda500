// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages that are too large for the broker, or for the client library.

use zonda_kafka::bridge::BridgeEnding;

use super::real::{LONG, World, client, name};
use super::world::Reader;

#[test]
fn what_is_too_large_is_a_dead_letter_and_what_follows_arrives() {
    let topic = name("large");
    let rules = format!("{{ from: {{ key: 'up' }}, to: {{ topic: '{topic}' }} }}");
    // the broker accepts a megabyte
    let world = World::new(
        &rules,
        "'message.max.bytes': 3000000, 'compression.type': 'none'",
    );
    let dead = world.subscribe("dead");
    world.await_interest("up");
    for size in [2_000_000, 4_000_000] {
        world.put("up", &vec![b'a'; size]);
        let letter = dead.recv_timeout(LONG).expect("a subscriber");
        let letter = letter.expect("a dead letter");
        assert_eq!(letter.payload().len(), size);
        let about = letter.attachment().expect("an attachment");
        let about = about.try_to_string().expect("text").into_owned();
        assert!(about.contains("MessageSizeTooLarge"), "{about}");
        println!("{size} bytes: {about}");
    }
    world.put("up", b"small");
    assert_eq!(Reader::of(client(), &topic).next().payload, b"small");
    let BridgeEnding { lost, metrics, .. } = world.bridge.end(LONG);
    assert_eq!(lost, 0, "a dead letter is not lost");
    assert!(
        metrics.contains("bridge_dead_letters_total 2\n"),
        "{metrics}"
    );
}
