// SPDX-License-Identifier: MIT OR Apache-2.0

//! Log lines about neighbours that come and go.
//!
//! Each is a line of its own, [`LINES_MAX`](crate::peers::lines::LINES_MAX) at once and then one in
//! a while: the next line counts those left out. The loss of a link to a configured endpoint is a
//! warning, because the program asked for the link; the loss of any other link is one when messages
//! are lost with it, unless the neighbour said goodbye and so wants nothing more.

use std::{
    fmt::{self, Display, Formatter},
    time::{Duration, Instant},
};

use zonda_codec::{WhatAmI, transport::reason};
use zonda_transport::{driver::Ended, outbox::Unsent, text::shown};

use crate::{model::LinkStatus, peers::lines::Lines};

/// Connection that has ended.
pub(crate) struct EndedConnection<'a> {
    pub(crate) link: &'a LinkStatus,
    /// Time for which it stood.
    pub(crate) stood: Duration,
    pub(crate) ended: &'a Ended,
    pub(crate) unsent: Unsent,
    /// True if it was opened for a configured endpoint, and no other link to that neighbour is
    /// left.
    pub(crate) is_missed: bool,
    /// True if it was too slow, and the log has not said so recently.
    pub(crate) is_slow_news: bool,
}

/// Neighbour, as the log names it.
struct NamedNeighbour<'a>(&'a LinkStatus);

impl Display for NamedNeighbour<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let link = self.0;
        write!(f, "{} {} at {}", link.whatami, link.zid, link.remote)?;
        match link.options.user() {
            Some(user) => write!(f, ", user {}", shown(user)),
            None => Ok(()),
        }
    }
}

/// Messages that were lost with a link; empty if none were.
struct LostMessages(Unsent);

impl Display for LostMessages {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.0.messages, self.0.bytes) {
            (0, _) => Ok(()),
            (1, bytes) => write!(f, "; 1 message ({bytes} bytes) that waited for it is lost"),
            (count, bytes) => {
                write!(
                    f,
                    "; {count} messages ({bytes} bytes) that waited for it are lost"
                )
            }
        }
    }
}

/// Hint about a router that hung up without a reason, as a router does to a node that does not
/// read.
struct Hint(bool);

impl Display for Hint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            true => f.write_str(" without a word, as it does if it ends or this node takes too little (the router's log says which)"),
            false => Ok(()),
        }
    }
}

impl Lines {
    /// Logs that a neighbour has connected, or this node to it.
    pub(crate) fn log_coming(&self, link: &LinkStatus) {
        let Some(left_out) = self.usual.admit(Instant::now()) else {
            return;
        };
        let link_kind = NamedNeighbour(link);
        match link.dialed {
            true => tracing::info!("connected to {link_kind}{left_out}"),
            false => tracing::info!("{link_kind} has connected{left_out}"),
        }
    }

    /// Logs that one of these endpoints is connected again.
    pub(crate) fn log_return(&self, endpoints: &str, lost: Instant) {
        if let Some(left_out) = self.configured.admit(Instant::now()) {
            let after = lost.elapsed();
            tracing::warn!("connected to {endpoints} again after {after:.1?}{left_out}");
        }
    }

    /// Logs that a neighbour has gone, or was closed. `is_closed` is true if this node closes.
    pub(crate) fn log_going(&self, gone: &EndedConnection<'_>, is_closed: bool) {
        let EndedConnection {
            link,
            stood,
            ended,
            unsent,
            ..
        } = gone;
        if is_closed && !ended.is_departure() && !unsent.is_nothing() {
            // the outcome of the close names this neighbour and its lost messages; a line here
            // would repeat that
            return;
        }
        // slow consumers and configured endpoints are warnings, then lost messages; the rest is
        // information
        let (named, stood, lost) = (
            NamedNeighbour(link),
            format!("{stood:.1?}"),
            LostMessages(*unsent),
        );
        let says_goodbye = matches!(ended, Ended::Remote(reason::GENERIC));
        let hint = Hint(**ended == Ended::HungUp && link.whatami == WhatAmI::Router && link.dialed);
        let quota = &self.losses;
        if gone.is_slow_news {
            if let Some(left_out) = quota.admit(Instant::now()) {
                tracing::warn!(
                    "the link to {named} is closed after {stood}, because it is a slow consumer: it read too slowly while sources waited for it{lost} (isolation/*, node counter slow_consumers; the same one is only counted for the next minute){left_out}"
                );
            }
        } else if gone.is_missed && !is_closed {
            if let Some(left_out) = self.configured.admit(Instant::now()) {
                tracing::warn!(
                    "lost the link to {named} after {stood}: {ended}{hint}{lost}; trying again{left_out}"
                );
            }
        } else if unsent.messages > 0 && !says_goodbye && **ended != Ended::TooSlow {
            if let Some(left_out) = quota.admit(Instant::now()) {
                tracing::warn!("the link to {named} ended after {stood}: {ended}{lost}{left_out}");
            }
        } else if let Some(left_out) = self.usual.admit(Instant::now()) {
            tracing::info!("{named} has gone after {stood}: {ended}{lost}{left_out}");
        }
    }
}
