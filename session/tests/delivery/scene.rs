// SPDX-License-Identifier: MIT OR Apache-2.0

//! A publishing session, a subscribing one, the proxy between them, and the account of the messages
//! that passed it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::table::Call;
use crate::pair::{LONG, until, until_matched};
use crate::proxy::Proxy;
use zonda::bytes::ZBytes;
use zonda::pubsub::Publisher;
use zonda::qos::{CongestionControl, Priority};
use zonda::session::PriorityCounts;
use zonda::{Config, Outcome, PublishError, Session, Wait};

/// Short for a test, long for a loopback socket.
pub const LIMIT: Duration = Duration::from_millis(100);

/// One put.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    pub control: CongestionControl,
    pub call: Call,
    pub size: usize,
}

/// Ways to finish a put.
pub mod call {
    use super::*;

    /// Returns the future of a put of a message that is never published.
    pub async fn future(publisher: &Publisher<'_>, size: usize) -> Published {
        let put = publisher.put(vec![0; size]).timeout(LONG);
        put.outcome().await
    }
}

pub type Published = Result<Outcome, PublishError>;

pub struct Scene {
    pub a: Session,
    pub b: Session,
    pub proxy: Arc<Proxy>,
    publishers: Vec<(CongestionControl, Publisher<'static>)>,
    /// The numbers and sizes of the messages that have arrived.
    pub arrived: Arc<Mutex<Vec<(u64, usize)>>>,
    /// Messages that were accepted.
    pub accepted: u64,
    numbers: u64,
    /// Sizes of the messages.
    sizes: Vec<usize>,
    /// The numbers of the refused messages.
    refused: Vec<u64>,
    /// Limit of the wait of a put.
    pub patience: Duration,
    /// The longest message that the link takes.
    pub size_max: usize,
    /// Messages that were sent before: without priorities, declarations are counted with the data.
    before: u64,
}

/// Features of a link beyond the plain protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    Compressed,
    Bare,
}

impl Kind {
    pub const ALL: &[Kind] = if cfg!(feature = "compression") {
        &[Kind::Plain, Kind::Bare, Kind::Compressed]
    } else {
        &[Kind::Plain, Kind::Bare]
    };

    fn config(self) -> Config {
        let config = Config::peer();
        match self {
            Kind::Plain => config,
            Kind::Compressed => config.with("transport/unicast/compression/enabled", "true"),
            Kind::Bare => config
                .with("transport/unicast/lowlatency", "true")
                .with("transport/unicast/qos/enabled", "false"),
        }
    }
}

impl Scene {
    pub fn new() -> Scene {
        Scene::over(Kind::Plain)
    }

    pub fn over(kind: Kind) -> Scene {
        let b = kind.config().listen(["tcp/127.0.0.1:0"]);
        let b = zonda::open(b).wait().unwrap();
        let proxy = Arc::new(Proxy::before(b.info().locators().remove(0).as_ref()));
        let arrived = Arc::<Mutex<Vec<(u64, usize)>>>::default();
        let into = arrived.clone();
        let subscriber = b.declare_subscriber("demo/key").callback(move |sample| {
            let payload = sample.payload().to_bytes();
            let number = u64::from_le_bytes(payload[..8].try_into().unwrap());
            into.lock().unwrap().push((number, payload.len()));
        });
        subscriber.background().wait().unwrap();
        // Without gossip, as the locators of the peer are a way past the proxy.
        let config = kind.config().listen([] as [&str; 0]);
        let config = config.with("scouting/gossip/enabled", "false");
        let a = zonda::open(config.connect([&proxy.endpoint()]))
            .wait()
            .unwrap();
        until("both see the link", || {
            !a.info().links().is_empty() && !b.info().links().is_empty()
        });
        let publishers = super::table::CONTROLS
            .iter()
            .map(|(control, _)| {
                let publisher = a.declare_publisher("demo/key").congestion_control(*control);
                (*control, publisher.wait().unwrap())
            })
            .collect::<Vec<_>>();
        for (_, publisher) in &publishers {
            until_matched(publisher);
        }
        let links = a.info().links();
        let before = data(&links[0].priorities).accepted;
        Scene {
            before,
            a,
            b,
            proxy,
            publishers,
            arrived,
            accepted: 0,
            numbers: 0,
            sizes: Vec::new(),
            refused: Vec::new(),
            patience: LIMIT,
            size_max: match kind {
                Kind::Bare => 60_000,
                _ => usize::MAX,
            },
        }
    }

