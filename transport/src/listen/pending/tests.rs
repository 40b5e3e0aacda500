// SPDX-License-Identifier: MIT OR Apache-2.0
//! Choice of the evicted handshake when there are too many.

use super::*;

fn group(last: u8) -> AddressGroup {
    AddressGroup::of([127, 0, 0, last].into())
}

/// Returns true if a handshake had to end.
fn gave_way(entry: &Entry) -> bool {
    !entry
        .ticket
        .pending
        .lock()
        .entries
        .contains_key(&entry.ticket.number)
}

#[test]
fn the_oldest_gives_way_and_places_are_given_back() {
    let pending = Arc::new(Pending::new(2));
    let [first, second] = [(); 2].map(|()| pending.enter(group(1)).expect("open"));
    assert!(!first.evicted && !second.evicted);
    let third = pending.enter(group(1)).expect("open");
    assert!(third.evicted);
    assert!(zonda_runtime::block_on(first.ended).is_some());
    drop(first.ticket);
    assert_eq!(pending.len(), 2);
    drop(second.ticket);
    assert_eq!(pending.len(), 1);
    assert!(!pending.enter(group(1)).expect("open").evicted);
    assert!(pending.evict());
    assert!(zonda_runtime::block_on(third.ended).is_some());
}

#[test]
fn closing_ends_all_without_a_reason_and_takes_no_more() {
    let pending = Arc::new(Pending::new(2));
    let entry = pending.enter(group(1)).expect("open");
    pending.close();
    assert!(zonda_runtime::block_on(entry.ended).is_none());
    assert!(pending.enter(group(1)).is_none());
    assert!(!pending.evict());
}

/// The address that has most handshakes evicts its own, however many come.
#[test]
fn a_crowd_does_not_push_out_another_address() {
    let pending = Arc::new(Pending::new(100));
    let honest = pending.enter(group(2)).expect("open");
    let crowd: Vec<Entry> = (0..10_000)
        .map(|_| pending.enter(group(1)).expect("open"))
        .collect();
    assert!(!gave_way(&honest));
    assert_eq!(pending.len(), 100);
    assert!(crowd.iter().rev().take(99).all(|entry| !gave_way(entry)));
}

/// A handshake with a received message survives silent ones of the same address.
#[test]
fn the_silent_give_way_before_those_that_were_heard() {
    let pending = Arc::new(Pending::new(100));
    let honest = pending.enter(group(1)).expect("open");
    honest.ticket.note_heard();
    let _crowd: Vec<Entry> = (0..10_000)
        .map(|_| pending.enter(group(1)).expect("open"))
        .collect();
    assert!(!gave_way(&honest));
}

/// A crowd that has sent messages is evicted in turn, the oldest first.
#[test]
fn among_those_that_were_heard_the_oldest_gives_way() {
    let pending = Arc::new(Pending::new(3));
    let heard: Vec<Entry> = (0..3)
        .map(|_| pending.enter(group(1)).expect("open"))
        .inspect(|entry| entry.ticket.note_heard())
        .collect();
    let _fourth = pending.enter(group(1)).expect("open");
    let gone: Vec<bool> = heard.iter().map(gave_way).collect();
    assert_eq!(gone, [true, false, false]);
}

/// The oldest silent handshake of all is evicted where no address has a large part.
#[test]
fn a_crowd_from_everywhere_pushes_out_its_silent_ones() {
    let pending = Arc::new(Pending::new(100));
    let honest = pending.enter(group(255)).expect("open");
    honest.ticket.note_heard();
    let crowd: Vec<Entry> = (0..1000)
        .map(|count| pending.enter(group((count % 200) as u8)).expect("open"))
        .collect();
    assert!(!gave_way(&honest));
    assert!(crowd.iter().rev().take(99).all(|entry| !gave_way(entry)));
    drop(crowd);
    assert_eq!(pending.len(), 1);
    assert_eq!(pending.lock().sizes.len(), 1);
    assert_eq!(pending.lock().groups.len(), 1);
}
