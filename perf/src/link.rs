// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kind of link between the nodes that are measured.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

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
}

/// The paths that were given out.
static PATHS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

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
        }
    }
}
