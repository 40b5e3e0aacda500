// SPDX-License-Identifier: MIT OR Apache-2.0

//! Advanced publishers and subscribers of two sessions. A publisher whose messages go to its own
//! session only stands for a link that loses them: its cache, its heartbeats and its token reach
//! the other session all the same.

use std::time::Duration;

use zonda::ext::SubscriberForward;
use zonda::ext::{
    AdvancedError, AdvancedPublisher, AdvancedPublisherBuilderExt, AdvancedSubscriber,
    AdvancedSubscriberBuilderExt, CacheConfig, HistoryConfig, Miss, MissDetectionConfig,
    RecoveryConfig,
};
use zonda::qos::CongestionControl;
use zonda::query::ReplyKeyExpr;
use zonda::sample::{Locality, Sample, SampleKind, SourceInfo};
use zonda::{Config, Operation, Session, Wait};

use crate::pair::{LONG, alone, connected_to, pair, until};

const KEY: &str = "ext/key";
/// Shorter than an application would choose, so that the test does not wait for it.
const BEAT: Duration = Duration::from_millis(20);

fn text(sample: &Sample) -> String {
    match sample.kind() {
        SampleKind::Put => sample.payload().try_to_string().unwrap().into_owned(),
        SampleKind::Delete => "deleted".into(),
    }
}

fn next(subscriber: &AdvancedSubscriber) -> String {
    text(&subscriber.recv_timeout(LONG).unwrap().expect("a sample"))
}

fn nexts(subscriber: &AdvancedSubscriber, count: usize) -> Vec<String> {
    (0..count).map(|_| next(subscriber)).collect()
}

fn put_all(publisher: &AdvancedPublisher<'_>, payloads: &[&str]) {
    for payload in payloads {
        publisher.put(*payload).wait().unwrap();
    }
}

/// Declares a publisher that numbers its samples and keeps so many, but sends none to other nodes.
fn mute(session: &Session, kept: usize) -> AdvancedPublisher<'static> {
    session
        .declare_publisher(KEY)
        .allowed_destination(Locality::SessionLocal)
        .cache(CacheConfig::default().max_samples(kept))
        .sample_miss_detection(MissDetectionConfig::default().heartbeat(BEAT))
        .wait()
        .unwrap()
}

/// Sends a sample that a publisher did not send, as if this one sample had not been lost.
fn send(session: &Session, publisher: &AdvancedPublisher<'_>, sn: u32, payload: &str) {
    let info = SourceInfo::new(publisher.id(), sn);
    session.put(KEY, payload).source_info(info).wait().unwrap();
}

/// Declares a subscriber that queries missing samples.
fn recovering(session: &Session) -> AdvancedSubscriber {
    session
        .declare_subscriber(KEY)
        .recovery(RecoveryConfig::default())
        .wait()
        .unwrap()
}

/// Publishes four samples while there is no subscriber, and sends the first.
fn first_of_four(session: &Session, publisher: &AdvancedPublisher<'_>) {
    known(session);
    put_all(publisher, &["0", "1", "2", "3"]);
    send(session, publisher, 0, "0");
}

/// Waits until this node knows of a publisher's cache: an unknown one gets no query.
fn until_cached(session: &Session) {
    until_cached_on(session, KEY);
}

/// Waits until the session knows a cache of another one on a key.
fn until_cached_on(session: &Session, key: &str) {
    let querier = session.declare_querier(format!("{key}/@adv/**"));
    let querier = querier.allowed_destination(Locality::Remote);
    let querier = querier.wait().unwrap();
    crate::pair::until("a cache is known", || {
        querier.matching_status().wait().unwrap().matching()
    });
}

fn known(session: &Session) {
    let publisher = session.declare_publisher(KEY).wait().unwrap();
    crate::pair::until_matched(&publisher);
}

