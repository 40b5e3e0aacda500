// SPDX-License-Identifier: MIT OR Apache-2.0

//! Several links between two sessions: messages that are sent while one link breaks, and the state
//! after all have.

#![cfg(feature = "multilink")]

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use zonda::qos::{CongestionControl, Priority, Reliability};
use zonda::sample::SampleKind;
use zonda::{Config, Session, Wait};

use crate::connecting::nobody;
use crate::pair::{LONG, until, until_matched};
use crate::relay::Relay;

pub fn peer(settings: &[(&str, &str)]) -> Config {
    let quick = Config::peer()
        .with("connect/retry/period_init_ms", "50")
        .with("connect/retry/period_max_ms", "100");
    settings
        .iter()
        .fold(quick, |config, (key, json)| config.with(key, json))
}

pub const SEVERAL: &[(&str, &str)] = &[("transport/unicast/max_links", "3")];

pub fn listener(settings: &[(&str, &str)]) -> Session {
    zonda::open(peer(settings).listen(["tcp/127.0.0.1:0"]))
        .wait()
        .expect("a listening peer opens")
}

/// Opens a peer that connects to the other one through each relay.
fn through(relays: &[&Relay], settings: &[(&str, &str)]) -> Session {
    let endpoints: Vec<&str> = relays.iter().map(|relay| &*relay.endpoint).collect();
    let config = peer(settings).listen([] as [&str; 0]).connect(endpoints);
    zonda::open(config).wait().expect("it opens")
}

pub fn count(session: &Session) -> usize {
    session.info().links().len()
}

/// Returns the two ends of each link.
pub fn places(session: &Session) -> Vec<(String, String)> {
    let links = session.info().links();
    links
        .iter()
        .map(|link| (link.local.to_string(), link.remote.to_string()))
        .collect()
}

fn relays(session: &Session, count: usize) -> Vec<Relay> {
    let address = session.info().locators().remove(0).to_string();
    (0..count).map(|_| Relay::to(&address)).collect()
}

/// Numbers that arrive.
fn numbers(session: &Session, key: &'static str) -> (zonda::pubsub::Subscriber<()>, Receiver<u64>) {
    let (sent, arrived) = channel();
    let subscriber = session
        .declare_subscriber(key)
        .callback(move |sample| {
            let bytes = sample.payload().to_bytes();
            let number = bytes.first_chunk().map(|first| u64::from_le_bytes(*first));
            // an error means that the test has failed already
            let _ = sent.send(number.expect("eight bytes"));
        })
        .wait()
        .expect("it is open");
    (subscriber, arrived)
}

#[test]
fn a_connection_outlives_each_link_but_the_last() {
    let far = listener(SEVERAL);
    let relays = relays(&far, 3);
    let near = through(&[&relays[0], &relays[1]], SEVERAL);
    until("two links", || count(&near) == 2 && count(&far) == 2);
    let links = near.info().links();
    assert!(links.iter().all(|link| link.zid == far.zid()));
    assert!(
        links
            .iter()
            .all(|link| link.options.names() == ["multilink"])
    );
    let (_there, at_far) = numbers(&far, "multi/there");
    let (_back, at_near) = numbers(&near, "multi/back");
    let there = near.declare_publisher("multi/there").wait().expect("open");
    let back = far.declare_publisher("multi/back").wait().expect("open");
    until_matched(&there);
    until_matched(&back);
    let mut next = 0_u64;
    let mut exchange = |what: &str| {
        for _ in 0..100 {
            there.put(next.to_le_bytes()).wait().expect("taken");
            back.put(next.to_le_bytes()).wait().expect("taken");
            assert_eq!(at_far.recv_timeout(LONG), Ok(next), "{what}");
            assert_eq!(at_near.recv_timeout(LONG), Ok(next), "{what}");
            next += 1;
        }
    };
    exchange("on two links");
    for round in 0..6 {
        let relay = &relays[round % 2];
        let before = [places(&near), places(&far)];
        relay.cut();
        // messages that one side sends before it has noticed are lost with the link
        until("both have lost the link", || {
            let now = [places(&near), places(&far)];
            let mut sides = now.iter().zip(&before);
            sides.all(|(now, before)| now.len() < 2 || now.iter().any(|p| !before.contains(p)))
        });
        exchange("after a cut");
        until("there are two again", || {
            count(&near) == 2 && count(&far) == 2
        });
        exchange("restored");
    }
}

#[test]
fn the_last_link_takes_the_connection_along() {
    let far = listener(SEVERAL);
    let relays = relays(&far, 2);
    let near = through(&[&relays[0], &relays[1]], SEVERAL);
    until("two links", || count(&near) == 2 && count(&far) == 2);
    near.close().wait().expect("it closes");
    until("nobody is connected", || count(&far) == 0);
    let near = through(&[&relays[0], &relays[1]], SEVERAL);
    until("two links", || count(&near) == 2 && count(&far) == 2);
    far.close().wait().expect("it closes");
    until("nobody is connected", || count(&near) == 0);
}

