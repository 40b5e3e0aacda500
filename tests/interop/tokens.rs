// SPDX-License-Identifier: MIT OR Apache-2.0
//! Liveliness of either implementation: tokens, and their subscribers.

use std::rc::Rc;
use std::sync::mpsc::channel;

use serde_json::json;
use zonda::Wait;
use zonda::liveliness::LivelinessToken;

use crate::party::{Party, Subscription};
use crate::reference::Reference;

/// An existing token.
pub enum Alive {
    Ours(LivelinessToken),
    Theirs {
        process: Rc<Reference>,
        name: String,
    },
}

impl Alive {
    pub fn undeclare(self) {
        match self {
            Alive::Ours(token) => drop(token),
            Alive::Theirs { process, name } => {
                process.call("undeclare", json!({"name": name}));
            }
        }
    }
}

impl Party {
    pub fn token(&self, key: &str) -> Alive {
        match self {
            Party::Ours(session) => {
                let declared = session.liveliness().declare_token(key).wait();
                Alive::Ours(declared.expect("it is open"))
            }
            Party::Theirs(party) => {
                let name = party.process.fresh("token");
                let command = party.command(json!({"name": name, "key": key}));
                party.process.call("token", command);
                Alive::Theirs {
                    process: party.process.clone(),
                    name,
                }
            }
        }
    }

    /// Subscribes to new and ended tokens; with a history also to existing ones.
    pub fn watch(&self, key: &str, history: bool) -> Subscription {
        match self {
            Party::Ours(session) => {
                let (arrived, samples) = channel();
                let declared = session.liveliness().declare_subscriber(key);
                let declared = declared.history(history).callback(move |sample| {
                    // an error means that the test has all that it needs
                    let _ = arrived.send(sample);
                });
                Subscription::Ours {
                    subscriber: declared.wait().expect("it is open"),
                    samples,
                }
            }
            Party::Theirs(party) => {
                let name = party.process.fresh("subscriber");
                let command = json!({"name": name, "key": key, "history": history});
                party.process.call("watch", party.command(command));
                Subscription::Theirs {
                    process: party.process.clone(),
                    name,
                }
            }
        }
    }
}
