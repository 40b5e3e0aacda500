// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compressed links between the two implementations, in every position.

use crate::agreed::Agreed;
use crate::environment;

const COMPRESSED: Agreed = Agreed {
    name: "compression",
    keys: &[("transport/unicast/compression/enabled", "true")],
    largest: 3_000_000,
    less: 300_000,
    is_optional: true,
    is_told: true,
};

#[test]
fn compressed_links_to_our_router() {
    if environment::python().is_some() {
        COMPRESSED.to_our_router();
    }
}

#[test]
fn compressed_links_to_their_router() {
    if environment::python().is_some() {
        COMPRESSED.to_their_router();
    }
}

#[test]
fn compressed_links_between_peers() {
    if environment::python().is_some() {
        COMPRESSED.between_peers();
    }
}

crate::environment::against_older! {
    compressed_links_to_our_router
    compressed_links_to_their_router
    compressed_links_between_peers
}
