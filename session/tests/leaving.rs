// SPDX-License-Identifier: MIT OR Apache-2.0

//! Neighbours that leave while the session closes: a message that they have not taken is counted,
//! and is no failure of the close.

use std::thread;
use std::time::Duration;

use crate::pair::{LONG, alone, blocking, pair, until, until_matched};
use crate::proxy::held_up;
use zonda::bytes::ZBytes;
use zonda::{Config, Wait};

/// Two peers, one publishes in a loop, and both close at the same time.
#[test]
fn two_peers_that_close_at_the_same_time_both_succeed() {
    for round in 0..20 {
        let (a, b) = pair();
        let subscriber = b.declare_subscriber("demo").callback(|_| {});
        let subscriber = subscriber.wait().unwrap();
        let publisher = blocking(&a);
        let payload = ZBytes::from(vec![0; 1 << 16]);
        let puts = thread::spawn(move || {
            let mut count = 0_u64;
            while publisher.put(&payload).timeout(LONG).wait().is_ok() {
                count += 1;
            }
            count
        });
        let received = || {
            a.info()
                .links()
                .iter()
                .any(|link| link.sent.bytes > 1 << 20)
        };
        until("messages are on their way", received);
        subscriber.undeclare().wait().unwrap();
        let closing = [a, b].map(|session| {
            thread::spawn(move || session.close().wait().map_err(|error| error.to_string()))
        });
        let closed = closing.map(|thread| thread.join().unwrap());
        assert_eq!(closed, [Ok(()), Ok(())], "round {round}");
        assert!(puts.join().unwrap() > 0);
    }
}

#[test]
fn a_neighbour_that_hangs_up_meanwhile_is_counted_and_no_failure() {
    let (session, _peer, proxy) = held_up(Config::peer());
    let closing = {
        let session = session.clone();
        thread::spawn(move || session.close().timeout(LONG).wait())
    };
    until("it closes", || session.is_closed());
    proxy.cut();
    assert!(closing.join().unwrap().is_ok());
    assert!(session.info().ended_links().lost() > 0);
}

/// The neighbour stays, and this side gives up.
#[test]
fn a_neighbour_that_takes_nothing_is_a_failure() {
    let (session, _peer, _proxy) = held_up(Config::peer());
    let closed = session.close().timeout(Duration::from_millis(100)).wait();
    assert!(closed.is_err());
}

/// Programs that publish a value and end are peers that come and go. The session retries none of
/// them afterwards, and reaches no limit, however many come from one address.
#[test]
fn visitors_that_say_goodbye_are_forgotten() {
    let host = alone();
    let subscriber = host.declare_subscriber("demo").wait().unwrap();
    let address = host.info().locators().remove(0);
    for _ in 0..24 {
        let config = Config::peer().listen(["tcp/127.0.0.1:0"]);
        let visitor = zonda::open(config.connect([&address])).wait().unwrap();
        let publisher = visitor.declare_publisher("demo").wait().unwrap();
        until_matched(&publisher);
        publisher.put("x").wait().unwrap();
        assert!(subscriber.recv_timeout(LONG).unwrap().is_some());
        visitor.close().wait().unwrap();
    }
    until("all have gone", || host.info().links().is_empty());
    let known = || {
        let limits = host.info().limits();
        let found = limits
            .iter()
            .find(|limit| limit.key == "limits/found_nodes");
        found.expect("it is a limit").used
    };
    until("all are forgotten", || known() == Some(0));
    let counts = host.info().discovery().candidates;
    assert_eq!(
        (counts.failures, counts.failed_too_often),
        (0, 0),
        "{counts:?}"
    );
}