#[test]
fn who_comes_late_gets_the_newest_in_order() {
    let (near, far) = pair();
    // A sample that is sent before the other peer has declared its subscriber may arrive late.
    let publisher = mute(&near, 3);
    put_all(&publisher, &["0", "1", "2"]);
    publisher.delete().wait().unwrap();
    publisher.put("4").attachment("beside").wait().unwrap();
    until_cached(&far);
    let late = far
        .declare_subscriber(KEY)
        .history(HistoryConfig::default())
        .wait()
        .unwrap();
    assert_eq!(nexts(&late, 2), ["2", "deleted"]);
    let sample = late.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!(
        (text(&sample), sample.key_expr().as_str()),
        ("4".into(), KEY)
    );
    assert_eq!(sample.attachment().unwrap().as_slice(), b"beside");
    let info = SourceInfo::new(publisher.id(), 4);
    assert_eq!(sample.source_info(), Some(&info));
    known(&near);
    publisher.put("5").wait().unwrap();
    send(&near, &publisher, 5, "5");
    assert_eq!(next(&late), "5");
    let few = far
        .declare_subscriber(KEY)
        .history(HistoryConfig::default().max_samples(1));
    assert_eq!(next(&few.wait().unwrap()), "5");
}

/// Fast paths and general ones alternate, and heads are written anew repeatedly.
#[test]
fn every_sample_has_its_number_whatever_it_is() {
    const COUNT: usize = 300;
    let (near, far) = pair();
    let (sender, seen) = flume::unbounded();
    let subscriber = far.declare_subscriber(KEY);
    let subscriber = subscriber.callback(move |sample| sender.send(sample).unwrap());
    let _subscriber = subscriber.wait().unwrap();
    known(&near);
    let publisher = near
        .declare_publisher(KEY)
        .congestion_control(CongestionControl::Block)
        .cache(CacheConfig::default().max_samples(2 * COUNT))
        .sample_miss_detection(MissDetectionConfig::default())
        .wait()
        .unwrap();
    let payload = |sn| vec![sn as u8; [0, 1, 8, 127, 128, 1000, 16_384, 70_000][sn / 3 % 8]];
    let beside = |sn| (sn % 7 == 0).then(|| format!("beside {sn}"));
    for sn in 0..COUNT {
        let put = publisher.put(payload(sn));
        match beside(sn) {
            Some(beside) => put.attachment(beside).wait().unwrap(),
            None => put.wait().unwrap(),
        }
    }
    for sn in 0..COUNT {
        let sample = seen.recv_timeout(LONG).unwrap();
        let info = SourceInfo::new(publisher.id(), sn as u32);
        assert_eq!(sample.source_info(), Some(&info));
        assert!(sample.payload().as_slice() == payload(sn), "sample {sn}");
        let attachment = sample.attachment().map(|bytes| bytes.as_slice());
        assert_eq!(attachment, beside(sn).as_deref().map(str::as_bytes));
    }
    let counts = publisher.counters();
    assert_eq!(counts.offered, COUNT as u64);
}

#[test]
fn timestamps_do_where_nothing_is_counted() {
    let far = alone();
    let cache = CacheConfig::default().max_samples(9);
    let refused = far
        .declare_publisher(KEY)
        .cache(cache.clone())
        .typed()
        .wait();
    assert!(
        matches!(refused, Err(AdvancedError::NoTimestamps { .. })),
        "{refused:?}"
    );
    let stamping = connected_to(&far, Config::peer().with("timestamping/enabled", "true"));
    let publisher = stamping.declare_publisher(KEY).cache(cache).wait().unwrap();
    put_all(&publisher, &["a", "b"]);
    until_cached(&far);
    let late = far
        .declare_subscriber(KEY)
        .history(HistoryConfig::default().max_age(3600.0))
        .wait()
        .unwrap();
    let sample = late.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!(text(&sample), "a");
    assert!(sample.timestamp().is_some() && sample.source_info().is_none());
    assert_eq!(next(&late), "b");
}

#[test]
fn a_gap_is_filled_from_the_cache() {
    let (near, far) = pair();
    let publisher = mute(&near, 10);
    let subscriber = recovering(&far);
    let misses = subscriber.sample_miss_listener().wait().unwrap();
    first_of_four(&near, &publisher);
    assert_eq!(next(&subscriber), "0");
    send(&near, &publisher, 3, "3");
    assert_eq!(nexts(&subscriber, 3), ["1", "2", "3"]);
    assert_eq!(misses.try_recv(), Ok(None));
}

