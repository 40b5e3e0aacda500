// SPDX-License-Identifier: MIT OR Apache-2.0

//! The table of `docs/concepts/delivery.md`.

use zonda::qos::CongestionControl;
use zonda::{Outcome, PublishError};

/// The call that finishes a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    TryPublish,
    Wait,
    Await,
}

/// State of the neighbour's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Free,
    Frozen,
    Full,
    FullAgain,
    CutWhileItWaits,
    CutBefore,
    Closed,
}

pub const CALLS: [(Call, &str); 3] = [
    (Call::TryPublish, "`try_publish()`"),
    (Call::Wait, "`wait()`"),
    (Call::Await, "`await`"),
];

pub const CONTROLS: [(CongestionControl, &str); 3] = [
    (CongestionControl::Drop, "Drop"),
    (CongestionControl::Block, "Block"),
    (CongestionControl::BlockFirst, "BlockFirst"),
];

const STATES: [(State, &str); 7] = [
    (State::Free, "free"),
    (State::Frozen, "frozen"),
    (State::Full, "full"),
    (State::FullAgain, "full, again"),
    (State::CutWhileItWaits, "cut while it waits"),
    (State::CutBefore, "cut before"),
    (State::Closed, "closed"),
];

/// A call that cannot be cut while it waits.
pub const DOES_NOT_WAIT: &str = "does not wait";

/// The documented outcomes.
pub struct Table(Vec<Vec<String>>);

impl Table {
    pub fn read() -> Table {
        let text = include_str!("../../../docs/concepts/delivery.md");
        let cells = |line: &str| -> Vec<String> {
            let inside = line.trim_matches('|').split('|');
            inside.map(|cell| cell.trim().to_owned()).collect()
        };
        let table = text
            .lines()
            .skip_while(|line| !line.starts_with("| congestion control"));
        let rows: Vec<_> = table
            .take_while(|line| line.starts_with('|'))
            .map(cells)
            .collect();
        let names: Vec<&str> = STATES.iter().map(|(_, name)| *name).collect();
        assert_eq!(rows[0][2..], names, "the columns are the states");
        assert_eq!(rows.len(), 2 + CALLS.len() * CONTROLS.len());
        Table(rows)
    }

    /// Returns the entry of a case.
    pub fn says(&self, control: CongestionControl, call: Call, state: State) -> &str {
        let control = CONTROLS.iter().find(|(one, _)| *one == control).unwrap().1;
        let call = CALLS.iter().find(|(one, _)| *one == call).unwrap().1;
        let row = self
            .0
            .iter()
            .find(|row| row[0] == control && row[1] == call);
        let column = STATES.iter().position(|(one, _)| *one == state).unwrap();
        &row.expect("a row for each call")[2 + column]
    }
}

/// Returns a result in the words of the table.
pub fn in_words(result: &Result<Outcome, PublishError>) -> &'static str {
    match result {
        Ok(Outcome::Sent | Outcome::Queued) => "accepted",
        Ok(Outcome::NoSubscriber) => "Ok(NoSubscriber)",
        Ok(Outcome::Dropped { .. }) => "Ok(Dropped)",
        Ok(Outcome::LinkLost { .. }) => "Ok(LinkLost)",
        Err(PublishError::WouldBlock { .. }) => "Err(WouldBlock)",
        Err(PublishError::Dropped { .. }) => "Err(Dropped)",
        Err(PublishError::Timeout { .. }) => "Err(Timeout)",
        Err(PublishError::Closed) => "Err(Closed)",
        other => panic!("not in the table: {other:?}"),
    }
}
