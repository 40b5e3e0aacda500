// SPDX-License-Identifier: MIT OR Apache-2.0

//! Links of datagrams: all traffic passes them as long as the system loses nothing, and they last.

use std::net::UdpSocket;
#[cfg(target_os = "linux")]
use std::time::Duration;

use crate::pair::until;
use crate::traffic::check_each;
use zonda::pubsub::Subscriber;
use zonda::{Config, Session, Wait};

fn listener(at: &str) -> Session {
    zonda::open(Config::peer().listen([at]))
        .wait()
        .expect("it listens")
}

fn place(of: &Session) -> String {
    of.info().locators().remove(0).to_string()
}

fn dial(to: &str) -> Session {
    zonda::open(Config::client([to])).wait().expect(to)
}

const SIZES: &[usize] = &[0, 1, 8, 5000, 60_000, 65_487, 70_000, 300_000, 1 << 20, 9];

#[test]
fn everything_passes_a_link_of_datagrams() {
    for at in ["udp/127.0.0.1:0", "udp/[::1]:0"] {
        let far = listener(at);
        let near = dial(&place(&far));
        let link = &near.info().links()[0];
        assert!(link.remote.to_string().starts_with("udp/"), "{link:?}");
        check_each(&near, &far, SIZES);
    }
}

/// Sizes of batches: the limit of a path, of a card with long frames, and more than any datagram.
#[test]
fn batches_are_as_long_as_both_ends_say() {
    for (batch, agreed, sizes) in [
        ("1400", 1400, &[1, 1399, 1400, 1401, 100_000][..]),
        ("9000", 9000, &[1, 8999, 9001, 300_000]),
        ("65535", 65_487, &[1, 65_486, 65_488, 1 << 20]),
    ] {
        let with = |config: Config| config.with("transport/link/tx/batch_size", batch);
        let far = zonda::open(with(Config::peer().listen(["udp/127.0.0.1:0"]))).wait();
        let far = far.expect("it listens");
        let near = zonda::open(with(Config::client([place(&far)]))).wait();
        let near = near.expect("a link");
        assert_eq!(near.info().links()[0].batch_size, agreed);
        check_each(&near, &far, sizes);
    }
}

/// A listener on all addresses of a machine answers from the address that was dialled: else the
/// opener gets nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_listener_on_all_addresses_answers_from_the_one_that_was_asked() {
    let has_ipv6 = UdpSocket::bind("[::1]:0").is_ok();
    for (at, hosts) in [
        ("0.0.0.0", &["127.0.0.1", "127.0.0.2", "127.0.0.3"][..]),
        ("[::]", &["[::1]", "127.0.0.1", "127.0.0.2"]),
    ] {
        if at == "[::]" && !has_ipv6 {
            eprintln!("SKIPPED: {at}: this machine has no IPv6");
            continue;
        }
        let far = listener(&format!("udp/{at}:0"));
        let place = place(&far);
        let (_, port) = place.rsplit_once(':').expect("a port");
        // From one port to all of them: links are identified by both ends.
        let own = {
            let free = UdpSocket::bind("0.0.0.0:0").expect("a port");
            free.local_addr().expect("bound").port()
        };
        for host in hosts {
            let bind = match host.starts_with('[') {
                true => format!("[::1]:{own}"),
                false => format!("127.0.0.1:{own}"),
            };
            let near = dial(&format!("udp/{host}:{port}#bind={bind}"));
            let zid = near.zid();
            until("it is there", || {
                far.info().links().iter().any(|link| link.zid == zid)
            });
            let links = far.info().links();
            let link = links.iter().find(|link| link.zid == zid);
            let local = link.expect("it is there").local.to_string();
            assert_eq!(local, format!("udp/{host}:{port}"));
            check_each(&near, &far, &[8, 5000, 70_000]);
            near.close().wait().expect("it closes");
            until("its port is free", || {
                UdpSocket::bind(("127.0.0.1", own)).is_ok() && UdpSocket::bind(("::", own)).is_ok()
            });
        }
        far.close().wait().expect("it closes");
    }
}

