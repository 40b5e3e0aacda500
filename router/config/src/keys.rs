// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lookup of keys in the table: by path, by section, by similarity.

use zonda_transport::text::distance;

use crate::{
    kind::{Key, Kind},
    rows::ROWS,
};

/// Returns the key with exactly this path.
pub fn find(path: &str) -> Option<&'static Key> {
    ROWS.iter().find(|k| k.path == path)
}

/// Returns the key whose free-form subtree has `path` (for example `plugins` for
/// `plugins/rest/http_port`).
pub fn subtree_of(path: &str) -> Option<&'static Key> {
    let holds = |k: &&Key| k.kind == Kind::Tree && under(path, k.path);
    ROWS.iter().find(holds)
}

/// Returns true if a key lies below `path`.
pub fn is_section(path: &str) -> bool {
    path.is_empty() || ROWS.iter().any(|k| under(k.path, path))
}

/// Keys of older versions of the reference, and their current names.
const RENAMED: &[(&str, &str)] = &[
    (
        "transport/link/tls/server_private_key",
        "transport/link/tls/listen_private_key",
    ),
    (
        "transport/link/tls/server_private_key_base64",
        "transport/link/tls/listen_private_key_base64",
    ),
    (
        "transport/link/tls/server_certificate",
        "transport/link/tls/listen_certificate",
    ),
    (
        "transport/link/tls/server_certificate_base64",
        "transport/link/tls/listen_certificate_base64",
    ),
    (
        "transport/link/tls/client_private_key",
        "transport/link/tls/connect_private_key",
    ),
    (
        "transport/link/tls/client_private_key_base64",
        "transport/link/tls/connect_private_key_base64",
    ),
    (
        "transport/link/tls/client_certificate",
        "transport/link/tls/connect_certificate",
    ),
    (
        "transport/link/tls/client_certificate_base64",
        "transport/link/tls/connect_certificate_base64",
    ),
    (
        "transport/link/tls/client_auth",
        "transport/link/tls/enable_mtls",
    ),
    (
        "transport/link/tls/server_name_verification",
        "transport/link/tls/verify_name_on_connect",
    ),
    ("transport/qos/enabled", "transport/unicast/qos/enabled"),
    (
        "transport/link/compression/enabled",
        "transport/unicast/compression/enabled",
    ),
    (
        "transport/link/tx/queue/backoff",
        "transport/link/tx/queue/batching/time_limit",
    ),
    ("add_timestamp", "timestamping/enabled"),
    ("listeners", "listen/endpoints"),
    ("peers", "connect/endpoints"),
    ("multicast_interface", "scouting/multicast/interface"),
];

/// Returns the valid key or section most similar to `path`, if one is similar enough.
pub fn nearest(path: &str) -> Option<&'static str> {
    if let Some((_, today)) = RENAMED.iter().find(|(old, _)| *old == path) {
        return Some(today);
    }
    // Candidates are a key of the same name in another section, and the key with the smallest edit
    // distance.
    let last = |p: &str| p.rsplit('/').next().unwrap_or("").to_owned();
    let same_name = ROWS
        .iter()
        .map(|k| k.path)
        .filter(|p| last(p) == last(path));
    let best_namesake = same_name.min_by_key(|p| distance(path, p));
    let (steps, best) = candidates().map(|p| (distance(path, p), p)).min()?;
    // Within one section only the names are compared: a long path must not make all of them
    // similar.
    let name = last(path).chars().count();
    let is_near = match best.rsplit_once('/').map(|(section, _)| section)
        == path.rsplit_once('/').map(|(section, _)| section)
    {
        true => steps <= 2.max(name / 4),
        false => steps <= 2.max(path.chars().count() / 4),
    };
    match is_near {
        true => Some(best),
        false => begun(path).or(best_namesake),
    }
}

/// Returns the shortest valid key or section in the same section whose name begins with that of
/// `path`.
fn begun(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or("");
    let goes_on = |known: &&str| {
        known
            .strip_prefix(path)
            .is_some_and(|rest| !rest.is_empty() && !rest.contains('/'))
    };
    candidates()
        .filter(goes_on)
        .min_by_key(|known| known.len())
        .filter(|_| name.len() >= 3)
}

/// Returns true if `path` differs from a valid key or section by two edits at most.
pub fn resembles(path: &str) -> bool {
    candidates().any(|known| distance(path, known) <= 2)
}

fn under(path: &str, section: &str) -> bool {
    path.strip_prefix(section)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Returns every key, and every section of a key.
fn candidates() -> impl Iterator<Item = &'static str> {
    ROWS.iter().flat_map(|k| {
        let sections = k
            .path
            .match_indices('/')
            .filter_map(|(i, _)| k.path.get(..i));
        sections.chain(std::iter::once(k.path))
    })
}
