// SPDX-License-Identifier: MIT OR Apache-2.0

//! Updates of many keys, which change them in steps of bounded size.

use std::ops::ControlFlow;

use zonda::key_expr::KeyExpr;
use zonda_volume::{Entry, StoreError, Table, Value};

use super::{Found, Ledger, Span, pattern_name};

/// Limit of the updates that have not reached all their keys; the next one waits for the first.
const SPREADS_MAX: usize = 64;

/// Bound of one step: keys that it looks at, and bytes that it reads and writes.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    pub keys: usize,
    pub bytes: usize,
}

impl Default for Bound {
    fn default() -> Bound {
        Bound {
            keys: 1024,
            bytes: 1 << 20,
        }
    }
}

impl Ledger {
    /// Returns true if an update has not reached all its keys, and can.
    pub fn is_spreading(&self) -> bool {
        !self.spreads.is_empty() && !self.store.is_read_only()
    }

    /// Continues the oldest update that has not reached all its keys, by one step.
    ///
    /// # Errors
    /// The store fails. A key that is damaged, or that the store does not take, is left as it is.
    pub fn spread(&mut self) -> Result<(), StoreError> {
        self.step(0)
    }

    /// Finishes an update if there are too many.
    pub(super) fn make_room(&mut self) -> Result<(), StoreError> {
        while self.spreads.len() >= SPREADS_MAX {
            self.step(0)?;
        }
        Ok(())
    }

    /// Begins to change the keys of the last update.
    pub(super) fn begin(&mut self) -> Result<(), StoreError> {
        let last = self.spreads.len().saturating_sub(1);
        if let Some(spread) = self.spreads.get(last) {
            let name = spread.stored_name(&pattern_name(&spread.pattern));
            let entry = Entry::new(spread.pattern.at, spread.pattern.value.clone());
            self.store.put(Table::Patterns, &name, entry)?;
        }
        // The next step meets an error of this one again.
        let _ = self.step(last);
        Ok(())
    }

    /// Changes a key as the updates do that have not reached it.
    pub(super) fn catch_up(&mut self, name: &str, key: &KeyExpr<'_>) -> Result<(), StoreError> {
        if self.spreads.is_empty() {
            return Ok(());
        }
        match self.store.get(Table::Live, name)? {
            Some(entry) => self.change(name, key, &entry),
            None => Ok(()),
        }
    }

    fn change(&mut self, name: &str, key: &KeyExpr<'_>, entry: &Entry) -> Result<(), StoreError> {
        let mut states = self.spreads.changes(key, entry);
        for state in &states {
            self.remember(name, state)?;
        }
        match states.pop() {
            Some(state) => self.write(name, state, true, false),
            None => Ok(()),
        }
    }

    /// Changes the next keys of an update.
    fn step(&mut self, index: usize) -> Result<(), StoreError> {
        let Some(spread) = self.spreads.get(index).cloned() else {
            return Ok(());
        };
        // Read.
        let Bound { keys, bytes } = self.bound;
        let written = spread
            .pattern
            .value
            .as_ref()
            .map_or(0, |value| value.payload.len());
        let (mut found, mut handled, mut next) = (Vec::new(), 0, None);
        let span = Span {
            from: &spread.from,
            most: keys,
        };
        let read = self.stored(Table::Live, &spread.pattern.key, span, &mut |one| {
            let Found {
                name,
                key,
                mut entry,
            } = one;
            if handled >= bytes {
                next = Some(name.to_owned());
                return ControlFlow::Break(());
            }
            handled += entry.weight() + written;
            // Its payload is not needed.
            entry.value = Some(Value::default());
            found.push((name.to_owned(), key, entry));
            ControlFlow::Continue(())
        });
        let mut fault = None;
        let next = match read {
            Ok(looked_at) => next.or(looked_at),
            Err(error @ StoreError::Damaged { .. }) => {
                let behind = behind(&error);
                fault = Some(error);
                behind
            }
            Err(error) => return Err(error),
        };
        // Change.
        for (name, key, entry) in found {
            match self.change(&name, &key, &entry) {
                Ok(()) => {}
                Err(error @ StoreError::Name { .. }) => fault = Some(error),
                Err(error) => {
                    self.spreads.set(index, Some(name));
                    return Err(error);
                }
            }
        }
        // Go on from there the next time.
        if next.is_none() {
            let name = spread.stored_name(&pattern_name(&spread.pattern));
            self.store.remove(Table::Patterns, &name)?;
        }
        self.spreads.set(index, next);
        fault.map_or(Ok(()), Err)
    }
}

/// Returns the first name behind a damaged one.
fn behind(error: &StoreError) -> Option<String> {
    match error {
        StoreError::Damaged { name, .. } => Some(format!("{name}\0")),
        _ => None,
    }
}
