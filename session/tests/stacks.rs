// SPDX-License-Identifier: MIT OR Apache-2.0

//! Time-stamp stacks: which node records a time at which point, in puts, deletes, queries and
//! replies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::pair::{LONG, alone, connected_to, pair, until, until_matched};
use zonda::config::{WhatAmI, ZenohId};
use zonda::pubsub::Subscriber;
use zonda::qos::CongestionControl;
use zonda::query::{Query, Queryable};
use zonda::sample::{Locality, Sample, SampleBuilder, SampleFields, SampleKind};
use zonda::timestamp_stack::{
    InstrumentationTimestamp, InterceptionPoint, TimestampInstrumentation,
    TimestampInstrumentationBuilder, TimestampStack,
};
use zonda::{Config, Session, Wait};

use InterceptionPoint::{Receive, Route, Send};

/// Point of a record, and the node whose clock gave the time.
type Record = (InterceptionPoint, ZenohId);

fn points(send: bool, route: bool, receive: bool) -> TimestampInstrumentation {
    let builder = TimestampInstrumentationBuilder::new();
    let builder = builder.set_send(send).set_route(route).set_receive(receive);
    builder.build().expect("a point is chosen")
}

fn all() -> TimestampInstrumentation {
    points(true, true, true)
}

/// Returns the records of a stack, whose times do not go back.
fn records(stack: Option<&TimestampStack>) -> Vec<Record> {
    let stack = stack.expect("there is a stack");
    let mut last = None;
    let read = stack.records().iter().map(|record| {
        let InstrumentationTimestamp::UHLC(time) = record.timestamp() else {
            panic!("no timestamp of a clock: {record:?}");
        };
        assert!(last <= Some(time.time()), "{stack:?}");
        last = Some(time.time());
        (record.point(), time.id())
    });
    read.collect()
}

fn next(subscriber: &Subscriber) -> Sample {
    subscriber.recv_timeout(LONG).unwrap().expect("a sample")
}

fn asked(queryable: &Queryable) -> Query {
    queryable.recv_timeout(LONG).unwrap().expect("a query")
}

/// Opens a router with this configuration, and two clients of it.
fn routed(config: Config) -> [Session; 3] {
    let router = zonda::open(config.listen(["tcp/127.0.0.1:0"]));
    let router = router.wait().expect("the router opens");
    let client = || connected_to(&router, Config::client([] as [&str; 0]));
    [client(), client(), router]
}

/// Returns the records of a message from one node over others to the last.
fn way(nodes: &[&Session]) -> Vec<Record> {
    let [first, .., last] = nodes else {
        panic!("no way: {nodes:?}");
    };
    let between = nodes.iter().map(|node| (Route, node.zid()));
    let ends = [(Send, first.zid()), (Receive, last.zid())];
    let mut way = vec![ends[0]];
    way.extend(between);
    way.push(ends[1]);
    way
}

/// Each kind of put and delete, also many in a row, which are handled as a run.
#[test]
fn puts_of_a_peer_have_the_records_of_both() {
    let (first, second) = pair();
    let subscriber = second.declare_subscriber("a/*").wait().unwrap();
    let publisher = first.declare_publisher("a/b").wait().unwrap();
    until_matched(&publisher);
    for _ in 0..100 {
        let put = publisher.put("value").timestamp_instrumentation(all());
        put.wait().unwrap();
    }
    let put = publisher.put("value").attachment("beside");
    put.timestamp_instrumentation(all()).wait().unwrap();
    first
        .put("a/c", "value")
        .timestamp_instrumentation(all())
        .wait()
        .unwrap();
    let put = publisher.put("value").timestamp_instrumentation(all());
    put.try_publish().unwrap();
    publisher
        .delete()
        .timestamp_instrumentation(all())
        .wait()
        .unwrap();
    first
        .delete("a/b")
        .timestamp_instrumentation(all())
        .wait()
        .unwrap();
    for number in 0..105 {
        let sample = next(&subscriber);
        let stack = sample.timestamp_stack();
        assert_eq!(records(stack), way(&[&first, &second]), "sample {number}");
        assert_eq!(stack.unwrap().instrumentation(), all());
        let attachment = sample.attachment().map(|bytes| bytes.to_bytes().to_vec());
        assert_eq!(attachment.is_some(), number == 100);
        assert_eq!(sample.kind() == SampleKind::Delete, number > 102);
        let fields = SampleFields::from(sample.clone());
        assert_eq!(fields.timestamp_stack.as_ref(), stack);
        assert_eq!(
            fields.attachment.map(|bytes| bytes.to_bytes().to_vec()),
            attachment
        );
    }
    publisher.put("without").wait().unwrap();
    assert_eq!(next(&subscriber).timestamp_stack(), None);
}

