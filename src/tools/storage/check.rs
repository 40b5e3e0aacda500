// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda storage check`: what a storage has, and if it is whole.

use std::ops::ControlFlow;

use clap::Args;
use zonda::time::Timestamp;
use zonda_program::{Failure, Interrupt, complain, print_lines, table};
use zonda_storage::volume::{Entry, Store, StoreError, Table};

use super::super::progress::Progress;
use super::super::show::time;
use super::place::{Place, Use, not_open};

const HELP: &str = "\
Examples:
  zonda storage check demo-storage
  zonda storage check --config router.json5 --storage demo

The folder is only read; a storage in use is refused. The table has the keys with a value, the deleted keys that are remembered (tombstones), the updates with wildcards that are \
remembered, and the former values of a storage with a history.

Exit code: 0 when all of it is whole; 1 for damage, and for a storage that is in use or cannot be read; 2 for bad usage.";

/// Read all that a storage has, compare it with its check sums, and count it.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Check {
    #[command(flatten)]
    place: Place,
}

/// Entries of a table.
#[derive(Default)]
struct Sum {
    entries: u64,
    bytes: u64,
    /// Times of the oldest and the newest entry.
    times: Option<(Timestamp, Timestamp)>,
}

impl Sum {
    fn add(&mut self, entry: &Entry) {
        let value = entry.value.as_ref();
        self.entries += 1;
        self.bytes += value.map_or(0, |value| value.payload.len() as u64);
        let (oldest, newest) = self.times.unwrap_or((entry.at, entry.at));
        self.times = Some((oldest.min(entry.at), newest.max(entry.at)));
    }

    fn row(&self, name: &str) -> [String; 5] {
        let text = |at: Option<Timestamp>| at.as_ref().map_or_else(String::new, time);
        [
            name.to_owned(),
            self.entries.to_string(),
            self.bytes.to_string(),
            text(self.times.map(|(oldest, _)| oldest)),
            text(self.times.map(|(_, newest)| newest)),
        ]
    }
}

impl Check {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let found = self.place.find(Use::Read)?;
        let mut store = found.volume.open(&found.options).map_err(not_open)?;
        store.verify()?;
        let mut rows = Vec::new();
        for (kind, name) in [
            (Table::Live, "keys"),
            (Table::Deleted, "tombstones"),
            (Table::Patterns, "wildcards"),
            (Table::Past, "history"),
        ] {
            let sum = sum(&mut *store, kind, &interrupt)
                .map_err(|error| Failure::Run(format!("{}: {error}", self.place.name())))?;
            interrupt.check()?;
            rows.push(sum.row(name));
        }
        let header = ["", "entries", "bytes", "oldest", "newest"];
        print_lines(format_args!("{}", table(header, rows, 1..3)));
        Ok(store.close()?)
    }
}

fn sum(store: &mut dyn Store, table: Table, interrupt: &Interrupt) -> Result<Sum, StoreError> {
    let (mut sum, mut progress) = (Sum::default(), Progress::new());
    store.scan(table, "", &mut |_, entry| {
        sum.add(&entry);
        if progress.is_due() {
            complain(format_args!("{} entries so far", sum.entries));
        }
        match interrupt.happened() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    Ok(sum)
}
