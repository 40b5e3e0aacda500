// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two connected sessions, or two with a router between them, each on one thread of its own, so
//! that the allocations of a thread are those of its node.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use zonda::bytes::ZBytes;
use zonda::config::{AnyRuntime, RuntimeKind, RuntimeOptions};
use zonda::pubsub::Publisher;
use zonda::qos::CongestionControl;
use zonda::{Config, Session, Wait};
use zonda_router::node::Node;
use zonda_transport::outbox::OutboxCounts;
#[cfg(debug_assertions)]
use zonda_transport::sync::{LockCounts, taken};

use crate::counting::{Allocated, allocated};

const LONG: Duration = Duration::from_secs(30);

/// Waits for a condition, with a deadline.
#[track_caller]
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {LONG:?}: {what}");
        std::thread::yield_now();
    }
}

/// Starts a runtime of one thread.
pub fn thread() -> AnyRuntime {
    AnyRuntime::start(RuntimeKind::TokioCurrent, &RuntimeOptions::default()).expect("a runtime")
}

/// Returns the allocations of the thread of this runtime.
pub fn allocated_by(runtime: &AnyRuntime) -> Allocated {
    let (tell, told) = channel();
    runtime.spawn("probe", move || async move {
        // The test waits for it below.
        let _ = tell.send(allocated());
    });
    told.recv_timeout(LONG).expect("the runtime runs")
}

/// Returns the locks that the thread of this runtime has taken.
#[cfg(debug_assertions)]
pub fn taken_by(runtime: &AnyRuntime) -> LockCounts {
    let (tell, told) = channel();
    runtime.spawn("probe", move || async move {
        // The test waits for it below.
        let _ = tell.send(taken());
    });
    told.recv_timeout(LONG).expect("the runtime runs")
}

pub struct Line {
    pub source: Session,
    pub received: Arc<AtomicU64>,
    /// Thread that the messages arrive on.
    pub sink_thread: AnyRuntime,
    _sink: Session,
    /// Router between the two, if there is one, and its thread.
    router: Option<(Node, AnyRuntime)>,
}

impl Line {
    /// Connects a publisher's session directly to a subscriber's.
    pub fn direct() -> Line {
        let sink_thread = thread();
        let config = Config::peer()
            .listen(["tcp/127.0.0.1:0"])
            .with_runtime_handle(sink_thread.clone());
        let sink = zonda::open(config).wait().expect("a peer");
        let place = sink.info().locators().remove(0).to_string();
        let received = subscribe(&sink);
        let config = Config::peer()
            .listen([] as [&str; 0])
            .connect([&place])
            .with_runtime_handle(thread());
        let source = zonda::open(config).wait().expect("a peer");
        Line {
            source,
            received,
            sink_thread,
            _sink: sink,
            router: None,
        }
    }

    /// Returns a line with a router between its ends.
    pub fn routed() -> Line {
        let router_thread = thread();
        let config = Config::router()
            .listen(["tcp/127.0.0.1:0"])
            .with_runtime_handle(router_thread.clone());
        let router = zonda_runtime::block_on(Node::open(config)).expect("a router");
        let place = router.locators().remove(0).to_string();
        let client = |runtime: &AnyRuntime| {
            zonda::open(Config::client([&place]).with_runtime_handle(runtime.clone()))
                .wait()
                .expect("a client")
        };
        let sink_thread = thread();
        let sink = client(&sink_thread);
        let received = subscribe(&sink);
        let source = client(&thread());
        Line {
            source,
            received,
            sink_thread,
            _sink: sink,
            router: Some((router, router_thread)),
        }
    }

    pub fn publisher(&self, express: bool) -> Publisher<'static> {
        let publisher = self
            .source
            .declare_publisher("line/x")
            .congestion_control(CongestionControl::Block);
        let publisher = publisher.express(express).wait().expect("open");
        until("the publisher is matched", || {
            let status = publisher.matching_status().wait().unwrap();
            status.matching()
        });
        publisher
    }

    /// Returns the thread of the router between the two.
    pub fn router_thread(&self) -> &AnyRuntime {
        &self.router.as_ref().expect("a routed line").1
    }

    /// Returns the counts of the publisher's link.
    pub fn sent(&self) -> OutboxCounts {
        self.source.info().links()[0].sent
    }

    pub fn arrived(&self) -> u64 {
        self.received.load(Ordering::Acquire)
    }

    /// Puts one message; it must be accepted.
    pub fn put(publisher: &Publisher<'_>, payload: &ZBytes) {
        publisher.put(payload).wait().expect("it is taken");
    }

    /// Puts `count` messages, at most `ahead` of them under way; returns when all have arrived.
    pub fn pump(&self, count: u64, ahead: u64, mut put: impl FnMut()) {
        let begin = self.arrived();
        for number in 0..count {
            if number % ahead == 0 {
                until("messages arrive", || self.arrived() - begin == number);
            }
            put();
        }
        until("all messages arrive", || self.arrived() - begin == count);
    }
}

fn subscribe(session: &Session) -> Arc<AtomicU64> {
    let received = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&received);
    let count = move |_| {
        seen.fetch_add(1, Ordering::Release);
    };
    session
        .declare_subscriber("line/*")
        .callback(count)
        .background()
        .wait()
        .expect("open");
    received
}
