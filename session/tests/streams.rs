// SPDX-License-Identifier: MIT OR Apache-2.0

//! Dense streams, which nodes forward many messages at a time: the arriving messages equal the sent
//! ones, directly and through routers, and the routes may change in the middle.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use crate::pair::{connected_to, pair, until, until_matched};
use zonda::bytes::{Encoding, ZBytes};
use zonda::pubsub::Publisher;
use zonda::qos::{CongestionControl, Priority};
use zonda::sample::Sample;
use zonda::{Config, Session, Wait};

const MESSAGES: u32 = 20_000;

/// Opens a router that stamps samples without a timestamp, or not.
fn router(stamps: bool) -> Session {
    let config = Config::router().listen(["tcp/127.0.0.1:0"]).with(
        "timestamping/enabled",
        if stamps { "true" } else { "false" },
    );
    zonda::open(config).wait().expect("a router opens")
}

fn client() -> Config {
    Config::client([] as [&str; 0])
}

/// A key whose samples only show that the link is open.
const GREETING: &str = "stream/greeting";

/// The received samples.
#[derive(Clone, Default)]
struct Kept {
    samples: Arc<Mutex<Vec<Sample>>>,
    greeted: Arc<AtomicBool>,
}

impl Kept {
    fn on(&self, session: &Session, key: &'static str) {
        let kept = self.clone();
        session
            .declare_subscriber(key)
            .callback(move |sample| {
                if sample.key_expr() == GREETING {
                    kept.greeted.store(true, Ordering::Relaxed);
                } else {
                    kept.samples.lock().unwrap().push(sample);
                }
            })
            .background()
            .wait()
            .unwrap();
    }

    fn len(&self) -> usize {
        self.samples.lock().unwrap().len()
    }

    fn take(&self) -> Vec<Sample> {
        std::mem::take(&mut self.samples.lock().unwrap())
    }
}

/// Returns the payload of message `number`: its number, and as many bytes as make small,
/// middle-sized and large ones.
fn payload(number: u32) -> Vec<u8> {
    let len = match number % 50 {
        0 => 3_000,
        10 => 100,
        20 => 0,
        _ => (number % 7) as usize,
    };
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(4 + len, number as u8);
    bytes
}

fn put(publisher: &Publisher<'_>, number: u32) {
    let put = publisher.put(payload(number));
    match number % 1000 {
        400 => put.attachment("beside").wait(),
        401..=450 => put.encoding(Encoding::TEXT_PLAIN).wait(),
        _ => put.wait(),
    }
    .unwrap();
}

fn declared<'a>(session: &'a Session, key: &'static str, priority: Priority) -> Publisher<'a> {
    let publisher = session
        .declare_publisher(key)
        .congestion_control(CongestionControl::Block)
        .priority(priority)
        .wait()
        .unwrap();
    until_matched(&publisher);
    publisher
}

/// Checks that the samples of one key in `samples` are its whole stream, as they were sent.
fn assert_whole(samples: &[Sample], key: &str, priority: Priority) {
    let ours = samples.iter().filter(|s| s.key_expr().as_str() == key);
    let mut next = 0;
    for sample in ours {
        assert_eq!(sample.payload(), &ZBytes::from(payload(next)), "{key}");
        assert_eq!(sample.priority(), priority);
        let attachment = (next % 1000 == 400).then(|| ZBytes::from("beside"));
        assert_eq!(sample.attachment(), attachment.as_ref());
        let text = (401..=450).contains(&(next % 1000));
        let encoding = if text {
            Encoding::TEXT_PLAIN
        } else {
            Encoding::default()
        };
        assert_eq!(sample.encoding(), &encoding);
        next += 1;
    }
    assert_eq!(next, MESSAGES, "{key}");
}