#[test]
fn what_no_cache_has_is_missed_and_said_between_the_samples() {
    let (near, far) = pair();
    let publisher = mute(&near, 1);
    let subscriber = recovering(&far);
    let misses = subscriber.sample_miss_listener().wait().unwrap();
    first_of_four(&near, &publisher);
    send(&near, &publisher, 3, "3");
    assert_eq!(nexts(&subscriber, 2), ["0", "3"]);
    let miss = misses.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!((miss.source(), miss.nb()), (publisher.id(), 2));
    misses.undeclare().wait().unwrap();
    // Without recovery the subscriber asks no cache.
    let (sender, seen) = flume::unbounded();
    let plain = far.declare_subscriber(KEY).advanced().wait().unwrap();
    let tell = move |miss: Miss| sender.send(miss.nb()).unwrap();
    plain
        .sample_miss_listener()
        .callback(tell)
        .background()
        .wait()
        .unwrap();
    send(&near, &publisher, 7, "7");
    send(&near, &publisher, 9, "9");
    assert_eq!(nexts(&plain, 2), ["7", "9"]);
    assert_eq!(seen.recv_timeout(LONG), Ok(1));
}

#[test]
fn heartbeats_and_periodic_questions_find_the_last_samples() {
    let (near, far) = pair();
    let publisher = mute(&near, 10);
    put_all(&publisher, &["0", "1"]);
    let recovery = RecoveryConfig::default().heartbeat();
    let hearing = far
        .declare_subscriber(KEY)
        .recovery(recovery)
        .wait()
        .unwrap();
    assert_eq!(nexts(&hearing, 2), ["0", "1"]);
    put_all(&publisher, &["2"]);
    assert_eq!(next(&hearing), "2");
    let recovery = RecoveryConfig::default().periodic_queries(BEAT);
    let asking = far
        .declare_subscriber(KEY)
        .recovery(recovery)
        .wait()
        .unwrap();
    known(&near);
    send(&near, &publisher, 2, "2");
    assert_eq!(next(&asking), "2");
    put_all(&publisher, &["3", "4"]);
    assert_eq!(nexts(&asking, 2), ["3", "4"]);
    assert_eq!(nexts(&hearing, 2), ["3", "4"]);
}

#[test]
fn sporadic_heartbeats_are_sent_once() {
    let (near, far) = pair();
    let beats = far
        .declare_subscriber("ext/key/@adv/pub/**")
        .wait()
        .unwrap();
    let publisher = near
        .declare_publisher(KEY)
        .sample_miss_detection(MissDetectionConfig::default().sporadic_heartbeat(BEAT))
        .wait()
        .unwrap();
    let own = format!("{KEY}/@adv/pub/{}/{}/_", near.zid(), publisher.id().eid);
    let matched = near.declare_publisher(own.clone()).wait().unwrap();
    crate::pair::until_matched(&matched);
    for sn in 0..2 {
        publisher.put("x").wait().unwrap();
        let beat = beats.recv_timeout(LONG).unwrap().unwrap();
        assert_eq!(beat.key_expr().as_str(), own);
        assert_eq!(beat.payload().as_slice(), [sn, 0, 0, 0]);
    }
    std::thread::sleep(4 * BEAT);
    assert!(beats.try_recv().unwrap().is_none());
}

#[test]
fn publishers_that_come_later_are_asked_for_their_history() {
    let (near, far) = pair();
    let subscriber = far
        .declare_subscriber("ext/**")
        .history(HistoryConfig::default().detect_late_publishers())
        .subscriber_detection()
        .subscriber_detection_metadata("about/me")
        .wait()
        .unwrap();
    let seen = subscriber.detect_publishers().history(true).wait().unwrap();
    let publisher = near
        .declare_publisher(KEY)
        .allowed_destination(Locality::SessionLocal)
        .cache(CacheConfig::default().max_samples(2))
        .sample_miss_detection(MissDetectionConfig::default());
    let publisher = publisher.publisher_detection_metadata("its/name");
    let key_of = |id: zonda::session::EntityGlobalId, kind: &str, meta: &str| {
        format!("ext/key/@adv/{kind}/{}/{}/{meta}", id.zid, id.eid)
    };
    // The token comes with the publisher's samples: it follows them.
    let publisher = publisher.wait().unwrap();
    put_all(&publisher, &["0", "1", "2"]);
    let own = key_of(publisher.id(), "pub", "its/name");
    let token = near.liveliness().declare_token(own.clone()).wait().unwrap();
    assert_eq!(nexts(&subscriber, 2), ["1", "2"]);
    let alive = seen.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!(
        (alive.kind(), alive.key_expr().as_str()),
        (SampleKind::Put, own.as_str())
    );
    drop(token);
    let gone = seen.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!(gone.kind(), SampleKind::Delete);
    let me = key_of(subscriber.id(), "sub", "about/me").replace("ext/key", "ext/**");
    let found = || {
        near.liveliness()
            .get("ext/**/@adv/sub/**")
            .wait()
            .unwrap()
            .iter()
            .count()
    };
    until("the subscriber's token is heard", || found() == 1);
    let reply = near
        .liveliness()
        .get("ext/**/@adv/sub/**")
        .wait()
        .unwrap()
        .recv()
        .unwrap();
    assert_eq!(reply.result().unwrap().key_expr().as_str(), me);
}

