// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links over sockets in the file system between the two implementations, in every position.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use zonda::config::WhatAmI;

use crate::party::{Party, Setup};
use crate::positions::{clients_exchange, has_reference, peers_exchange};
use crate::router::Router;

/// A path that no other test uses; its file is removed with it.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static TAKEN: AtomicUsize = AtomicUsize::new(0);
        let number = TAKEN.fetch_add(1, Ordering::Relaxed);
        let name = format!("zonda-interop-{}-{number}", std::process::id());
        Place(std::env::temp_dir().join(name))
    }

    fn endpoint(&self) -> String {
        format!("unixsock-stream/{}", self.0.display())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // the reference leaves socket files behind when it is killed
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_file(self.0.with_extension("lock"));
    }
}

#[test]
fn paths_to_our_router() {
    if has_reference() {
        let place = Place::new();
        let router = Router::process_at(&place.endpoint());
        assert_eq!(router.endpoint, place.endpoint());
        clients_exchange(&router, &router.endpoint);
    }
}

#[test]
fn paths_to_their_router() {
    if has_reference() {
        let place = Place::new();
        let router = Router::theirs_at(&place.endpoint());
        clients_exchange(&router, &router.endpoint);
    }
}

#[test]
fn paths_between_peers() {
    if has_reference() {
        for ours_listens in [true, false] {
            let place = Place::new();
            peers_exchange(ours_listens, &place.endpoint(), &place.endpoint());
        }
    }
}

/// Both implementations use one lock for the path: of two listeners the first one gets it, and the
/// second one when the first has ended.
#[test]
fn a_path_has_one_listener() {
    if has_reference() {
        let place = Place::new();
        let setup = Setup::listening(WhatAmI::Peer, &place.endpoint());
        let theirs = setup.theirs();
        let refused = setup.try_ours().expect_err("theirs has it").to_string();
        assert!(refused.contains(&place.endpoint()), "{refused}");
        assert!(refused.contains("in use"), "{refused}");
        Party::Theirs(theirs).close();
        let ours = setup.ours();
        let listening = ours.info().locators();
        assert_eq!(listening[0].to_string(), place.endpoint());
    }
}

crate::environment::against_older! {
    paths_to_our_router
    paths_to_their_router
    paths_between_peers
}
