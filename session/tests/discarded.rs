// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counts of messages that are received and discarded.

use crate::pair::{alone, blocking, connected_to, until};
use zonda::bytes::ZBytes;
use zonda::{Config, Wait};

/// True if nodes of this build share memory, where large messages have no fragments.
const SHARES_MEMORY: bool = cfg!(all(feature = "shm", target_os = "linux"));

#[test]
fn a_message_that_is_too_large_is_counted_at_its_receiver() {
    let a = alone();
    let narrow = Config::peer()
        .listen([] as [&str; 0])
        .with("transport/link/rx/max_message_size", "100000");
    let b = connected_to(&a, narrow);
    let subscriber = b.declare_subscriber("demo").wait().unwrap();
    let publisher = blocking(&a);
    let discarded = || b.info().links()[0].discarded;
    assert_eq!(discarded(), Default::default());
    for size in [1 << 20, 1 << 20, 8] {
        publisher.put(ZBytes::from(vec![0; size])).wait().unwrap();
    }
    let small = subscriber.recv().unwrap();
    assert_eq!(small.payload().len(), 8, "the others never came");
    until("both are counted", || discarded().too_large == 2);
    let discarded = discarded();
    assert_eq!((discarded.messages, discarded.undecodable), (2, 0));
    assert!(SHARES_MEMORY || discarded.fragments > 2, "{discarded:?}");
}
