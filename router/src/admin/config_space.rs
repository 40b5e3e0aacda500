// SPDX-License-Identifier: MIT OR Apache-2.0

//! The configuration in the admin space: a reply for each key with the value in force, secrets
//! hidden; and writes of the keys that a running node takes over, as queries with a value, or as
//! publications.

use std::time::Instant;

use serde_json::json;
use zonda_codec::KeyExpr;
use zonda_runtime::oneshot;
use zonda_transport::log_limit::LogLimit;

use crate::{
    admin::{
        asker::Asker,
        question::{AdminQuestion, AdminReply, JSON},
        writes::Written,
    },
    config::{Flow, MessageKind, Settings, writable_keys},
    node::{Reloaded, shared::Shared},
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

/// Returns true if a write of this key may block.
pub(crate) fn may_block(node: &Shared, key: &KeyExpr<'_>) -> bool {
    config_path(key).is_some_and(|path| node.running.plugins().may_take(path))
}

/// Does a write on a thread of its own, while the runtime serves its links.
///
/// # Errors
/// The error of the write, or there is no thread.
pub(crate) async fn apart<T: Send + 'static>(
    write: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = oneshot::channel();
    let thread = std::thread::Builder::new().name("zonda-config".into());
    if let Err(error) = thread.spawn(move || sender.send(write())) {
        return Err(format!("no thread: {error}"));
    }
    let failed = || Err("the write has failed; the log has the cause".to_owned());
    receiver.await.unwrap_or_else(failed)
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

/// Writes the value of a query, if the asker may. The reply names the keys that have changed.
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
    if let Some(denied) = asker.denied(Flow::Ingress, MessageKind::Put, &asked.key) {
        node.config_writes.count(Written::Refused);
        return Err(format!(
            "a write needs the right to put on the key: {denied}"
        ));
    }
    let text = asked.written.as_deref().unwrap_or_default();
    let reloaded = write_value(node, &asker.name(), &asked.key, Some(text))?;
    let path = config_path(&asked.key).unwrap_or_default();
    let key = root.join(format!("config/{path}").trim_end_matches('/'));
    let text = json!({
        "changed": reloaded.changed,
        "routers": reloaded.routers,
        "forgotten": reloaded.forgotten,
    });
    Ok(AdminReply {
        key: key.map_err(|error| error.to_string())?,
        text: text.to_string().into(),
        encoding: JSON,
    })
}

/// Writes the value at a key of the configuration, or an object with those of several keys, as far
/// as the node takes them over; without a value it restores the default. Counts the write, and logs
/// what `who` has changed.
///
/// # Errors
/// The cause in words: no right, another key, a value that is not valid.
pub(crate) fn write_value(
    node: &Shared,
    who: &str,
    key: &KeyExpr<'_>,
    value: Option<&[u8]>,
) -> Result<Reloaded, String> {
    let outcome = change(node, key, value);
    node.config_writes.count(match &outcome {
        Ok(_) => Written::Applied,
        Err(_) => Written::Refused,
    });
    let reloaded = outcome?;
    static LIMIT: LogLimit = LogLimit::new();
    let is_change = !reloaded.changed.is_empty();
    if let Some(left_out) = is_change.then(|| LIMIT.admit(Instant::now())).flatten() {
        let changed = reloaded.changed.join(", ");
        tracing::warn!(
            "{who} has changed the configuration through the admin space: {changed}{left_out}"
        );
    }
    Ok(reloaded)
}

fn change(node: &Shared, key: &KeyExpr<'_>, value: Option<&[u8]>) -> Result<Reloaded, String> {
    if !node.settings.adminspace_writable {
        let reason = "the configuration may not be written: adminspace/permissions/write is false";
        return Err(reason.into());
    }
    let path = config_path(key).filter(|path| !path.contains('*'));
    let path = path.ok_or("a write needs the whole path of one key, without wildcards")?;
    if value.is_none() && path.is_empty() {
        return Err("a deletion needs the path of one key".into());
    }
    if value.is_some_and(|value| value.len() > VALUE_BYTES_MAX) {
        return Err(format!("a value has at most {VALUE_BYTES_MAX} bytes"));
    }
    let text = value.map(std::str::from_utf8).transpose();
    let text = text.map_err(|_| "the value is no text, but JSON5 is")?;
    let reloaded = node.write(path, text).map_err(|error| error.to_string())?;
    if reloaded.needs_restart.is_empty() {
        return Ok(reloaded);
    }
    let plugins = node.running.plugins().names().into_iter();
    let plugins = plugins.map(|name| format!("plugins/{name}"));
    let keys = writable_keys().iter().map(ToString::to_string);
    let keys = keys.chain(plugins).collect::<Vec<_>>().join(", ");
    let what = match path {
        "" => format!(
            "a restart is needed for {}",
            reloaded.needs_restart.join(", ")
        ),
        path => format!("{path} needs a restart"),
    };
    Err(format!(
        "{what}; the keys that can be written are those below {keys}"
    ))
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
