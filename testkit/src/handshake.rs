// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handshakes of two nodes with an attacker between them that edits their batches.

use std::sync::Arc;

use zonda_codec::{WhatAmI, ZenohId};
use zonda_transport::protocol::handshake::{AcceptStep, Acceptor, CookieKey, OpenStep, Opener};
use zonda_transport::protocol::parameters::{Established, LocalParameters};

use crate::spelling::Speller;

/// Maximum number of batches from either side.
const ROUNDS: usize = 4;

/// An edit of a batch on its way.
enum Edit {
    Nothing,
    Replaced(Vec<u8>),
    Cut,
    Flipped(u8, u8),
    Doubled,
}

impl Edit {
    /// Returns the next edit that `data` encodes, or `Nothing` when it runs out.
    fn next(data: &mut &[u8]) -> Edit {
        let Some((&kind, rest)) = data.split_first() else {
            return Edit::Nothing;
        };
        *data = rest;
        // One byte chooses the edit; some edits consume more bytes.
        match kind % 8 {
            1 | 2 => {
                let (own, rest) = data.split_at(data.len().min(usize::from(kind)));
                *data = rest;
                let mut speller = Speller::lying(own);
                speller.transport();
                Edit::Replaced(speller.take())
            }
            3 => {
                let (own, rest) = data.split_at(data.len().min(usize::from(kind)));
                *data = rest;
                Edit::Replaced(own.to_vec())
            }
            4 => Edit::Cut,
            5 | 6 => match data.split_first_chunk() {
                Some((&[at, bits], rest)) => {
                    *data = rest;
                    Edit::Flipped(at, bits)
                }
                None => Edit::Nothing,
            },
            7 => Edit::Doubled,
            _ => Edit::Nothing,
        }
    }

    fn apply(self, batch: &mut Vec<u8>) -> bool {
        let before = batch.clone();
        match self {
            Edit::Nothing => {}
            Edit::Replaced(other) => *batch = other,
            Edit::Cut => batch.truncate(batch.len() / 2),
            Edit::Flipped(at, bits) => {
                let at = usize::from(at) % batch.len().max(1);
                if let Some(byte) = batch.get_mut(at) {
                    *byte ^= bits;
                }
            }
            Edit::Doubled => batch.extend(before.clone()),
        }
        *batch != before
    }
}

fn parameters(number: u128, choice: u8) -> LocalParameters {
    let role = [WhatAmI::Router, WhatAmI::Peer, WhatAmI::Client][usize::from(choice) % 3];
    let mut parameters = LocalParameters::new(ZenohId::random_from(number), role);
    parameters.qos = choice & 0x10 == 0;
    parameters.batch_size = [u16::MAX, 8192][usize::from(choice >> 5 & 1)];
    parameters
}

/// Performs a handshake with edits: nothing panics, and the agreed parameters lie within those that
/// both sides offered. Without edits it succeeds and both sides agree on the same parameters.
pub fn handshake(data: &[u8]) {
    let Some((&[ours, theirs], mut edits)) = data.split_first_chunk() else {
        return;
    };
    // Both sides, with parameters from the input.
    let (near, far) = (parameters(1, ours), parameters(2, theirs));
    let mut opener = Opener::new(near.clone(), None);
    let mut acceptor = Acceptor::new(far.clone(), Arc::new(CookieKey::new([7; 32])));
    acceptor.set_nonce(3);
    let (mut out, mut back) = (Vec::new(), Vec::new());
    opener.start(&mut out);
    let (mut opened, mut accepted, mut edited) = (None, None, false);
    // Batches go back and forth, each possibly edited.
    for _ in 0..ROUNDS {
        edited |= Edit::next(&mut edits).apply(&mut out);
        match acceptor.handle_batch(&out, &mut back) {
            Ok(AcceptStep::Continue) => {}
            Ok(AcceptStep::Admit(agreed)) => {
                accepted = Some(agreed);
                acceptor.admit(&mut back);
            }
            Err(_) => break,
        }
        edited |= Edit::next(&mut edits).apply(&mut back);
        match opener.handle_batch(&back, &mut out) {
            Ok(OpenStep::Continue) => {}
            Ok(OpenStep::Done(agreed)) => {
                opened = Some(agreed);
                break;
            }
            Err(_) => break,
        }
    }
    // Agreed parameters lie within those that each side offered.
    for (agreed, own) in [(&opened, &near), (&accepted, &far)] {
        if let Some(agreed) = agreed {
            assert_within(agreed, own);
        }
    }
    // Without edits both sides must have agreed on the same.
    if !edited {
        let (opened, accepted) = (opened.expect("it opens"), accepted.expect("it is let in"));
        assert_eq!(opened.batch_size, accepted.batch_size);
        assert_eq!(opened.sn_mask, accepted.sn_mask);
        assert_eq!(opened.qos, accepted.qos);
        assert_eq!(opened.initial_sn_tx, accepted.initial_sn_rx);
        assert_eq!(opened.initial_sn_rx, accepted.initial_sn_tx);
    }
}

fn assert_within(agreed: &Established, own: &LocalParameters) {
    assert!(agreed.batch_size <= own.batch_size);
    assert!(agreed.batch_size >= own.batch_size_min);
    assert!(agreed.qos <= own.qos && agreed.patch <= own.patch);
    assert!(agreed.remote_lease <= own.remote_lease_max);
    assert!(agreed.initial_sn_rx <= agreed.sn_mask && agreed.initial_sn_tx <= agreed.sn_mask);
}
