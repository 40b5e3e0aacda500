// SPDX-License-Identifier: MIT OR Apache-2.0

//! Timestamps and source information: stamping nodes, timestamps from the future, and unchanged
//! arrival of both.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::pair::{LONG, alone, connected_to, until_matched};
use zonda::pubsub::Subscriber;
use zonda::sample::{Sample, SampleKind, SourceInfo};
use zonda::time::{Ntp64, Timestamp};
use zonda::{Config, Operation, PublishError, Session, Wait};

fn stamping() -> Config {
    Config::peer().with("timestamping/enabled", "true")
}

fn listening(config: Config) -> Session {
    zonda::open(config.listen(["tcp/127.0.0.1:0"]))
        .wait()
        .unwrap()
}

fn quiet(config: Config) -> Config {
    config.listen([] as [&str; 0])
}

fn next(subscriber: &Subscriber) -> Sample {
    subscriber.recv_timeout(LONG).unwrap().expect("a sample")
}

/// Returns a timestamp at this distance from now, in the name of another node.
fn ahead(by: Duration) -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::new(Ntp64::from_unix(now + by), "abc".parse().unwrap())
}

fn is_about_now(stamp: &Timestamp) -> bool {
    let limit = Ntp64::from_unix(Duration::from_secs(60)).0;
    stamp.time().0.abs_diff(ahead(Duration::ZERO).time().0) < limit
}

const AN_HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_session_that_stamps_stamps_all_it_publishes() {
    let first = alone();
    let second = connected_to(&first, quiet(stamping()));
    let there = first.declare_subscriber("a/**").wait().unwrap();
    let publisher = second.declare_publisher("a/b").wait().unwrap();
    until_matched(&publisher);
    let here = second.declare_subscriber("a/**").wait().unwrap();
    publisher.put("1").wait().unwrap();
    publisher.delete().wait().unwrap();
    second.put("a/c", "2").wait().unwrap();
    second.delete("a/c").wait().unwrap();
    let mut last = None;
    for kind in [
        SampleKind::Put,
        SampleKind::Delete,
        SampleKind::Put,
        SampleKind::Delete,
    ] {
        let samples = [next(&here), next(&there)];
        let [mine, theirs] = samples.map(|sample| {
            assert_eq!(sample.kind(), kind);
            *sample.timestamp().expect("it is stamped")
        });
        assert_eq!(mine, theirs);
        assert_eq!(mine.id(), second.zid());
        assert!(
            is_about_now(&mine) && last < Some(mine),
            "{last:?} {mine:?}"
        );
        last = Some(mine);
    }
}

#[test]
fn a_session_that_does_not_stamp_leaves_it() {
    let (first, second) = crate::pair::pair();
    let there = first.declare_subscriber("a").wait().unwrap();
    let publisher = second.declare_publisher("a").wait().unwrap();
    until_matched(&publisher);
    publisher.put("1").wait().unwrap();
    assert_eq!(next(&there).timestamp(), None);
    // and accepts any timestamp
    let future = ahead(AN_HOUR);
    publisher.put("2").timestamp(future).wait().unwrap();
    assert_eq!(next(&there).timestamp(), Some(&future));
}

#[test]
fn a_session_that_stamps_stamps_what_it_gets() {
    let first = listening(stamping());
    let second = connected_to(&first, quiet(Config::peer()));
    let there = first.declare_subscriber("a").wait().unwrap();
    let publisher = second.declare_publisher("a").wait().unwrap();
    until_matched(&publisher);
    let mut last = None;
    // alike, so that they may come as a run
    for _ in 0..100 {
        publisher.put("1").wait().unwrap();
    }
    for _ in 0..100 {
        let stamp = *next(&there).timestamp().expect("it is stamped");
        assert_eq!(stamp.id(), first.zid());
        assert!(last < Some(stamp));
        last = Some(stamp);
    }
    publisher.delete().wait().unwrap();
    assert_eq!(next(&there).timestamp(), None);

    let given = ahead(Duration::from_millis(200));
    publisher.put("2").timestamp(given).wait().unwrap();
    assert_eq!(next(&there).timestamp(), Some(&given));
    assert!(first.new_timestamp() > given, "the clock has learnt of it");

    publisher.put("3").timestamp(ahead(AN_HOUR)).wait().unwrap();
    let replaced = *next(&there).timestamp().expect("it is stamped");
    assert_eq!(replaced.id(), first.zid());
    assert!(is_about_now(&replaced));
    publisher.delete().timestamp(ahead(AN_HOUR)).wait().unwrap();
    assert!(!is_about_now(
        next(&there).timestamp().expect("a deletion keeps its own")
    ));
}

