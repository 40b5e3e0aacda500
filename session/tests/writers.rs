// SPDX-License-Identifier: MIT OR Apache-2.0

//! Many threads publish by one session, over one link, while the other end does the same: every message comes once, and those
//! of each thread in their order.

use zonda::config::RuntimeKind;
use zonda::qos::CongestionControl;
use zonda::{Config, Session, Wait};

use crate::pair::{LONG, connected_to, until_matched};

const WRITERS: u8 = 4;
const MESSAGES: u32 = 300;

/// Publishes by `WRITERS` threads; each message has its writer and its place.
fn write(session: &Session, key: &'static str) {
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                let publisher = session.declare_publisher(key);
                let publisher = publisher.congestion_control(CongestionControl::Block);
                let publisher = publisher.wait().expect("a publisher");
                until_matched(&publisher);
                for place in 0..MESSAGES {
                    let mut message = vec![writer; 100];
                    message[..4].copy_from_slice(&place.to_le_bytes());
                    publisher.put(message).wait().expect("it is sent");
                }
            });
        }
    });
}

#[test]
fn many_writers_share_a_link_both_ways_at_once() {
    for kind in RuntimeKind::available() {
        let listening = Config::peer().listen(["tcp/127.0.0.1:0"]);
        let a = zonda::open(listening.with_runtime(kind)).wait().unwrap();
        let b = connected_to(&a, Config::client([] as [&str; 0]).with_runtime(kind));
        std::thread::scope(|scope| {
            for (from, to, key) in [(&a, &b, "writers/there"), (&b, &a, "writers/back")] {
                let subscriber = to.declare_subscriber(key).wait().expect("a subscriber");
                scope.spawn(move || write(from, key));
                scope.spawn(move || {
                    let mut next = [0; WRITERS as usize];
                    while next.iter().any(|place| *place < MESSAGES) {
                        let sample = subscriber.recv_timeout(LONG).expect("open");
                        let sample = sample.unwrap_or_else(|| panic!("{kind}: {next:?}"));
                        let message = sample.payload().to_bytes();
                        let place: [u8; 4] = message[..4].try_into().expect("four bytes");
                        let expected = &mut next[usize::from(message[99])];
                        assert_eq!(u32::from_le_bytes(place), *expected, "{kind}");
                        *expected += 1;
                    }
                });
            }
        });
        a.close().wait().unwrap();
        b.close().wait().unwrap();
    }
}
