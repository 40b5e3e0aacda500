// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tests of the tree against a linear scan, and of its limits.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use zonda_codec::key_expr;

use super::*;

fn matching<V: Copy + Eq + Ord>(tree: &KeyTree<V>, key: &str) -> Vec<V> {
    let mut found = Vec::new();
    tree.matches(key, &mut |value| found.push(value));
    found.sort_unstable();
    found
}

fn steps<V: Copy + Eq>(tree: &KeyTree<V>, key: &str) -> usize {
    let steps = Steps::unlimited();
    tree.matches_within(key, &steps, &mut |_| {});
    steps.spent()
}

#[test]
fn wildcards_on_both_sides_and_verbatim_chunks() {
    let mut tree = KeyTree::new();
    for (value, key) in ["a/b", "a/*", "a/**", "**", "@v/**", "a/@v", "a/b$*", "**/b"]
        .iter()
        .enumerate()
    {
        assert!(tree.insert(key, value));
        assert!(!tree.insert(key, value));
    }
    assert_eq!(matching(&tree, "a/b"), [0, 1, 2, 3, 6, 7]);
    assert_eq!(matching(&tree, "a"), [2, 3]);
    assert_eq!(matching(&tree, "b"), [3, 7]);
    assert_eq!(matching(&tree, "a/@v"), [5]);
    assert_eq!(matching(&tree, "@v"), [4]);
    assert_eq!(matching(&tree, "**"), [0, 1, 2, 3, 6, 7]);
    assert_eq!(matching(&tree, "**/@v"), [4, 5]);
    assert_eq!(matching(&tree, "**/@v/**"), [4, 5]);
    assert_eq!(matching(&tree, "*/bc"), [1, 2, 3, 6]);
    assert_eq!(tree.get("a/*"), [1]);
    assert!(tree.any("x/y", &mut |value| value == 3));
    assert!(!tree.any("x/y", &mut |value| value == 2));
}

#[test]
fn a_verbatim_chunk_with_a_star_equals_only_itself() {
    let mut tree = KeyTree::new();
    tree.insert("a/@$*", 1);
    assert_eq!(matching(&tree, "a/@$*"), [1]);
    assert!(matching(&tree, "a/@x").is_empty());
    assert!(matching(&tree, "a/*").is_empty());
}

#[test]
fn the_longest_prefix_ends_at_a_slash() {
    let mut tree = KeyTree::new();
    tree.insert("demo/test", 1);
    tree.insert("demo", 2);
    tree.insert("demo/**", 3);
    assert_eq!(tree.longest_prefix("demo/test/x"), Some((9, &[1][..])));
    assert_eq!(tree.longest_prefix("demo/testx"), Some((4, &[2][..])));
    assert_eq!(tree.longest_prefix("demo/**/x"), Some((7, &[3][..])));
    assert_eq!(tree.longest_prefix("dem"), None);
}

#[test]
fn removing_everything_leaves_nothing() {
    let mut tree = KeyTree::new();
    let keys: Vec<String> = (0..500)
        .map(|n| format!("a/{}/b{}/$*c{n}", n % 7, n % 13))
        .collect();
    for (value, key) in keys.iter().enumerate() {
        tree.insert(key, value);
    }
    let mut all = 0;
    tree.for_each(&mut |_| all += 1);
    assert_eq!(all, 500);
    for (value, key) in keys.iter().enumerate() {
        assert!(!tree.remove(key, value + 1));
        assert!(tree.remove(key, value));
        assert!(!tree.remove(key, value));
    }
    assert!(tree.is_empty());
    assert_eq!((tree.nodes.len(), tree.edges.len()), (0, 0));
}

