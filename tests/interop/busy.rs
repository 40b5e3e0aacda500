// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links over QUIC while every processor is busy: the streams of a link are delayed differently
//! then, so that messages come before the declaration of the id that names their key. No message
//! may be lost, and none may come out of order.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use zonda::config::WhatAmI;

use crate::message::Service;
use crate::party::{Party, Setup};
use crate::positions::{has_reference, linked};
use crate::router::Router;
use crate::tls::Trust;

/// Number of messages in a round. They fit into few batches, which come at once.
const MESSAGES: u64 = 1000;

/// Runtimes of a long run.
const RUNTIMES: &[&str] = &[
    r#""tokio""#,
    r#""tokio-current""#,
    r#""smol""#,
    r#""async-std""#,
    r#""threads""#,
    #[cfg(target_os = "linux")]
    r#""uring""#,
];

/// Threads that keep each processor busy.
struct Burning(Arc<AtomicBool>);

impl Burning {
    fn begin() -> Burning {
        let is_over = Arc::new(AtomicBool::new(false));
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        Burning(is_over)
    }
}

impl Drop for Burning {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn is_long() -> bool {
    std::env::var_os("ZONDA_LONG").is_some()
}

/// Returns the runtimes of this run, and the rounds on each.
fn runs() -> (&'static [&'static str], usize) {
    match is_long() {
        true => (RUNTIMES, 100),
        false => (&RUNTIMES[..1], 5),
    }
}

/// Declares in each round a publisher on a new key that sends at once. The subscriber is known by
/// then.
fn pass(from: &Party, to: &Party, rounds: usize, name: &str) {
    for round in 0..rounds {
        let place = format!("busy/{name}/{round}");
        let count = to.count(&format!("{place}/*"));
        let ready = from.matched_publisher(&format!("{place}/ready"));
        let publisher = from.publisher(&format!("{place}/data"), Service::BLOCK);
        publisher.publish_numbered(MESSAGES, 8).done();
        count.reaches(MESSAGES);
        drop(ready);
    }
}

fn both_ways(ours: &Party, theirs: &Party, rounds: usize) {
    let _burning = Burning::begin();
    pass(theirs, ours, rounds, "to_ours");
    pass(ours, theirs, rounds, "to_theirs");
}

fn ours_on(setup: Setup, runtime: &'static str) -> Party {
    let options = vec![("runtime", runtime)];
    Party::Ours(Setup { options, ..setup }.ours())
}

#[test]
fn nothing_is_lost_by_our_router_while_every_processor_is_busy() {
    if !has_reference() {
        return;
    }
    let (runtimes, rounds) = runs();
    for runtime in runtimes {
        let trust = Trust::new("quic", false);
        let router =
            Router::process_with(&["-l", &trust.listen, "--cfg", &format!("runtime:{runtime}")]);
        let ours = ours_on(Setup::client(&trust.connect), runtime);
        let theirs = Party::Theirs(Setup::client(&trust.connect).theirs());
        both_ways(&ours, &theirs, rounds);
        assert_eq!(router.complaints(), [""; 0]);
    }
}

#[test]
fn nothing_is_lost_to_their_router_while_every_processor_is_busy() {
    if !has_reference() {
        return;
    }
    let (runtimes, rounds) = runs();
    for runtime in runtimes {
        let trust = Trust::new("quic", false);
        let _router = Router::theirs_at(&trust.listen);
        let ours = ours_on(Setup::client(&trust.connect), runtime);
        // The reference's router loses messages of its own client.
        let theirs = Party::Theirs(Setup::client(&trust.connect).theirs());
        let _burning = Burning::begin();
        pass(&ours, &theirs, rounds, "to_theirs");
    }
}

#[test]
fn nothing_is_lost_between_peers_while_every_processor_is_busy() {
    if !has_reference() {
        return;
    }
    let (runtimes, rounds) = runs();
    for runtime in runtimes {
        let trust = Trust::new("quic", false);
        let ours = ours_on(Setup::listening(WhatAmI::Peer, &trust.listen), runtime);
        let theirs = Party::Theirs(Setup::peer_at(&trust.connect).theirs());
        linked(&ours, &theirs);
        both_ways(&ours, &theirs, rounds);
    }
}

crate::environment::against_older! {
    nothing_is_lost_by_our_router_while_every_processor_is_busy
    nothing_is_lost_to_their_router_while_every_processor_is_busy
    nothing_is_lost_between_peers_while_every_processor_is_busy
}
