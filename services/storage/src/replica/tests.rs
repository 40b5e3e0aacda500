// SPDX-License-Identifier: MIT OR Apache-2.0

//! Messages of replicas, and the differences that an index finds.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use zonda::session::ZenohId;
use zonda::time::{Ntp64, Timestamp};
use zonda_volume::{Entry, Table, Value};

use super::wire::{Action, Answer, Digest, Event, Question, Wire};
use super::*;

fn time(seconds: f64, id: u8) -> Timestamp {
    let time = Ntp64::from_unix(Duration::from_secs_f64(seconds));
    Timestamp::new(time, ZenohId::from_le_bytes(&[id]).expect("an id"))
}

fn now() -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("it is after 1970").as_secs_f64()
}

#[test]
fn messages_have_the_form_of_the_reference() {
    let digest = Digest {
        settings: 1,
        cold: 2,
        warm: BTreeMap::from([(5, 6)]),
        hot: BTreeMap::new(),
    };
    let numbers = [1_u64, 2, 1, 5, 6, 0];
    assert_eq!(digest.to_bytes(), numbers.map(u64::to_le_bytes).concat());
    assert_eq!(Question::All.to_bytes(), [1, 0, 0, 0]);
    let event = Event {
        name: Some("a/b".to_owned()),
        at: Timestamp::new(Ntp64(9), ZenohId::from_le_bytes(&[7, 8]).expect("an id")),
        own: None,
        action: Action::WildDelete("**".to_owned()),
    };
    let bytes = [
        &[4, 0, 0, 0, 1][..],
        &3_u64.to_le_bytes(),
        b"a/b",
        &9_u64.to_le_bytes(),
        &[7, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0, 3, 0, 0, 0],
        &2_u64.to_le_bytes(),
        b"**",
    ];
    let bytes = bytes.concat();
    assert_eq!(Answer::Value(event.clone()).to_bytes(), bytes);
    assert_eq!(Answer::from_bytes(&bytes), Ok(Answer::Value(event)));
}

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_refused(bytes in prop::collection::vec(0_u8..5, 0..120)) {
        if let Ok(question) = Question::from_bytes(&bytes) {
            prop_assert_eq!(Question::from_bytes(&question.to_bytes()), Ok(question));
        }
        if let Ok(answer) = Answer::from_bytes(&bytes) {
            prop_assert_eq!(Answer::from_bytes(&answer.to_bytes()), Ok(answer));
        }
        if let Ok(digest) = Digest::from_bytes(&bytes) {
            prop_assert_eq!(Digest::from_bytes(&digest.to_bytes()), Ok(digest));
        }
    }
}

#[test]
fn a_length_beyond_the_bytes_is_refused_before_it_is_reserved() {
    let mut bytes = vec![5, 0, 0, 0];
    bytes.extend(u64::MAX.to_le_bytes());
    assert!(Question::from_bytes(&bytes).is_err());
    bytes.truncate(4);
    bytes.extend((1_u64 << 40).to_le_bytes());
    assert!(Question::from_bytes(&bytes).is_err());
}

fn index() -> Index {
    Index::new(Eras::default(), 1, Duration::from_secs(3600))
}

/// Adds a value of this age, and returns its event.
fn put(index: &mut Index, name: &str, age: f64) -> Event {
    let entry = Entry::new(time(now() - age, 1), Some(Value::default()));
    index.add(Table::Live, name, &entry);
    event_of(Table::Live, name, &entry).expect("an event")
}

#[test]
fn a_difference_in_each_era_is_found() {
    // An age within each era: hot, warm, cold.
    for age in [5.0, 200.0, 1000.0] {
        let (mut ours, mut theirs) = (index(), index());
        let same = put(&mut ours, "same", 0.0);
        put_event(&mut theirs, "same", same);
        let event = put(&mut theirs, "new", age);
        let difference = ours.digest().difference(&theirs.digest());
        let difference = difference.unwrap_or_else(|| panic!("one of {age} s"));
        let mut parts = difference.hot;
        let mut intervals = difference.warm;
        if difference.cold {
            assert!(parts.is_empty() && intervals.is_empty());
            intervals = ours.other_intervals(&theirs.cold());
        }
        if !intervals.is_empty() {
            assert!(parts.is_empty());
            parts = ours.other_parts(&theirs.part_prints(intervals));
        }
        assert_eq!(parts.values().map(BTreeSet::len).sum::<usize>(), 1);
        assert!(theirs.is_in(&event, &parts), "{age}");
        put_event(&mut ours, "new", event);
        assert_eq!(ours.digest().difference(&theirs.digest()), None, "{age}");
    }
}

fn put_event(index: &mut Index, name: &str, event: Event) {
    index.add_event(Table::Live, name, event);
}

#[test]
fn what_was_removed_leaves_no_trace() {
    let mut index = index();
    let before = index.digest();
    for age in [5.0, 200.0, 1000.0] {
        let entry = Entry::new(time(now() - age, 1), Some(Value::default()));
        index.add(Table::Live, "a", &entry);
        assert_ne!(index.digest(), before);
        index.remove(Table::Live, "a", &entry);
        assert_eq!(index.digest(), before);
    }
    assert!(index.is_empty());
}

#[test]
fn deletions_beyond_their_lifespan_make_no_difference() {
    let (mut ours, theirs) = (index(), index());
    let old = Entry::new(time(now() - 3700.0, 1), None);
    ours.add(Table::Deleted, "old", &old);
    assert_eq!(theirs.digest().difference(&ours.digest()), None);
    let event = event_of(Table::Deleted, "old", &old).expect("an event");
    assert!(!theirs.counts(&event));
    let young = Entry::new(time(now() - 3000.0, 1), None);
    ours.add(Table::Deleted, "young", &young);
    assert!(theirs.digest().difference(&ours.digest()).is_some());
}
