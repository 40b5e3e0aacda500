// SPDX-License-Identifier: MIT OR Apache-2.0
//! Outcomes of all messages that a tool has published.

use std::fmt;

use zonda::pubsub::{Publisher, PublisherCounts};
use zonda::qos::Priority;
use zonda::{CloseError, Operation, Session, Wait};
use zonda_program::Failure;

/// The outcomes of all messages of a publisher.
pub struct Sum {
    counts: PublisherCounts,
    /// Messages that were accepted and lost with a link.
    lost: u64,
}

impl Sum {
    /// Returns the publisher's counts so far.
    pub fn of(publisher: &Publisher<'_>) -> Sum {
        Sum {
            counts: publisher.counters(),
            lost: 0,
        }
    }

    /// Returns the number of messages that were to be published.
    pub fn published(&self) -> u64 {
        self.counts.offered
    }

    /// Closes the session and adds the messages that were lost with links.
    ///
    /// # Errors
    /// See [`close`].
    pub fn close(&mut self, session: &Session) -> Result<(), Failure> {
        let closed = session.close().typed().wait();
        // A link that the close has cut may still be counted as open: the error has its unsent
        // messages.
        let cut = match &closed {
            Err(CloseError::Timeout { lost, .. }) => lost.iter().map(|one| one.messages).sum(),
            _ => 0,
        };
        self.lost = lost(session).max(cut);
        closed?;
        all_taken(session)
    }
}

/// Closes the session of a tool that has published.
///
/// # Errors
/// If a neighbour did not take everything in time, or left with a message that it had not taken.
pub fn close(session: &Session) -> Result<(), Failure> {
    session.close().wait()?;
    all_taken(session)
}

fn all_taken(session: &Session) -> Result<(), Failure> {
    match lost(session) {
        0 => Ok(()),
        1 => Err(Failure::Run(
            "1 message was lost with its link: the neighbour left before it had taken it"
                .to_owned(),
        )),
        lost => Err(Failure::Run(format!(
            "{lost} messages were lost with their link: the neighbour left before it had taken them"
        ))),
    }
}

/// Counts messages that were lost with links. Declarations are no messages.
fn lost(session: &Session) -> u64 {
    let ended = session.info().ended_links();
    let data = ended.priorities.iter();
    let data = data.filter(|counts| counts.priority != Priority::Control);
    data.map(|counts| counts.queued).sum()
}

/// Formats one line; outcomes that did not happen are left out.
impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        let accepted = counts.sent + counts.queued;
        // Links count copies: a message may be lost with several of them.
        let lost = self.lost.min(accepted);
        write!(f, "published {}", counts.offered)?;
        let parts = [
            (accepted - lost, "sent"),
            (counts.no_subscriber, "no subscriber"),
            (counts.dropped, "dropped"),
            (counts.timed_out + counts.would_block, "not taken in time"),
            (counts.link_lost + lost, "lost with a link"),
            (counts.invalid + counts.undecided(), "not published"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        for (index, (count, what)) in parts.enumerate() {
            f.write_str(if index == 0 { ": " } else { ", " })?;
            write!(f, "{count} {what}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_lost_with_several_links_is_one_message() {
        let mut counts = PublisherCounts::default();
        (counts.offered, counts.sent, counts.queued) = (10, 4, 6);
        let sum = |lost| Sum { counts, lost }.to_string();
        assert_eq!(sum(0), "published 10: 10 sent");
        assert_eq!(sum(4), "published 10: 6 sent, 4 lost with a link");
        assert_eq!(sum(30), "published 10: 10 lost with a link");
    }
}
