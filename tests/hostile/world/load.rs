// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work of honest clients, and their reports.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Key of advanced publishers.
pub const ADVANCED: &str = "advanced/flow";

/// Bytes of a large message, which occupies a slow neighbour for a second.
pub const LARGE: usize = 1 << 20;

/// A stream of numbered messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Flow {
    /// Bytes of each payload, 8 at least.
    pub size: usize,
    /// True for congestion control Block; else Drop.
    pub block: bool,
    /// 1 (real time) to 7 (background); 5 is usual.
    pub priority: u8,
    /// Messages per second; 0 for as many as the source can send.
    pub rate: u32,
}

impl Flow {
    pub fn block(size: usize, rate: u32) -> Flow {
        Flow {
            size,
            block: true,
            priority: 5,
            rate,
        }
    }

    pub fn drop(size: usize, rate: u32) -> Flow {
        Flow {
            block: false,
            ..Flow::block(size, rate)
        }
    }

    pub fn priority(self, priority: u8) -> Flow {
        Flow { priority, ..self }
    }
}

/// Work of one honest process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Load {
    /// Name in its keys, `honest/NAME/...`; the flow with index 2 publishes on `honest/NAME/2`.
    pub name: String,
    /// Flows, all from one session.
    pub flows: Vec<Flow>,
    /// Number of sessions that each subscribe to all flows.
    pub subscribers: usize,
    /// One more session subscribes to `**`, and so receives attackers' messages as well.
    pub everything: bool,
    /// A session queries another one, 50 times a second.
    pub questions: bool,
    /// A session declares and undeclares liveliness tokens that another one watches.
    pub tokens: bool,
    /// True if the source publishes on [`ADVANCED`] as well, with numbers and a cache, for one
    /// subscriber that recovers.
    pub advanced: bool,
    /// `key:value` of the source's configuration.
    pub configuration: Vec<(String, String)>,
    /// Address of another router, for the last of the subscribers.
    pub far: Option<SocketAddr>,
}

impl Load {
    /// Returns a load of flows alone.
    pub fn of(name: &str, flows: Vec<Flow>) -> Load {
        Load {
            name: name.to_owned(),
            flows,
            subscribers: 2,
            everything: false,
            questions: false,
            tokens: false,
            advanced: false,
            configuration: Vec::new(),
            far: None,
        }
    }

    /// Returns a load of every kind of traffic, at a pace that two processors keep up with in an
    /// unoptimised build: 8 B to 1 MiB, Block and Drop, several priorities, queries, liveliness.
    pub fn usual() -> Load {
        let flows = vec![
            Flow::block(8, 1000),
            Flow::drop(8, 200).priority(1),
            Flow::block(1000, 200).priority(2),
            Flow::drop(65_536, 20),
            Flow::block(1 << 20, 4).priority(6),
        ];
        Load {
            everything: true,
            questions: true,
            tokens: true,
            ..Load::of("usual", flows)
        }
    }

    pub fn subscribers(self, subscribers: usize) -> Load {
        Load {
            subscribers,
            ..self
        }
    }

    /// Adds an advanced publisher and its subscriber.
    pub fn advanced(self) -> Load {
        Load {
            advanced: true,
            ..self
        }
    }

    /// Moves the last subscriber to another router.
    pub fn far(self, router: SocketAddr) -> Load {
        let far = Some(router);
        Load { far, ..self }
    }

    pub fn configured(mut self, key: &str, value: &str) -> Load {
        self.configuration.push((key.to_owned(), value.to_owned()));
        self
    }
}

/// Observations of one flow by one subscriber.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FlowReport {
    pub received: u64,
    /// Longest time without a message, beyond the flow's period.
    pub silence_ms: u64,
    /// Numbers that never came; only Block guarantees them.
    pub lost: u64,
    pub doubled: u64,
    pub reordered: u64,
}

/// Observations of an honest process within a time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    pub seconds: f64,
    /// Messages that each flow's source put.
    pub published: Vec<u64>,
    /// Puts that were refused.
    pub refused: u64,
    /// Longest time of one put.
    pub put_ms: u64,
    /// Reports by subscriber and flow; the last flow is that of the advanced publisher, if there is
    /// one.
    pub seen: Vec<Vec<FlowReport>>,
    /// Messages that no honest source has sent.
    pub forged: u64,
    /// Links of honest clients that were lost.
    pub links_lost: u64,
    /// Number of queries; the next fields count those without their one right reply, and the
    /// longest wait for one.
    pub questions: u64,
    pub unanswered: u64,
    pub question_ms: u64,
    /// Changes of tokens that were seen, and the longest wait for one.
    pub tokens: u64,
    pub token_ms: u64,
    /// Maximum time by which a thread overslept.
    pub oversleep_ms: u64,
    /// Worst silence without the machine's delays, apart from flows of large messages.
    pub excess_ms: u64,
    /// Silences of all flows, and the waits for a reply and a token, in the time with that silence.
    pub excess_of: String,
    /// Worst silence of flows of large messages without the machine's delays.
    pub large_excess_ms: u64,
    /// Delay that the machine caused in the latest of the times.
    pub machine_ms: u64,
    /// Time within the longest silence of flows of large messages for which a thread on their way
    /// waited for a processor.
    pub queued_ms: u64,
    /// True for each flow under Block.
    pub blocks: Vec<bool>,
    /// True for each flow of messages of [`LARGE`] bytes or more.
    pub large: Vec<bool>,
    /// Rate of each flow; 0 for as many messages as the source can send.
    pub rates: Vec<u32>,
}

