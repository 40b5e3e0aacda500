// SPDX-License-Identifier: MIT OR Apache-2.0

//! Log lines that neighbours can cause, each limited.

use std::{fmt::Arguments, fmt::Display, time::Instant};

use zonda_codec::ZenohId;
use zonda_transport::{log_limit::LogLimit, text::shown};

use crate::table::{Note, NoteCause};

/// Logs the notes of the table, one line a minute of each cause in this process, because neighbours
/// that come and go could fill the log otherwise. The caller must not hold the state's lock.
pub(crate) fn log(notes: Vec<Note>) {
    static LIMITS: [LogLimit; NoteCause::COUNT] = [const { LogLimit::new() }; NoteCause::COUNT];
    for Note { cause, text } in notes {
        if let Some(left_out) = LIMITS[cause as usize].admit(Instant::now()) {
            tracing::warn!("{}{left_out}", shown(&text));
        }
    }
}

/// Most log lines per minute about links that open and close regularly.
const LINKS_TOLD: u32 = 60;

/// Logs that a link has opened.
pub(crate) fn log_link(text: Arguments<'_>) {
    static LIMIT: LogLimit = LogLimit::several(LINKS_TOLD);
    if let Some(left_out) = LIMIT.admit(Instant::now()) {
        tracing::info!("{text}{left_out}");
    }
}

/// Logs that user code has panicked, which may happen with each message. `limit` belongs to the
/// caller.
#[cold]
pub(crate) fn log_panic(limit: &LogLimit, text: Arguments<'_>) {
    if let Some(left_out) = limit.admit(Instant::now()) {
        tracing::error!("{text}{left_out}");
    }
}

/// Logs that a neighbour sends messages that are too large; at most once a minute.
pub(crate) fn log_too_large(zid: ZenohId, remote: &dyn Display, limit: usize) {
    static LIMIT: LogLimit = LogLimit::new();
    if let Some(left_out) = LIMIT.admit(Instant::now()) {
        tracing::warn!(
            "a message of {zid} at {remote} is larger than {limit} bytes, or too many are unfinished: it is discarded; further ones of this link are only counted (transport/link/rx/max_message_size){left_out}"
        );
    }
}