#[test]
fn a_client_has_one_link_or_those_of_a_group() {
    let far = listener(SEVERAL);
    let relays = relays(&far, 2);
    let [one, other] = [0, 1].map(|at| relays[at].endpoint.clone());
    let client = |endpoints: String| {
        let config = Config::client([] as [&str; 0])
            .with("transport/unicast/max_links", "3")
            .with("connect/retry/period_init_ms", "50")
            .with("connect/endpoints", &endpoints);
        zonda::open(config).wait().expect("it opens")
    };
    let near = client(format!(
        "[{{strategy: 'allOf', locators: ['{one}', '{other}']}}]"
    ));
    until("two links", || count(&near) == 2 && count(&far) == 2);
    relays[1].cut();
    until("one is lost", || count(&near) < 2);
    until("there are two again", || {
        count(&near) == 2 && count(&far) == 2
    });
    near.close().wait().expect("it closes");
    until("nobody is connected", || count(&far) == 0);
    // A link that cannot be reached costs no more than itself.
    let gone = "tcp/127.0.0.1:9";
    let near = client(format!(
        "[{{strategy: 'allOf', locators: ['{gone}', '{one}']}}]"
    ));
    until("one link", || count(&near) == 1 && count(&far) == 1);
    near.close().wait().expect("it closes");
    until("nobody is connected", || count(&far) == 0);
    let near = client(format!("['{one}', '{other}']"));
    until("one link", || count(&near) == 1 && count(&far) == 1);
}

#[test]
fn a_client_that_was_there_first_has_the_links_of_its_group_later() {
    let (sockets, endpoints): (Vec<_>, Vec<_>) = (0..2).map(|_| nobody()).unzip();
    let [one, other] = [0, 1].map(|at: usize| endpoints[at].as_str());
    let group = format!("[{{strategy: 'allOf', locators: ['{one}', '{other}']}}]");
    let config = Config::client([] as [&str; 0])
        .with("transport/unicast/max_links", "3")
        .with("connect/retry", "{period_init_ms: 50, period_max_ms: 100}")
        .with("connect/exit_on_failure", "false")
        .with("connect/timeout_ms", "0")
        .with("connect/endpoints", &group);
    let near = zonda::open(config).wait().expect("it opens");
    assert_eq!(count(&near), 0);
    drop(sockets);
    let far = zonda::open(peer(SEVERAL).listen([one, other]));
    let far = far.wait().expect("a listening peer opens");
    until("two links", || count(&near) == 2 && count(&far) == 2);
}

#[test]
fn each_link_is_an_event_and_the_first_and_last_are_the_connection() {
    let far = listener(SEVERAL);
    let (told, connections) = channel();
    let of_links = told.clone();
    let info = far.info();
    let events = info.transport_events_listener();
    let events = events.callback(move |event| told.send(("connection", event.kind())).unwrap());
    events.background().wait().expect("open");
    let events = info.link_events_listener();
    let events = events.callback(move |event| of_links.send(("link", event.kind())).unwrap());
    events.background().wait().expect("open");
    let relays = relays(&far, 2);
    let near = through(&[&relays[0], &relays[1]], SEVERAL);
    until("two links", || count(&near) == 2 && count(&far) == 2);
    let history = info.link_events_listener().history(true).wait();
    let history = history.expect("open");
    for _ in 0..2 {
        let event = history.recv_timeout(LONG).expect("open").expect("a link");
        assert_eq!(event.kind(), SampleKind::Put);
    }
    near.close().wait().expect("it closes");
    // a listener that is closed gets no further events
    let all = (0..6).map(|_| connections.recv_timeout(LONG).expect("one more"));
    let mut told: Vec<_> = all.collect();
    far.close().wait_callbacks().wait().expect("it closes");
    assert_eq!(connections.iter().count(), 0, "nothing else");
    told.sort_by_key(|(what, _)| *what);
    let (put, delete) = (SampleKind::Put, SampleKind::Delete);
    let (one, link) = ("connection", "link");
    let expected = [
        (one, put),
        (one, delete),
        (link, put),
        (link, put),
        (link, delete),
        (link, delete),
    ];
    assert_eq!(told, expected);
}

#[test]
fn links_are_limited() {
    let far = listener(&[("transport/unicast/max_links", "2")]);
    let relays = relays(&far, 3);
    let near = through(&[&relays[0], &relays[1], &relays[2]], SEVERAL);
    until("two links", || count(&near) == 2 && count(&far) == 2);
    let until_tried = std::time::Instant::now() + Duration::from_millis(300);
    until("a third was tried a few times", || {
        assert!(count(&far) <= 2 && count(&near) <= 2);
        std::time::Instant::now() > until_tried
    });
    let alone = listener(&[]);
    let relays = self::relays(&alone, 2);
    let near = through(&[&relays[0], &relays[1]], SEVERAL);
    until("one link", || count(&near) == 1 && count(&alone) == 1);
    assert_eq!(near.info().links()[0].options.names(), [""; 0]);
}

