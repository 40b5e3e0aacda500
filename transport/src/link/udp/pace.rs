// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pace at which the fragments of large messages leave in datagrams.
//!
//! A datagram that finds the receiver's socket full is lost, and with any of its fragments the
//! whole message. A receiver with the system's default buffer (212 992 bytes on Linux) holds three
//! or four datagrams of 64 KB, and a sender writes sixteen of them in less time than it takes the
//! receiver to wake up. The fragments of a message therefore leave at a limited rate from the third
//! on; a message of one or two datagrams is not held back.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zonda_codec::Endpoint;
use zonda_runtime::Runtime;

use crate::clock;
use crate::link::{EndpointProblem, option};

/// Default rate: bytes of fragments a second.
const BYTES_PER_SECOND: u64 = 128_000_000;

/// Number of fragments of a message that leave at once: a message of 64 KiB is two datagrams.
const FREE: u32 = 2;

/// Bytes by which a link may be ahead of its rate, in addition to one datagram.
const AHEAD_BYTES: u64 = 65_536;

/// Mask of the message id in the low bits of a message's first byte.
const ID_BITS: u8 = 0x1f;
const FRAGMENT: u8 = 0x06;
/// Flag of a fragment that more fragments of the message follow.
const MORE: u8 = 0x40;

/// Flags in front of a batch of a link that compresses: uncompressed, and compressed.
const AS_IT_IS: u8 = 0;
const COMPRESSED: u8 = 1;

/// Bytes of fragments that a link sends in a second; 0 for as many as the socket takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate(u64);

impl Default for Rate {
    fn default() -> Rate {
        Rate(BYTES_PER_SECOND)
    }
}

impl Rate {
    /// Reads the option `pace` of an endpoint.
    ///
    /// # Errors
    /// [`EndpointProblem::Option`] for a value that is no number of bytes.
    pub(crate) fn of(endpoint: &Endpoint) -> Result<Rate, EndpointProblem> {
        let expected = "a number of bytes a second from 1000 on, or 0 for no pace";
        let parse = |value: &str| {
            let rate = value.parse().ok();
            rate.filter(|rate| *rate == 0 || *rate >= 1000)
        };
        let rate = option(endpoint, "pace", expected, parse)?;
        Ok(rate.map_or_else(Rate::default, Rate))
    }
}

/// Limiter of a link's fragments. Only the writer calls it, one thread at a time.
#[derive(Debug)]
pub(crate) struct Pace {
    rate: Rate,
    epoch: Instant,
    /// Time at which all sent bytes would have left at the rate, in nanoseconds since `epoch`.
    level_ns: AtomicU64,
    /// Number of sent fragments of the current message.
    fragments: AtomicU32,
    /// Set if the pace, not the socket, refused the last fragment.
    holds: AtomicBool,
}

impl Pace {
    pub(crate) fn new(rate: Rate) -> Pace {
        Pace {
            rate,
            epoch: clock::now(),
            level_ns: AtomicU64::new(0),
            fragments: AtomicU32::new(0),
            holds: AtomicBool::new(false),
        }
    }

    /// Returns true if a batch that begins with these bytes may leave now.
    pub(crate) fn permits(&self, batch: &[u8]) -> bool {
        let is_free = self.rate.0 == 0
            || kind(batch) == Kind::Whole
            || self.fragments.load(Ordering::Relaxed) < FREE;
        let permits = is_free || self.left().is_zero();
        self.holds.store(!permits, Ordering::Relaxed);
        permits
    }

    /// Counts a batch that has left.
    pub(crate) fn note_sent(&self, batch: &[u8], bytes: usize) {
        let kind = kind(batch);
        if self.rate.0 == 0 || kind == Kind::Whole {
            return;
        }
        let (before, now) = (self.level_ns.load(Ordering::Relaxed), self.now_ns());
        let level = before.max(now).saturating_add(self.cost_ns(bytes as u64));
        // The fragments that leave at once delay a large message by at most the time of two of
        // them.
        let most = before.max(now.saturating_add(self.cost_ns(2 * AHEAD_BYTES)));
        self.level_ns.store(level.min(most), Ordering::Relaxed);
        let left = match kind {
            Kind::Last => 0,
            _ => self.fragments.load(Ordering::Relaxed).saturating_add(1),
        };
        self.fragments.store(left, Ordering::Relaxed);
    }

    /// Returns the time that the next fragment has to wait.
    pub(crate) fn left(&self) -> Duration {
        let from = self.level_ns.load(Ordering::Relaxed);
        let from = from.saturating_sub(self.cost_ns(AHEAD_BYTES));
        Duration::from_nanos(from.saturating_sub(self.now_ns()))
    }

