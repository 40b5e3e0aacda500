// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links that are encrypted, between the two implementations, in every position.

#[path = "../../session/tests/authority/mod.rs"]
mod authority;

use zonda::config::WhatAmI;

use self::authority::Authority;
use crate::agreed::exchange;
use crate::environment;
use crate::party::{Party, Setup};
use crate::router::{Router, free_endpoint};
use crate::wait::until;

/// Larger than any payload here.
const LARGEST: usize = 10_000_000;

/// Certificates of both ends, as endpoints name them.
struct Trust {
    _authority: Authority,
    /// The endpoint to listen on.
    listen: String,
    /// The one to connect to.
    connect: String,
}

impl Trust {
    /// The listening end alone shows a certificate, or both do.
    fn new(both: bool) -> Trust {
        let authority = Authority::new();
        let shown = authority.sign("server", &["localhost", "127.0.0.1"]);
        let ca = authority.ca();
        let mut listening = format!(
            "listen_certificate_file={};listen_private_key_file={}",
            shown.certificate, shown.key
        );
        let mut connecting = format!("root_ca_certificate_file={ca}");
        if both {
            let own = authority.sign("client", &["client"]);
            listening += &format!(";enable_mtls=true;root_ca_certificate_file={ca}");
            connecting += &format!(
                ";enable_mtls=true;connect_certificate_file={};connect_private_key_file={}",
                own.certificate, own.key
            );
        }
        let at = free_endpoint().replace("tcp/", "tls/");
        Trust {
            _authority: authority,
            listen: format!("{at}#{listening}"),
            connect: format!("{at}#{connecting}"),
        }
    }
}

#[test]
fn encrypted_links_to_our_router() {
    if environment::python().is_some() {
        for both in [false, true] {
            let trust = Trust::new(both);
            let router = Router::process_at(&trust.listen);
            let setup = Setup::client(&trust.connect);
            let (ours, theirs) = (Party::Ours(setup.ours()), Party::Theirs(setup.theirs()));
            exchange(&ours, &theirs, LARGEST);
            assert_eq!(router.complaints(), [""; 0]);
        }
    }
}

#[test]
fn encrypted_links_to_their_router() {
    if environment::python().is_some() {
        for both in [false, true] {
            let trust = Trust::new(both);
            let router = Router::theirs_at(&trust.listen);
            let setup = Setup::client(&trust.connect);
            let (ours, theirs) = (Party::Ours(setup.ours()), Party::Theirs(setup.theirs()));
            exchange(&ours, &theirs, LARGEST);
            assert_eq!(router.complaints(), [""; 0]);
        }
    }
}

#[test]
fn encrypted_links_between_peers() {
    if environment::python().is_some() {
        for ours_listens in [true, false] {
            let trust = Trust::new(false);
            let listening = Setup::listening(WhatAmI::Peer, &trust.listen);
            let dialling = Setup::peer_at(&trust.connect);
            let (ours, theirs) = if ours_listens {
                let ours = listening.ours();
                (ours, dialling.theirs())
            } else {
                let theirs = listening.theirs();
                (dialling.ours(), theirs)
            };
            let (ours, theirs) = (Party::Ours(ours), Party::Theirs(theirs));
            until("both see the link", || {
                ours.linked().contains(&theirs.zid()) && theirs.linked().contains(&ours.zid())
            });
            exchange(&ours, &theirs, LARGEST);
        }
    }
}
