// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ledgers that take the states of each other, as replicas do.

use super::*;

/// Takes all that another ledger has and that is newer; returns the number of changes.
fn align(to: &mut Ledger, from: &mut Ledger) -> usize {
    let mut entries = Vec::new();
    for table in [Table::Live, Table::Deleted, Table::Patterns] {
        let mut visit = |name: &str, entry: Entry| {
            entries.push((table, name.to_owned(), entry));
            ControlFlow::Continue(())
        };
        let read = from.store().scan(table, "", &mut visit);
        read.expect("memory is read");
    }
    let mut changes = 0;
    for (table, name, entry) in entries {
        let effect = match table {
            Table::Patterns => {
                let key = key_of_pattern(&name).expect("a key");
                let (at, value) = (entry.at, entry.value);
                let update = Update { key, at, value };
                match to.knows(&update).expect("memory is read") {
                    true => continue,
                    false => to.apply(update),
                }
            }
            _ => {
                let key = to.key_of(&name).expect("a key");
                let known = to.state(&name).expect("memory is read");
                if known.is_some_and(|known| (known.own, known.at) >= (entry.own, entry.at)) {
                    continue;
                }
                to.merge(&key, entry)
            }
        };
        while to.is_spreading() {
            to.spread().expect("memory does not fail");
        }
        changes += usize::from(effect != Ok(Effect::Outdated));
    }
    changes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(700))]

    #[test]
    fn replicas_that_got_different_updates_come_to_have_the_same(
        (updates, order) in updates().prop_flat_map(|updates| {
            (Just(updates.clone()), Just(updates).prop_shuffle())
        }),
        // The replicas that get an update, one bit for each; all do without any.
        getters in prop::collection::vec(0_u8..8, 12),
        is_stripped: bool,
    ) {
        let prefix = is_stripped.then_some("s");
        let mut ledgers = [(); 3].map(|()| Kept::new().ledger(prefix));
        for (update, getters) in order.into_iter().zip(getters) {
            for (number, ledger) in ledgers.iter_mut().enumerate() {
                if getters == 0 || getters & (1 << number) != 0 {
                    ledger.apply(update.clone()).expect("memory does not fail");
                }
            }
        }
        for ledger in &mut ledgers {
            while ledger.is_spreading() {
                ledger.spread().expect("memory does not fail");
            }
        }
        let mut rounds = 0;
        loop {
            let mut changes = 0;
            for (to, from) in [(0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)] {
                let [first, second] = ledgers.get_disjoint_mut([to, from]).expect("two of three");
                changes += align(first, second);
            }
            if changes == 0 {
                break;
            }
            rounds += 1;
            prop_assert!(rounds < 8, "they exchange for ever");
        }
        let expected = model(&updates);
        let states = |ledger: &mut Ledger| {
            let all = dump(ledger).into_iter();
            all.filter(|line| !line.starts_with("Past")).collect::<Vec<_>>()
        };
        let first = states(&mut ledgers[0]);
        for ledger in &mut ledgers {
            prop_assert_eq!(contents(ledger, "**"), expected.clone());
            prop_assert_eq!(states(ledger), first.clone());
        }
    }
}
