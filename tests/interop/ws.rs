// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links over WebSocket between the two implementations, in every position.

use crate::positions::{clients_exchange, has_reference, peers_exchange};
use crate::router::{Router, free_endpoint};

fn endpoint() -> String {
    free_endpoint().replace("tcp/", "ws/")
}

#[test]
fn websockets_to_our_router() {
    if has_reference() {
        let router = Router::process_at("ws/127.0.0.1:0");
        assert!(router.endpoint.starts_with("ws/"), "{}", router.endpoint);
        clients_exchange(&router, &router.endpoint);
    }
}

#[test]
fn websockets_to_their_router() {
    if has_reference() {
        let router = Router::theirs_at(&endpoint());
        clients_exchange(&router, &router.endpoint);
    }
}

#[test]
fn websockets_between_peers() {
    if has_reference() {
        for ours_listens in [true, false] {
            let endpoint = endpoint();
            peers_exchange(ours_listens, &endpoint, &endpoint);
        }
    }
}

crate::environment::against_older! {
    websockets_to_our_router
    websockets_to_their_router
    websockets_between_peers
}