#[test]
fn a_cache_answers_whoever_asks_it() {
    let (near, far) = pair();
    let publisher = mute(&near, 5);
    put_all(&publisher, &["0", "1", "2", "3", "4", "5"]);
    let ask = |parameters: &str| {
        let get = far.get(format!("ext/**/@adv/pub/**?{parameters}"));
        let get = get
            .accept_replies(ReplyKeyExpr::Any)
            .consolidation(zonda::query::ConsolidationMode::None);
        let replies = get.wait().unwrap();
        let all = replies.iter().map(|reply| text(reply.result().unwrap()));
        all.collect::<Vec<_>>().concat()
    };
    until("the cache is known", || ask("") == "12345");
    assert_eq!(ask("_sn=2..3"), "23");
    assert_eq!(ask("_max=2"), "45");
    publisher.undeclare().wait().unwrap();
    until("the cache is gone", || ask("").is_empty());
}

#[test]
fn nothing_goes_on_behind_the_end() {
    let (near, far) = pair();
    let asked = near.declare_queryable("ext/key/@adv/**").wait().unwrap();
    let publisher = mute(&near, 1);
    let recovery = RecoveryConfig::default().periodic_queries(BEAT);
    let subscriber = far
        .declare_subscriber(KEY)
        .recovery(recovery)
        .wait()
        .unwrap();
    known(&near);
    send(&near, &publisher, 0, "0");
    for _ in 0..3 {
        asked
            .recv_timeout(LONG)
            .unwrap()
            .expect("a periodic question");
    }
    subscriber.undeclare().wait().unwrap();
    // A query of another kind, sent after the end, arrives behind the last of them.
    let last = far.get("ext/key/@adv/last").wait().unwrap();
    let is_last = || {
        let question = asked.recv_timeout(LONG).unwrap().expect("the last one");
        question.key_expr().as_str() == "ext/key/@adv/last"
    };
    while !is_last() {}
    drop(last);
    std::thread::sleep(5 * BEAT);
    assert!(asked.try_recv().unwrap().is_none(), "the questions stop");
    drop(asked);
    // A session that is closed ends the declarations that live as long as it, and drops callbacks.
    let (sender, seen) = flume::unbounded();
    let kept = far
        .declare_subscriber(KEY)
        .history(HistoryConfig::default());
    let kept = kept.callback(move |sample| sender.send(sample).unwrap());
    kept.background().wait().unwrap();
    publisher.put("kept").wait().unwrap();
    known(&near);
    send(&near, &publisher, 1, "kept");
    assert_eq!(text(&seen.recv_timeout(LONG).unwrap()), "kept");
    let open = far.declare_subscriber(KEY).advanced().wait().unwrap();
    far.close().wait().unwrap();
    assert!(open.recv().is_err());
    until("the callback is dropped", || seen.is_disconnected());
    let refused = far.declare_subscriber(KEY).advanced().typed().wait();
    assert!(
        matches!(refused, Err(AdvancedError::Declare(_))),
        "{refused:?}"
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (session, _other) = pair();
    let publisher = || session.declare_publisher(KEY);
    let counted = MissDetectionConfig::default();
    let nothing = publisher().sample_miss_detection(counted.clone());
    assert!(
        nothing
            .cache(CacheConfig::default().max_samples(0))
            .wait()
            .is_err()
    );
    let never = publisher().sample_miss_detection(counted.heartbeat(Duration::ZERO));
    assert!(never.wait().is_err());
    let subscriber = |history| session.declare_subscriber(KEY).history(history).wait();
    let zero = subscriber(HistoryConfig::default().max_samples(0)).unwrap_err();
    assert_eq!(zero.to_string(), "max_samples must not be zero");
    assert!(subscriber(HistoryConfig::default().max_age(0.0)).is_err());
    assert!(
        publisher()
            .advanced()
            .publisher_detection_metadata("a//b")
            .wait()
            .is_err()
    );
    let plain = publisher().advanced().wait().unwrap();
    plain.put("as ever").wait().unwrap();
    assert_eq!(plain.key_expr().as_str(), KEY);
}

#[test]
fn samples_are_forwarded_until_their_subscriber_ends() {
    let (near, far) = pair();
    let mut subscriber = far.declare_subscriber(KEY).wait().unwrap();
    let there = far.declare_subscriber("ext/there").wait().unwrap();
    let publisher = far.declare_publisher("ext/there").wait().unwrap();
    known(&near);
    near.put(KEY, "on").attachment("beside").wait().unwrap();
    near.delete(KEY).wait().unwrap();
    let forwarding =
        std::thread::spawn(move || zonda_runtime::block_on(subscriber.forward(publisher)));
    let sample = there.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!(
        (text(&sample), sample.key_expr().as_str()),
        ("on".into(), "ext/there")
    );
    assert_eq!(sample.attachment().unwrap().as_slice(), b"beside");
    assert_eq!(text(&there.recv_timeout(LONG).unwrap().unwrap()), "deleted");
    far.close().wait().unwrap();
    let ended = forwarding.join().unwrap();
    assert!(ended.is_ok(), "{ended:?}");
}

#[test]
fn a_callback_may_publish_to_itself_and_panic() {
    let (session, _other) = pair();
    let publisher = session
        .declare_publisher(KEY)
        .sample_miss_detection(MissDetectionConfig::default())
        .wait()
        .unwrap();
    let (sender, seen) = flume::unbounded();
    let publishing = session.clone();
    let subscriber = session.declare_subscriber(KEY).advanced();
    let subscriber = subscriber.callback(move |sample| {
        let text = text(&sample);
        sender.send(text.clone()).unwrap();
        match text.as_str() {
            "again" => publishing.put(KEY, "once more").wait().unwrap(),
            "panic" => panic!("as the test wants it"),
            _ => {}
        }
    });
    let _subscriber = subscriber.wait().unwrap();
    put_all(&publisher, &["again", "panic", "end"]);
    let all: Vec<_> = (0..4).map(|_| seen.recv_timeout(LONG).unwrap()).collect();
    assert_eq!(all, ["again", "once more", "panic", "end"]);
}

/// A stranger that may publish on the key sends one number far ahead of a publisher's, and is gone.
#[test]
fn one_forged_sample_silences_no_publisher() {
    let (near, far) = pair();
    let publisher = mute(&near, 10);
    let plain = far.declare_subscriber(KEY).advanced().wait().unwrap();
    let recovering = recovering(&far);
    let remembering = far
        .declare_subscriber(KEY)
        .history(HistoryConfig::default())
        .recovery(RecoveryConfig::default().heartbeat())
        .wait()
        .unwrap();
    let misses = recovering.sample_miss_listener().wait().unwrap();
    known(&near);
    let all = [&plain, &recovering, &remembering];
    for sn in 0..3 {
        put_all(&publisher, &[&sn.to_string()]);
        send(&near, &publisher, sn, &sn.to_string());
    }
    for subscriber in all {
        assert_eq!(nexts(subscriber, 3), ["0", "1", "2"]);
    }
    for (place, jump) in [(3, (1 << 31) - 1), (4, 3000), (5, 100_000)] {
        send(&near, &publisher, place + jump, "forged");
        for sn in [2 * place, 2 * place + 1].map(|sn| sn - 3) {
            put_all(&publisher, &[&sn.to_string()]);
            send(&near, &publisher, sn, &sn.to_string());
        }
        for subscriber in all {
            let mut heard = nexts(subscriber, 3);
            heard.retain(|text| text != "forged");
            let true_ones = [2 * place - 3, 2 * place - 2].map(|sn| sn.to_string());
            assert_eq!(heard, true_ones, "behind a jump of {jump}");
        }
    }
    // The recovery of samples that are really lost continues, too.
    put_all(&publisher, &["9", "10"]);
    send(&near, &publisher, 10, "10");
    assert_eq!(nexts(&recovering, 2), ["9", "10"]);
    let told: u32 = std::iter::from_fn(|| misses.try_recv().unwrap())
        .map(|m| m.nb())
        .sum();
    assert!(told < 4096, "{told} were said to be lost");
}

/// A stranger with a queryable on the keys of all caches takes queries and does not answer them.
#[test]
fn a_cache_that_never_answers_holds_up_no_other() {
    let (near, far) = pair();
    let publisher = mute(&near, 10);
    put_all(&publisher, &["0", "1", "2"]);
    until_cached(&far);
    let stranger = connected_to(&near, Config::peer());
    let (sender, kept) = flume::unbounded();
    let queryable = stranger.declare_queryable("ext/key/@adv/**");
    let keep = move |query| sender.send(query).unwrap();
    let _queryable = queryable.callback(keep).wait().unwrap();
    until_cached_on(&near, KEY);
    let begun = std::time::Instant::now();
    let subscriber = near
        .declare_subscriber(KEY)
        .history(HistoryConfig::default())
        .query_timeout(10 * LONG)
        .wait()
        .unwrap();
    kept.recv_timeout(LONG).expect("it is asked as well");
    assert_eq!(nexts(&subscriber, 3), ["0", "1", "2"]);
    put_all(&publisher, &["3"]);
    assert_eq!(next(&subscriber), "3");
    assert!(begun.elapsed() < LONG, "long before the question is over");
}

/// A neighbour that repeatedly queries the whole history gets its share, and recoveries are
/// answered at the same time.
#[test]
fn a_cache_gives_its_history_to_a_neighbour_as_fast_as_its_share_allows() {
    const SAMPLE: usize = 1 << 20;
    const QUESTIONS: usize = 40;
    let (near, far) = pair();
    let publisher = near
        .declare_publisher(KEY)
        .allowed_destination(Locality::SessionLocal)
        .cache(CacheConfig::default().max_samples(4))
        .sample_miss_detection(MissDetectionConfig::default())
        .wait()
        .unwrap();
    let cache = CacheConfig::default().max_samples(8).max_bytes(9 * SAMPLE);
    let large = near
        .declare_publisher("ext/large")
        .allowed_destination(Locality::SessionLocal)
        .cache(cache)
        .sample_miss_detection(MissDetectionConfig::default())
        .wait()
        .unwrap();
    for _ in 0..8 {
        large.put(vec![7; SAMPLE]).wait().unwrap();
    }
    put_all(&publisher, &["small"]);
    until_cached(&far);
    until_cached_on(&far, "ext/large");
    let (sender, got) = flume::unbounded();
    let begun = std::time::Instant::now();
    let all: Vec<_> = (0..QUESTIONS)
        .map(|_| {
            let sender = sender.clone();
            let get = far
                .get("ext/large/@adv/**")
                .accept_replies(ReplyKeyExpr::Any);
            let get = get
                .timeout(4 * LONG)
                .consolidation(zonda::query::ConsolidationMode::None);
            let token = zonda::cancellation::CancellationToken::default();
            let get = get.cancellation_token(token.clone());
            let count = move |reply: zonda::query::Reply| {
                let sample = reply.into_result().unwrap();
                sender.send(sample.payload().len()).unwrap();
            };
            get.callback(count).wait().unwrap();
            token
        })
        .collect();
    // Two histories come at once, and more of them later.
    let mut bytes = 0;
    while bytes < 24 * SAMPLE {
        bytes += got.recv_timeout(LONG).expect("more of it");
        let share = 18.0 + 4.5 * begun.elapsed().as_secs_f64() + 8.0;
        assert!(
            bytes as f64 <= share * SAMPLE as f64,
            "{bytes} bytes after {:?}",
            begun.elapsed()
        );
    }
    let small = far.get("ext/key/@adv/**").accept_replies(ReplyKeyExpr::Any);
    let small = small.wait().unwrap().recv().unwrap();
    assert_eq!(text(small.result().unwrap()), "small");
    for token in all {
        token.cancel().wait().unwrap();
    }
}
