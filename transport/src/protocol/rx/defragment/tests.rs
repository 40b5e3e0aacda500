// SPDX-License-Identifier: MIT OR Apache-2.0
//! Unfinished messages under the budget of a node: refusals, and the counted bytes.

use std::sync::Arc;

use super::*;
use crate::ledger::{Ledger, Share};

const MIB: usize = 1 << 20;

fn within(budget: usize, follows: bool) -> (Arc<Ledger>, Arc<Share>, Defragmenter) {
    let ledger = Ledger::new(budget, follows);
    let share = Share::of(&ledger);
    let limits = ReassemblyLimits::for_messages(64 * MIB);
    let defragmenter = Defragmenter::new(1, limits).within(Arc::clone(&share), 100 * MIB);
    (ledger, share, defragmenter)
}

/// Pushes fragments of `bytes` together; the last one ends the message if it `ends`.
fn push(to: &mut Defragmenter, channel: usize, bytes: usize, ends: bool) -> Option<ZSlice> {
    const PIECE: usize = 64 * 1024;
    let piece = vec![channel as u8; PIECE];
    let count = bytes / PIECE;
    let mut complete = None;
    for number in 0..count {
        let piece = Piece {
            follows: true,
            more: !ends || number + 1 < count,
            first: to.channels[channel].message.filled() == 0,
            drop: false,
            payload: &piece,
        };
        if let Reassembly::Complete(message) = to.push(channel, piece) {
            complete = Some(message);
        }
    }
    complete
}

#[test]
fn what_the_budget_has_no_room_for_is_refused_and_all_of_it_is_given_back() {
    let (ledger, share, mut defragmenter) = within(20 * MIB, true);
    for channel in 0..4 {
        push(&mut defragmenter, channel, 8 * MIB, false);
    }
    assert!(ledger.held() <= ledger.budget() && ledger.refused() >= 2);
    assert!(defragmenter.messages_discarded() >= 2 && defragmenter.was_refused());
    assert!((8 * MIB..=20 * MIB).contains(&share.unfinished()));
    drop(defragmenter);
    assert_eq!(ledger.held(), 0);
}

#[test]
fn a_message_counts_until_nobody_holds_it_where_it_is_handed_on() {
    for follows in [true, false] {
        let (ledger, share, mut defragmenter) = within(100 * MIB, follows);
        let message = push(&mut defragmenter, 3, 8 * MIB, true).expect("it is complete");
        assert_eq!(message.len(), 8 * MIB);
        assert_eq!(share.unfinished(), 0);
        drop(defragmenter);
        assert_eq!(ledger.held() >= message.len(), follows);
        drop(message);
        assert_eq!(ledger.held(), 0);
    }
}

#[test]
fn a_small_message_does_not_keep_the_memory_of_a_large_one() {
    let (ledger, _, mut defragmenter) = within(100 * MIB, true);
    drop(push(&mut defragmenter, 0, 32 * MIB, true));
    let small = push(&mut defragmenter, 0, MIB, true).expect("it is complete");
    assert!(small.as_slice().iter().all(|byte| *byte == 0));
    drop(defragmenter);
    assert!(ledger.held() <= 4 * small.len(), "{} bytes", ledger.held());
}
