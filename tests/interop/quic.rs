// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links over QUIC, between the two implementations, in every position.

use crate::positions::{clients_exchange, has_reference, peers_exchange};
use crate::router::Router;
use crate::tls::Trust;

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
            // Both show a certificate where theirs listens too.
            let trust = Trust::new("quic", !ours_listens);
            peers_exchange(ours_listens, &trust.listen, &trust.connect);
        }
    }
}

crate::environment::against_older! {
    quic_links_to_our_router
    quic_links_to_their_router
    quic_links_between_peers
}
