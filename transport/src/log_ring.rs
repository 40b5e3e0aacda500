// SPDX-License-Identifier: MIT OR Apache-2.0
//! The last lines of a program's log, without secrets.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::text::plain;

/// Maximum number of lines that are kept.
pub const LINES_MAX: usize = 200;

/// Maximum number of characters of a line.
const CHARACTERS_MAX: usize = 400;

/// Parts of names behind which a line is cut if a value follows.
const SECRETS: [&str; 8] = [
    "password",
    "passwd",
    "secret",
    "token",
    "credential",
    "private_key",
    "authorization",
    "dictionary",
];

/// Words behind which a line is cut.
const SCHEMES: [&str; 2] = ["bearer ", "basic "];

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Its number, from 1 on.
    pub number: u64,
    /// Milliseconds from the beginning of 1970 to it.
    pub at_ms: u64,
    /// Its level, such as `WARN`.
    pub level: &'static str,
    /// The part of the program that wrote it.
    pub target: &'static str,
    /// Its text, in printable characters.
    pub text: String,
}

/// The last lines of a log.
///
/// ```
/// use zonda_transport::log_ring::LogRing;
///
/// let ring = LogRing::new();
/// ring.push(0, "WARN", "zonda", "user:pass@host refuses, password = hunter2");
/// assert_eq!(ring.after(0)[0].text, "user:…@host refuses, password =…");
/// assert!(ring.after(1).is_empty());
/// ```
#[derive(Debug, Default)]
pub struct LogRing(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<LogLine>,
    /// Number of all lines so far.
    count: u64,
}

impl LogRing {
    /// Creates a ring without lines.
    #[must_use]
    pub const fn new() -> LogRing {
        LogRing(Mutex::new(Kept {
            lines: VecDeque::new(),
            count: 0,
        }))
    }

    /// Adds a line without the secrets in it; the oldest one leaves if there are too many.
    pub fn push(&self, at_ms: u64, level: &'static str, target: &'static str, text: &str) {
        let text = shortened(&without_secrets(&plain(text)));
        let mut kept = self.kept();
        kept.count += 1;
        let number = kept.count;
        if kept.lines.len() >= LINES_MAX {
            kept.lines.pop_front();
        }
        kept.lines.push_back(LogLine {
            number,
            at_ms,
            level,
            target,
            text,
        });
    }

    /// Returns the lines that are kept and come after the line with this number.
    #[must_use]
    pub fn after(&self, number: u64) -> Vec<LogLine> {
        let kept = self.kept();
        let later = kept.lines.iter().filter(|line| line.number > number);
        later.cloned().collect()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + "…",
        None => text.to_owned(),
    }
}

/// Cuts a text at the first value that may be a secret, and hides passwords of addresses.
fn without_secrets(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let values = SECRETS.iter().flat_map(|name| {
        let all = lower.match_indices(name);
        all.filter_map(|(at, name)| value_after(&lower, at + name.len()))
    });
    let schemes = SCHEMES.iter().flat_map(|scheme| {
        let all = lower.match_indices(scheme);
        all.map(|(at, scheme)| at + scheme.len())
    });
    let (shown, rest) = match values.chain(schemes).min() {
        Some(end) => (text.get(..end).unwrap_or_default(), "…"),
        None => (text, ""),
    };
    let words = shown.split_inclusive(' ').map(without_password);
    words.collect::<String>() + rest
}

/// Returns the place of the value that `=` or `:` announces behind a name that ends at `end`.
fn value_after(text: &str, end: usize) -> Option<usize> {
    let behind = text.get(end..)?;
    let of_name = |c: char| c.is_ascii_alphanumeric() || "_-/ \"'`".contains(c);
    let rest = behind.trim_start_matches(of_name);
    rest.starts_with(['=', ':'])
        .then_some(end + behind.len() - rest.len() + 1)
}

/// Hides what is between the last `:` before `@` and it, as in `user:password@host`.
fn without_password(word: &str) -> String {
    let parts = word.rsplit_once('@');
    let hidden = parts.and_then(|(before, host)| {
        let (user, password) = before.rsplit_once(':')?;
        (!password.is_empty()).then(|| format!("{user}:…@{host}"))
    });
    hidden.unwrap_or_else(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out() {
        for line in [
            "password=hunter2",
            "the file says `user_password` : \"a b hunter2\"",
            "transport/auth/usrpwd/password: 'hunter2'",
            "Authorization: Basic hunter2",
            "sent bearer hunter2",
            "auth_token=hunter2 for a1",
            "connecting to tls/user:hunter2@host:7447",
            "Secret key \"x\": hunter2",
        ] {
            let shown = without_secrets(line);
            assert!(!shown.contains("hunter2") && shown.contains('…'), "{shown}");
        }
        for line in [
            "listening on tcp/127.0.0.1:7447",
            "the token of the client is wrong",
            "query on @/a1/router",
        ] {
            assert_eq!(without_secrets(line), line);
        }
    }

    #[test]
    fn the_ring_is_bounded_and_counts_on() {
        let ring = LogRing::new();
        let long = "é\n".repeat(CHARACTERS_MAX);
        for _ in 0..LINES_MAX + 5 {
            ring.push(1, "INFO", "zonda", &long);
        }
        let lines = ring.after(0);
        assert_eq!((lines.len(), lines[0].number), (LINES_MAX, 6));
        assert_eq!(lines[0].text.chars().count(), CHARACTERS_MAX + 1);
        assert!(!lines[0].text.contains('\n'));
        assert_eq!(ring.after(LINES_MAX as u64 + 4).len(), 1);
    }
}