/// Sends two streams at once from one session, one of them of another priority.
fn stream(session: &Session, keys: [&'static str; 2]) {
    std::thread::scope(|scope| {
        for (key, priority) in keys.into_iter().zip([Priority::Data, Priority::DataHigh]) {
            scope.spawn(move || {
                let publisher = declared(session, key, priority);
                (0..MESSAGES).for_each(|number| put(&publisher, number));
            });
        }
    });
}

const KEYS: [&str; 2] = [
    "stream/a",
    "stream/a/key/that/is/too/long/to/be/kept/in/place",
];

fn assert_both_whole(samples: &[Sample]) {
    assert_whole(samples, KEYS[0], Priority::Data);
    assert_whole(samples, KEYS[1], Priority::DataHigh);
}

#[test]
fn a_stream_arrives_as_it_was_sent() {
    let (a, b) = pair();
    let kept = Kept::default();
    kept.on(&b, "stream/**");
    stream(&a, KEYS);
    until("all have come", || kept.len() == 2 * MESSAGES as usize);
    assert_both_whole(&kept.take());
}

#[test]
fn a_router_gives_each_message_of_a_stream_its_own_time_for_all() {
    let router = router(true);
    let sessions: Vec<_> = (0..3).map(|_| connected_to(&router, client())).collect();
    let kept: Vec<_> = sessions[1..]
        .iter()
        .map(|session| {
            let kept = Kept::default();
            kept.on(session, "stream/**");
            kept
        })
        .collect();
    // A publisher that is matched knows one subscriber; the declaration of the other may still be
    // on its way to the router.
    until("both listen", || {
        sessions[0].put(GREETING, "").wait().unwrap();
        kept.iter().all(|kept| kept.greeted.load(Ordering::Relaxed))
    });
    stream(&sessions[0], KEYS);
    let all = 2 * MESSAGES as usize;
    until("all have come", || kept.iter().all(|k| k.len() == all));
    let mut times: Vec<Vec<_>> = Vec::new();
    for samples in kept.iter().map(Kept::take) {
        assert_both_whole(&samples);
        for key in KEYS {
            let of_key = samples.iter().filter(|s| s.key_expr().as_str() == key);
            let stamps = of_key.map(|s| *s.timestamp().expect("the router's timestamp"));
            let stamps: Vec<_> = stamps.collect();
            assert!(stamps.iter().all(|stamp| stamp.id() == router.zid()));
            assert!(stamps.is_sorted_by(|one, next| one < next), "{key}");
            times.push(stamps);
        }
    }
    assert_eq!(times[..2], times[2..], "both got the same times");
    let mut once: Vec<_> = times[..2].concat();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), all, "no time was given twice");
}