/// The test checks the step counts: a backtracking search would need more steps than there are atoms.
#[test]
fn hostile_keys_cost_at_most_a_look_at_each_node() {
    let mut tree = KeyTree::new();
    let chunks = 200;
    let nested = ["**/a"; 100].join("/");
    tree.insert(&nested, 0);
    tree.insert(&format!("{nested}/b"), 1);
    tree.insert(&["**/$*a$*a$*"; 100].join("/"), 2);
    let nodes = tree.nodes.len();
    for key in [
        vec!["a"; chunks].join("/"),
        format!("{}/c", vec!["a"; chunks - 1].join("/")),
        ["**/a"; 100].join("/"),
        format!("{}/c", ["**/*"; 99].join("/")),
        ["*/aaa$*"; 100].join("/"),
    ] {
        let (steps, words) = (steps(&tree, &key), key.split('/').count() / 64 + 1);
        let compared = 100 * key.split('/').count();
        let most = nodes * (3 + words) + 2 * compared;
        assert!(steps < most, "{steps} steps, {nodes} nodes, for {key}");
    }
}

#[test]
fn a_search_with_a_limit_stops_there() {
    let mut tree = KeyTree::new();
    for n in 0..100 {
        tree.insert(&format!("a/{n}"), n);
    }
    let mut found = 0;
    let mut within = |key, most| tree.matches_within(key, &Steps::new(most), &mut |_| found += 1);
    assert!(within("a/7", 6));
    assert!(within("a/*", 303));
    assert!(!within("a/*", 152));
    assert_eq!(found, 1 + 100 + 50);
    assert_eq!(
        tree.any_within("a/*", &Steps::new(30), &mut |_| false),
        None
    );
    let any = tree.any_within("a/*", &Steps::new(30), &mut |_| true);
    assert_eq!(any, Some(true));
}

/// A search in slices while the tree changes in between finds every value that stays, and none
/// twice, unless the tree has lost nodes, which the search reports.
#[test]
fn a_search_that_is_left_goes_on_where_it_was() {
    let mut tree = KeyTree::new();
    for n in 0..1000 {
        tree.insert(&format!("a/{}/{}", n / 100, n % 100), n);
    }
    for slice in [1, 7, 100] {
        let pattern = Pattern::new("a/**");
        let (mut walk, mut seen, mut slices) = (Walk::default(), Vec::new(), 0);
        loop {
            let mut found = |values: &[i32]| {
                seen.extend_from_slice(values);
                ControlFlow::Continue(())
            };
            if tree.search(&pattern, &mut walk, &Steps::new(slice), &mut found) == Reached::End {
                break;
            }
            slices += 1;
            tree.insert(&format!("a/{}/new", slices % 20), 1000 + slices);
        }
        seen.retain(|value| *value < 1000);
        seen.sort_unstable();
        assert_eq!(seen, (0..1000).collect::<Vec<_>>());
        assert!(slices as usize >= 1000 / slice / 2, "{slices} of {slice}");
    }
    let (pattern, mut walk) = (Pattern::new("a/**"), Walk::default());
    let mut go_on = |tree: &KeyTree<i32>, steps| {
        let found = &mut |_: &[i32]| ControlFlow::Continue(());
        tree.search(&pattern, &mut walk, &Steps::new(steps), found)
    };
    assert_eq!(go_on(&tree, 10), Reached::Pause);
    assert!(tree.remove("a/3/3", 303));
    assert_eq!(go_on(&tree, 10), Reached::Nowhere);
}

#[test]
fn plain_keys_do_not_look_at_their_neighbours() {
    let mut tree = KeyTree::new();
    for n in 0..10_000 {
        tree.insert(&format!("fleet/robot{n}/pose"), n);
    }
    assert_eq!(matching(&tree, "fleet/robot77/pose"), [77]);
    assert!(steps(&tree, "fleet/robot77/pose") < 10);
    assert!(steps(&tree, "fleet/robot77/**") < 20);
    assert!(tree.steps() < 40);
}

/// Returns keys of few distinct chunks, which intersect often.
fn arbitrary_key() -> impl Strategy<Value = String> {
    let chunk = select(vec![
        "a", "b", "ab", "abc", "*", "*", "**", "**", "a$*", "$*b", "$*b$*", "@v", "@$*",
    ]);
    vec(chunk, 1..6).prop_map(|chunks| {
        key_expr::canonize(&chunks.join("/"))
            .expect("every chunk is valid")
            .into_owned()
    })
}

