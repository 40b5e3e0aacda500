// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links with an option that both sides have to agree on, between the two implementations, in every position.

use std::sync::atomic::{AtomicUsize, Ordering};

use zonda::config::WhatAmI;

use crate::message::{Message, Pattern};
use crate::party::{Party, Setup};
use crate::router::{Router, free_endpoint};
use crate::wait::until;

/// An option of links, and the messages that links with it can carry.
pub struct Agreed {
    /// Name of the option in the info of our links.
    pub name: &'static str,
    /// Keys of the configuration, and their values.
    pub keys: &'static [(&'static str, &'static str)],
    /// Maximum payload.
    pub largest: usize,
    /// Maximum payload in shorter exchanges.
    pub less: usize,
    /// True if their router accepts links without the option too.
    pub is_optional: bool,
    /// The reference reports its links that have the option.
    pub is_told: bool,
}

impl Agreed {
    pub fn with(&self, setup: Setup) -> Setup {
        Setup {
            options: self.keys.to_vec(),
            ..setup
        }
    }

    /// Starts our router, with these flags in addition.
    pub fn our_router(&self, more: &[&str]) -> Router {
        let keys = self.keys.iter();
        let options: Vec<String> = keys.map(|(key, json)| format!("{key}:{json}")).collect();
        let mut flags: Vec<&str> = options.iter().flat_map(|o| ["--cfg", o]).collect();
        flags.extend(more);
        Router::process_with(&flags)
    }

    fn clients_of(&self, router: &Router) -> (Party, Party) {
        let setup = self.with(Setup::client(&router.endpoint));
        let (theirs, ours) = (Party::Theirs(setup.theirs()), Party::Ours(setup.ours()));
        assert!(have(&ours, &[self.name]));
        (theirs, ours)
    }

    pub fn to_our_router(&self) {
        let router = self.our_router(&[]);
        let (theirs, ours) = self.clients_of(&router);
        exchange(&theirs, &ours, self.largest);
        let plain = Party::Theirs(Setup::client(&router.endpoint).theirs());
        exchange(&theirs, &plain, self.less);
        assert_eq!(router.complaints(), [""; 0]);
    }

    pub fn to_their_router(&self) {
        let listening = Setup::listening(WhatAmI::Router, &free_endpoint());
        let router = Router::of_theirs(&self.with(listening));
        let (theirs, ours) = self.clients_of(&router);
        exchange(&ours, &theirs, self.largest);
        if self.is_optional {
            let plain = Party::Ours(Setup::client(&router.endpoint).ours());
            assert!(have(&plain, &[]));
            exchange(&ours, &plain, self.less);
        }
        assert_eq!(router.complaints(), [""; 0]);
    }

    pub fn between_peers(&self) {
        for ours_listens in [true, false] {
            let endpoint = free_endpoint();
            let listening = self.with(Setup::listening(WhatAmI::Peer, &endpoint));
            let dialling = self.with(Setup::peer_at(&endpoint));
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
                ours.linked().contains(&theirs.zid())
                    && (!self.is_told || theirs.linked().contains(&ours.zid()))
            });
            assert!(have(&ours, &[self.name]));
            exchange(&ours, &theirs, self.less);
        }
    }
}

/// Passes payloads that get shorter, that do not, and that need fragments.
pub fn exchange(a: &Party, b: &Party, largest: usize) {
    for (from, to) in [(a, b), (b, a)] {
        let key = pass_each_size(from, to, largest);
        let counting = to.count(&format!("numbered/{key}"));
        let publisher = from.matched_publisher(&format!("numbered/{key}"));
        publisher.publish_numbered(3000, 300).done();
        counting.reaches(3000);
    }
}

/// Sends one message of each size up to the largest, each when the one before has come. Returns
/// their common key, which no other exchange uses.
pub fn pass_each_size(from: &Party, to: &Party, largest: usize) -> String {
    static EXCHANGES: AtomicUsize = AtomicUsize::new(0);
    // keys of their own: no publisher is matched by a subscription that is about to end
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
    key
}

/// Returns true if each link of ours has exactly these options.
pub fn have(party: &Party, names: &[&str]) -> bool {
    let Party::Ours(session) = party else {
        return true;
    };
    let links = session.info().links();
    !links.is_empty() && links.iter().all(|link| link.options.names() == names)
}
