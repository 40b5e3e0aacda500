// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counters of a storage.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use zonda::session::{Kind, Metric, Sample};

/// Declares the counters of a storage.
macro_rules! counters {
    ($($field:ident: $kind:ident $metric:ident $name:literal $help:literal;)*) => {
        $(static $metric: Metric = Metric {
            name: $name,
            kind: Kind::$kind,
            help: $help,
        };)*

        /// Counters of a storage.
        #[derive(Debug, Default)]
        pub struct Counts {
            $(pub $field: AtomicU64,)*
            /// Queries that are not answered yet.
            pub active: AtomicUsize,
        }

        impl Counts {
            /// Returns them as samples of the storage with this name.
            pub fn samples(&self, storage: &str) -> Vec<Sample> {
                vec![$(
                    Sample::of(&$metric, self.$field.load(Ordering::Relaxed))
                        .with("storage", storage),
                )*]
            }
        }
    };
}

counters! {
    puts: Counter PUTS "zonda_storage_puts" "Values that a storage has taken.";
    deletes: Counter DELETES "zonda_storage_deletes" "Deletions that a storage has taken.";
    bytes: Counter BYTES "zonda_storage_put_bytes" "Bytes of the values that a storage has taken.";
    outdated: Counter OUTDATED "zonda_storage_outdated" "Updates that were older than what a storage had.";
    queries: Counter QUERIES "zonda_storage_queries" "Queries that a storage got.";
    replies: Counter REPLIES "zonda_storage_replies" "Replies that a storage sent.";
    unsent: Counter UNSENT "zonda_storage_replies_unsent" "Replies that an asker did not take.";
    failures: Counter FAILURES "zonda_storage_failures" "Updates, queries and commits that failed.";
    dropped: Counter DROPPED "zonda_storage_dropped" "Updates and queries that found the queue of a storage full.";
    forgotten: Counter FORGOTTEN "zonda_storage_patterns_forgotten" "Updates with wildcards that were forgotten because there were too many.";
    digests: Counter DIGESTS "zonda_storage_digests" "Digests that a replica has published.";
    aligned: Counter ALIGNED "zonda_storage_aligned" "Updates that a replica has taken from another one.";
    commits: Counter COMMITS "zonda_storage_commits" "Commits to the disk.";
    keys: Gauge KEYS "zonda_storage_keys" "Keys that have a value.";
    tombstones: Gauge TOMBSTONES "zonda_storage_tombstones" "Deleted keys that are remembered.";
    patterns: Gauge PATTERNS "zonda_storage_patterns" "Updates with wildcards that are remembered.";
}

/// Adds to a counter.
pub fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

/// The counters of several storages. Clones share them, also when storages come and go.
#[derive(Debug, Clone, Default)]
pub struct Counters(Arc<Mutex<Vec<Named>>>);

/// The counters of a storage, with its name.
pub(crate) type Named = (String, Arc<Counts>);

impl Counters {
    /// Replaces them by those of other storages.
    pub(crate) fn follow(&self, storages: impl Iterator<Item = Named>) {
        *self.0.lock() = storages.collect();
    }

    /// Returns them as samples, those of one kind together.
    pub fn samples(&self) -> Vec<Sample> {
        let all = self.0.lock().clone();
        let of_each = all.iter().map(|(name, counts)| counts.samples(name));
        let mut of_each: Vec<_> = of_each.map(Vec::into_iter).collect();
        let mut all = Vec::new();
        loop {
            let before = all.len();
            all.extend(of_each.iter_mut().filter_map(Iterator::next));
            if all.len() == before {
                return all;
            }
        }
    }
}
