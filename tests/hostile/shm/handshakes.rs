// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handshakes about shared memory that lie: the router goes on without it, or refuses the liar.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zonda_codec::{Reader, Writer};

use super::liar::forge_proof;
use super::{Liar, Stage};
use crate::scene::until;

/// Returns the proof with other counters.
fn with_counter(proof: &[u8], counter: u64) -> Vec<u8> {
    let challenge = Reader::new(proof).z64().expect("a challenge");
    let mut bytes = [0; 64];
    let mut writer = Writer::new(&mut bytes);
    writer.vle(challenge).expect("room");
    writer.u8(1).expect("room");
    (0..8).for_each(|_| writer.vle(counter).expect("room"));
    writer.written().to_vec()
}

#[test]
fn proofs_that_prove_nothing_end_the_link_of_the_liar() {
    let mut stage = Stage::open();
    let forgeries: [&dyn Fn(&[u8]) -> Vec<u8>; 5] = [
        &|proof| with_counter(proof, 60_000),
        &|proof| with_counter(proof, 2810),
        &|proof| {
            let mut wrong = proof.to_vec();
            wrong[0] ^= 1;
            wrong
        },
        &|_| Vec::new(),
        &|_| vec![0xff; 40],
    ];
    let before = stage.malformed();
    for forge in forgeries {
        let mut liar = Liar::visitor(stage.address);
        assert!(!liar.is_let_in(|batch| forge_proof(batch, forge)));
        assert!(liar.hand.is_hung_up_on());
    }
    until("each is counted", || stage.malformed() == before + 5);
    until("their counters are counted", || stage.refused("index") == 2);
    stage.is_well();
    stage.until_metric("zonda_shm_links", |links| links == 2);
}

#[test]
fn segments_that_are_no_authentication_segments_are_left_out() {
    let mut stage = Stage::open();
    // sizes before the handshake
    for len in [0, 24, 4096, 12_287, 12_289, 1 << 40] {
        let mut liar = Liar::visitor(stage.address);
        liar.auth.truncate(len);
        assert!(liar.is_let_in(|_| ()), "{len}: it is let in");
        assert!(!liar.shares(), "{len}: without shared memory");
        assert!(liar.hand.is_served());
    }
    until("each is counted", || stage.refused("size") == 6);
    // a lock of its own, which no other process gets
    let mut liar = Liar::visitor(stage.address);
    liar.auth.file.unlock().expect("a file");
    liar.auth.file.try_lock().expect("no other process has it");
    assert!(liar.is_let_in(|_| ()) && !liar.shares());
    until("it is counted", || stage.refused("absent") == 1);
    // an absurd number of kinds is not read
    let mut liar = Liar::visitor(stage.address);
    liar.auth.write(0, &(1_u64 << 40).to_ne_bytes());
    assert!(liar.is_let_in(|_| ()) && liar.shares());
    stage.is_well();
}

/// A segment that is truncated to and fro while the router looks at it.
#[test]
fn a_segment_whose_size_changes_during_the_handshake() {
    let mut stage = Stage::open();
    let (mut shared, mut refused) = (0, 0);
    for _ in 0..30 {
        let mut liar = Liar::visitor(stage.address);
        let own = liar.auth.file.try_clone().expect("a descriptor");
        let is_over = Arc::new(AtomicBool::new(false));
        let changing = {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    own.set_len(12_288).expect("a file");
                    std::thread::yield_now();
                    own.set_len(24).expect("a file");
                }
                own.set_len(12_288).expect("a file");
            })
        };
        match liar.is_let_in(|_| ()) {
            true => shared += usize::from(liar.shares()),
            false => refused += 1,
        }
        is_over.store(true, Ordering::Relaxed);
        changing.join().expect("it writes");
    }
    eprintln!("{shared} shared memory, {refused} were refused");
    stage.is_well();
    stage.until_metric("zonda_shm_links", |links| links == 2);
}

/// Segments of another user, which a router of root could open.
#[test]
fn a_router_of_root_opens_no_segment_of_another_user() {
    let mut stage = Stage::open();
    let mut liar = Liar::visitor(stage.address);
    let path = super::files::path(liar.auth.id);
    if std::os::unix::fs::chown(&path, Some(65_534), Some(65_534)).is_err() {
        eprintln!("left out: only root can give a file away");
        return;
    }
    let own = liar.auth.file.try_clone().expect("a descriptor");
    let is_over = Arc::new(AtomicBool::new(false));
    let changing = {
        let is_over = Arc::clone(&is_over);
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                own.set_len(0).expect("a file");
                own.set_len(12_288).expect("a file");
            }
        })
    };
    assert!(liar.is_let_in(|_| ()) && !liar.shares());
    for _ in 0..30 {
        let mut again = Liar::visitor(stage.address);
        let own = super::files::path(again.auth.id);
        std::os::unix::fs::chown(&own, Some(65_534), Some(65_534)).expect("as before");
        assert!(again.is_let_in(|_| ()) && !again.shares());
    }
    is_over.store(true, Ordering::Relaxed);
    changing.join().expect("it writes");
    until("each is counted", || stage.refused("owner") >= 31);
    stage.is_well();
}
