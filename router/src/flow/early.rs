// SPDX-License-Identifier: MIT OR Apache-2.0

//! Messages that name a key by an id of the neighbour whose declaration has not arrived yet: where
//! a link has several streams or sockets, a message may overtake the declaration that was sent
//! before it. Such a message waits. If the neighbour has not declared the id by the deadline, the
//! message is dropped, and later ones with that id do not wait.

use std::{collections::HashSet, time::Duration};

use foldhash::fast::RandomState;
use zonda_codec::{Declaration, Mapping, NetworkMessage, Priority, WireExpr};

/// Longest wait of a message whose id the neighbour has undeclared: it is either a late message on
/// the former key, or the first on another key with the same id.
const AGAIN_MAX: Duration = Duration::from_millis(200);

/// Key ids of a neighbour, as its reading task knows them.
#[derive(Debug)]
pub(crate) struct EarlyIds {
    /// Longest delay of a declaration.
    lag_max: Duration,
    /// Ids for which no message has to wait: they were declared, or the time for that is over.
    known: HashSet<u16, RandomState>,
    /// Known ids that the neighbour has undeclared since.
    ended: HashSet<u16, RandomState>,
    /// Time that the last message is to wait, if it is.
    early: Option<Duration>,
    /// True if the messages that come have waited long enough.
    is_over: bool,
}

impl EarlyIds {
    /// Makes the state for a link on which declarations may be delayed by up to `lag_max`.
    pub(crate) fn new(lag_max: Duration) -> Self {
        EarlyIds {
            lag_max,
            known: HashSet::default(),
            ended: HashSet::default(),
            early: None,
            is_over: false,
        }
    }

    /// Notes that the neighbour has declared an id. The table decides on its own if the declaration
    /// is valid.
    pub(crate) fn learn(&mut self, id: u16) {
        self.known.insert(id);
    }

    /// Notes that the neighbour has undeclared an id.
    pub(crate) fn forget(&mut self, id: u16) {
        if self.known.remove(&id) {
            self.ended.insert(id);
        }
    }

    /// Returns true if a message on this key has to wait. A message of the control lane does not,
    /// because declarations come there.
    pub(crate) fn holds(&mut self, expr: &WireExpr<'_>, priority: Priority) -> bool {
        let is_theirs = expr.scope != 0 && expr.mapping == Mapping::Sender;
        if !is_theirs || priority == Priority::Control || self.known.contains(&expr.scope) {
            return false;
        }
        if self.is_over {
            self.known.insert(expr.scope);
            return false;
        }
        self.early = Some(match self.ended.contains(&expr.scope) {
            true => self.lag_max.min(AGAIN_MAX),
            false => self.lag_max,
        });
        true
    }

    /// Takes the time that the last message is to wait, if it is.
    pub(crate) fn take(&mut self) -> Option<Duration> {
        self.early.take()
    }

    /// Sets the flag that messages from now on have waited long enough.
    pub(crate) fn set_over(&mut self, is_over: bool) {
        self.is_over = is_over;
    }
}

/// Returns the key of a message other than a data message, if it has one.
pub(crate) fn key_of<'m, 'a>(message: &'m NetworkMessage<'a>) -> Option<&'m WireExpr<'a>> {
    match message {
        NetworkMessage::Request(request) => Some(&request.wire_expr),
        NetworkMessage::Response(response) => Some(&response.wire_expr),
        NetworkMessage::Interest(interest) => interest.wire_expr.as_ref(),
        NetworkMessage::Declare(declare) => match &declare.body {
            Declaration::Subscriber { wire_expr, .. }
            | Declaration::Queryable { wire_expr, .. }
            | Declaration::Token { wire_expr, .. } => Some(wire_expr),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(scope: u16, mapping: Mapping) -> WireExpr<'static> {
        WireExpr {
            scope,
            suffix: "",
            mapping,
        }
    }

    #[test]
    fn only_an_id_that_is_not_declared_yet_waits_and_only_once() {
        let lag_max = Duration::from_secs(3);
        let mut ids = EarlyIds::new(lag_max);
        let theirs = by(7, Mapping::Sender);
        for (expr, priority) in [
            (by(0, Mapping::Sender), Priority::Data),
            (by(7, Mapping::Receiver), Priority::Data),
            (theirs, Priority::Control),
        ] {
            assert!(!ids.holds(&expr, priority), "{expr:?} {priority:?}");
        }
        assert!(ids.holds(&theirs, Priority::Data));
        assert_eq!((ids.take(), ids.take()), (Some(lag_max), None));
        ids.learn(7);
        assert!(!ids.holds(&theirs, Priority::Data));
        ids.forget(7);
        assert!(ids.holds(&theirs, Priority::Data));
        assert_eq!(ids.take(), Some(AGAIN_MAX));
        let never = by(8, Mapping::Sender);
        ids.set_over(true);
        assert!(!ids.holds(&never, Priority::Data));
        ids.set_over(false);
        assert!(!ids.holds(&never, Priority::Data), "its time is over");
        assert!(ids.holds(&by(9, Mapping::Sender), Priority::Data));
    }
}
