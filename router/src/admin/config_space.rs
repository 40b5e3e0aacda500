// SPDX-License-Identifier: MIT OR Apache-2.0

//! The configuration in the admin space: a reply for each key with the value in force, secrets
//! hidden; and writes of the keys that a running node takes over, as queries with a value.

use std::time::Instant;

use serde_json::json;
use zonda_codec::KeyExpr;
use zonda_transport::log_limit::LogLimit;

use crate::{
    admin::{
        asker::Asker,
        question::{AdminQuestion, AdminReply, JSON},
    },
    config::{Flow, MessageKind, Settings, writable_keys},
    node::shared::Shared,
};

/// Most bytes of a written value.
const VALUE_BYTES_MAX: usize = 1 << 20;

/// Returns the path in a key of the configuration of any node: `@/ID/ROLE/config/PATH`. Empty for the
/// whole configuration.
pub(crate) fn config_path<'k>(key: &'k KeyExpr<'_>) -> Option<&'k str> {
    let mut parts = key.as_str().splitn(5, '/');
    let begin = [parts.next()?, parts.nth(2)?];
    let path = parts.next().unwrap_or_default();
    (begin == ["@", "config"]).then_some(path)
}

/// Returns the part of a written value that a query keeps until its turn: nothing without the right
/// to write, and of a value that is too long only so much that it still is.
pub(crate) fn kept<'p>(payload: &'p [u8], settings: &Settings) -> &'p [u8] {
    let most = match settings.adminspace_writable {
        true => VALUE_BYTES_MAX + 1,
        false => 0,
    };
    payload.get(..most).unwrap_or(payload)
}

/// Returns true if [`write_config`] may block.
pub(crate) fn may_block(node: &Shared, asked: &AdminQuestion) -> bool {
    config_path(&asked.key).is_some_and(|path| node.running.plugins().may_take(path))
}

/// Returns the values in force, secrets hidden.
pub(crate) fn config_replies(node: &Shared, root: &KeyExpr<'_>) -> Vec<AdminReply> {
    let values = node.running.effective().into_iter();
    let reply = |(path, value): (String, String)| {
        Some(AdminReply {
            key: root.join(&format!("config/{path}")).ok()?,
            text: value.into(),
            encoding: JSON,
        })
    };
    values.filter_map(reply).collect()
}

/// Writes the value of a key, or an object with those of several, as far as the node takes them over.
///
/// # Errors
/// The cause in words: no right, another key, a value that is not valid.
///
/// # Blocking
/// While a program takes over the configuration of its plugin ([`may_block`]).
pub(crate) fn write_config(
    node: &Shared,
    asked: &AdminQuestion,
    root: &KeyExpr<'_>,
    asker: &Asker,
) -> Result<AdminReply, String> {
    if !node.settings.adminspace_writable {
        let reason = "the configuration may not be written: adminspace/permissions/write is false";
        return Err(reason.into());
    }
    if let Some(denied) = asker.denied(Flow::Ingress, MessageKind::Put, &asked.key) {
        return Err(format!(
            "a write needs the right to put on the key: {denied}"
        ));
    }
    let path = config_path(&asked.key).filter(|path| !path.contains('*'));
    let path = path.ok_or("a write needs the whole path of one key, without wildcards")?;
    let text = asked.written.as_deref().unwrap_or_default();
    if text.len() > VALUE_BYTES_MAX {
        return Err(format!("a value has at most {VALUE_BYTES_MAX} bytes"));
    }
    let text = std::str::from_utf8(text).map_err(|_| "the value is no text, but JSON5 is")?;
    let key = root.join(format!("config/{path}").trim_end_matches('/'));
    let key = key.map_err(|error| error.to_string())?;
    let reloaded = node.write(path, text).map_err(|error| error.to_string())?;
    if !reloaded.needs_restart.is_empty() {
        let plugins = node.running.plugins().names().into_iter();
        let plugins = plugins.map(|name| format!("plugins/{name}"));
        let keys = writable_keys().iter().map(ToString::to_string);
        let keys: Vec<String> = keys.chain(plugins).collect();
        let keys = keys.join(", ");
        let what = match path {
            "" => format!(
                "a restart is needed for {}",
                reloaded.needs_restart.join(", ")
            ),
            path => format!("{path} needs a restart"),
        };
        return Err(format!(
            "{what}; the keys that can be written are those below {keys}"
        ));
    }
    static LIMIT: LogLimit = LogLimit::new();
    let is_change = !reloaded.changed.is_empty();
    if let Some(left_out) = is_change.then(|| LIMIT.admit(Instant::now())).flatten() {
        let (who, changed) = (asker.name(), reloaded.changed.join(", "));
        tracing::warn!(
            "{who} has changed the configuration through the admin space: {changed}{left_out}"
        );
    }
    let text = json!({
        "changed": reloaded.changed,
        "routers": reloaded.routers,
        "forgotten": reloaded.forgotten,
    });
    Ok(AdminReply {
        key,
        text: text.to_string().into(),
        encoding: JSON,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_below_the_configuration_of_a_node() {
        for (key, path) in [
            ("@/a1/router/config/mode", Some("mode")),
            ("@/*/router/config/qos/network", Some("qos/network")),
            ("@/a1/router/config/**", Some("**")),
            ("@/a1/router/config", Some("")),
            ("@/a1/router/configs/mode", None),
            ("a/a1/router/config/mode", None),
            ("@/a1/router/subscriber/config/mode", None),
        ] {
            let expr = KeyExpr::new(key).expect(key);
            assert_eq!(config_path(&expr), path, "{key}");
        }
    }
}