/// Messages that are equal for several neighbours are written once; each neighbour reads the key by
/// its own key ids.
#[test]
fn a_stream_reaches_all_who_listen_however_their_key_is_spelled() {
    let router = router(true);
    let sessions: Vec<_> = (0..5).map(|_| connected_to(&router, client())).collect();
    let listened: [&[&'static str]; 4] = [
        &["stream/**"],
        &[KEYS[0], KEYS[1], GREETING],
        &["another", "stream/a/key/**", KEYS[0], GREETING],
        &[KEYS[0], KEYS[1], GREETING],
    ];
    let listeners = sessions[1..].iter().zip(listened);
    let kept: Vec<_> = listeners
        .map(|(session, keys)| {
            let kept = Kept::default();
            keys.iter().for_each(|key| kept.on(session, key));
            kept
        })
        .collect();
    until("all listen", || {
        sessions[0].put(GREETING, "").wait().unwrap();
        kept.iter().all(|kept| kept.greeted.load(Ordering::Relaxed))
    });
    stream(&sessions[0], KEYS);
    let all = 2 * MESSAGES as usize;
    until("all have come", || kept.iter().all(|k| k.len() == all));
    kept.iter().for_each(|kept| assert_both_whole(&kept.take()));
}

#[test]
fn a_timestamp_of_the_publisher_stays_on_every_message_of_a_stream() {
    let router = router(true);
    let (a, b) = (
        connected_to(&router, client()),
        connected_to(&router, client()),
    );
    let kept = Kept::default();
    kept.on(&b, "stream/**");
    let publisher = declared(&a, KEYS[0], Priority::Data);
    let sent: Vec<_> = (0..MESSAGES)
        .map(|number| {
            let stamp = a.new_timestamp();
            let put = publisher.put(payload(number)).timestamp(stamp);
            put.wait().unwrap();
            stamp
        })
        .collect();
    until("all have come", || kept.len() == MESSAGES as usize);
    let came = kept.take();
    for (number, (sample, stamp)) in (0..).zip(came.iter().zip(&sent)) {
        assert_eq!(sample.timestamp(), Some(stamp));
        assert_eq!(sample.payload(), &ZBytes::from(payload(number)));
    }
}

/// Declares a subscriber that ends with its 101st message, and returns the count of its messages.
fn leaving_within(session: &Session) -> Arc<AtomicUsize> {
    let seen = Arc::new(AtomicUsize::new(0));
    let own = Arc::new(OnceLock::new());
    let (count, holder) = (Arc::clone(&seen), Arc::clone(&own));
    let subscriber = session
        .declare_subscriber(KEYS[0])
        .callback(move |_| {
            if count.fetch_add(1, Ordering::Relaxed) == 100 {
                let subscriber: &Mutex<Option<_>> = holder.wait();
                drop(subscriber.lock().unwrap().take());
            }
        })
        .wait()
        .unwrap();
    let _ = own.set(Mutex::new(Some(subscriber)));
    seen
}

#[test]
fn a_subscriber_that_leaves_within_a_stream_gets_nothing_more() {
    let (a, b) = pair();
    let others = Kept::default();
    others.on(&b, "stream/**");
    let seen = leaving_within(&b);
    let publisher = declared(&a, KEYS[0], Priority::Data);
    (0..MESSAGES).for_each(|number| put(&publisher, number));
    until("the other has all", || others.len() == MESSAGES as usize);
    assert_eq!(seen.load(Ordering::Relaxed), 101);
}

#[test]
fn a_subscriber_that_comes_within_a_stream_gets_the_next_message() {
    let (a, b) = pair();
    let late = Kept::default();
    let (session, kept) = (b.clone(), late.clone());
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    b.declare_subscriber(KEYS[0])
        .callback(move |_| {
            if count.fetch_add(1, Ordering::Relaxed) == 100 {
                kept.on(&session, "stream/**");
            }
        })
        .background()
        .wait()
        .unwrap();
    let publisher = declared(&a, KEYS[0], Priority::Data);
    (0..MESSAGES).for_each(|number| put(&publisher, number));
    let all = MESSAGES as usize;
    until("all have come", || seen.load(Ordering::Relaxed) == all);
    until("the late one has the rest", || late.len() == all - 101);
    let first = late.take().remove(0);
    assert_eq!(first.payload(), &ZBytes::from(payload(101)));
}

#[test]
fn a_panic_within_a_stream_costs_its_message_alone() {
    let (a, b) = pair();
    let kept = Kept::default();
    let (samples, greatest) = (Arc::clone(&kept.samples), MESSAGES / 1000);
    let subscriber = b
        .declare_subscriber(KEYS[0])
        .callback(move |sample| {
            let number = sample.payload().as_slice().first_chunk().unwrap();
            if u32::from_le_bytes(*number) % 1000 == 7 {
                panic!("user code panics (this panic belongs to the test)");
            }
            samples.lock().unwrap().push(sample);
        })
        .wait()
        .unwrap();
    let publisher = declared(&a, KEYS[0], Priority::Data);
    (0..MESSAGES).for_each(|number| put(&publisher, number));
    until("all others have come", || {
        kept.len() as u32 + greatest == MESSAGES
    });
    assert_eq!(subscriber.panics(), u64::from(greatest));
    let wanted = (0..MESSAGES).filter(|number| number % 1000 != 7);
    for (sample, number) in kept.take().iter().zip(wanted) {
        assert_eq!(sample.payload(), &ZBytes::from(payload(number)));
    }
}

#[test]
fn the_only_subscriber_that_leaves_within_a_stream_gets_nothing_more() {
    let (a, b) = pair();
    let seen = leaving_within(&b);
    let publisher = declared(&a, KEYS[0], Priority::Data);
    (0..MESSAGES).for_each(|number| put(&publisher, number));
    // messages on the same link behind the stream have overtaken none of it
    let end = Kept::default();
    end.on(&b, GREETING);
    until("the end has come", || {
        a.put(GREETING, "").wait().unwrap();
        end.greeted.load(Ordering::Relaxed)
    });
    assert_eq!(seen.load(Ordering::Relaxed), 101);
}

#[test]
fn a_queue_gets_a_stream_as_it_was_sent() {
    let (a, b) = pair();
    let subscriber = b.declare_subscriber("stream/**").wait().unwrap();
    let samples = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let all = (0..2 * MESSAGES).map(|_| subscriber.recv().unwrap());
            all.collect::<Vec<_>>()
        });
        stream(&a, KEYS);
        reader.join().unwrap()
    });
    assert_both_whole(&samples);
}
