// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links that are encrypted, between the two implementations, in every position.

#[path = "../../session/tests/authority/mod.rs"]
mod authority;

use self::authority::Authority;
use crate::positions::{clients_exchange, has_reference, peers_exchange};
use crate::router::{Router, free_endpoint};

/// Certificates of both ends, as endpoints name them.
pub struct Trust {
    _authority: Authority,
    /// Endpoint to listen on.
    pub listen: String,
    /// Endpoint to connect to.
    pub connect: String,
}

impl Trust {
    /// Adds this metadata to the locators of both ends.
    pub fn saying(self, metadata: &str) -> Trust {
        let said = |endpoint: &str| endpoint.replacen('#', &format!("?{metadata}#"), 1);
        Trust {
            listen: said(&self.listen),
            connect: said(&self.connect),
            ..self
        }
    }

    /// Creates certificates with which the listening end alone authenticates, or both ends do.
    pub fn new(protocol: &str, both: bool) -> Trust {
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
        let at = free_endpoint().replace("tcp", protocol);
        Trust {
            _authority: authority,
            listen: format!("{at}#{listening}"),
            connect: format!("{at}#{connecting}"),
        }
    }
}

#[test]
fn encrypted_links_to_our_router() {
    if has_reference() {
        for both in [false, true] {
            let trust = Trust::new("tls", both);
            clients_exchange(&Router::process_at(&trust.listen), &trust.connect);
        }
    }
}

#[test]
fn encrypted_links_to_their_router() {
    if has_reference() {
        for both in [false, true] {
            let trust = Trust::new("tls", both);
            clients_exchange(&Router::theirs_at(&trust.listen), &trust.connect);
        }
    }
}

#[test]
fn encrypted_links_between_peers() {
    if has_reference() {
        for ours_listens in [true, false] {
            // Both sides authenticate where theirs listens too.
            let trust = Trust::new("tls", !ours_listens);
            peers_exchange(ours_listens, &trust.listen, &trust.connect);
        }
    }
}

crate::environment::against_older! {
    encrypted_links_to_our_router
    encrypted_links_to_their_router
    encrypted_links_between_peers
}
