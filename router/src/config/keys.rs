// SPDX-License-Identifier: MIT OR Apache-2.0

//! Finding keys in the table: by path, by the section that they are in, by likeness to a text.

use zonda_transport::text::distance;

use crate::config::{
    kind::{Key, Kind},
    rows::ROWS,
};

/// The key with exactly this path.
pub fn find(path: &str) -> Option<&'static Key> {
    ROWS.iter().find(|k| k.path == path)
}

/// The key whose free-form subtree holds `path` (for example `plugins` for `plugins/rest/http_port`).
pub fn subtree_of(path: &str) -> Option<&'static Key> {
    let holds = |k: &&Key| k.kind == Kind::Tree && under(path, k.path);
    ROWS.iter().find(holds)
}

/// Tells if some key lies below `path`.
pub fn is_section(path: &str) -> bool {
    path.is_empty() || ROWS.iter().any(|k| under(k.path, path))
}

/// The keys of older files, and their names of today.
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

/// The valid key or section that looks most like `path`, if any looks like it at all.
pub fn nearest(path: &str) -> Option<&'static str> {
    if let Some((_, today)) = RENAMED.iter().find(|(old, _)| *old == path) {
        return Some(today);
    }
    let last = |p: &str| p.rsplit('/').next().unwrap_or("").to_owned();
    let same_name = ROWS
        .iter()
        .map(|k| k.path)
        .filter(|p| last(p) == last(path));
    let best_namesake = same_name.min_by_key(|p| distance(path, p));
    let (steps, best) = candidates().map(|p| (distance(path, p), p)).min()?;
    // the names of one section are compared by themselves: a long path must not make any two of them alike
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

/// The shortest valid key or section of the same section whose name goes on where the one of `path` ends.
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

/// Tells if a few changes make a valid key or section of `path`.
pub fn resembles(path: &str) -> bool {
    candidates().any(|known| distance(path, known) <= 2)
}

fn under(path: &str, section: &str) -> bool {
    path.strip_prefix(section)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Every key, and every section a key lies in.
fn candidates() -> impl Iterator<Item = &'static str> {
    ROWS.iter().flat_map(|k| {
        let sections = k
            .path
            .match_indices('/')
            .filter_map(|(i, _)| k.path.get(..i));
        sections.chain(std::iter::once(k.path))
    })
}
