// SPDX-License-Identifier: MIT OR Apache-2.0
//! Budget for the answers of a listener of datagrams to addresses that are not verified.
//!
//! An InitAck with its cookie is longer than the InitSyn that it answers, even than that of a stock
//! client, and the address of a datagram may be forged: the owner of that address gets the answer.
//! The bytes of answers are therefore bounded for each network and for the listener. A peer that
//! gets no answer repeats its InitSyn, as it does when one is lost.

use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Bytes a second to one network, about 450 answers.
const NETWORK_RATE: u64 = 32 * 1024;

/// Bytes to one network that leave at once after a pause: enough for a site whose nodes all start
/// at the same time.
const NETWORK_BURST: u64 = 128 * 1024;

/// Bytes a second to all networks.
const TOTAL_RATE: u64 = 1024 * 1024;

/// Bytes to all networks that leave at once after a pause.
const TOTAL_BURST: u64 = 4 * 1024 * 1024;

/// Number of networks that have a budget of their own; further ones share.
const NETWORKS: usize = 1024;

/// Bytes that were sent recently.
#[derive(Debug, Clone, Copy, Default)]
struct SentBytes {
    bytes: u64,
    since: Option<Instant>,
}

impl SentBytes {
    /// Counts `bytes` and returns true if at most `burst` were sent beyond `rate` a second.
    fn admits(&mut self, bytes: u64, rate: u64, burst: u64, now: Instant) -> bool {
        self.settle(rate, now);
        let admits = self.bytes + bytes <= burst;
        if admits {
            self.bytes += bytes;
        }
        admits
    }

    fn settle(&mut self, rate: u64, now: Instant) {
        let since = self.since.get_or_insert(now);
        let nanos = now.saturating_duration_since(*since).as_nanos();
        let paid = nanos.saturating_mul(rate.into()) / Duration::from_secs(1).as_nanos();
        // The fraction of a byte is deducted later.
        if paid > 0 {
            *since = now;
            let paid = u64::try_from(paid).unwrap_or(u64::MAX);
            self.bytes = self.bytes.saturating_sub(paid);
        }
    }
}

/// Budgets of a listener's answers to addresses that are not verified.
#[derive(Debug)]
pub(super) struct Answers {
    total: SentBytes,
    networks: Vec<SentBytes>,
    /// Secret that keeps peers from choosing which networks share.
    secret: u64,
}

impl Answers {
    pub(super) fn new(secret: u64) -> Answers {
        Answers {
            total: SentBytes::default(),
            networks: Vec::new(),
            secret,
        }
    }

    /// Counts `bytes` and returns true if they may be sent to an address now.
    pub(super) fn admit(&mut self, to: IpAddr, bytes: usize, now: Instant) -> bool {
        let bytes = bytes as u64;
        if self.networks.is_empty() {
            self.networks = vec![SentBytes::default(); NETWORKS];
        }
        let place = self.place(to);
        let Some(network) = self.networks.get_mut(place) else {
            return false;
        };
        network.settle(NETWORK_RATE, now);
        network.bytes + bytes <= NETWORK_BURST
            && self.total.admits(bytes, TOTAL_RATE, TOTAL_BURST, now)
            && network.admits(bytes, NETWORK_RATE, NETWORK_BURST, now)
    }

    fn place(&self, of: IpAddr) -> usize {
        // An odd factor spreads every bit upwards; the secret decides which networks share.
        let mixed = (network(of) ^ self.secret).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let folded = (mixed ^ mixed >> 29).wrapping_mul(self.secret | 1);
        (folded >> 54) as usize % NETWORKS
    }
}

/// Returns the network of an address: 24 bits of IPv4, 64 of IPv6.
fn network(of: IpAddr) -> u64 {
    match of.to_canonical() {
        IpAddr::V4(ip) => u64::from(ip.to_bits() >> 8),
        IpAddr::V6(ip) => (ip.to_bits() >> 64) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_network_gets_its_burst_and_then_its_rate() {
        let mut answers = Answers::new(7);
        let begin = Instant::now();
        let victim = address("192.0.2.1");
        let mut said = 0;
        for number in 0..200_000_u64 {
            let now = begin + Duration::from_micros(10) * number as u32;
            said += 51 * u64::from(answers.admit(victim, 51, now));
        }
        let most = NETWORK_BURST + 2 * NETWORK_RATE;
        assert!(said <= most && said > most * 9 / 10, "{said} of {most}");
        let neighbour = address("192.0.2.200");
        let now = begin + Duration::from_secs(2);
        assert!(!answers.admit(neighbour, 51, now), "the same network");
        assert!(
            answers.admit(address("198.51.100.1"), 51, now),
            "another one"
        );
    }

    #[test]
    fn all_networks_together_get_no_more_than_the_total() {
        let mut answers = Answers::new(7);
        let now = Instant::now();
        let mut said = 0;
        for number in 0..1_000_000_u32 {
            let to = IpAddr::from((0x0a00_0000 + number).to_be_bytes());
            said += 51 * u64::from(answers.admit(to, 51, now));
        }
        assert!(said <= TOTAL_BURST && said > TOTAL_BURST * 9 / 10, "{said}");
    }

    #[test]
    fn networks_are_spread() {
        let answers = Answers::new(0x1234_5678_9abc_def1);
        let places: std::collections::HashSet<usize> = (0..NETWORKS as u32)
            .map(|number| answers.place(IpAddr::from((number << 8).to_be_bytes())))
            .collect();
        assert!(places.len() > NETWORKS / 2, "{}", places.len());
    }
}