    /// Returns true if the pace refused the last batch that did not leave: the socket would have
    /// taken it.
    pub(crate) fn holds(&self) -> bool {
        self.holds.load(Ordering::Relaxed)
    }

    fn cost_ns(&self, bytes: u64) -> u64 {
        const NS: u64 = 1_000_000_000;
        bytes.saturating_mul(NS) / self.rate.0.max(1)
    }

    fn now_ns(&self) -> u64 {
        let since = clock::now().saturating_duration_since(self.epoch);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Part of a message that a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// No fragment, or a batch whose compression hides it: compressed fragments are not limited.
    Whole,
    Fragment,
    Last,
}

fn kind(batch: &[u8]) -> Kind {
    let first = match batch {
        [COMPRESSED, ..] | [] => return Kind::Whole,
        [AS_IT_IS, first, ..] | [first, ..] => *first,
    };
    match (first & ID_BITS == FRAGMENT, first & MORE) {
        (false, _) => Kind::Whole,
        (true, 0) => Kind::Last,
        (true, _) => Kind::Fragment,
    }
}

/// Timer for waits that are shorter than the resolution of a runtime's ordinary timer.
pub(crate) struct PaceTimer(Box<dyn Fn(Duration) -> Waiting + Send + Sync>);

type Waiting = Pin<Box<dyn Future<Output = ()> + Send>>;

impl std::fmt::Debug for PaceTimer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rest")
    }
}

impl PaceTimer {
    /// Creates a timer from a runtime, with a new timer for each wait: few links ever wait.
    pub(crate) fn of<R: Runtime>(runtime: &R) -> PaceTimer {
        let runtime = runtime.clone();
        PaceTimer(Box::new(move |delay| {
            let runtime = runtime.clone();
            Box::pin(async move { runtime.precise_sleep(delay).await })
        }))
    }

    pub(crate) async fn wait(&self, delay: Duration) {
        if !delay.is_zero() {
            (self.0)(delay).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MORE_BATCH: [u8; 2] = [0x66, 0];
    const LAST_BATCH: [u8; 2] = [0x26, 0];
    const FRAME_BATCH: [u8; 2] = [0x25, 0];

    #[test]
    fn fragments_wait_and_what_is_whole_does_not() {
        let pace = Pace::new(Rate(1_000_000));
        for _ in 0..FREE {
            assert!(pace.permits(&MORE_BATCH));
            pace.note_sent(&MORE_BATCH, 65_000);
        }
        assert!(!pace.permits(&LAST_BATCH) && pace.holds());
        let left = pace.left();
        let (least, most) = (Duration::from_millis(30), Duration::from_millis(65));
        assert!(left > least && left < most, "{left:?}");
        assert!(pace.permits(&FRAME_BATCH) && !pace.holds());
        pace.note_sent(&FRAME_BATCH, 65_000);
        assert!(pace.left() <= left, "what is whole is not counted");
        pace.note_sent(&LAST_BATCH, 10);
        assert!(pace.permits(&MORE_BATCH), "the next message begins at once");
    }

    #[test]
    fn messages_of_two_datagrams_hold_nothing_up() {
        let pace = Pace::new(Rate(1_000_000));
        for _ in 0..1000 {
            for batch in [&MORE_BATCH, &LAST_BATCH] {
                assert!(pace.permits(batch));
                pace.note_sent(batch, 65_000);
            }
        }
        assert!(
            pace.left() <= Duration::from_millis(70),
            "{:?}",
            pace.left()
        );
    }

    #[test]
    fn no_pace_is_no_pace() {
        let pace = Pace::new(Rate(0));
        for _ in 0..100 {
            assert!(pace.permits(&MORE_BATCH));
            pace.note_sent(&MORE_BATCH, 65_000);
        }
    }

    #[test]
    fn fragments_are_told_behind_the_flags_of_a_compressed_link() {
        assert_eq!(kind(&[0, 0x66]), Kind::Fragment);
        assert_eq!(kind(&[0, 0x26]), Kind::Last);
        assert_eq!(kind(&[0, 0x25]), Kind::Whole);
        assert_eq!(kind(&[1, 0x66]), Kind::Whole);
    }

    #[test]
    fn an_endpoint_says_the_rate() {
        let rate = |text: &str| Rate::of(&text.parse().expect("an endpoint"));
        assert_eq!(rate("udp/127.0.0.1:1"), Ok(Rate::default()));
        assert_eq!(rate("udp/127.0.0.1:1#pace=0"), Ok(Rate(0)));
        assert_eq!(rate("udp/127.0.0.1:1#pace=5000000"), Ok(Rate(5_000_000)));
        for text in ["udp/127.0.0.1:1#pace=1", "udp/127.0.0.1:1#pace=fast"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
