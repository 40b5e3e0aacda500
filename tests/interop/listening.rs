// SPDX-License-Identifier: MIT OR Apache-2.0
//! Listeners of either implementation that report matches of a publisher or a querier.

use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::json;
use zonda::Wait;
use zonda::matching::{MatchingListener, MatchingListenerBuilder, MatchingStatus};

use crate::party::Publishing;
use crate::questions::Querying;
use crate::reference::Reference;
use crate::wait::LONG;

/// A listener.
pub enum Listening {
    Ours {
        _listener: MatchingListener<()>,
        changes: Receiver<MatchingStatus>,
    },
    Theirs {
        process: Rc<Reference>,
        name: String,
    },
}

impl Listening {
    fn ours(builder: MatchingListenerBuilder<'_>) -> Listening {
        let (told, changes) = channel();
        let declared = builder.callback(move |status| {
            // an error means that the test has all that it needs
            let _ = told.send(status);
        });
        Listening::Ours {
            _listener: declared.wait().expect("it is open"),
            changes,
        }
    }

    fn theirs(process: &Rc<Reference>, of: &str) -> Listening {
        let name = process.fresh("listener");
        process.call("listen", json!({"name": of, "listener": name}));
        Listening::Theirs {
            process: process.clone(),
            name,
        }
    }

    /// Returns the next status that it reports.
    pub fn next(&self) -> bool {
        self.next_within(LONG)
            .unwrap_or_else(|| panic!("no change within {LONG:?}"))
    }

    /// Returns a status that it has reported already.
    pub fn try_next(&self) -> Option<bool> {
        self.next_within(Duration::ZERO)
    }

    fn next_within(&self, limit: Duration) -> Option<bool> {
        match self {
            Listening::Ours { changes, .. } => {
                let status = changes.recv_timeout(limit).ok()?;
                Some(status.matching())
            }
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
            Publishing::Ours { publisher, .. } => Listening::ours(publisher.matching_listener()),
            Publishing::Theirs { process, name } => Listening::theirs(process, name),
        }
    }
}

impl Querying {
    pub fn listen(&self) -> Listening {
        match self {
            Querying::Ours { querier, .. } => Listening::ours(querier.matching_listener()),
            Querying::Theirs { process, name } => Listening::theirs(process, name),
        }
    }
}
