// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compressed links between the two implementations, in every position.

use std::sync::atomic::{AtomicUsize, Ordering};

use zonda::config::WhatAmI;

use crate::environment;
use crate::message::{Message, Pattern};
use crate::party::{Party, Setup};
use crate::router::{Router, free_endpoint};
use crate::wait::until;

const COMPRESSION: (&str, &str) = ("transport/unicast/compression/enabled", "true");

fn compressed(setup: Setup) -> Setup {
    Setup {
        options: vec![COMPRESSION],
        ..setup
    }
}

/// Payloads that get shorter, that do not, and that need fragments.
pub fn exchange(a: &Party, b: &Party, largest: usize) {
    static EXCHANGES: AtomicUsize = AtomicUsize::new(0);
    for (from, to) in [(a, b), (b, a)] {
        // keys of their own: nobody is matched by what is about to end
        let key = format!("options/{}", EXCHANGES.fetch_add(1, Ordering::Relaxed));
        let subscription = to.subscribe(&format!("{key}/*"));
        let publisher = from.matched_publisher(&format!("{key}/x"));
        let sizes = [0, 5, 100, 5000, 30_000, 70_000, 300_000, 3_000_000];
        for (seed, len) in sizes.into_iter().enumerate() {
            if len > largest {
                break;
            }
            let pattern = Pattern {
                len,
                seed: seed as u64,
            };
            publisher.publish(&Message::put(pattern));
            let seen = subscription.next();
            assert!(seen.carries(pattern), "{seen:?}");
        }
        let counting = to.count(&format!("numbered/{key}"));
        let publisher = from.matched_publisher(&format!("numbered/{key}"));
        publisher.publish_numbered(3000, 300).done();
        counting.reaches(3000);
    }
}

/// Whether each link of ours has exactly these options.
pub fn have(party: &Party, names: &[&str]) -> bool {
    let Party::Ours(session) = party else {
        return true;
    };
    let links = session.info().links();
    !links.is_empty() && links.iter().all(|link| link.options.names() == names)
}

#[test]
fn compressed_links_to_our_router() {
    if environment::python().is_some() {
        let router =
            Router::process_with(&["--cfg", &format!("{}:{}", COMPRESSION.0, COMPRESSION.1)]);
        let setup = compressed(Setup::client(&router.endpoint));
        let (theirs, ours) = (Party::Theirs(setup.theirs()), Party::Ours(setup.ours()));
        assert!(have(&ours, &["compression"]));
        exchange(&theirs, &ours, 3_000_000);
        let plain = Party::Theirs(Setup::client(&router.endpoint).theirs());
        exchange(&theirs, &plain, 300_000);
        assert_eq!(router.complaints(), [""; 0]);
    }
}

#[test]
fn compressed_links_to_their_router() {
    if environment::python().is_some() {
        let endpoint = free_endpoint();
        let router = Router::of_theirs(&compressed(Setup::listening(WhatAmI::Router, &endpoint)));
        let setup = compressed(Setup::client(&router.endpoint));
        let (theirs, ours) = (Party::Theirs(setup.theirs()), Party::Ours(setup.ours()));
        assert!(have(&ours, &["compression"]));
        exchange(&ours, &theirs, 3_000_000);
        let plain = Party::Ours(Setup::client(&router.endpoint).ours());
        assert!(have(&plain, &[]));
        exchange(&ours, &plain, 300_000);
        assert_eq!(router.complaints(), [""; 0]);
    }
}

#[test]
fn compressed_links_between_peers() {
    if environment::python().is_some() {
        for ours_listens in [true, false] {
            let endpoint = free_endpoint();
            let listening = compressed(Setup::listening(WhatAmI::Peer, &endpoint));
            let dialling = compressed(Setup::peer_at(&endpoint));
            let (ours, theirs) = match ours_listens {
                true => {
                    let ours = listening.ours();
                    (ours, dialling.theirs())
                }
                false => {
                    let theirs = listening.theirs();
                    (dialling.ours(), theirs)
                }
            };
            let (ours, theirs) = (Party::Ours(ours), Party::Theirs(theirs));
            until("the peers see each other", || {
                ours.linked().contains(&theirs.zid()) && theirs.linked().contains(&ours.zid())
            });
            assert!(have(&ours, &["compression"]));
            exchange(&ours, &theirs, 300_000);
        }
    }
}

crate::environment::against_older! {
    compressed_links_to_our_router
    compressed_links_to_their_router
    compressed_links_between_peers
}
