// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links over QUIC, between the two implementations, in every position.

use crate::agreed::{exchange, pass_each_size};
use crate::party::Party;
use crate::positions::{clients_exchange, clients_pass, has_reference, peers_exchange, peers_pass};
use crate::router::Router;
use crate::tls::Trust;

/// Metadata of the locators of both ends; the case without any has streams where the release has
/// them.
const STREAMS: [&str; 2] = ["multistream=1", "multistream=0"];

/// Metadata of links without retransmission.
const DATAGRAMS: &str = "rel=0";

fn small(ours: &Party, theirs: &Party) {
    exchange(ours, theirs, 100_000);
}

fn one_at_a_time(ours: &Party, theirs: &Party) {
    for (from, to) in [(ours, theirs), (theirs, ours)] {
        pass_each_size(from, to, 30_000);
    }
}

#[test]
fn quic_links_to_our_router() {
    if has_reference() {
        for both in [false, true] {
            let trust = Trust::new("quic", both);
            clients_exchange(&Router::process_at(&trust.listen), &trust.connect);
        }
    }
}

#[test]
fn quic_links_to_their_router() {
    if has_reference() {
        for both in [false, true] {
            let trust = Trust::new("quic", both);
            clients_exchange(&Router::theirs_at(&trust.listen), &trust.connect);
        }
    }
}

#[test]
fn quic_links_between_peers() {
    if has_reference() {
        for ours_listens in [true, false] {
            // Both sides authenticate where theirs listens too.
            let trust = Trust::new("quic", !ours_listens);
            peers_exchange(ours_listens, &trust.listen, &trust.connect);
        }
    }
}

#[test]
fn quic_streams_and_datagrams_to_our_router() {
    if has_reference() {
        for said in STREAMS {
            let trust = Trust::new("quic", false).saying(said);
            clients_pass(&Router::process_at(&trust.listen), &trust.connect, small);
        }
        let trust = Trust::new("quic", false).saying(DATAGRAMS);
        let router = Router::process_at(&trust.listen);
        clients_pass(&router, &trust.connect, one_at_a_time);
    }
}

#[test]
fn quic_streams_and_datagrams_between_peers() {
    if has_reference() {
        for ours_listens in [true, false] {
            for said in STREAMS {
                let trust = Trust::new("quic", !ours_listens).saying(said);
                peers_pass(ours_listens, &trust.listen, &trust.connect, small);
            }
            let trust = Trust::new("quic", !ours_listens).saying(DATAGRAMS);
            peers_pass(ours_listens, &trust.listen, &trust.connect, one_at_a_time);
        }
    }
}

crate::environment::against_older! {
    quic_links_to_our_router
    quic_links_to_their_router
    quic_links_between_peers
}