/// Returns keys with chunks for several words of positions.
fn long_key() -> impl Strategy<Value = String> {
    let chunk = |wild: Vec<&'static str>| {
        let plain = vec(select(vec!["a", "a", "a", "b"]), 1..90);
        (plain, select(wild)).prop_map(|(mut plain, wild)| {
            plain.push(wild);
            plain
        })
    };
    let wild = vec!["*", "**", "**", "a$*", "$*b$*", "@v", "a"];
    vec(chunk(wild), 1..4).prop_map(|parts| {
        key_expr::canonize(&parts.concat().join("/"))
            .expect("every chunk is valid")
            .into_owned()
    })
}

#[derive(Debug, Clone)]
enum Operation {
    Insert(String, u8),
    Remove(usize),
    Search(String),
}

fn arbitrary_operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => (arbitrary_key(), 0..3_u8).prop_map(|(key, value)| Operation::Insert(key, value)),
        1 => any::<usize>().prop_map(Operation::Remove),
        2 => arbitrary_key().prop_map(Operation::Search),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn long_keys_agree_with_a_linear_scan(
        keys in vec(long_key(), 1..12),
        others in vec(long_key(), 1..6),
    ) {
        let mut tree = KeyTree::new();
        for (value, key) in keys.iter().enumerate() {
            tree.insert(key, value);
        }
        let shorter = others.iter().map(|key| key.replacen("/a", "", 1)).collect::<Vec<_>>();
        for other in keys.iter().chain(&others).chain(&shorter) {
            let Ok(other) = key_expr::canonize(other) else { continue };
            let pattern = Pattern::new(&other);
            let meets = |key: &String| key_expr::intersects(key, &other);
            let expected: Vec<usize> = (0..keys.len()).filter(|at| meets(&keys[*at])).collect();
            prop_assert_eq!(matching(&tree, &other), expected, "for {}", &other);
            for key in &keys {
                prop_assert_eq!(pattern.meets(key), meets(key), "{} and {}", key, &other);
            }
        }
    }

    #[test]
    fn agrees_with_a_linear_scan(operations in vec(arbitrary_operation(), 1..120)) {
        let mut tree = KeyTree::new();
        let mut scan: Vec<(String, u8)> = Vec::new();
        for operation in operations {
            match operation {
                Operation::Insert(key, value) => {
                    let pair = (key, value);
                    let is_new = !scan.contains(&pair);
                    prop_assert_eq!(tree.insert(&pair.0, value), is_new);
                    if is_new {
                        scan.push(pair);
                    }
                }
                Operation::Remove(at) if !scan.is_empty() => {
                    let (key, value) = scan.swap_remove(at % scan.len());
                    prop_assert!(tree.remove(&key, value));
                }
                Operation::Remove(_) => prop_assert!(!tree.remove("a", 9)),
                Operation::Search(key) => {
                    let mut expected: Vec<u8> = scan
                        .iter()
                        .filter(|(other, _)| key_expr::intersects(other, &key))
                        .map(|(_, value)| *value)
                        .collect();
                    expected.sort_unstable();
                    prop_assert_eq!(matching(&tree, &key), expected, "for {}", key);
                }
            }
        }
        for (key, value) in scan {
            prop_assert!(tree.remove(&key, value));
        }
        prop_assert!(tree.is_empty());
    }
}

#[test]
fn a_tree_that_was_large_gives_its_memory_back_and_finds_what_is_left() {
    let mut tree = KeyTree::new();
    let key = |n: u32| format!("a/{}/b/{}", n / 100, n % 100);
    for n in 0..40_000 {
        assert!(tree.insert(&key(n), n));
    }
    for n in (0..40_000).filter(|n| n % 1000 != 7) {
        assert!(tree.remove(&key(n), n));
    }
    assert!(tree.edges.capacity() <= 2 * EDGES_KEPT);
    for n in 0..40_000 {
        let left: &[u32] = if n % 1000 == 7 { &[n] } else { &[] };
        assert_eq!(tree.get(&key(n)), left);
    }
    let mut found = 0;
    tree.matches("a/*/b/7", &mut |_| found += 1);
    assert_eq!(found, 40);
}
