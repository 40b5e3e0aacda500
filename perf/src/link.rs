// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kind of link between the nodes that are measured.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use clap::ValueEnum;

/// A kind of link. Bare sockets and the reference are measured over TCP whatever it is.
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
}

/// The paths that were given out.
static PATHS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The settings of nodes whose links are encrypted, with certificates of this run.
static CREDENTIALS: OnceLock<Vec<String>> = OnceLock::new();

/// Removes what workers leave behind that are ended by force, when it is dropped.
pub struct Paths;

impl Drop for Paths {
    fn drop(&mut self) {
        let mut paths = PATHS.lock().unwrap_or_else(PoisonError::into_inner);
        for path in paths.drain(..) {
            // a listener that ends by itself has removed them
            let _ = fs::remove_file(path.with_extension("lock"));
            let _ = fs::remove_file(path);
        }
    }
}

impl Link {
    /// Its name, as it is chosen by.
    pub fn name(self) -> &'static str {
        match self {
            Link::Tcp => "tcp",
            #[cfg(unix)]
            Link::Unix => "unix",
            Link::Tls => "tls",
        }
    }

    /// An endpoint to listen on. A path is another one each time, and is removed with [`Paths`].
    pub fn endpoint(self, port: u16) -> String {
        match self {
            Link::Tcp => format!("tcp/127.0.0.1:{port}"),
            #[cfg(unix)]
            Link::Unix => {
                let mut paths = PATHS.lock().unwrap_or_else(PoisonError::into_inner);
                let name = format!("zonda-perf-{}-{}", std::process::id(), paths.len());
                let path = std::env::temp_dir().join(name);
                let endpoint = format!("unixsock-stream/{}", path.display());
                paths.push(path);
                endpoint
            }
            Link::Tls => format!("tls/127.0.0.1:{port}"),
        }
    }

    /// What the configuration of a node has to say for this kind of link.
    pub fn settings(self) -> Vec<String> {
        match self {
            Link::Tls => CREDENTIALS.get_or_init(credentials).clone(),
            _ => Vec::new(),
        }
    }
}

/// Certificates as a configuration has them: in no file, so that nothing stays behind.
fn credentials() -> Vec<String> {
    let hosts = ["127.0.0.1".to_owned()];
    let Ok([authority, server, _]) = zonda_program::certificates::make(&hosts) else {
        // The nodes will say what they lack.
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
