// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rules against a naive model, in every order of arrival, with restarts in between.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use proptest::prelude::*;
use zonda::session::ZenohId;
use zonda_volume::{Durability, Memory, Options, Volume};

use super::*;

mod merging;

impl Span<'_> {
    /// All entries.
    const ALL: Span<'static> = Span {
        from: "",
        most: usize::MAX,
    };
}

/// A store in memory that a second ledger can open again.
#[derive(Clone)]
struct Kept(Arc<Mutex<Box<dyn Store>>>);

impl Kept {
    fn new() -> Kept {
        let store = Memory.open(&Options::default()).expect("memory opens");
        Kept(Arc::new(Mutex::new(store)))
    }

    fn ledger(&self, prefix: Option<&str>) -> Ledger {
        let names = Names::new(prefix.map(str::to_owned));
        Ledger::open(Box::new(self.clone()), names, None).expect("memory is read")
    }
}

impl Store for Kept {
    fn durability(&self) -> Option<Durability> {
        None
    }
    fn get(&mut self, table: Table, name: &str) -> Result<Option<Entry>, StoreError> {
        self.0.lock().get(table, name)
    }
    fn scan(
        &mut self,
        table: Table,
        from: &str,
        visit: &mut dyn FnMut(&str, Entry) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.0.lock().scan(table, from, visit)
    }
    fn put(&mut self, table: Table, name: &str, entry: Entry) -> Result<(), StoreError> {
        self.0.lock().put(table, name, entry)
    }
    fn remove(&mut self, table: Table, name: &str) -> Result<(), StoreError> {
        self.0.lock().remove(table, name)
    }
    fn commit(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
    fn uncommitted_bytes(&self) -> usize {
        0
    }
    fn len(&mut self, table: Table) -> Result<u64, StoreError> {
        self.0.lock().len(table)
    }
    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

fn time(time: u64) -> Timestamp {
    Timestamp::new(
        Ntp64(time << 32),
        ZenohId::from_le_bytes(&[7]).expect("an id"),
    )
}

fn value(text: &str) -> Value {
    Value {
        payload: text.to_owned().into(),
        encoding: "".into(),
    }
}

fn update(at: u64, key: &str, text: Option<&str>) -> Update {
    Update {
        key: KeyExpr::new(key.to_owned()).expect("a key"),
        at: time(at),
        value: text.map(value),
    }
}

/// Applies the updates in the order of their times.
fn model(updates: &[Update]) -> BTreeMap<String, Value> {
    let mut sorted: Vec<&Update> = updates.iter().collect();
    sorted.sort_by_key(|update| update.at);
    let mut keys = BTreeMap::new();
    for Update { key, value, .. } in sorted {
        match (key.is_wild(), value) {
            (false, Some(value)) => drop(keys.insert(key.to_string(), value.clone())),
            (false, None) => drop(keys.remove(key.as_str())),
            (true, None) => keys.retain(|known: &String, _| !covers(key, known)),
            (true, Some(value)) => {
                let covered = keys.iter_mut().filter(|(known, _)| covers(key, known));
                covered.for_each(|(_, old)| *old = value.clone());
            }
        }
    }
    keys
}

fn covers(pattern: &KeyExpr<'_>, key: &str) -> bool {
    pattern.intersects(keyexpr::new(key).expect("a key"))
}

fn contents(ledger: &mut Ledger, pattern: &str) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    let pattern = keyexpr::new(pattern).expect("a pattern");
    ledger
        .matching(Table::Live, pattern, Span::ALL, &mut |found| {
            all.insert(found.key.to_string(), found.entry.value.expect("a value"));
            ControlFlow::Continue(())
        })
        .expect("memory is read");
    all
}

const KEYS: [&str; 10] = [
    "s", "s/a", "s/b", "s/a/c", "s/**", "s/*", "s/a/**", "s/**/c", "s/b/*", "**",
];

fn updates() -> impl Strategy<Value = Vec<Update>> {
    let one = (0..KEYS.len(), any::<bool>());
    prop::collection::vec(one, 1..12).prop_map(|chosen| {
        let numbered = chosen.into_iter().enumerate();
        let each = numbered.map(|(at, (key, is_put))| {
            let text = format!("value {at}");
            update(1 + at as u64, KEYS[key], is_put.then_some(&*text))
        });
        each.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_order_of_arrival_gives_the_result_of_the_order_of_times(
        (updates, order) in updates().prop_flat_map(|updates| {
            let twice = [updates.clone(), updates.clone()].concat();
            (Just(updates), Just(twice).prop_shuffle())
        }),
        is_stripped: bool,
        restart in 0_usize..24,
        // Keys of one step of an update with wildcards, and the steps after each update.
        keys in 0_usize..4,
        steps in prop::collection::vec(0_usize..3, 24),
    ) {
        let kept = Kept::new();
        let prefix = is_stripped.then_some("s");
        let open = || {
            let mut ledger = kept.ledger(prefix);
            ledger.bound.keys = if keys == 0 { Bound::default().keys } else { keys };
            ledger
        };
        let mut ledger = open();
        for ((number, update), steps) in order.into_iter().enumerate().zip(steps) {
            ledger.apply(update).expect("memory does not fail");
            for _ in 0..steps {
                ledger.spread().expect("memory does not fail");
            }
            if number == restart {
                ledger = open();
            }
        }
        let expected = model(&updates);
        prop_assert_eq!(contents(&mut ledger, "**"), expected.clone());
        for key in KEYS.iter().filter(|key| !key.contains('*')) {
            let found = ledger.get(&KeyExpr::new(*key).expect("a key")).expect("memory is read");
            prop_assert_eq!(found.and_then(|entry| entry.value), expected.get(*key).cloned());
        }
        let mut steps = 0;
        while ledger.is_spreading() {
            ledger.spread().expect("memory does not fail");
            steps += 1;
            prop_assert!(steps < 24 * 10, "no step comes to an end");
        }
        prop_assert!(!kept.ledger(prefix).is_spreading());
        prop_assert_eq!(contents(&mut ledger, "**"), expected.clone());
        for pattern in KEYS {
            let mut part = expected.clone();
            part.retain(|key, _| covers(&KeyExpr::new(pattern).expect("a key"), key));
            prop_assert_eq!(contents(&mut ledger, pattern), part);
        }
    }
}

/// Returns the updates of an export as text.
fn exported(ledger: &mut Ledger, most: usize) -> (Vec<Update>, Vec<String>) {
    let mut updates = Vec::new();
    let without_key = ledger.export(most, |update| {
        updates.push(update);
        Ok::<(), StoreError>(())
    });
    assert_eq!(without_key, Ok(0));
    let lines = updates.iter().map(|update| format!("{update:?}"));
    let lines = lines.collect();
    (updates, lines)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn an_export_gives_another_storage_the_same_content_also_for_what_comes_later(
        (updates, order) in updates().prop_flat_map(|updates| {
            (Just(updates.clone()), Just(updates).prop_shuffle())
        }),
        is_stripped: bool,
        has_history: bool,
        before in 0_usize..12,
        // Keys of one step of an update with wildcards, and entries of one pass of the export.
        bounds in (1_usize..4, 1_usize..8),
    ) {
        let limits = Limits { count: 100, bytes: 1 << 20, age: None };
        let limits = has_history.then_some(limits);
        let open = || {
            let names = Names::new(is_stripped.then(|| "s".to_owned()));
            let ledger = Ledger::open(Box::new(Kept::new()), names, limits);
            let mut ledger = ledger.expect("memory is read");
            ledger.bound.keys = bounds.0;
            ledger
        };
        let (mut first, mut second) = (open(), open());
        let before = before.min(order.len());
        for update in &order[..before] {
            first.apply(update.clone()).expect("memory does not fail");
        }
        // It is in the order of times, and its copy exports the same. (Of a key that was deleted since,
        // former values are updates of their own.)
        let (copied, lines) = exported(&mut first, bounds.1);
        prop_assert!(copied.is_sorted_by_key(|update| update.at));
        for update in copied {
            second.apply(update).expect("memory does not fail");
        }
        prop_assert_eq!(contents(&mut second, "**"), model(&order[..before]));
        if !has_history {
            prop_assert_eq!(exported(&mut second, usize::MAX).1, lines);
        }
        for update in &order[before..] {
            second.apply(update.clone()).expect("memory does not fail");
        }
        prop_assert_eq!(contents(&mut second, "**"), model(&updates));
    }
}

/// Returns all entries of a store as text.
fn dump(ledger: &mut Ledger) -> Vec<String> {
    let mut all = Vec::new();
    for table in Table::ALL {
        let mut visit = |name: &str, entry: Entry| {
            all.push(format!("{table:?} {name:?} {entry:?}"));
            ControlFlow::Continue(())
        };
        ledger
            .store()
            .scan(table, "", &mut visit)
            .expect("memory is read");
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn an_update_in_steps_leaves_what_one_at_once_does(
        order in updates().prop_flat_map(|updates| Just(updates).prop_shuffle()),
        keys in 1_usize..4,
        steps in prop::collection::vec(0_usize..3, 12),
    ) {
        let limits = Limits { count: 100, bytes: 1 << 20, age: None };
        let open = |keys| {
            let mut ledger = Ledger::open(Box::new(Kept::new()), Names::new(None), Some(limits))
                .expect("memory is read");
            ledger.bound.keys = keys;
            ledger
        };
        let (mut at_once, mut in_steps) = (open(usize::MAX), open(keys));
        for (update, steps) in order.into_iter().zip(steps) {
            at_once.apply(update.clone()).expect("memory does not fail");
            in_steps.apply(update).expect("memory does not fail");
            for _ in 0..steps {
                in_steps.spread().expect("memory does not fail");
            }
        }
        prop_assert!(!at_once.is_spreading());
        while in_steps.is_spreading() {
            in_steps.spread().expect("memory does not fail");
        }
        prop_assert_eq!(dump(&mut in_steps), dump(&mut at_once));
    }
}

/// A store that counts its entries that are shown and changed.
struct Counted(Kept, Arc<Mutex<[usize; 2]>>);

impl Counted {
    fn add(&self, shown: usize, changed: usize) {
        let mut counts = self.1.lock();
        *counts = [counts[0] + shown, counts[1] + changed];
    }
}

impl Store for Counted {
    fn durability(&self) -> Option<Durability> {
        None
    }
    fn get(&mut self, table: Table, name: &str) -> Result<Option<Entry>, StoreError> {
        self.0.get(table, name)
    }
    fn scan(
        &mut self,
        table: Table,
        from: &str,
        visit: &mut dyn FnMut(&str, Entry) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut shown = 0;
        let scanned = self.0.scan(table, from, &mut |name, entry| {
            shown += 1;
            visit(name, entry)
        });
        self.add(shown, 0);
        scanned
    }
    fn put(&mut self, table: Table, name: &str, entry: Entry) -> Result<(), StoreError> {
        self.add(0, 1);
        self.0.put(table, name, entry)
    }
    fn remove(&mut self, table: Table, name: &str) -> Result<(), StoreError> {
        self.0.remove(table, name)
    }
    fn commit(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
    fn uncommitted_bytes(&self) -> usize {
        0
    }
    fn len(&mut self, table: Table) -> Result<u64, StoreError> {
        self.0.len(table)
    }
    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

#[test]
fn no_step_of_an_update_of_many_keys_exceeds_its_bound() {
    let (kept, counts) = (Kept::new(), Arc::<Mutex<[usize; 2]>>::default());
    let store = Counted(kept, Arc::clone(&counts));
    let mut ledger = Ledger::open(Box::new(store), Names::new(None), None).expect("memory");
    let keys = 10_000;
    for key in 0..keys {
        let put = update(1, &format!("s/{key}"), Some("old"));
        ledger.apply(put).expect("memory");
    }
    let bound = Bound::default().keys;
    // The entries to change, two for the update itself, and one behind the last.
    let within = |counts: &Arc<Mutex<[usize; 2]>>| {
        let [shown, changed] = std::mem::take(&mut *counts.lock());
        assert!(shown <= bound + 1, "{shown} were looked at");
        assert!(changed <= bound + 2, "{changed} were changed");
    };
    for (at, value) in [(5, Some("new")), (6, None)] {
        std::mem::take(&mut *counts.lock());
        ledger.apply(update(at, "s/**", value)).expect("memory");
        within(&counts);
        let mut steps = 1;
        while ledger.is_spreading() {
            // Each key is seen as if all of it was done.
            let last = KeyExpr::new("s/9999").expect("a key");
            let seen = ledger
                .get(&last)
                .expect("memory")
                .and_then(|entry| entry.value);
            assert_eq!(seen, value.map(super::tests::value));
            ledger.spread().expect("memory");
            within(&counts);
            steps += 1;
        }
        assert_eq!(steps, keys / bound + 1);
    }
    assert_eq!(ledger.store().len(Table::Deleted), Ok(keys as u64));
    // A step of large values is a short one.
    for key in 0..100 {
        ledger
            .apply(update(7, &format!("s/{key}"), Some("x")))
            .expect("memory");
    }
    std::mem::take(&mut *counts.lock());
    let large = "x".repeat(Bound::default().bytes / 4);
    ledger
        .apply(update(8, "s/**", Some(&large)))
        .expect("memory");
    assert!(ledger.is_spreading() && counts.lock()[1] < 8, "{counts:?}");
}

#[test]
fn too_many_updates_that_are_under_way_wait_for_the_first() {
    let mut ledger = Kept::new().ledger(None);
    ledger.bound.keys = 1;
    for key in 0..20 {
        ledger
            .apply(update(1, &format!("s/{key}/a"), Some("old")))
            .expect("memory");
    }
    for at in 0..200 {
        let wild = update(
            10 + at,
            &format!("s/*/*{}", "/**".repeat((at % 2) as usize)),
            Some("new"),
        );
        ledger.apply(wild).expect("memory");
        assert!(ledger.spreads.len() <= 64);
    }
    let found = contents(&mut ledger, "**");
    assert!(found.len() == 20 && found.values().all(|found| *found == value("new")));
}

#[test]
fn a_deleted_key_does_not_come_back() {
    let mut ledger = Kept::new().ledger(None);
    assert_eq!(ledger.apply(update(5, "s/a", None)), Ok(Effect::Taken));
    assert_eq!(
        ledger.apply(update(4, "s/a", Some("old"))),
        Ok(Effect::Outdated)
    );
    assert_eq!(
        ledger.apply(update(5, "s/a", Some("equal"))),
        Ok(Effect::Outdated)
    );
    assert!(contents(&mut ledger, "**").is_empty());
    assert_eq!(
        ledger.apply(update(6, "s/a", Some("new"))),
        Ok(Effect::Taken)
    );
    assert_eq!(contents(&mut ledger, "**").len(), 1);
}

#[test]
fn an_old_value_under_a_newer_deletion_of_many_is_no_empty_value() {
    let mut ledger = Kept::new().ledger(None);
    ledger.apply(update(5, "s/**", None)).expect("memory");
    ledger.apply(update(4, "s/a", Some("old"))).expect("memory");
    assert!(contents(&mut ledger, "**").is_empty());
    assert_eq!(ledger.store().len(Table::Deleted), Ok(1));
}

#[test]
fn only_what_is_old_is_forgotten() {
    let mut ledger = Kept::new().ledger(None);
    for at in 0..10 {
        ledger
            .apply(update(at + 1, &format!("s/{at}"), None))
            .expect("memory");
        ledger
            .apply(update(at + 1, &format!("p/{at}/**"), None))
            .expect("memory");
    }
    let limit = Ntp64(6 << 32);
    let next = ledger.forget(limit, "", 4).expect("memory");
    assert_eq!(next.as_deref(), Some("s/4"));
    assert_eq!(ledger.forget(limit, "s/4", 100), Ok(None));
    assert_eq!(ledger.store().len(Table::Deleted), Ok(5));
    assert_eq!(
        (ledger.patterns(), ledger.store().len(Table::Patterns)),
        (5, Ok(5))
    );
    // The younger half is still remembered.
    assert_eq!(
        ledger.apply(update(7, "s/7", Some("old"))),
        Ok(Effect::Outdated)
    );
    ledger
        .apply(update(7, "p/7/x", Some("old")))
        .expect("memory");
    assert!(contents(&mut ledger, "**").is_empty());
}

#[test]
fn a_flood_of_patterns_forgets_the_oldest() {
    let mut ledger = Kept::new().ledger(None);
    let most = crate::patterns::PATTERNS_MAX as u64;
    for at in 0..most {
        let effect = ledger.apply(update(at + 1, &format!("p{at}/**"), None));
        assert_eq!(effect, Ok(Effect::Taken));
    }
    let effect = ledger.apply(update(most + 1, "last/**", None));
    assert_eq!(effect, Ok(Effect::TakenForOldest));
    assert_eq!(ledger.store().len(Table::Patterns), Ok(most));
    // One that covers all of them makes them void.
    assert_eq!(
        ledger.apply(update(most + 2, "**", None)),
        Ok(Effect::Taken)
    );
    assert_eq!(ledger.store().len(Table::Patterns), Ok(1));
}

#[test]
fn keys_without_the_prefix_are_refused() {
    let mut ledger = Kept::new().ledger(Some("s/a"));
    for key in ["s", "s/ab", "t/s/a"] {
        let refused = ledger.apply(update(1, key, Some("x")));
        assert!(
            matches!(refused, Err(StoreError::Name { .. })),
            "{key}: {refused:?}"
        );
    }
    for key in ["s/a", "s/a/b"] {
        assert_eq!(ledger.apply(update(1, key, Some("x"))), Ok(Effect::Taken));
    }
    let keys: Vec<String> = contents(&mut ledger, "**").into_keys().collect();
    assert_eq!(keys, ["s/a", "s/a/b"]);
}

#[test]
fn a_history_keeps_values_within_its_limits() {
    let limits = |count, bytes| Limits {
        count,
        bytes,
        age: Some(Duration::from_secs(50)),
    };
    let times = |ledger: &mut Ledger, pattern: &str| {
        let mut times = Vec::new();
        let pattern = keyexpr::new(pattern).expect("a pattern");
        let mut visit = |found: Found<'_>| {
            times.push(found.entry.at.time().as_secs());
            ControlFlow::Continue(())
        };
        let found = ledger.matching(Table::Past, pattern, Span::ALL, &mut visit);
        found.expect("memory is read");
        times
    };
    let open = |limits| {
        let names = Names::new(Some("s".into()));
        Ledger::open(Box::new(Kept::new()), names, Some(limits)).expect("memory is read")
    };
    // Values in any order, of one key and of its neighbours.
    let mut ledger = open(limits(4, 1 << 20));
    for at in [5, 3, 9, 1, 7] {
        for key in ["s", "s/a", "s/a/c", "s/ab"] {
            ledger
                .apply(update(at, key, Some("value")))
                .expect("memory");
        }
    }
    for key in ["s", "s/a", "s/a/c", "s/ab"] {
        let found = times(&mut ledger, key);
        assert!(
            found.ends_with(&[7, 9]) && found.is_sorted(),
            "{key}: {found:?}"
        );
    }
    // A value of a pattern is one of each key that it changes; a deletion is none.
    ledger
        .apply(update(11, "s/*", Some("many")))
        .expect("memory");
    ledger.apply(update(12, "s/**", None)).expect("memory");
    assert!(times(&mut ledger, "s/a").ends_with(&[9, 11]));
    assert!(times(&mut ledger, "s/a/c").ends_with(&[7, 9]));
    // Limits of number, bytes and age.
    for at in 20..60 {
        ledger
            .apply(update(at, "s/a", Some("value")))
            .expect("memory");
    }
    assert_eq!(times(&mut ledger, "s/a"), [56, 57, 58, 59]);
    let expired = ledger.expire(Duration::from_secs(107), "", usize::MAX);
    assert_eq!(expired, Ok(None));
    assert_eq!(times(&mut ledger, "s/**"), [57, 58, 59]);
    let mut small = open(limits(7, 150));
    for at in 0..20 {
        small
            .apply(update(at, "s/a", Some("value")))
            .expect("memory");
    }
    assert_eq!(times(&mut small, "s/a").len(), 2);
}
