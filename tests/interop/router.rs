// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routers between the parties: ours as a process, ours as a library, theirs.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

use zonda::config::WhatAmI;
use zonda::{Session, Wait};

use crate::party::{Setup, Theirs};
use crate::reference::Reference;

/// A free port of this machine at this moment, for those who cannot tell which one they were given.
pub fn free_endpoint() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    format!("tcp/{}", listener.local_addr().expect("its address"))
}

/// A router. Dropping it ends it.
pub struct Router {
    pub endpoint: String,
    pub zid: String,
    kind: Kind,
}

enum Kind {
    Process(Child),
    Library(Session),
    /// Kept for its process.
    Theirs(Theirs),
}

impl Router {
    /// `zonda router`, which is `zondad`, on any free port.
    pub fn process() -> Router {
        Router::process_at("tcp/127.0.0.1:0")
    }

    /// `zonda router` on this endpoint.
    pub fn process_at(endpoint: &str) -> Router {
        let mut child = Command::new(env!("CARGO_BIN_EXE_zonda"))
            .args(["router", "--no-multicast-scouting", "-l", endpoint])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command is built beside this test");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut after = |prefix: &str| {
            let mut lines = lines.by_ref().map(|line| line.expect("text"));
            let found = lines.find_map(|line| line.strip_prefix(prefix).map(str::to_owned));
            found.unwrap_or_else(|| panic!("the router ended before it printed {prefix:?}"))
        };
        let zid = after("zid ");
        let endpoint = after("listening on ");
        Router {
            endpoint,
            zid,
            kind: Kind::Process(child),
        }
    }

    /// The router of the library.
    pub fn library() -> Router {
        let session = Setup::listening(WhatAmI::Router, "tcp/127.0.0.1:0").ours();
        let endpoint = session.info().locators().remove(0).to_string();
        Router {
            endpoint,
            zid: session.zid().to_string(),
            kind: Kind::Library(session),
        }
    }

    /// The reference's router, in a process of its own.
    pub fn theirs() -> Router {
        Router::theirs_at(&free_endpoint())
    }

    /// The reference's router on this endpoint.
    pub fn theirs_at(endpoint: &str) -> Router {
        let theirs = Setup::listening(WhatAmI::Router, endpoint).theirs();
        Router {
            endpoint: endpoint.to_owned(),
            zid: theirs.zid().to_owned(),
            kind: Kind::Theirs(theirs),
        }
    }

    /// Ends it: a process at once, without any goodbye; the library's in an orderly way.
    pub fn end(self) {
        drop(self);
    }

    /// The process, if it is the reference's.
    pub fn reference(&self) -> Option<&Rc<Reference>> {
        match &self.kind {
            Kind::Theirs(theirs) => Some(&theirs.process),
            Kind::Process(_) | Kind::Library(_) => None,
        }
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        match &mut self.kind {
            Kind::Process(child) => {
                // an error means that it has ended already
                let _ = child.kill();
                let _ = child.wait();
            }
            Kind::Library(session) => {
                // a test that failed may leave links that do not take everything in time
                let _ = session.close().wait();
            }
            Kind::Theirs(_) => {}
        }
    }
}
