// SPDX-License-Identifier: MIT OR Apache-2.0
//! Replay of a target's corpus in an ordinary test.

use std::path::Path;

/// Runs the check on every file of the target's corpus and returns their number. If a check panics,
/// the last printed file has failed it.
pub fn replay(target: &str, check: fn(&[u8])) -> usize {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus");
    let mut replayed = 0;
    for entry in Path::new(root).join(target).read_dir().expect("a corpus") {
        let path = entry.expect("a readable folder").path();
        println!("{}", path.display());
        check(&std::fs::read(&path).expect("a readable file"));
        replayed += 1;
    }
    replayed
}
