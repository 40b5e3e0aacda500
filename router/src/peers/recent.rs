// SPDX-License-Identifier: MIT OR Apache-2.0

//! Latest events of connections, for the admin space.

use std::{
    collections::VecDeque,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use crate::{model::LinkStatus, peers::events::ConnectionEvent};

/// Most events of links and attempts that are kept.
const EVENTS_MAX: usize = 128;

/// Most refused connections that are kept. Strangers can cause these, so they have a queue of their
/// own.
const REFUSED_MAX: usize = 32;

/// Event in the form of the admin space.
#[derive(Debug)]
struct AdminEvent {
    number: u64,
    at: f64,
    event: Value,
}

/// Latest events, numbered from 1.
#[derive(Debug)]
pub(crate) struct Recent {
    began: f64,
    last: u64,
    events: VecDeque<AdminEvent>,
    refused: VecDeque<AdminEvent>,
}

impl Default for Recent {
    fn default() -> Self {
        Recent {
            began: now(),
            last: 0,
            events: VecDeque::new(),
            refused: VecDeque::new(),
        }
    }
}

impl Recent {
    pub(crate) fn add(&mut self, event: &ConnectionEvent) {
        self.last += 1;
        let (places, most) = match event {
            ConnectionEvent::Refused { .. } => (&mut self.refused, REFUSED_MAX),
            _ => (&mut self.events, EVENTS_MAX),
        };
        if places.len() >= most {
            places.pop_front();
        }
        places.push_back(AdminEvent {
            number: self.last,
            at: now(),
            event: described(event),
        });
    }

    /// Returns the kept events in order, the time at which the node began to count, and the number
    /// of all events.
    pub(crate) fn describe(&self) -> Value {
        let mut all: Vec<&AdminEvent> = self.events.iter().chain(&self.refused).collect();
        all.sort_by_key(|told| told.number);
        let each = all.into_iter().map(|told| {
            let mut event = told.event.clone();
            event["number"] = json!(told.number);
            event["at"] = json!(told.at);
            event
        });
        json!({
            "began": self.began,
            "last": self.last,
            "events": each.collect::<Vec<_>>(),
        })
    }
}

/// Returns the seconds since 1970.
fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

/// Describes an event without the address of a refused node, because each neighbour can read the
/// admin space.
fn described(event: &ConnectionEvent) -> Value {
    let link = |link: &LinkStatus| {
        json!({
            "zid": link.zid.to_string(),
            "role": link.whatami.to_string(),
            "remote": link.remote.to_string(),
        })
    };
    // fields by the kind of event
    let mut told = match event {
        ConnectionEvent::Connected(open) | ConnectionEvent::LinkAdded(open) => {
            json!({ "link": link(open) })
        }
        ConnectionEvent::Lost { link: gone, reason }
        | ConnectionEvent::LinkLost { link: gone, reason } => {
            json!({ "link": link(gone), "reason": reason.kind.name() })
        }
        ConnectionEvent::Failed {
            endpoint, reason, ..
        } => json!({ "endpoint": endpoint.to_string(), "reason": reason.kind.name() }),
        ConnectionEvent::Refused {
            listener, reason, ..
        } => json!({ "listener": listener.to_string(), "reason": reason.kind.name() }),
    };
    // its name, and a text that hides the address of a refused node
    told["event"] = json!(event.name());
    told["text"] = json!(match event {
        ConnectionEvent::Refused {
            listener, reason, ..
        } => format!("turned a node away at {listener}: {}", reason.kind),
        _ => event.to_string(),
    });
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::reasons::{Refusal, RefusalKind};

    #[test]
    fn a_crowd_that_is_turned_away_displaces_no_other_event_and_stays_unnamed() {
        let mut recent = Recent::default();
        let reason = Refusal {
            kind: RefusalKind::TimedOut,
            text: "10.9.8.7 said nothing".to_owned(),
        };
        let endpoint: zonda_codec::Endpoint = "tcp/127.0.0.1:1".parse().expect("valid");
        recent.add(&ConnectionEvent::Failed {
            endpoint: endpoint.clone(),
            reason: reason.clone(),
            attempts: 1,
            next_retry: None,
        });
        for _ in 0..1000 {
            recent.add(&ConnectionEvent::Refused {
                listener: endpoint.clone(),
                remote: None,
                reason: reason.clone(),
            });
        }
        let told = recent.describe();
        let events = told["events"].as_array().expect("a list");
        assert_eq!(
            (events.len(), &told["last"]),
            (1 + REFUSED_MAX, &json!(1001))
        );
        assert_eq!(
            (&events[0]["event"], &events[0]["number"]),
            (&json!("failed"), &json!(1))
        );
        assert!(!events[1].to_string().contains("10.9.8.7"), "{}", events[1]);
    }
}