    pub fn publisher(&self, control: CongestionControl) -> &Publisher<'static> {
        let found = self.publishers.iter().find(|(one, _)| *one == control);
        &found.expect("one for each").1
    }

    /// Returns the number of messages offered so far.
    pub fn offered(&self) -> u64 {
        self.numbers
    }

    /// Returns a payload with the next number.
    pub fn next_payload(&mut self, size: usize) -> ZBytes {
        let mut bytes = vec![7; size.max(8)];
        // Every other one gets no shorter when it is compressed.
        let mut noise = self.numbers | 1;
        for word in bytes.chunks_mut(8).filter(|_| self.numbers % 2 == 1) {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            word.copy_from_slice(&noise.to_le_bytes()[..word.len()]);
        }
        bytes[..8].copy_from_slice(&self.numbers.to_le_bytes());
        self.numbers += 1;
        self.sizes.push(bytes.len());
        bytes.into()
    }

    /// Publishes a message and records its outcome.
    pub fn offer(&mut self, offer: Offer) -> Published {
        let number = self.numbers;
        let payload = self.next_payload(offer.size);
        let put = self.publisher(offer.control).put(payload);
        let put = put.timeout(self.patience);
        let result = match offer.call {
            Call::TryPublish => put.try_publish(),
            Call::Wait => put.outcome().wait(),
            Call::Await => async_io::block_on(async { put.outcome().await }),
        };
        match result {
            Ok(Outcome::Sent | Outcome::Queued) => self.accepted += 1,
            _ => self.refused.push(number),
        }
        result
    }

    /// Holds the peer until no more messages go into its queue.
    pub fn fill(&mut self) {
        self.proxy.hold();
        let offer = Offer {
            control: CongestionControl::Block,
            call: Call::Wait,
            size: self.size_max.min(64 << 10),
        };
        // The proxy frees some room once more when the read ends that was under way when it was
        // held.
        let mut refused = 0;
        while refused < 3 {
            refused = match self.offer(offer) {
                Ok(_) => 0,
                Err(_) => refused + 1,
            };
        }
    }

    /// Waits until as many messages have arrived as were accepted.
    pub fn until_all_arrived(&self) {
        until("all that was accepted arrives", || {
            self.arrived.lock().unwrap().len() as u64 >= self.accepted
        });
    }

    /// Checks that exactly the accepted messages arrived, in their order, and that the counters
    /// agree.
    pub fn settle_accounts(&mut self) {
        // A last message, behind which none can come.
        let last = Offer {
            control: CongestionControl::Block,
            call: Call::Wait,
            size: 8,
        };
        self.patience = LONG;
        self.offer(last).unwrap();
        self.until_all_arrived();
        assert_eq!(*self.arrived.lock().unwrap(), self.expected());
        self.settle_publisher();
        let sum = |count: fn(&zonda::pubsub::PublisherCounts) -> u64| -> u64 {
            let all = self.publishers.iter();
            all.map(|(_, publisher)| count(&publisher.counters())).sum()
        };
        let peer = self.b.zid();
        let data = || {
            let links = self.a.info().links();
            let link = links.iter().find(|link| link.zid == peer).unwrap();
            let counts = data(&link.priorities);
            assert_eq!(counts.accepted, counts.sent + counts.queued);
            counts
        };
        until("the socket has everything", || data().queued == 0);
        let counts = data();
        assert_eq!(counts.accepted - self.before, self.accepted);
        assert_eq!(counts.dropped, sum(|c| c.dropped));
        assert_eq!(counts.refused, sum(|c| c.would_block + c.timed_out));
    }

    /// Checks that each accepted message was sent or is counted as lost, and that the arrived ones
    /// are the first of them.
    pub fn settle_lost(&mut self) {
        until("both have noticed", || {
            self.a.info().links().is_empty() && self.b.info().links().is_empty()
        });
        self.settle_publisher();
        let ended = self.a.info().ended_links();
        let counts = data(&ended.priorities);
        assert_eq!(ended.links, 1);
        assert_eq!(counts.accepted, counts.sent + counts.queued);
        // After the end of the link no subscriber is left, so messages are accepted without a
        // destination.
        let accepted = counts.accepted - self.before;
        let to_nobody = self.accepted - accepted;
        assert!(to_nobody == 0 || self.offered() > accepted);
        let arrived = self.arrived.lock().unwrap();
        let sent = counts.sent - self.before;
        assert!(arrived.len() as u64 <= sent, "no more than was sent");
        let expected = self.expected();
        assert!(expected.starts_with(&arrived), "whole, in order, no gap");
    }

    /// Returns the messages that arrive if nothing is lost.
    fn expected(&self) -> Vec<(u64, usize)> {
        let accepted = (0..self.numbers).filter(|number| !self.refused.contains(number));
        accepted
            .map(|number| (number, self.sizes[number as usize]))
            .collect()
    }

    /// Checks that each message has one outcome.
    pub fn settle_publisher(&self) {
        let mut offered = 0;
        for (control, publisher) in &self.publishers {
            let counts = publisher.counters();
            offered += counts.offered;
            assert_eq!(counts.undecided(), 0, "{control:?}: {counts:?}");
        }
        assert_eq!(offered, self.numbers);
    }
}

fn data(counts: &[PriorityCounts]) -> PriorityCounts {
    let found = counts.iter().find(|c| c.priority == Priority::Data);
    *found.expect("every link has it")
}
