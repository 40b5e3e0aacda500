// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counters and log lines of messages that access control denies, by rule.

use std::{
    collections::HashMap,
    fmt::{self, Display, Formatter},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use zonda_codec::KeyExpr;
use zonda_transport::{log_limit::LogLimit, text::shown};

use crate::{
    config::{Flow, MessageKind},
    metrics::{Sample, table::ACCESS_DENIED},
};

use super::policy::Cause;

/// Neighbour or client, direction and key of denied messages, for log lines.
pub(super) struct Denial {
    who: String,
    flow: Flow,
    key: String,
}

impl Denial {
    pub(super) fn new(who: String, flow: Flow, key: Option<&KeyExpr<'_>>) -> Denial {
        let key = shown(key.map_or("(unknown)", |key| key.as_str()));
        Denial { who, flow, key }
    }
}

impl Display for Denial {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Denial { who, flow, key } = self;
        let way = match flow {
            Flow::Ingress => "from",
            Flow::Egress => "to",
        };
        write!(f, "on \"{key}\" {way} {who}")
    }
}

/// Denied messages of one rule.
struct Count {
    messages: AtomicU64,
    lines: LogLimit,
}

impl Default for Count {
    fn default() -> Self {
        let (messages, lines) = (AtomicU64::new(0), LogLimit::new());
        Count { messages, lines }
    }
}

/// Messages that no rule allows. Each kind has a log line of its own in each direction, as a
/// neighbour may send one kind all the time.
struct ByDefault {
    messages: AtomicU64,
    lines: [[LogLimit; MessageKind::ALL.len()]; 2],
}

impl Default for ByDefault {
    fn default() -> Self {
        ByDefault {
            messages: AtomicU64::new(0),
            lines: Default::default(),
        }
    }
}

/// Denied messages of all rules.
pub(super) struct Denials {
    by_rule: Vec<(String, Arc<Count>)>,
    by_default: Arc<ByDefault>,
}

impl Denials {
    /// Creates counters; those of rules that `before` has, too, are continued.
    pub(super) fn new(names: impl Iterator<Item = String>, before: Option<&Denials>) -> Denials {
        let known = before.into_iter().flat_map(|before| &before.by_rule);
        let known: HashMap<_, _> = known.map(|(name, count)| (name.as_str(), count)).collect();
        let count = |name: &String| known.get(name.as_str()).map(|count| Arc::clone(count));
        let named = |name: String| (count(&name).unwrap_or_default(), name);
        Denials {
            by_rule: names
                .map(named)
                .map(|(count, name)| (name, count))
                .collect(),
            by_default: before.map_or_else(Arc::default, |before| Arc::clone(&before.by_default)),
        }
    }

    /// Counts a message that is denied, or would be in an audit. Logs at most one line a minute for
    /// each rule, and for each kind and direction of messages that no rule allows.
    #[cold]
    pub(super) fn note(&self, cause: Cause, place: &Denial, kind: MessageKind, is_audit: bool) {
        let rule = cause.and_then(|rule| self.by_rule.get(rule));
        let (name, messages, lines) = match rule {
            Some((name, count)) => (Some(name), &count.messages, &count.lines),
            None => {
                let ByDefault { messages, lines } = &*self.by_default;
                (None, messages, &lines[place.flow as usize][kind as usize])
            }
        };
        messages.fetch_add(1, Ordering::Relaxed);
        let Some(left_out) = lines.admit(Instant::now()) else {
            return;
        };
        let (kind, cause) = (kind.name(), Named(name));
        match is_audit {
            true => tracing::warn!("access control would deny {kind} {place}: {cause}{left_out}"),
            false => tracing::warn!("access control denies {kind} {place}: {cause}{left_out}"),
        }
    }

    /// Returns the cause of a denial in words.
    pub(super) fn in_words(&self, cause: Cause) -> String {
        let rule = cause.and_then(|rule| self.by_rule.get(rule));
        Named(rule.map(|(name, _)| name)).to_string()
    }

    /// Returns the counters: that of messages that no rule allows, and those of rules that have
    /// denied some.
    pub(super) fn samples(&self) -> Vec<Sample> {
        let of = |messages: &AtomicU64| {
            let messages = messages.load(Ordering::Relaxed);
            Sample::of(&ACCESS_DENIED, messages)
        };
        let rules = self.by_rule.iter();
        let rules = rules.map(|(name, count)| of(&count.messages).with("rule", name.clone()));
        let rules = rules.filter(|sample| sample.value() > 0);
        let by_default = of(&self.by_default.messages);
        std::iter::once(by_default).chain(rules).collect()
    }
}

/// The cause of a denial in words.
struct Named<'n>(Option<&'n String>);

impl Display for Named<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, "by rule {name:?}"),
            None => f.write_str("no rule allows it"),
        }
    }
}