impl Report {
    /// Adds a later report.
    pub fn add(&mut self, later: &Report) {
        self.seconds += later.seconds;
        self.blocks.clone_from(&later.blocks);
        self.large.clone_from(&later.large);
        self.rates.clone_from(&later.rates);
        self.published.resize(later.published.len(), 0);
        for (sum, more) in self.published.iter_mut().zip(&later.published) {
            *sum += more;
        }
        self.seen.resize(later.seen.len(), Vec::new());
        for (sums, reports) in self.seen.iter_mut().zip(&later.seen) {
            sums.resize(reports.len(), FlowReport::default());
            for (sum, more) in sums.iter_mut().zip(reports) {
                sum.received += more.received;
                sum.silence_ms = sum.silence_ms.max(more.silence_ms);
            }
        }
        self.questions += later.questions;
        self.question_ms = self.question_ms.max(later.question_ms);
        self.tokens += later.tokens;
        self.token_ms = self.token_ms.max(later.token_ms);
        // a silence may have begun in the time before
        let machine = later.machine_ms.max(self.machine_ms);
        let rest = later.silence_ms(false).max(later.question_ms);
        let rest = rest.max(later.token_ms).saturating_sub(machine);
        if rest > self.excess_ms {
            self.excess_ms = rest;
            self.excess_of = later.silences();
        }
        let large = later.large_silence_ms();
        let large = large.saturating_sub(machine.max(later.queued_ms));
        self.large_excess_ms = self.large_excess_ms.max(large);
        self.machine_ms = later.machine_ms;
        self.oversleep_ms = self.oversleep_ms.max(later.oversleep_ms);
        self.put_ms = self.put_ms.max(later.put_ms);
        self.add_ends(later);
    }

    /// Adds the failures of a later report, and none of its times.
    pub fn add_ends(&mut self, later: &Report) {
        self.refused += later.refused;
        self.forged += later.forged;
        self.links_lost += later.links_lost;
        self.unanswered += later.unanswered;
        for (sums, reports) in self.seen.iter_mut().zip(&later.seen) {
            for (sum, more) in sums.iter_mut().zip(reports) {
                sum.lost += more.lost;
                sum.doubled += more.doubled;
                sum.reordered += more.reordered;
            }
        }
    }

    /// Returns the longest silence, at any subscriber, of a flow of large messages or of any other.
    fn silence_ms(&self, is_large: bool) -> u64 {
        let flows = self.seen.iter().flat_map(|flows| flows.iter().enumerate());
        let is_one = |flow: &usize| self.large.get(*flow).copied().unwrap_or(false) == is_large;
        let silences = flows.filter(|(flow, _)| is_one(flow));
        silences.map(|(_, flow)| flow.silence_ms).max().unwrap_or(0)
    }

    /// Returns the longest silence of each flow at any subscriber, and the longest waits, in words.
    fn silences(&self) -> String {
        let flows = self.seen.iter().map(Vec::len).max().unwrap_or(0);
        let worst = |flow: usize| {
            let at = self.seen.iter().filter_map(|flows| flows.get(flow));
            at.map(|report| report.silence_ms).max().unwrap_or(0)
        };
        let flows: Vec<u64> = (0..flows).map(worst).collect();
        let (question, token, machine) = (self.question_ms, self.token_ms, self.machine_ms);
        format!(
            "flows {flows:?} ms, reply {question} ms, token {token} ms, put {} ms, machine {machine} ms",
            self.put_ms
        )
    }

    /// Returns the longest silence, at any subscriber, of a flow of large messages.
    pub fn large_silence_ms(&self) -> u64 {
        self.silence_ms(true)
    }

    /// Returns the longest silence of any flow at any subscriber, and the longest wait for a reply
    /// or a token.
    pub fn worst_silence_ms(&self) -> u64 {
        let flows = self.seen.iter().flatten().map(|flow| flow.silence_ms);
        let worst = flows.max().unwrap_or(0);
        worst.max(self.question_ms).max(self.token_ms)
    }
}
