// SPDX-License-Identifier: MIT OR Apache-2.0

//! The last lines of a daemon's log, kept in memory.

use std::fmt::{Debug, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use zonda_transport::log_ring::LogRing;

static LINES: LogRing = LogRing::new();

/// True from the first call of [`kept`] on.
static IS_KEPT: AtomicBool = AtomicBool::new(false);

/// Keeps the lines of the log from now on: those of level `INFO` and above, without secrets. Returns
/// them.
pub fn kept() -> &'static LogRing {
    IS_KEPT.store(true, Ordering::Relaxed);
    &LINES
}

/// Layer that keeps the events which the filter of the log lets pass.
pub(crate) struct Keeper;

impl<S: Subscriber> Layer<S> for Keeper {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let metadata = event.metadata();
        // Details may have parts of messages in them.
        if !IS_KEPT.load(Ordering::Relaxed) || *metadata.level() > Level::INFO {
            return;
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let at_ms = since.map_or(0, |since| since.as_millis());
        let at_ms = u64::try_from(at_ms).unwrap_or(u64::MAX);
        LINES.push(at_ms, metadata.level().as_str(), metadata.target(), &text.0);
    }
}

/// The fields of an event, in a line: its message, and `name=value` of the others.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if !self.0.is_empty() {
            self.0.push(' ');
        }
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, "{name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn events_are_kept_without_details_and_secrets() {
        let lines = kept();
        let subscriber = tracing_subscriber::registry().with(Keeper);
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(count = 3, "a neighbour left");
            tracing::debug!("a detail");
            tracing::info!(password = "hunter2", "connected");
        });
        let lines: Vec<_> = { lines.after(0).into_iter() }
            .map(|line| (line.level, line.text))
            .collect();
        let expected = [
            ("WARN", "a neighbour left count=3".to_owned()),
            ("INFO", "connected password=…".to_owned()),
        ];
        assert_eq!(lines, expected);
    }
}
