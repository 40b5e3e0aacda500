// SPDX-License-Identifier: MIT OR Apache-2.0

//! Figures of access control: the time to start with many rules, the rate of messages on known
//! routes, and the time of a new route. They are measured on request alone, by an optimised build
//! on a quiet machine:
//!
//! ```sh
//! ZONDA_LONG=1 cargo test --release -p zonda --test session rules_figures -- --nocapture
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use zonda::pubsub::Subscriber;
use zonda::qos::CongestionControl;
use zonda::{Config, Session, Wait};

use crate::pair::{connected_to, until, until_matched};

const SUBJECTS: usize = 20;
/// Time for which messages of one size are counted.
const SPAN: Duration = Duration::from_secs(1);
/// Number of turns between routers with and without rules; the medians are compared.
const TURNS: usize = 5;
/// Number of keys that are new to the router.
const NEW_KEYS: u64 = 20_000;

/// Returns access control that allows two clients what they do here, by the last of `count` rules
/// which are spread over the subjects.
fn rules(count: usize) -> String {
    let rule = |number: usize| {
        json!({
            "id": format!("r{number}"),
            "permission": "allow",
            "messages": ["put", "declare_subscriber"],
            "key_exprs": [match number + 1 == count {
                true => "demo/**".to_owned(),
                false => format!("plant/{number}/line/*/sensor/**"),
            }],
        })
    };
    let subject = |number: usize| {
        let zids = [format!("c{number}")];
        json!({"id": format!("s{number}"), "zids": zids})
    };
    let policy = |number: usize| {
        let own = (0..count).filter(|rule| rule % SUBJECTS == number || rule + 1 == count);
        let own: Vec<_> = own.map(|rule| format!("r{rule}")).collect();
        json!({"rules": own, "subjects": [format!("s{number}")]})
    };
    json!({
        "enabled": true,
        "default_permission": "deny",
        "rules": (0..count).map(rule).collect::<Vec<_>>(),
        "subjects": (0..SUBJECTS).map(subject).collect::<Vec<_>>(),
        "policies": (0..SUBJECTS).map(policy).collect::<Vec<_>>(),
    })
    .to_string()
}

/// A router with so many rules, and two clients of it, one of which counts what it gets.
struct Site {
    start: Duration,
    router: Session,
    from: Session,
    to: Session,
    _subscriber: Subscriber<()>,
    got: Arc<AtomicU64>,
}

impl Site {
    fn new(count: usize) -> Site {
        let mut config = Config::router().listen(["tcp/127.0.0.1:0"]);
        if count > 0 {
            config = config.with("access_control", &rules(count));
        }
        let begin = Instant::now();
        let router = zonda::open(config).wait().expect("it opens");
        let start = begin.elapsed();
        let client = |zid: &str| {
            let config = Config::client([] as [&str; 0]).with("id", &format!("'{zid}'"));
            connected_to(&router, config)
        };
        let (from, to) = (client("c1"), client("c2"));
        let got = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&got);
        let subscriber = to.declare_subscriber("demo/**").callback(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let subscriber = subscriber.wait().expect("it is allowed");
        Site {
            start,
            router,
            from,
            to,
            _subscriber: subscriber,
            got,
        }
    }

    fn got(&self) -> u64 {
        self.got.load(Ordering::Relaxed)
    }

    /// Returns the messages of this size that arrive in a second, on a route that the router knows.
    fn rate(&self, size: usize) -> f64 {
        let publisher = self.from.declare_publisher("demo/known");
        let publisher = publisher.congestion_control(CongestionControl::Block);
        let publisher = publisher.wait().expect("it is open");
        until_matched(&publisher);
        let payload = vec![7; size];
        let (begin, before) = (Instant::now(), self.got());
        while begin.elapsed() < SPAN {
            for _ in 0..1000 {
                publisher.put(&payload).wait().expect("it is taken");
            }
        }
        (self.got() - before) as f64 / begin.elapsed().as_secs_f64()
    }

    /// Returns the microseconds from message to message, each on a key that is new to the router.
    fn new_route(&self, turn: usize) -> f64 {
        let publisher = self.from.declare_publisher("demo/**").wait();
        until_matched(&publisher.expect("it is open"));
        let (begin, before) = (Instant::now(), self.got());
        for number in 0..NEW_KEYS {
            let put = self.from.put(format!("demo/{turn}/{number}"), "value");
            let put = put.congestion_control(CongestionControl::Block);
            put.wait().expect("it is taken");
        }
        until("all have come", || self.got() >= before + NEW_KEYS);
        begin.elapsed().as_secs_f64() * 1e6 / NEW_KEYS as f64
    }

    fn close(self) {
        for session in [self.from, self.to, self.router] {
            session.close().wait().expect("it closes");
        }
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Returns the medians of one figure, without rules and with them, measured in turns.
fn compared(sites: [&Site; 2], measure: impl Fn(&Site, usize) -> f64) -> [f64; 2] {
    let mut all = [Vec::new(), Vec::new()];
    for turn in 0..TURNS {
        for (site, figures) in sites.iter().zip(&mut all) {
            figures.push(measure(site, turn));
        }
    }
    all.map(median)
}

#[test]
fn rules_cost_messages_little_and_starts_a_moment() {
    if std::env::var_os("ZONDA_LONG").is_none() {
        println!("SKIPPED: a test of the long run (./check --long, or ZONDA_LONG=1)");
        return;
    }
    let without = Site::new(0);
    let mut missed = Vec::new();
    let mut note = |what: String, is_met: bool| {
        println!("{what}");
        if !is_met {
            missed.push(what);
        }
    };
    for count in [100, 10_000] {
        let with = Site::new(count);
        let start = with.start.as_secs_f64() * 1e3;
        let words = format!("{count} rules, {SUBJECTS} subjects: start {start:.1} ms (goal 1000)");
        note(words, start <= 1000.0);
        for size in [8, 1024] {
            let [bare, ruled] = compared([&without, &with], |site, _| site.rate(size));
            let loss = (1.0 - ruled / bare) * 100.0;
            let words = format!(
                "{count} rules: {size} B, {bare:.0} messages/s without, {ruled:.0} with: {loss:.1} % less (goal 2)"
            );
            note(words, loss <= 2.0);
        }
        let [bare, ruled] = compared([&without, &with], Site::new_route);
        let words = format!(
            "{count} rules: a message on a new key {bare:.1} µs without, {ruled:.1} µs with (goal 50)"
        );
        note(words, ruled <= 50.0);
        with.close();
    }
    without.close();
    // Figures of a debug build say nothing about the goals.
    if !cfg!(debug_assertions) {
        assert_eq!(missed, [""; 0]);
    }
}
