// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runtimes of this project against the reference: a router and a session on each, between two
//! sessions of the reference's.

use zonda::config::WhatAmI;

use crate::party::{Party, Setup};
use crate::router::{Router, free_endpoint};
use crate::scene::Scene;
use crate::wait::until;

/// Opens a client of ours on this runtime (a value in JSON5).
fn ours(connect: &str, runtime: &'static str) -> Party {
    let options = vec![("runtime", runtime)];
    let setup = Setup::client(connect);
    Party::Ours(Setup { options, ..setup }.ours())
}

fn theirs(connect: &str) -> Party {
    Party::Theirs(Setup::client(connect).theirs())
}

/// Connects their client, our router, our client.
pub fn routed_to_ours(runtime: &'static str) -> Scene {
    let router = Router::process_with(&["--cfg", &format!("runtime:{runtime}")]);
    let (from, to) = (theirs(&router.endpoint), ours(&router.endpoint, runtime));
    connected(Scene {
        from,
        to,
        router: Some(router),
        role: WhatAmI::Client,
    })
}

/// Connects our client, our router, their client.
pub fn routed_to_theirs(runtime: &'static str) -> Scene {
    let mut scene = routed_to_ours(runtime);
    let Scene { from, to, .. } = &mut scene;
    std::mem::swap(from, to);
    scene
}

/// Connects our peer that listens, and their client that dials it.
pub fn dialled_by_theirs(runtime: &'static str) -> Scene {
    let endpoint = free_endpoint();
    let listening = Setup::listening(WhatAmI::Peer, &endpoint);
    let options = vec![("runtime", runtime)];
    let from = Party::Ours(
        Setup {
            options,
            ..listening
        }
        .ours(),
    );
    connected(Scene {
        from,
        to: theirs(&endpoint),
        router: None,
        role: WhatAmI::Client,
    })
}

fn connected(scene: Scene) -> Scene {
    until("both are connected", || {
        !scene.from.linked().is_empty() && !scene.to.linked().is_empty()
    });
    scene
}