#[test]
fn puts_under_block_have_the_records_too() {
    let (first, second) = pair();
    let subscriber = second.declare_subscriber("a/*").wait().unwrap();
    let publisher = first.declare_publisher("a/b");
    let publisher = publisher.congestion_control(CongestionControl::Block);
    let publisher = publisher.wait().unwrap();
    until_matched(&publisher);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        publisher
            .put("1")
            .timestamp_instrumentation(all())
            .await
            .unwrap();
        let put = first
            .put("a/b", "2")
            .congestion_control(CongestionControl::Block);
        put.timestamp_instrumentation(all()).await.unwrap();
    });
    for _ in 0..2 {
        let sample = next(&subscriber);
        assert_eq!(records(sample.timestamp_stack()), way(&[&first, &second]));
    }
}

#[test]
fn a_message_inside_of_its_session_passes_no_routing() {
    let (first, second) = pair();
    let here = first.declare_subscriber("a/*").wait().unwrap();
    let there = second.declare_subscriber("a/*").wait().unwrap();
    let publisher = first.declare_publisher("a/b").wait().unwrap();
    let beyond = first
        .declare_publisher("a/b")
        .allowed_destination(Locality::Remote);
    until_matched(&beyond.wait().unwrap());
    publisher
        .put("value")
        .timestamp_instrumentation(all())
        .wait()
        .unwrap();
    let own = vec![(Send, first.zid()), (Receive, first.zid())];
    assert_eq!(records(next(&here).timestamp_stack()), own);
    assert_eq!(
        records(next(&there).timestamp_stack()),
        way(&[&first, &second])
    );
    assert!(here.try_recv().unwrap().is_none());
}

/// With rules about messages a router forwards on another path.
#[test]
fn a_router_records_its_time_also_with_filters() {
    let rule =
        r#"[{ messages: ["put", "query", "reply"], key_exprs: ["**"], size_limit: 100000 }]"#;
    for config in [
        Config::router(),
        Config::router().with("low_pass_filter", rule),
        Config::router().with("timestamping/enabled", "true"),
    ] {
        let [from, to, router] = routed(config);
        let subscriber = to.declare_subscriber("a/*").wait().unwrap();
        let own = router.declare_subscriber("a/*").wait().unwrap();
        let publisher = from.declare_publisher("a/b").wait().unwrap();
        until("both are known", || {
            publisher.put("early").wait().unwrap();
            let has_come = |subscriber: &Subscriber| subscriber.try_recv().unwrap().is_some();
            let (there, here) = (has_come(&subscriber), has_come(&own));
            there && here
        });
        publisher.put("the last without").wait().unwrap();
        for subscriber in [&subscriber, &own] {
            while next(subscriber).payload().try_to_string().unwrap() == "early" {}
        }
        publisher
            .put("value")
            .timestamp_instrumentation(all())
            .wait()
            .unwrap();
        let sample = next(&subscriber);
        assert_eq!(
            records(sample.timestamp_stack()),
            way(&[&from, &router, &to])
        );
        assert_eq!(
            records(next(&own).timestamp_stack()),
            way(&[&from, &router])
        );
        for (send, route, receive, count) in [
            (true, false, false, 1),
            (false, true, false, 3),
            (false, false, true, 1),
            (true, false, true, 2),
        ] {
            let points = points(send, route, receive);
            publisher
                .put("value")
                .timestamp_instrumentation(points)
                .wait()
                .unwrap();
            let sample = next(&subscriber);
            let stack = sample.timestamp_stack().unwrap();
            assert_eq!(stack.records().len(), count);
            assert_eq!(stack.instrumentation(), points);
        }
    }
}