#[test]
fn what_comes_from_the_future_can_be_dropped() {
    let drops = || stamping().with("timestamping/drop_future_timestamp", "true");
    let first = listening(drops());
    let second = connected_to(&first, quiet(Config::peer()));
    let there = first.declare_subscriber("a").wait().unwrap();
    let publisher = second.declare_publisher("a").wait().unwrap();
    until_matched(&publisher);
    publisher.put("1").timestamp(ahead(AN_HOUR)).wait().unwrap();
    publisher.put("2").wait().unwrap();
    assert_eq!(next(&there).payload().to_bytes().as_ref(), b"2");

    // The session itself returns the error.
    let error = first
        .put("a", "3")
        .timestamp(ahead(AN_HOUR))
        .typed()
        .wait()
        .unwrap_err();
    let PublishError::TooFarAhead(why) = &error else {
        panic!("{error:?}");
    };
    assert!(why.ahead > Duration::from_secs(3500));
    assert!(
        error.to_string().contains("drop_future_timestamp"),
        "{error}"
    );
    let publisher = first.declare_publisher("a").wait().unwrap();
    publisher
        .put("4")
        .timestamp(ahead(AN_HOUR))
        .typed()
        .wait()
        .unwrap_err();
    publisher.put("5").wait().unwrap();
    assert_eq!(next(&there).payload().to_bytes().as_ref(), b"5");
}

#[test]
fn a_session_s_own_timestamp_from_the_future_is_replaced() {
    let session = listening(stamping());
    let here = session.declare_subscriber("a").wait().unwrap();
    session
        .put("a", "1")
        .timestamp(ahead(AN_HOUR))
        .wait()
        .unwrap();
    let stamp = *next(&here).timestamp().expect("it is stamped");
    assert_eq!(stamp.id(), session.zid());
    assert!(is_about_now(&stamp));
    let given = ahead(Duration::ZERO);
    session.put("a", "2").timestamp(given).wait().unwrap();
    assert_eq!(next(&here).timestamp(), Some(&given));
}

#[test]
fn timestamps_of_a_session_are_its_own_and_increase() {
    let session = alone();
    let stamps: Vec<Timestamp> = (0..1000).map(|_| session.new_timestamp()).collect();
    assert!(stamps.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(
        stamps
            .iter()
            .all(|stamp| stamp.id() == session.zid() && is_about_now(stamp))
    );
}

#[test]
fn a_source_is_told_with_its_number() {
    let (first, second) = crate::pair::pair();
    let there = first.declare_subscriber("a").wait().unwrap();
    let publisher = second.declare_publisher("a").wait().unwrap();
    until_matched(&publisher);
    let here = second.declare_subscriber("a").wait().unwrap();
    assert_eq!(publisher.id().zid, second.zid());
    assert_ne!(publisher.id(), here.id());
    let info = |number| SourceInfo::new(publisher.id(), number);
    publisher.put("1").source_info(info(1)).wait().unwrap();
    publisher
        .delete()
        .source_info(info(u32::MAX))
        .wait()
        .unwrap();
    second.put("a", "3").source_info(info(0)).wait().unwrap();
    second.put("a", "4").wait().unwrap();
    for number in [Some(1), Some(u32::MAX), Some(0), None] {
        for subscriber in [&here, &there] {
            let sample = next(subscriber);
            let source = sample.source_info();
            assert_eq!(source.map(SourceInfo::source_sn), number);
            let id = source.map(|source| *source.source_id());
            assert_eq!(id, number.map(|_| publisher.id()));
        }
    }
}
