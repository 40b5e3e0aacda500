// SPDX-License-Identifier: MIT OR Apache-2.0
//! Listeners of either implementation that tell whether somebody matches a publisher or a querier.

use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::party::Publishing;
use crate::questions::Querying;
use crate::reference::Reference;
use crate::wait::LONG;

/// A listener.
pub enum Listening {
    Theirs {
        process: Rc<Reference>,
        name: String,
    },
}

impl Listening {
    fn theirs(process: &Rc<Reference>, of: &str) -> Listening {
        let name = process.fresh("listener");
        process.call("listen", json!({"name": of, "listener": name}));
        Listening::Theirs {
            process: process.clone(),
            name,
        }
    }

    /// The next thing that it tells.
    pub fn next(&self) -> bool {
        self.next_within(LONG)
            .unwrap_or_else(|| panic!("no change within {LONG:?}"))
    }

    /// What it has told already.
    pub fn try_next(&self) -> Option<bool> {
        self.next_within(Duration::ZERO)
    }

    fn next_within(&self, limit: Duration) -> Option<bool> {
        match self {
            Listening::Theirs { process, name } => {
                let told = process.sample(name, Instant::now() + limit)?;
                told["matching"].as_bool()
            }
        }
    }
}

impl Publishing {
    pub fn listen(&self) -> Listening {
        match self {
            Publishing::Ours { .. } => todo!(),
            Publishing::Theirs { process, name } => Listening::theirs(process, name),
        }
    }
}

impl Querying {
    pub fn listen(&self) -> Listening {
        match self {
            Querying::Theirs { process, name } => Listening::theirs(process, name),
        }
    }
}
