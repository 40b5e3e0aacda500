// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lines of the log that neighbours can cause, each limited.

use std::{fmt::Arguments, fmt::Display, time::Instant};

use zonda_codec::ZenohId;
use zonda_transport::{log_limit::LogLimit, text::shown};

use crate::table::{Note, NoteCause};

/// Passes on what the table notes, of each cause one line a minute in this process: neighbours that come and go could fill
/// the log otherwise. Not to be called with the state locked.
pub(crate) fn log(notes: Vec<Note>) {
    static LIMITS: [LogLimit; NoteCause::COUNT] = [const { LogLimit::new() }; NoteCause::COUNT];
    for Note { cause, text } in notes {
        if let Some(left_out) = LIMITS[cause as usize].admit(Instant::now()) {
            tracing::warn!("{}{left_out}", shown(&text));
        }
    }
}

/// Lines a minute about links that come and go in good order, of each kind.
const LINKS_TOLD: u32 = 60;

/// Says that a link has come.
pub(crate) fn log_link(text: Arguments<'_>) {
    static LIMIT: LogLimit = LogLimit::several(LINKS_TOLD);
    if let Some(left_out) = LIMIT.admit(Instant::now()) {
        tracing::info!("{text}{left_out}");
    }
}

/// Says that code of the user has panicked, which a message may cause each time. `limit` is that of the caller.
#[cold]
pub(crate) fn log_panic(limit: &LogLimit, text: Arguments<'_>) {
    if let Some(left_out) = limit.admit(Instant::now()) {
        tracing::error!("{text}{left_out}");
    }
}

/// Says that a neighbour sends messages that are too large; at most once a minute.
pub(crate) fn log_too_large(zid: ZenohId, remote: &dyn Display, limit: usize) {
    static LIMIT: LogLimit = LogLimit::new();
    if let Some(left_out) = LIMIT.admit(Instant::now()) {
        tracing::warn!(
            "a message of {zid} at {remote} is larger than {limit} bytes, or too many are unfinished: it is discarded; further ones of this link are only counted (transport/link/rx/max_message_size){left_out}"
        );
    }
}