#[test]
fn what_waits_is_sent_on_the_next_link() {
    let far = listener(SEVERAL);
    let relays = relays(&far, 2);
    let near = through(&[&relays[0], &relays[1]], SEVERAL);
    until("two links", || count(&near) == 2 && count(&far) == 2);
    let (_there, at_far) = numbers(&far, "multi/flood");
    let there = near.declare_publisher("multi/flood").wait().expect("open");
    until_matched(&there);
    let (is_cut, cut) = channel();
    let flood = thread::spawn({
        let near = near.clone();
        move || {
            let publisher = near.declare_publisher("multi/flood");
            let publisher = publisher.congestion_control(CongestionControl::Block);
            let publisher = publisher.wait().expect("open");
            for number in 0..20_000_u64 {
                if number == 10_000 {
                    // a link that is fast would be cut when all is over
                    cut.recv_timeout(LONG).expect("a link is cut");
                }
                let mut payload = number.to_le_bytes().to_vec();
                payload.resize(1000, 7);
                let put = publisher.put(payload);
                put.wait().expect("there is always a link");
            }
        }
    });
    let mut last = None;
    let mut lost = 0;
    let mut seen = 0;
    while last != Some(19_999) {
        let number = at_far.recv_timeout(LONG).expect("the flood goes on");
        assert!(
            last < Some(number),
            "once and in order: {number} after {last:?}"
        );
        lost += number - last.map_or(0, |last| last + 1);
        last = Some(number);
        seen += 1;
        if seen == 3000 {
            relays[0].cut();
            is_cut.send(()).expect("the flood goes on");
        }
    }
    flood.join().expect("every put was taken");
    assert!(lost < 10_000, "{lost} of 20000 were lost with the link");
}

/// Each link shows the priorities that the node which has opened it names, at both ends.
#[test]
fn a_connection_of_several_links_counts_each_message_once() {
    let far = listener(SEVERAL);
    let relays = relays(&far, 2);
    let session = through(&relays.iter().collect::<Vec<_>>(), SEVERAL);
    until("two links", || count(&session) == 2 && count(&far) == 2);
    let (_subscriber, numbers) = numbers(&far, "counted");
    let publisher = session.declare_publisher("counted").wait().expect("open");
    until_matched(&publisher);
    let sent = || {
        let links = session.info().links();
        let lanes = links.iter().flat_map(|link| &link.priorities);
        let data = lanes.filter(|lane| lane.priority == Priority::Data);
        data.map(|lane| lane.sent).sum::<u64>()
    };
    let before = sent();
    for number in 0..10_u64 {
        publisher.put(number.to_le_bytes()).wait().expect("open");
        numbers.recv_timeout(LONG).expect("it comes");
    }
    assert_eq!(sent(), before + 10);
    let samples = session.info().metrics();
    let bytes = { samples.iter() }.filter(|sample| sample.metric().name == "zonda_link_sent_bytes");
    assert_eq!(bytes.filter(|sample| sample.value() > 0).count(), 1);
}

#[test]
fn links_show_the_priorities_that_they_are_for() {
    let first = listener(SEVERAL);
    let [one, other] = [0, 1].map(|_| relays(&first, 1).remove(0));
    let urgent = format!("{}?prio=1-3;rel=1", one.endpoint);
    let rest = format!("{}?prio=4-7;rel=0", other.endpoint);
    let config = peer(SEVERAL).listen([] as [&str; 0]);
    let second = zonda::open(config.connect([urgent, rest]));
    let second = second.wait().expect("it opens");
    let shown = |session: &Session| {
        let links = session.info().links();
        let each = links.iter();
        let each = each.map(|link| (link.priorities(), link.reliability()));
        let mut each: Vec<_> = each.collect();
        each.sort_by_key(|(priorities, _)| *priorities);
        each
    };
    let agreed = [
        (Some((1, 3)), Some(Reliability::Reliable)),
        (Some((4, 7)), Some(Reliability::BestEffort)),
    ];
    until("both links are there", || {
        let ends = [&first, &second];
        ends.iter().all(|end| shown(end) == agreed)
    });
    let own = format!("@/{}/session/transport/unicast/*/link/*", first.zid());
    let replies = first.get(own).wait().expect("a selector");
    let text = |reply: zonda::query::Reply| {
        let sample = reply.into_result().ok()?;
        Some(sample.payload().try_to_string().ok()?.into_owned())
    };
    let told: Vec<String> = replies.iter().filter_map(text).collect();
    let range = r#""priorities":{"end":"InteractiveLow","start":"RealTime"}"#;
    assert!(told.iter().any(|link| link.contains(range)), "{told:?}");
    // Messages of each priority arrive, whatever the links are for.
    let subscriber = first.declare_subscriber("demo/*").wait().expect("open");
    for number in 1..=7 {
        let priority = Priority::try_from(number).expect("a priority");
        let publisher = second.declare_publisher("demo/a").priority(priority);
        let publisher = publisher.congestion_control(CongestionControl::Block);
        let publisher = publisher.wait().expect("open");
        until_matched(&publisher);
        publisher.put(vec![number]).wait().expect("it is taken");
        let sample = subscriber.recv_timeout(LONG).expect("open");
        assert_eq!(sample.expect("it arrives").priority(), priority);
    }
}
