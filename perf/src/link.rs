// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kind of link between the programs that are measured.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use clap::{Args, ValueEnum};

use super::system::System;

/// The option of every sub-command that measures whole systems.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct LinkArgs {
    /// Link between the programs measured. Bare sockets, and Zenoh, are measured on the same
    #[arg(long, value_name = "LINK", default_value = "tcp")]
    pub link: Link,
}

impl LinkArgs {
    /// Sets this link for all systems.
    pub fn put(self, mut systems: Vec<System>) -> Vec<System> {
        for system in &mut systems {
            system.link = self.link;
        }
        systems
    }
}

/// A kind of link.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// TCP on the loopback address
    #[default]
    Tcp,
    /// A socket in the file system (unixsock-stream)
    #[cfg(unix)]
    Unix,
    /// TLS over TCP on the loopback address
    Tls,
    /// WebSocket over TCP on the loopback address
    Ws,
    /// Datagrams on the loopback address: some may be lost, which is counted
    Udp,
    /// QUIC on the loopback address
    Quic,
}

/// The largest payload of a datagram.
pub const DATAGRAM_MAX: usize = 65_507;

/// The settings of nodes whose links are encrypted, with certificates of this run.
static CREDENTIALS: OnceLock<Vec<String>> = OnceLock::new();

/// A guard of the folder with the sockets of this run. Dropping it removes the folder, with the
/// sockets that killed workers have left there.
pub struct Paths;

impl Paths {
    fn folder() -> PathBuf {
        std::env::temp_dir().join(format!("zonda-perf-{}", std::process::id()))
    }
}

impl Drop for Paths {
    fn drop(&mut self) {
        // the folder does not exist if no link needed it
        let _ = fs::remove_dir_all(Paths::folder());
    }
}

impl Link {
    /// Returns the name by which users choose the link.
    pub fn name(self) -> &'static str {
        match self {
            Link::Tcp => "tcp",
            #[cfg(unix)]
            Link::Unix => "unix",
            Link::Tls => "tls",
            Link::Ws => "ws",
            Link::Udp => "udp",
            Link::Quic => "quic",
        }
    }

    /// Returns the scheme of its endpoints.
    pub fn scheme(self) -> &'static str {
        match self {
            #[cfg(unix)]
            Link::Unix => "unixsock-stream",
            other => other.name(),
        }
    }

    /// Returns the link with this scheme.
    pub fn of_scheme(scheme: &str) -> Option<Link> {
        let mut all = Link::value_variants().iter().copied();
        all.find(|link| link.scheme() == scheme)
    }

    /// Returns an endpoint to listen on. A path is new for each call, and is removed with
    /// [`Paths`].
    pub fn endpoint(self, port: u16) -> String {
        let place = match self {
            #[cfg(unix)]
            Link::Unix => {
                use std::sync::atomic::{AtomicUsize, Ordering};
                /// Number of paths returned so far.
                static PATHS: AtomicUsize = AtomicUsize::new(0);
                let folder = Paths::folder();
                // the listener reports a folder that cannot be created
                let _ = fs::create_dir_all(&folder);
                let number = PATHS.fetch_add(1, Ordering::Relaxed);
                folder.join(number.to_string()).display().to_string()
            }
            _ => format!("127.0.0.1:{port}"),
        };
        format!("{}/{place}", self.scheme())
    }

    /// Returns the configuration of a node for this kind of link; bare sockets read it too.
    pub fn settings(self) -> Vec<String> {
        match self {
            Link::Tls | Link::Quic => CREDENTIALS.get_or_init(credentials).clone(),
            _ => Vec::new(),
        }
    }

    /// Returns the suffix of an endpoint to connect to, with the options of [`Link::settings`], for
    /// programs without a configuration.
    pub fn options(self) -> String {
        let settings = self.settings();
        let trusted = settings.iter().find_map(|s| {
            let value = s.strip_prefix("transport/link/tls/root_ca_certificate_base64:")?;
            Some(value.trim_matches('\''))
        });
        trusted.map_or_else(String::new, |base64| {
            format!("#root_ca_certificate_base64={base64}")
        })
    }

    /// Returns true if its sockets are datagram sockets.
    pub fn is_datagrams(self) -> bool {
        matches!(self, Link::Udp | Link::Quic)
    }

    /// Returns true if it may lose messages.
    pub fn is_lossy(self) -> bool {
        self == Link::Udp
    }

    /// Returns the maximum size of a write by bare sockets on a link where each write is one
    /// message of the protocol.
    pub fn batch(self) -> Option<usize> {
        match self {
            Link::Udp => Some(DATAGRAM_MAX),
            Link::Ws => Some(usize::MAX),
            _ => None,
        }
    }
}

/// Returns certificates as configuration values: not in a file, so that no file remains.
fn credentials() -> Vec<String> {
    let hosts = ["127.0.0.1".to_owned()];
    let Ok([authority, server, _]) = zonda_program::certificates::make(&hosts) else {
        // the nodes report the missing certificates
        return Vec::new();
    };
    let setting = |key: &str, pem: &str| {
        let base64 = STANDARD.encode(pem);
        format!("transport/link/tls/{key}_base64:'{base64}'")
    };
    vec![
        setting("root_ca_certificate", &authority.certificate),
        setting("listen_certificate", &server.certificate),
        setting("listen_private_key", &server.key),
    ]
}

/// Returns the PEM text of a key below `transport/link/tls/` in these settings.
#[cfg(feature = "tls")]
pub fn pem(settings: &[String], key: &str) -> Option<Vec<u8>> {
    let head = format!("transport/link/tls/{key}_base64:");
    let value = settings.iter().find_map(|s| s.strip_prefix(&head))?;
    STANDARD.decode(value.trim_matches('\'')).ok()
}
