// SPDX-License-Identifier: MIT OR Apache-2.0

//! Replies to a query for a trace: the messages on some keys as they pass the links of this node,
//! for as long as the query is open.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use zonda_codec::KeyExpr;

use crate::{
    admin::question::{AdminReply, JSON},
    config::Flow,
    filter::Pass,
};

/// Longest time of a trace.
const SECONDS_MAX: u64 = 3600;

/// Time between two replies.
pub(crate) const REPLY_EVERY: Duration = Duration::from_millis(100);

/// Returns true for the key of traces on any node: `@/ID/ROLE/trace`.
pub(crate) fn is_trace(key: &KeyExpr<'_>) -> bool {
    let mut chunks = key.as_str().split('/');
    let ends = [chunks.next(), chunks.nth(2), chunks.next()];
    ends == [Some("@"), Some("trace"), None]
}

/// The messages and the time of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskedTrace {
    pub(crate) key: KeyExpr<'static>,
    pub(crate) time: Duration,
}

impl AskedTrace {
    /// Reads the parameters `seconds=NUMBER;key=KEY`. The key comes last, as it may contain any of
    /// these characters.
    ///
    /// # Errors
    /// The fault, in words.
    pub(crate) fn read(parameters: &str) -> Result<AskedTrace, String> {
        const FORM: &str = "a trace needs the parameters seconds=NUMBER;key=KEY";
        let rest = parameters.strip_prefix("seconds=").ok_or(FORM)?;
        let (seconds, key) = rest.split_once(";key=").ok_or(FORM)?;
        let seconds = seconds
            .parse()
            .ok()
            .filter(|s| (1..=SECONDS_MAX).contains(s));
        let seconds = seconds.ok_or(format!("a trace takes 1 to {SECONDS_MAX} seconds"))?;
        let key = KeyExpr::try_from(key.to_owned()).map_err(|error| error.to_string())?;
        let time = Duration::from_secs(seconds);
        Ok(AskedTrace { key, time })
    }
}

/// Returns the reply with some records, and the number of passes without one.
pub(crate) fn reply(root: &KeyExpr<'_>, passes: &[Pass], unrecorded: u64) -> Option<AdminReply> {
    let passes: Vec<_> = passes.iter().map(pass_json).collect();
    let text = json!({"passes": passes, "unrecorded": unrecorded});
    Some(AdminReply {
        key: root.join("trace").ok()?,
        text: text.to_string().into(),
        encoding: JSON,
    })
}

fn pass_json(pass: &Pass) -> Value {
    let at = pass.at.duration_since(SystemTime::UNIX_EPOCH);
    json!({
        "at": at.unwrap_or_default().as_secs_f64(),
        "way": match pass.flow {
            Flow::Ingress => "from",
            Flow::Egress => "to",
        },
        "kind": pass.kind.name(),
        "key": &*pass.key,
        "bytes": pass.bytes,
        "zid": pass.zid.to_string(),
        "role": pass.role.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_a_time_and_a_key() {
        let asked = AskedTrace::read("seconds=5;key=a;key=b/**").expect("it is whole");
        assert_eq!(
            (asked.key.as_str(), asked.time.as_secs()),
            ("a;key=b/**", 5)
        );
        for (text, fault) in [
            ("", "needs the parameters"),
            ("key=a", "needs the parameters"),
            ("seconds=0;key=a", "1 to 3600 seconds"),
            ("seconds=3601;key=a", "1 to 3600 seconds"),
            ("seconds=x;key=a", "1 to 3600 seconds"),
            ("seconds=1;key=/a", "empty chunk"),
        ] {
            let error = AskedTrace::read(text).expect_err(text);
            assert!(error.contains(fault), "{text}: {error}");
        }
    }
}