/// Large messages reach a receiver whose socket has the system's default buffer, as their datagrams
/// are paced. One round of many has to arrive, but for a message. Where other programs keep the
/// receiver from reading, no round does: then many more have to arrive than without a pace.
#[cfg(target_os = "linux")]
#[test]
fn large_messages_fit_into_a_default_buffer() {
    // Linux doubles the size that is asked for: 212 992 bytes.
    let far = listener("udp/127.0.0.1:0#so_rcvbuf=106496");
    let subscriber = far.declare_subscriber("test/large/*").wait();
    let subscriber = subscriber.expect("a subscriber");
    let place = place(&far);
    let [paced, unpaced] = ["", "#pace=0"].map(|pace| dial(&format!("{place}{pace}")));
    let (mut with_pace, mut without) = (0, 0);
    for _ in 0..40 {
        let arrived = large_round(&paced, &subscriber);
        if arrived + 1 >= LARGE_MESSAGES {
            return;
        }
        with_pace += arrived;
        without += large_round(&unpaced, &subscriber);
    }
    println!("  with a pace arrived {with_pace}, without {without}");
    assert!(with_pace > 10 + 4 * without, "{with_pace} and {without}");
}

#[cfg(target_os = "linux")]
const LARGE_MESSAGES: usize = 10;

/// Publishes large messages, and returns the number of those that have arrived.
#[cfg(target_os = "linux")]
fn large_round(near: &Session, subscriber: &Subscriber) -> usize {
    let publisher = near.declare_publisher(format!("test/large/{}", near.zid()));
    let publisher = publisher.wait().expect("a publisher");
    until("they match", || {
        publisher.matching_status().wait().expect("open").matching()
    });
    for number in 0..LARGE_MESSAGES {
        let payload = vec![number as u8; 1 << 20];
        publisher.put(payload).wait().expect("it is sent");
        std::thread::sleep(Duration::from_millis(60));
    }
    let whole = std::iter::from_fn(|| subscriber.try_recv().expect("open"));
    whole.filter(|s| s.payload().len() == 1 << 20).count()
}

#[test]
fn a_close_is_heard_and_the_port_is_free_again() {
    let far = listener("udp/127.0.0.1:0");
    let at = place(&far);
    for _ in 0..3 {
        let near = dial(&at);
        until("it is there", || far.info().links().len() == 1);
        near.close().wait().expect("it closes");
        until("it is gone", || far.info().links().is_empty());
    }
    far.close().wait().expect("it closes");
    until("the port is free", || {
        zonda::open(Config::peer().listen([&at])).wait().is_ok()
    });
}

#[test]
fn a_node_that_begins_anew_from_its_port_is_let_in_at_once() {
    let far = listener("udp/127.0.0.1:0");
    let own = {
        let free = UdpSocket::bind("127.0.0.1:0").expect("a port");
        free.local_addr().expect("bound")
    };
    let to = format!("{}#bind={own}", place(&far));
    for _ in 0..3 {
        // The runtime's tasks release the socket a moment after the session has closed.
        until("its port is free", || UdpSocket::bind(own).is_ok());
        let near = dial(&to);
        let zid = near.zid();
        until("it is there", || {
            far.info().links().iter().any(|link| link.zid == zid)
        });
        near.close().wait().expect("it closes");
    }
}

#[test]
fn garbage_ends_no_link() {
    let far = listener("udp/127.0.0.1:0");
    let near = dial(&place(&far));
    let at = place(&far);
    let at = at.strip_prefix("udp/").expect("a locator");
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a port");
    for length in [0, 1, 2, 7, 100, 4096, 60_000] {
        for byte in 0..=255 {
            stranger.send_to(&vec![byte; length], at).expect("sent");
        }
    }
    check_each(&near, &far, SIZES);
    let second = dial(&place(&far));
    check_each(&second, &far, SIZES);
}
