// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reliability of a publication: it travels on the channel of that name, as the bytes on the link
//! and the sample show.

use crate::pair::{LONG, alone, until, until_matched};
use crate::proxy::Proxy;
use zonda::qos::{CongestionControl, Reliability};
use zonda::{Config, Session, Wait};

/// Transport messages by the low bits of their header byte; its bit 0x20 stands for the reliable channel.
const FRAME: u8 = 0x05;
const FRAGMENT: u8 = 0x06;
const RELIABLE: u8 = 0x20;

/// Opens two sessions with a proxy between them.
fn watched() -> (Session, Session, Proxy) {
    let b = alone();
    let proxy = Proxy::before(b.info().locators().remove(0).as_ref());
    // The payloads are looked for on the link.
    let config = Config::peer().listen([] as [&str; 0]);
    let config = config.with("transport/shared_memory/enabled", "false");
    let a = zonda::open(config.connect([&proxy.endpoint()]))
        .wait()
        .unwrap();
    until("both see the link", || {
        !a.info().links().is_empty() && !b.info().links().is_empty()
    });
    (a, b, proxy)
}

/// Returns the channels of the batches of one kind in which `filler` stands 30 times in a row.
fn channels(proxy: &Proxy, kind: u8, filler: u8) -> Vec<Reliability> {
    let is_it = |batch: &&Vec<u8>| {
        batch[0] & 0x1f == kind && batch.windows(30).any(|w| w.iter().all(|b| *b == filler))
    };
    let channel = |batch: &Vec<u8>| match batch[0] & RELIABLE {
        0 => Reliability::BestEffort,
        _ => Reliability::Reliable,
    };
    let batches = proxy.batches();
    batches.iter().filter(is_it).map(channel).collect()
}

#[test]
fn publications_travel_on_the_channel_of_their_reliability() {
    let (a, b, proxy) = watched();
    let subscriber = b.declare_subscriber("demo/**").wait().unwrap();
    let (reliable, best_effort) = (Reliability::Reliable, Reliability::BestEffort);
    let mut filler = 0xa0;
    for reliability in [best_effort, reliable, best_effort] {
        let publisher = a
            .declare_publisher("demo/key")
            .congestion_control(CongestionControl::Block)
            .reliability(reliability)
            .wait()
            .unwrap();
        until_matched(&publisher);
        assert_eq!(publisher.reliability(), reliability);
        for size in [100, 20_000, 150_000] {
            for declared in [true, false] {
                filler += 1;
                let payload = vec![filler; size];
                let outcome = match declared {
                    true => publisher.put(payload).wait(),
                    false => a
                        .put("demo/undeclared", payload)
                        .congestion_control(CongestionControl::Block)
                        .reliability(reliability)
                        .wait(),
                };
                outcome.unwrap();
                let sample = subscriber.recv_timeout(LONG).unwrap().expect("it arrives");
                assert_eq!(sample.reliability(), reliability);
                assert_eq!(sample.payload().len(), size);
                let frames = channels(&proxy, FRAME, filler);
                let fragments = channels(&proxy, FRAGMENT, filler);
                assert_eq!(frames.len(), usize::from(size < 150_000), "{size}");
                assert_eq!(fragments.len() > 1, size == 150_000, "{size}");
                let mut all = frames.iter().chain(&fragments);
                assert!(all.all(|channel| *channel == reliability), "{size}");
            }
        }
    }
}
