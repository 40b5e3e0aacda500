// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thousand silent connections do not delay an honest client, and do not stay for ever.

use std::time::{Duration, Instant};

use crate::hand::Hand;
use crate::scene::{Scene, client, router, until};

/// Time limit for an honest client while the crowd is connected; without it a client takes a few
/// milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// Number of connections; both ends of each are in this process.
const CROWD: usize = 1000;

#[test]
fn a_thousand_silent_connections() {
    let scene = Scene::of(router().with("transport/unicast/accept_timeout", "3000"));
    let mut crowd: Vec<Hand> = (0..CROWD).map(|_| scene.visitor()).collect();
    for _ in 0..5 {
        let begin = Instant::now();
        let session = client(scene.address);
        assert!(
            begin.elapsed() < PATIENCE,
            "an honest client took {:?}",
            begin.elapsed()
        );
        drop(session);
    }
    scene.is_well();
    for stranger in &mut crowd {
        assert!(stranger.is_hung_up_on());
    }
    scene.is_well();
}

#[test]
fn guests_that_come_and_go() {
    let scene = Scene::open();
    let before = scene.node.links().len();
    for round in 0..20 {
        let mut guests: Vec<Hand> = (0..10).map(|_| scene.guest()).collect();
        for (id, guest) in guests.iter_mut().enumerate() {
            guest.subscribe(id as u32, "honest/*");
        }
        if round % 2 == 0 {
            guests.into_iter().for_each(Hand::reset);
        }
    }
    until("only the honest are left", || {
        scene.node.links().len() <= before
    });
    scene.is_well();
}
