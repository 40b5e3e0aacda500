// SPDX-License-Identifier: MIT OR Apache-2.0

//! Forgetting what neighbours that are gone had declared: at once if it is little, else bit by bit by a task that lets
//! everybody else have their turn in between.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_runtime::{Runtime, with_runtime};

use crate::node::{shared::Shared, state::State};

/// How long the state is kept from others in one go.
const SWEEP_MAX: Duration = Duration::from_micros(500);

/// The same while memory is short: nobody can declare anything before some is free.
const SWEEP_SHORT_MAX: Duration = Duration::from_millis(4);

impl State {
    /// Begins to forget; true if a task has to go on with it.
    pub(crate) fn begin_sweep(&mut self) -> bool {
        if self.sweeping {
            return false;
        }
        self.sweeping = self.sweep();
        self.sweeping
    }

    /// Forgets for a while; true if there is more.
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
    /// Starts the task that forgets the rest.
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
