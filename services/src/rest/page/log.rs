// SPDX-License-Identifier: MIT OR Apache-2.0

//! The last lines of the log, for clients that may read the admin space.

use std::sync::Arc;

use axum::body::Bytes;
use serde_json::{Value, json};
use zonda::key_expr::KeyExpr;
use zonda::{Config, Session};
use zonda_transport::log_ring::{LogLine, LogRing};

use crate::http::Client;
use crate::metrics::own_key;

/// The log of the program, and the right to read it.
pub(in crate::rest) struct Log {
    /// `None` if the program keeps no lines.
    ring: Option<&'static LogRing>,
    session: Session,
    /// Key that a client has to have the right to read.
    key: Option<KeyExpr<'static>>,
    /// True if the configuration lets the admin space be read.
    is_readable: bool,
}

/// A page that may read the log.
pub(in crate::rest) struct LogReader {
    log: Arc<Log>,
    client: Client,
    /// The number of the last line that it has.
    last: u64,
}

impl Log {
    /// Creates it for the node of a session.
    pub fn new(ring: Option<&'static LogRing>, session: &Session, config: &Config) -> Log {
        let is_set = |key: &str| config.get_json(key).is_ok_and(|value| value == "true");
        Log {
            ring,
            session: session.clone(),
            key: own_key(session, "/log"),
            is_readable: is_set("adminspace/enabled") && is_set("adminspace/permissions/read"),
        }
    }

    /// Returns the place of a client that reads from the first line that is kept.
    ///
    /// # Errors
    /// The reason why it may not, in one line.
    pub fn open(self: &Arc<Self>, client: Client) -> Result<LogReader, String> {
        match (self.ring, &self.key) {
            _ if !self.is_readable => Err(
                "the admin space may not be read (adminspace/enabled, adminspace/permissions/read)"
                    .to_owned(),
            ),
            (None, _) | (_, None) => Err("this program keeps no lines of its log".to_owned()),
            (Some(_), Some(key)) => match client.may_read(&self.session, key) {
                Ok(()) => Ok(LogReader {
                    log: Arc::clone(self),
                    client,
                    last: 0,
                }),
                Err(denied) => Err(denied.to_string()),
            },
        }
    }
}

impl LogReader {
    /// Returns the lines that the reader does not have as an event, and the number of the last one.
    pub fn next(&self) -> Option<(String, u64)> {
        let log = &self.log;
        let (ring, key) = (log.ring?, log.key.as_ref()?);
        let lines = ring.after(self.last);
        let last = lines.last()?.number;
        // The rules may have changed since the client came.
        self.client.may_read(&log.session, key).ok()?;
        let lines: Vec<Value> = lines.iter().map(of_line).collect();
        let event = format!("event: log\ndata: {}\n\n", json!({"lines": lines}));
        Some((event, last))
    }

    /// Takes note that the reader has all lines up to this one.
    pub fn advance(&mut self, last: u64) {
        self.last = last;
    }
}

fn of_line(line: &LogLine) -> Value {
    json!({
        "number": line.number,
        "at_ms": line.at_ms,
        "level": line.level,
        "target": line.target,
        "text": line.text,
    })
}

/// Returns the event that tells a client why it gets no lines.
pub(super) fn denied(reason: &str) -> Bytes {
    format!("event: log\ndata: {}\n\n", json!({"denied": reason})).into()
}
