// SPDX-License-Identifier: MIT OR Apache-2.0

//! Removal of the entities of neighbours that are gone: at once if they are few, otherwise in
//! slices by a task that yields to other tasks in between.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_runtime::{Runtime, with_runtime};

use crate::node::{shared::Shared, state::State};

/// Longest time for which a slice holds the state's lock.
const SWEEP_MAX: Duration = Duration::from_micros(500);

/// Longest time of a slice while memory is short: the table accepts no declaration before some
/// memory is free.
const SWEEP_SHORT_MAX: Duration = Duration::from_millis(4);

impl State {
    /// Begins to remove entities; returns true if a task has to continue.
    pub(crate) fn begin_sweep(&mut self) -> bool {
        if self.sweeping {
            return false;
        }
        self.sweeping = self.sweep();
        self.sweeping
    }

    /// Removes entities for one slice; returns true if there are more.
    fn sweep(&mut self) -> bool {
        let begin = Instant::now();
        let longest = match self.table.is_short_of_memory() {
            true => SWEEP_SHORT_MAX,
            false => SWEEP_MAX,
        };
        while self.table.sweep(&mut self.actions) {
            if begin.elapsed() >= longest {
                return true;
            }
        }
        false
    }
}

impl Shared {
    /// Starts the task that removes the rest.
    pub(crate) fn start_sweeping(shared: &Arc<Self>) {
        let node = Arc::clone(shared);
        shared.runtime.spawn("zonda-sweep", move || async move {
            while !node.is_closed() && node.sweep_on() {
                with_runtime!(&node.runtime, runtime => runtime.yield_now().await);
            }
        });
    }

    fn sweep_on(&self) -> bool {
        self.update(|state| {
            state.sweeping = state.sweep();
            state.sweeping
        })
    }
}