#[test]
fn a_reply_continues_the_stack_of_its_query() {
    let [from, to, router] = routed(Config::router());
    let queryable = to.declare_queryable("a/*").wait().unwrap();
    let querier = from.declare_querier("a/b").wait().unwrap();
    until("the queryable is known", || {
        querier.matching_status().wait().unwrap().matching()
    });
    let there = way(&[&from, &router, &to]);
    let mut whole = there.clone();
    whole.extend(way(&[&to, &router, &from]));
    for is_querier in [true, false] {
        let replies = match is_querier {
            true => querier.get().timestamp_instrumentation(all()).wait(),
            false => from.get("a/b").timestamp_instrumentation(all()).wait(),
        };
        let replies = replies.unwrap();
        let query = asked(&queryable);
        assert_eq!(records(query.timestamp_stack()), there);
        query.reply("a/b", "value").wait().unwrap();
        query.reply_del("a/b").wait().unwrap();
        query
            .reply_sample(SampleBuilder::put(query.key_expr().clone(), "kept").into())
            .wait()
            .unwrap();
        query.reply_err("refused").wait().unwrap();
        drop(query);
        let mut samples = 0;
        for reply in replies.iter() {
            match reply.result() {
                Ok(sample) => {
                    samples += 1;
                    assert_eq!(records(sample.timestamp_stack()), whole);
                }
                Err(error) => assert_eq!(records(error.timestamp_stack()), whole),
            }
        }
        assert!(samples > 0);
    }
    let replies = from.get("a/b").wait().unwrap();
    let query = asked(&queryable);
    assert_eq!(query.timestamp_stack(), None);
    query.reply("a/b", "value").wait().unwrap();
    drop(query);
    let sample = replies.recv().unwrap().into_result().unwrap();
    assert_eq!(sample.timestamp_stack(), None);
}

#[test]
fn a_query_inside_of_its_session_passes_no_routing() {
    let session = alone();
    let queryable = session.declare_queryable("a/*").wait().unwrap();
    let replies = session
        .get("a/b")
        .timestamp_instrumentation(all())
        .wait()
        .unwrap();
    let query = asked(&queryable);
    let own = [(Send, session.zid()), (Receive, session.zid())];
    assert_eq!(records(query.timestamp_stack()), own);
    query.reply("a/b", "value").wait().unwrap();
    drop(query);
    let sample = replies.recv().unwrap().into_result().unwrap();
    assert_eq!(records(sample.timestamp_stack()), [own, own].concat());
}

/// A node asks the application for the times of its own records, and only for those of the points.
#[test]
fn the_function_of_a_node_gives_its_times() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let router = zonda::open(Config::router().listen(["tcp/127.0.0.1:0"]))
        .with_timestamp_callback(move |node| {
            assert_eq!(node.whatami, WhatAmI::Router);
            match counted.fetch_add(1, Ordering::Relaxed) {
                0 => node.zid.to_string().into_bytes(),
                1 => Vec::new(),
                _ => panic!("no time"),
            }
        })
        .wait()
        .unwrap();
    let client = || connected_to(&router, Config::client([] as [&str; 0]));
    let (from, to) = (client(), client());
    let subscriber = to.declare_subscriber("a/*").wait().unwrap();
    let publisher = from.declare_publisher("a/b").wait().unwrap();
    until_matched(&publisher);
    let times = |points| -> Vec<InstrumentationTimestamp> {
        publisher
            .put("value")
            .timestamp_instrumentation(points)
            .wait()
            .unwrap();
        let sample = next(&subscriber);
        let records = sample.timestamp_stack().unwrap().records().iter();
        records.map(|record| record.timestamp().clone()).collect()
    };
    assert_eq!(times(points(true, false, true)).len(), 2);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    let custom = InstrumentationTimestamp::Custom(router.zid().to_string().into_bytes());
    assert_eq!(times(points(false, true, false))[1], custom);
    assert_eq!(times(points(false, true, false)).len(), 2, "no bytes");
    assert_eq!(times(points(false, true, false)).len(), 2, "a panic");
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    let metrics = router.info().metrics();
    let missing = metrics
        .iter()
        .find(|sample| sample.metric().name == "zonda_timestamps_not_recorded");
    assert_eq!(missing.expect("it is reported").value(), 1);
}
