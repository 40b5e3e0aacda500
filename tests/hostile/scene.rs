// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scene of cases within one process: a router, and two honest sessions whose messages are
//! counted. It shows that the router still works and which neighbours it closes. Memory,
//! descriptors and times belong to a process, so the cases about these are in [`crate::world`].

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use zonda::config::ZenohId;
use zonda::qos::CongestionControl;
use zonda::{Config, Session, Wait};
use zonda_router::node::{LinkStatus, Node};

use crate::hand::Hand;

/// Time limit for every step, also on a busy machine.
pub const LONG: Duration = Duration::from_secs(30);

/// Messages that the honest publisher may be ahead of the subscriber: enough to keep it busy, with
/// processor time left for the rest.
const AHEAD_MAX: u64 = 32;

/// Waits for a condition, with a deadline.
#[track_caller]
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {LONG:?}: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Opens a node that a test owns.
pub fn node(config: Config) -> Result<Node, zonda::OpenError> {
    zonda_runtime::block_on(Node::open(config))
}

/// Returns the configuration of a router on a free port.
pub fn router() -> Config {
    Config::router().listen(["tcp/127.0.0.1:0"])
}

pub fn address_of(node: &Node) -> SocketAddr {
    let locators = node.locators();
    locators[0].address().parse().expect("a socket address")
}

pub fn client(address: SocketAddr) -> Session {
    zonda::open(Config::client([format!("tcp/{address}")]))
        .wait()
        .expect("the router is there")
}

/// Observations of the honest subscriber.
#[derive(Default)]
struct Ledger {
    received: AtomicU64,
    /// Number of messages that were not the next one.
    wrong: AtomicU64,
    over: AtomicBool,
}

/// A router with honest traffic through it, for as long as the scene lives.
pub struct Scene {
    pub node: Node,
    pub address: SocketAddr,
    ledger: Arc<Ledger>,
    subscriber: Session,
    publisher: ZenohId,
    publishing: Option<JoinHandle<()>>,
}

impl Scene {
    /// Opens a router with the defaults of the configuration.
    pub fn open() -> Scene {
        Scene::of(router())
    }

    pub fn of(config: Config) -> Scene {
        let node = node(config).expect("the router opens");
        // The router.
        let address = address_of(&node);
        let ledger = Arc::new(Ledger::default());
        // The honest subscriber, which expects consecutive numbers.
        let subscriber = client(address);
        let seen = Arc::clone(&ledger);
        let note = move |sample: zonda::sample::Sample| {
            let expected = seen.received.load(Ordering::Relaxed).to_le_bytes();
            if sample.payload().as_slice() != expected {
                seen.wrong.fetch_add(1, Ordering::Relaxed);
            }
            seen.received.fetch_add(1, Ordering::Release);
        };
        subscriber
            .declare_subscriber("honest/*")
            .callback(note)
            .background()
            .wait()
            .expect("open");
        // The honest publisher, on a thread of its own.
        let session = client(address);
        let publisher = session.zid();
        let told = Arc::clone(&ledger);
        let publishing = std::thread::spawn(move || publish(&session, &told));
        let scene = Scene {
            node,
            address,
            ledger,
            subscriber,
            publisher,
            publishing: Some(publishing),
        };
        scene.progresses();
        scene
    }

    /// Connects without sending anything.
    pub fn visitor(&self) -> Hand {
        Hand::connect(self.address)
    }

    /// Connects and is admitted.
    pub fn guest(&self) -> Hand {
        Hand::connected(self.address)
    }

    /// Connects with a lease longer than any case: the guest may read for a long time and send
    /// no keep-alive.
    pub fn quiet_guest(&self) -> Hand {
        let mut guest = self.visitor();
        guest.parameters.lease = 10 * LONG;
        guest.introduce();
        guest
    }

    /// Returns the link to a guest as the router sees it.
    pub fn link(&self, guest: ZenohId) -> Option<LinkStatus> {
        self.node.links().into_iter().find(|link| link.zid == guest)
    }

    /// Waits until a good number of messages of the honest publisher have arrived from now on.
    #[track_caller]
    fn progresses(&self) {
        let goal = self.ledger.received.load(Ordering::Acquire) + 200;
        until("honest messages arrive", || {
            self.ledger.received.load(Ordering::Acquire) >= goal
        });
        assert_eq!(
            self.ledger.wrong.load(Ordering::Relaxed),
            0,
            "lost, doubled or out of order"
        );
    }

    /// Returns the longest time without an honest message until `over` returns true.
    pub fn longest_silence(&self, mut over: impl FnMut() -> bool) -> Duration {
        let (mut longest, mut since) = (Duration::ZERO, Instant::now());
        let mut last = self.ledger.received.load(Ordering::Acquire);
        until("it is over", || {
            let received = self.ledger.received.load(Ordering::Acquire);
            longest = longest.max(since.elapsed());
            if received != last {
                (last, since) = (received, Instant::now());
            }
            over()
        });
        longest
    }

    /// Asserts that the router and its honest neighbours work.
    #[track_caller]
    pub fn is_well(&self) {
        self.progresses();
        assert!(!self.node.is_closed());
        let links = self.node.links();
        for zid in [self.publisher, self.subscriber.zid()] {
            assert!(
                links.iter().any(|link| link.zid == zid),
                "an honest link was lost"
            );
        }
    }

    /// Asserts that the offender is no neighbour any more, and that honest nodes are not affected.
    #[track_caller]
    pub fn is_rid_of(&self, guest: &mut Hand) {
        assert!(guest.is_hung_up_on(), "the link is closed");
        let zid = guest.zid();
        until("the face is forgotten", || self.link(zid).is_none());
        self.is_well();
    }
}

/// Publishes numbers until the scene is over.
fn publish(session: &Session, ledger: &Ledger) {
    let publisher = session
        .declare_publisher("honest/flow")
        .congestion_control(CongestionControl::Block)
        .wait()
        .expect("open");
    until("the honest subscriber is known", || {
        let status = publisher.matching_status().wait().unwrap();
        status.matching()
    });
    let mut number: u64 = 0;
    while !ledger.over.load(Ordering::Relaxed) {
        if number.saturating_sub(ledger.received.load(Ordering::Acquire)) >= AHEAD_MAX {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        publisher
            .put(number.to_le_bytes().as_slice())
            .wait()
            .expect("the router takes it");
        number += 1;
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.ledger.over.store(true, Ordering::Relaxed);
        let published = self.publishing.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(
                published.is_some_and(|ended| ended.is_ok()),
                "every honest put was accepted"
            );
        }
    }
}
