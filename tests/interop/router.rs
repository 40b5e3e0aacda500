// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routers between the parties: ours as a process, ours as a library, theirs.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::Receiver;
use std::{fs, thread};

use zonda::config::WhatAmI;
use zonda::{Session, Wait};

use crate::party::{Setup, Theirs, linked};
use crate::reference::each_line;

/// Returns an endpoint with a free port, for routers that do not report which port the system gave
/// them. It is below the ports that the system gives out by itself, so that no connection of
/// another test gets it before it is listened on, or while a router restarts.
pub fn free_endpoint() -> String {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let first = range.split_whitespace().next();
    let end: u16 = first.and_then(|first| first.parse().ok()).unwrap_or(32_768);
    let size = end.saturating_sub(10_000).max(1);
    // other test programs start elsewhere in the range
    let start = process::id().wrapping_mul(2_654_435_761) >> 16;
    let mut candidates = (0..size).map(|_| {
        let step = u32::from(TAKEN.fetch_add(1, Ordering::Relaxed));
        end - 1 - u16::try_from((start + step) % u32::from(size)).expect("less than a u16")
    });
    let free = candidates.find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    format!("tcp/127.0.0.1:{}", free.expect("a free port"))
}

/// A router. Dropping it ends it.
pub struct Router {
    pub endpoint: String,
    pub zid: String,
    kind: Kind,
}

enum Kind {
    Process {
        child: Child,
        /// Lines of its standard error.
        errors: Receiver<String>,
    },
    Library(Session),
    /// Kept for its process.
    Theirs(Theirs),
}

impl Router {
    /// Starts `zonda router`, which is `zondad`, on any free port.
    pub fn process() -> Router {
        Router::process_at("tcp/127.0.0.1:0")
    }

    /// Starts `zonda router` on this endpoint.
    pub fn process_at(endpoint: &str) -> Router {
        Router::process_with(&["-l", endpoint])
    }

    /// Starts `zonda router` with these flags; on any free port if they have none.
    pub fn process_with(flags: &[&str]) -> Router {
        let port = ["-l", "tcp/127.0.0.1:0"];
        let port = &port[..if flags.contains(&"-l") { 0 } else { 2 }];
        // the command, on a free port unless the flags name one
        let mut child = Command::new(env!("CARGO_BIN_EXE_zonda"))
            .args(["router", "--no-multicast-scouting"])
            .args([flags, port].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command is built beside this test");
        // its first lines have the id and the endpoint
        let errors = each_line(child.stderr.take().expect("it is piped"), |line| line);
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut after = |prefix: &str| {
            let mut lines = lines.by_ref().map(|line| line.expect("text"));
            let found = lines.find_map(|line| line.strip_prefix(prefix).map(str::to_owned));
            found.unwrap_or_else(|| {
                panic!("no {prefix:?}: {:?}", errors.iter().collect::<Vec<_>>());
            })
        };
        let zid = after("zid ");
        let endpoint = after("listening on ");
        Router {
            endpoint,
            zid,
            kind: Kind::Process { child, errors },
        }
    }

    /// Opens the router of the library, on any free port.
    pub fn library() -> Router {
        Router::library_at("tcp/127.0.0.1:0")
    }

    /// Opens the router of the library on this endpoint.
    pub fn library_at(endpoint: &str) -> Router {
        let session = Setup::listening(WhatAmI::Router, endpoint).ours();
        let endpoint = session.info().locators().remove(0).to_string();
        Router {
            endpoint,
            zid: session.zid().to_string(),
            kind: Kind::Library(session),
        }
    }

    /// Starts the reference's router, in a process of its own.
    pub fn theirs() -> Router {
        Router::theirs_at(&free_endpoint())
    }

    /// Starts the reference's router on this endpoint.
    pub fn theirs_at(endpoint: &str) -> Router {
        Router::of_theirs(&Setup::listening(WhatAmI::Router, endpoint))
    }

    /// Starts the reference's router with this setup.
    pub fn of_theirs(setup: &Setup) -> Router {
        let theirs = setup.theirs();
        Router {
            endpoint: setup.listen[0].clone(),
            zid: theirs.zid().to_owned(),
            kind: Kind::Theirs(theirs),
        }
    }

    /// Returns true if it is this project's.
    pub fn is_ours(&self) -> bool {
        !matches!(self.kind, Kind::Theirs(_))
    }

    /// Ends it: kills a process without a Close; closes the library's in an orderly way.
    pub fn end(self) {
        drop(self);
    }

    /// Returns the ids of its neighbours, if it can be queried.
    pub fn linked(&self) -> Option<BTreeSet<String>> {
        match &self.kind {
            Kind::Process { .. } => None,
            Kind::Library(session) => Some(linked(session)),
            Kind::Theirs(theirs) => Some(theirs.linked()),
        }
    }

    /// Returns its lines about other nodes so far.
    pub fn complaints(&self) -> Vec<String> {
        match &self.kind {
            Kind::Process { errors, .. } => {
                let lines = errors.try_iter();
                let open_mesh = "may join as a router";
                let news = |line: &String| line.contains(" INFO ") || line.contains(open_mesh);
                lines.filter(|line| !news(line)).collect()
            }
            Kind::Library(_) => Vec::new(),
            Kind::Theirs(theirs) => theirs.process.complaints(),
        }
    }

    /// Returns its session, if it is in this process.
    pub fn session(&self) -> Option<&Session> {
        match &self.kind {
            Kind::Library(session) => Some(session),
            Kind::Process { .. } | Kind::Theirs(_) => None,
        }
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        match &mut self.kind {
            Kind::Process { child, errors } => {
                // an error means that it has ended already
                let _ = child.kill();
                let _ = child.wait();
                let errors: Vec<String> = errors.iter().collect();
                let panicked = errors.iter().any(|line| line.contains("panicked"));
                if thread::panicking() {
                    eprintln!("the router said: {errors:?}");
                } else {
                    assert!(!panicked, "{errors:?}");
                }
            }
            Kind::Library(session) => {
                // a failed test may leave links that do not accept everything in time
                let _ = session.close().wait();
            }
            Kind::Theirs(_) => {}
        }
    }
}
