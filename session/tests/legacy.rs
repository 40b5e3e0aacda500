// SPDX-License-Identifier: MIT OR Apache-2.0

//! Parts that the reference has deprecated in favour of advanced publishers and subscribers, used
//! like in programs for it.

use std::time::Duration;

use zonda::ext::{AdvancedError, FetchError, SessionExt, SubscriberBuilderExt};
use zonda::query::{QueryTarget, ReplyKeyExpr};
use zonda::sample::{Locality, Sample, SampleKind};
use zonda::{Config, Operation, Session, Wait};

use crate::pair::{LONG, alone, connected_to, until};

/// Opens two peers that stamp their samples.
fn stamping_pair() -> (Session, Session) {
    let stamping = |config: Config| config.with("timestamping/enabled", "true");
    let first = Config::peer().listen(["tcp/127.0.0.1:0"]);
    let first = zonda::open(stamping(first)).wait().unwrap();
    let second = Config::peer().listen([] as [&str; 0]);
    let second = connected_to(&first, stamping(second));
    (first, second)
}

fn text(sample: Option<Sample>) -> String {
    let sample = sample.expect("a sample");
    sample.payload().try_to_string().unwrap().into_owned()
}

/// Waits until `session` knows a queryable on this key.
fn until_answered(session: &Session, key: &'static str) {
    let querier = session.declare_querier(key).wait().unwrap();
    until("the cache is known", || {
        querier.matching_status().wait().unwrap().matching()
    });
}

#[test]
fn a_cache_answers_a_querying_subscriber_across_a_link() {
    let (near, far) = stamping_pair();
    let cache = near.declare_publication_cache("legacy/*").history(2);
    let cache = cache.queryable_allowed_origin(Locality::Remote);
    let cache = cache.queryable_suffix("cached").wait().unwrap();
    assert_eq!(cache.key_expr().as_str(), "legacy/*");
    for value in ["a1", "a2", "a3"] {
        near.put("legacy/a", value).wait().unwrap();
    }
    near.put("legacy/b", "b1").wait().unwrap();
    until_answered(&far, "legacy/*/cached");
    let subscriber = far
        .declare_subscriber("legacy/*")
        .querying()
        .query_selector("legacy/*/cached")
        .query_target(QueryTarget::All)
        .query_accept_replies(ReplyKeyExpr::Any)
        .query_timeout(LONG)
        .wait()
        .unwrap();
    let next = || text(subscriber.recv_timeout(LONG).unwrap());
    assert_eq!([next(), next(), next()], ["a2", "a3", "b1"]);
    cache.undeclare().wait().unwrap();
    near.put("legacy/a", "a4").wait().unwrap();
    assert_eq!(next(), "a4");
    subscriber.undeclare().wait().unwrap();
}

#[test]
fn what_is_published_during_a_fetch_comes_behind_what_is_fetched() {
    let session = alone();
    let (hand_out, handed) = std::sync::mpsc::channel();
    let subscriber = session
        .declare_subscriber("legacy/a")
        .fetching(
            move |take: Box<dyn Fn(zonda::query::Reply) + Send + Sync>| {
                hand_out.send(take)?;
                Ok(())
            },
        )
        .wait()
        .unwrap();
    let queryable = session.declare_queryable("legacy/a");
    let answer = |query: zonda::query::Query| query.reply("legacy/a", "older").wait().unwrap();
    let _queryable = queryable.callback(answer).wait().unwrap();
    session.put("legacy/a", "newer").wait().unwrap();
    assert!(
        subscriber.try_recv().unwrap().is_none(),
        "a fetch is under way"
    );
    let take = handed.recv().unwrap();
    session.get("legacy/a").callback(take).wait().unwrap();
    let next = || text(subscriber.recv_timeout(LONG).unwrap());
    assert_eq!([next(), next()], ["older", "newer"]);
    subscriber
        .fetch(|take| session.get("legacy/a").callback(take).wait())
        .wait()
        .unwrap();
    assert_eq!(next(), "older");
    let refused = subscriber
        .fetch(|_: Box<dyn Fn(zonda::query::Reply) + Send + Sync>| Err("nowhere".into()))
        .typed()
        .wait();
    let reason = "nowhere".to_owned();
    assert_eq!(refused, Err(FetchError::Fetch { reason }));
}

#[test]
fn tokens_are_fetched_too() {
    let session = alone();
    let _token = session.liveliness().declare_token("legacy/alive").wait();
    let subscriber = session
        .liveliness()
        .declare_subscriber("legacy/*")
        .querying()
        .query_timeout(Duration::from_secs(5))
        .wait()
        .unwrap();
    let token = subscriber.recv_timeout(LONG).unwrap().expect("a token");
    assert_eq!(token.kind(), SampleKind::Put);
    assert_eq!(token.key_expr().as_str(), "legacy/alive");
}

#[test]
fn the_callback_is_gone_when_the_subscriber_is() {
    let session = alone();
    let seen = std::sync::Arc::new(());
    let kept = std::sync::Arc::clone(&seen);
    let subscriber = session
        .declare_subscriber("legacy/**")
        .querying()
        .callback(move |_| drop(kept.clone()))
        .wait()
        .unwrap();
    subscriber.undeclare().wait().unwrap();
    assert_eq!(std::sync::Arc::strong_count(&seen), 1);
}

#[test]
fn a_cache_needs_timestamps() {
    let session = alone();
    let refused = session.declare_publication_cache("legacy/*").typed().wait();
    assert!(matches!(refused, Err(AdvancedError::Unstamped { .. })));
}
