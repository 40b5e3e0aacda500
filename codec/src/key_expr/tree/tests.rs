// SPDX-License-Identifier: MIT OR Apache-2.0

//! Comparison of a tree with a list, step by step.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{IKeyExprTree, IKeyExprTreeMut, KeBoxTree};
use crate::{KeyExpr, keyexpr};

fn key() -> impl Strategy<Value = KeyExpr<'static>> {
    let chunk = prop::sample::select(vec!["a", "b", "ab", "*", "**", "a$*", "@v"]);
    prop::collection::vec(chunk, 1..5)
        .prop_map(|chunks| KeyExpr::autocanonize(chunks.join("/")).unwrap())
}

fn sorted(keys: impl Iterator<Item = KeyExpr<'static>>) -> Vec<String> {
    let mut keys: Vec<_> = keys.map(|key| key.to_string()).collect();
    keys.sort();
    keys
}

proptest! {
    /// A tree finds what a search through all keys finds.
    #[test]
    fn finds_what_a_list_finds(
        steps in prop::collection::vec((key(), any::<bool>()), 0..24),
        sought in key(),
    ) {
        let mut tree: KeBoxTree<usize> = KeBoxTree::new();
        let mut list = BTreeMap::new();
        for (at, (key, stays)) in steps.iter().enumerate() {
            if *stays {
                prop_assert_eq!(tree.insert(key, at), list.insert(key.to_string(), at));
            } else {
                prop_assert_eq!(tree.remove(key), list.remove(key.as_str()));
            }
        }
        for _ in 0..2 {
            let with = |is: &dyn Fn(&keyexpr) -> bool| -> Vec<String> {
                let keys = list.keys().filter(|key| is(keyexpr::new(key.as_str()).unwrap()));
                keys.cloned().collect()
            };
            let sought: &keyexpr = &sought;
            prop_assert_eq!(sorted(tree.intersecting_keys(sought)), with(&|key| key.intersects(sought)));
            prop_assert_eq!(sorted(tree.included_keys(sought)), with(&|key| sought.includes(key)));
            prop_assert_eq!(sorted(tree.keys_including(sought)), with(&|key| key.includes(sought)));
            let with_value = |place: super::NodeMut<'_, usize>| place.weight().map(|_| place.keyexpr());
            prop_assert_eq!(
                sorted(tree.intersecting_nodes_mut(sought).filter_map(with_value)),
                with(&|key| key.intersects(sought))
            );
            prop_assert_eq!(
                sorted(tree.included_nodes_mut(sought).filter_map(with_value)),
                with(&|key| sought.includes(key))
            );
            prop_assert_eq!(
                sorted(tree.nodes_including_mut(sought).filter_map(with_value)),
                with(&|key| key.includes(sought))
            );
            prop_assert_eq!(tree.weight_at(sought), list.get(sought.as_str()));
            prop_assert_eq!(sorted(tree.key_value_pairs().map(|(key, _)| key)), with(&|_| true));
            tree.prune();
        }
    }
}

#[test]
fn pruning_leaves_what_leads_to_values() {
    let mut tree: KeBoxTree<u32> = KeBoxTree::new();
    let (long, short) = (keyexpr::new("a/b/c").unwrap(), keyexpr::new("a/d").unwrap());
    assert_eq!((tree.insert(long, 1), tree.insert(short, 2)), (None, None));
    if let Some(weight) = tree.weight_at_mut(long) {
        *weight += 10;
    }
    assert_eq!(tree.tree_iter().count(), 4);
    assert_eq!(tree.remove(short), Some(2));
    tree.prune();
    assert_eq!(tree.tree_iter().count(), 3);
    assert_eq!(format!("{tree:?}"), r#"{"a/b/c": 11}"#);
    tree.prune_where(|_| true);
    assert_eq!(tree.tree_iter().count(), 0);
}

#[test]
fn values_change_while_places_are_visited() {
    let mut tree: KeBoxTree<u32> = KeBoxTree::new();
    let (above, below) = (keyexpr::new("a").unwrap(), keyexpr::new("a/b").unwrap());
    assert_eq!((tree.insert(above, 1), tree.insert(below, 2)), (None, None));
    for mut place in tree.tree_iter_mut() {
        match place.keyexpr().as_str() {
            "a" => assert_eq!(place.take_weight(), Some(1)),
            _ => assert_eq!(place.insert_weight(3), Some(2)),
        }
    }
    for mut place in tree.intersecting_nodes_mut(keyexpr::new("**").unwrap()) {
        if let Some(weight) = place.weight_mut() {
            *weight += 1;
        }
    }
    assert_eq!(format!("{tree:?}"), r#"{"a/b": 4}"#);
    let node = tree.node(above).expect("it leads to the other one");
    assert_eq!(
        (node.children().len(), node.children().is_empty()),
        (1, false)
    );
    assert!(
        node.children()
            .iter()
            .all(|child| child.children().is_empty())
    );
}
