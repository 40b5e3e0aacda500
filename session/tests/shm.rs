// SPDX-License-Identifier: MIT OR Apache-2.0

//! Payloads in shared memory, between sessions over loopback and through a router.

use zonda::bytes::ZBytes;
use zonda::{Config, Session, Wait};

use crate::pair::{connected_to, until, until_matched};

const ENABLED: &str = "transport/shared_memory/enabled";

fn open(config: Config) -> Session {
    zonda::open(config).wait().expect("it opens")
}

fn listener(config: Config) -> (Session, String) {
    let session = open(config.listen(["tcp/127.0.0.1:0"]));
    let address = session.info().locators().remove(0).to_string();
    (session, address)
}

#[test]
fn loans_and_large_payloads_arrive_where_they_lie() {
    let socket = std::env::temp_dir().join(format!("zonda-shm-{}", std::process::id()));
    let socket = format!("unixsock-stream/{}", socket.display());
    for endpoint in ["tcp/127.0.0.1:0", &socket] {
        pass_over(endpoint);
    }
}

fn pass_over(endpoint: &str) {
    let near = open(Config::peer().listen([endpoint]));
    let address = near.info().locators().remove(0).to_string();
    let far = connected_to(&near, Config::client([&address]));
    assert!(
        far.info()
            .transports()
            .wait()
            .all(|transport| transport.is_shm())
    );
    let subscriber = far.declare_subscriber("a/**").wait().expect("it opens");
    let publisher = near.declare_publisher("a/b").wait().expect("it opens");
    until_matched(&publisher);
    let provider = near.shm_provider(1 << 20).expect("memory");
    let free = provider.free_bytes();
    for round in 0..50_u8 {
        let mut loan = provider.loan(300_000).expect("room");
        loan.fill(round);
        publisher.put(loan).wait().expect("it is sent");
        publisher.put(vec![round; 5000]).wait().expect("it is sent");
        publisher.put(vec![round; 2000]).wait().expect("it is sent");
        for (len, is_shm) in [(300_000, true), (5000, true), (2000, false)] {
            let payload = subscriber.recv().expect("it arrives").payload().clone();
            assert_eq!(payload.to_bytes(), vec![round; len]);
            assert_eq!(payload.is_shm(), is_shm, "{len}");
            let at = payload.to_bytes().as_ptr() as usize;
            assert!(!is_shm || at.is_multiple_of(zonda::shm::ALIGNMENT));
        }
    }
    until("all loans come home", || provider.free_bytes() == free);
    assert_eq!(provider.lent(), 0);
}

#[test]
fn a_pool_that_receivers_hold_is_full_until_they_let_go() {
    let (near, address) = listener(Config::peer());
    let far = connected_to(&near, Config::client([&address]));
    let subscriber = far.declare_subscriber("a").wait().expect("it opens");
    let publisher = near.declare_publisher("a").wait().expect("it opens");
    until_matched(&publisher);
    let provider = near.shm_provider(40_000).expect("memory");
    let mut held = Vec::new();
    for _ in 0..4 {
        let loan = provider.loan(10_000 - 64).expect("room");
        publisher.put(loan).wait().expect("it is sent");
        held.push(subscriber.recv().expect("it arrives"));
    }
    let refused = provider.loan(10_000).expect_err("it is full");
    assert_eq!((refused.wanted, refused.size), (10_000, 40_000));
    // Buffers that a receiver holds stay its own, however long.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(provider.lent(), 4);
    held.pop();
    until("one comes home", || provider.lent() == 3);
    assert!(provider.loan(9000).is_ok());
}

#[test]
fn a_router_passes_places_to_those_that_share_and_bytes_to_others() {
    let (_router, address) = listener(Config::router());
    let from = open(Config::client([&address]));
    let sharing = open(Config::client([&address]));
    let other = open(Config::client([&address]).with(ENABLED, "false"));
    let subscribers = [&sharing, &other]
        .map(|session| session.declare_subscriber("a/b").wait().expect("it opens"));
    let publisher = from.declare_publisher("a/b").wait().expect("it opens");
    until_matched(&publisher);
    let provider = from.shm_provider(1 << 20).expect("memory");
    // The second subscription may arrive later than the first.
    until("both are known", || {
        publisher.put("first").wait().expect("it is sent");
        subscribers
            .iter()
            .all(|subscriber| subscriber.try_recv().is_ok_and(|sample| sample.is_some()))
    });
    std::thread::sleep(std::time::Duration::from_millis(200));
    subscribers
        .iter()
        .for_each(|subscriber| while subscriber.try_recv().is_ok_and(|sample| sample.is_some()) {});
    for round in 0..50_u8 {
        let mut loan = provider.loan(100_000).expect("room");
        loan.fill(round);
        publisher.put(loan).wait().expect("it is sent");
        for (subscriber, is_shm) in subscribers.iter().zip([true, false]) {
            let sample = subscriber.recv().expect("it arrives");
            assert_eq!(sample.payload().to_bytes(), vec![round; 100_000]);
            assert_eq!(sample.payload().is_shm(), is_shm);
        }
    }
    until("all loans come home", || provider.lent() == 0);
}

#[test]
fn queries_replies_and_errors_carry_large_payloads() {
    let (near, address) = listener(Config::peer());
    let far = connected_to(&near, Config::client([&address]));
    let answer = |query: zonda::query::Query| {
        let asked = query.payload().expect("it has one").clone();
        assert_eq!(asked.to_bytes(), vec![3; 50_000]);
        let key = query.key_expr().to_string();
        match key.as_str() {
            "q/error" => query.reply_err(vec![5; 40_000]).wait(),
            _ => query.reply(key, vec![4; 60_000]).wait(),
        }
        .expect("it is sent");
    };
    let _queryable = near
        .declare_queryable("q/*")
        .callback(answer)
        .wait()
        .expect("it opens");
    for (key, expected) in [
        ("q/value", Ok(vec![4; 60_000])),
        ("q/error", Err(vec![5; 40_000])),
    ] {
        let mut got = None;
        until("an answer", || {
            let replies = far
                .get(key)
                .payload(vec![3_u8; 50_000])
                .wait()
                .expect("it is asked");
            got = replies.recv().ok();
            got.is_some()
        });
        let bytes = |payload: &ZBytes| payload.to_bytes().into_owned();
        let reply = got.expect("an answer");
        let result = reply.result();
        let result = result.map(|sample| bytes(sample.payload()));
        assert_eq!(result.map_err(|error| bytes(error.payload())), expected);
    }
}

#[test]
fn a_node_that_shares_nothing_says_so() {
    let session = open(Config::peer().with(ENABLED, "false"));
    let refused = session.shm_provider(1000).expect_err("it shares nothing");
    assert!(refused.to_string().contains(ENABLED), "{refused}");
}
