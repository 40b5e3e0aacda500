// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of everything that a tool has published.

use std::fmt;

use zonda::Session;
use zonda::pubsub::{Publisher, PublisherCounts};
use zonda::qos::Priority;
use zonda_program::Failure;

/// The outcomes of all messages of a publisher.
pub struct Sum {
    counts: PublisherCounts,
    /// Messages that were accepted and lost with a link.
    lost: u64,
}

impl Sum {
    /// What the publisher has counted.
    pub fn of(publisher: &Publisher<'_>) -> Sum {
        Sum {
            counts: publisher.counters(),
            lost: 0,
        }
    }

    /// How many messages were to be published.
    pub fn published(&self) -> u64 {
        self.counts.offered
    }

    /// To be called when the session is closed: adds what was lost with links. Declarations are no messages.
    pub fn note_lost(&mut self, session: &Session) {
        let ended = session.info().ended_links();
        let data = ended.priorities.iter();
        let data = data.filter(|counts| counts.priority != Priority::Control);
        self.lost = data.map(|counts| counts.queued).sum();
    }

    /// A failure if a message was lost with its link.
    pub fn finish(&self) -> Result<(), Failure> {
        let messages = match self.lost {
            0 => return Ok(()),
            1 => "1 message was lost with its link: the neighbour left before it had taken it",
            _ => "messages were lost with their link: the neighbour left before it had taken them",
        };
        Err(Failure::Run(match self.lost {
            1 => messages.to_owned(),
            lost => format!("{lost} {messages}"),
        }))
    }
}

/// One line; what did not happen is left out.
impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        write!(f, "published {}", counts.offered)?;
        let parts = [
            (
                (counts.sent + counts.queued).saturating_sub(self.lost),
                "sent",
            ),
            (counts.no_subscriber, "no subscriber"),
            (counts.dropped, "dropped"),
            (counts.timed_out + counts.would_block, "not taken in time"),
            (counts.link_lost + self.lost, "lost with a link"),
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
