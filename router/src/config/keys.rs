// SPDX-License-Identifier: MIT OR Apache-2.0

//! The table of every configuration key: its kind, its default and how far this node honours it.
//! Adding a key, or learning to honour one, is a change of one row here.

use crate::config::value::Kind::{self, *};

/// One configuration key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Path from the root, parts joined by `/`.
    pub path: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Whether it may be given per role, as `{ router: a, peer: b, client: c }`.
    pub by_role: bool,
    /// Its default, as JSON5.
    pub default: &'static str,
    /// How far this node honours it.
    pub support: Support,
}

/// How far a key is honoured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Entirely.
    Full,
    /// Only with this value (JSON); another one is reported.
    Only(&'static str, &'static str),
    /// Not yet: any value but the default is reported, with what happens instead.
    Not(&'static str),
    /// The reference gave it up; reported whenever set.
    Gone,
}

use Support::{Full, Gone, Not, Only};

/// The key with exactly this path.
pub fn find(path: &str) -> Option<&'static Key> {
    ROWS.iter().find(|k| k.path == path)
}

/// The key whose free-form subtree holds `path` (for example `plugins` for `plugins/rest/http_port`).
pub fn subtree_of(path: &str) -> Option<&'static Key> {
    let holds = |k: &&Key| k.kind == Tree && under(path, k.path);
    ROWS.iter().find(holds)
}

/// Whether some key lies below `path`.
pub fn is_section(path: &str) -> bool {
    path.is_empty() || ROWS.iter().any(|k| under(k.path, path))
}

/// The valid key or section that looks most like `path`, if any looks like it at all.
pub fn nearest(path: &str) -> Option<&'static str> {
    let last = |p: &str| p.rsplit('/').next().unwrap_or("").to_owned();
    let same_name = ROWS
        .iter()
        .map(|k| k.path)
        .filter(|p| last(p) == last(path));
    let best_namesake = same_name.min_by_key(|p| distance(path, p));
    let (steps, best) = candidates().map(|p| (distance(path, p), p)).min()?;
    if steps <= 2.max(path.chars().count() / 4) {
        Some(best)
    } else {
        best_namesake
    }
}

/// Whether a few changes make a valid key or section of `path`.
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

/// How many single-character edits lead from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let up = *cell;
            left = (diagonal + usize::from(x != *y)).min(up + 1).min(left + 1);
            diagonal = up;
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

const fn key(path: &'static str, kind: Kind, default: &'static str, support: Support) -> Key {
    Key {
        path,
        kind,
        by_role: false,
        default,
        support,
    }
}

const fn by_role(path: &'static str, kind: Kind, default: &'static str, support: Support) -> Key {
    Key {
        path,
        kind,
        by_role: true,
        default,
        support,
    }
}

const FOREVER: Kind = Whole {
    min: -1,
    max: i64::MAX,
};
const COUNT: Kind = Whole {
    min: 0,
    max: 1 << 53,
};
const POSITIVE: Kind = Whole {
    min: 1,
    max: 1 << 53,
};
/// Up to ten seconds, so that even a message a second can find its reader awake.
const SPIN: Kind = Whole {
    min: 0,
    max: 10_000_000,
};
const QUEUE: Kind = Whole { min: 1, max: 16 };
const U32: Kind = Whole {
    min: 0,
    max: u32::MAX as i64,
};

const MULTICAST: Support = Not("multicast transports are not supported yet");
const TLS: Support = Not("TLS is not supported yet");
const SHM: Support = Not("shared memory is not supported yet");
const COMPRESSION: Support = match zonda_transport::protocol::compression::AVAILABLE {
    true => Full,
    false => Not("this build has no compression: build it with the feature `compression`"),
};
const MULTILINK: Support = match zonda_transport::protocol::multilink::AVAILABLE {
    true => Full,
    false => {
        Not("this build has one link to each neighbour: build it with the feature `multilink`")
    }
};
const AUTH: Support = Not("authentication by keys is not supported; use transport/auth/usrpwd");
const ACL: Support = Not("access control is not supported yet: nothing is denied");
const ROUTING: Support = Not("routing between routers is not supported yet");
const PLUGINS: Support = Not("plugins are not supported");
const FILTERS: Support = Not("not supported yet; no message is changed or filtered");

/// Every key.
pub const ROWS: &[Key] = &[
    // Identity.
    key(
        "mode",
        Choice(&["router", "peer", "client"]),
        "'peer'",
        Full,
    ),
    key("id", Id, "null", Full),
    key("metadata", Tree, "null", Full),
    key("namespace", KeyText, "null", Full),
    key("region_name", Text, "null", ROUTING),
    key("gateway/south", Tree, "'auto'", ROUTING),
    // Ours.
    key("runtime", Runtime, "null", Full),
    key("runtime_threads", POSITIVE, "null", Full),
    key("runtime_cpus", Cpus, "[]", Full),
    key("runtime_scheduling", Scheduling, "'inherit'", Full),
    key("runtime_uring_required", Bool, "false", Full),
    key("runtime_spin_us", SPIN, "0", Full),
    key("close_timeout_ms", COUNT, "null", Full),
    // Neighbours that do not keep up.
    key(
        "isolation/slow",
        Choice(&["close", "pause"]),
        "'close'",
        Full,
    ),
    key("isolation/min_rate", COUNT, "1048576", Full),
    key("isolation/stall_ms", POSITIVE, "500", Full),
    key("isolation/backlog_bytes", COUNT, "4194304", Full),
    // Connections.
    by_role(
        "connect/timeout_ms",
        FOREVER,
        "{router: -1, peer: -1, client: 0}",
        Full,
    ),
    by_role("connect/endpoints", Endpoints, "[]", Full),
    by_role(
        "connect/exit_on_failure",
        Bool,
        "{router: false, peer: false, client: true}",
        Full,
    ),
    by_role("connect/retry/period_init_ms", COUNT, "1000", Full),
    by_role("connect/retry/period_max_ms", COUNT, "4000", Full),
    by_role("connect/retry/period_increase_factor", Factor, "2", Full),
    by_role("listen/timeout_ms", FOREVER, "0", Full),
    by_role(
        "listen/endpoints",
        Endpoints,
        "{router: ['tcp/[::]:7447'], peer: ['tcp/[::]:0']}",
        Full,
    ),
    by_role("listen/exit_on_failure", Bool, "true", Full),
    by_role("listen/retry/period_init_ms", COUNT, "1000", Full),
    by_role("listen/retry/period_max_ms", COUNT, "4000", Full),
    by_role("listen/retry/period_increase_factor", Factor, "2", Full),
    key("open/return_conditions/connect_scouted", Bool, "true", Full),
    key("open/return_conditions/declares", Bool, "true", Full),
    // Discovery.
    key("scouting/timeout", COUNT, "3000", Full),
    key("scouting/delay", COUNT, "500", Full),
    key("scouting/multicast/enabled", Bool, "true", Full),
    key(
        "scouting/multicast/address",
        Text,
        "'224.0.0.224:7446'",
        Full,
    ),
    key("scouting/multicast/interface", Text, "'auto'", Full),
    key("scouting/multicast/ttl", U32, "1", Full),
    by_role("scouting/multicast/autoconnect", Roles, AUTOCONNECT, Full),
    key(
        "scouting/multicast/autoconnect_strategy",
        Tree,
        STRATEGY,
        Full,
    ),
    by_role(
        "scouting/multicast/listen",
        Bool,
        "{router: true, peer: true, client: true}",
        Full,
    ),
    key("scouting/gossip/enabled", Bool, "true", Full),
    key("scouting/gossip/multihop", Bool, "false", Full),
    by_role(
        "scouting/gossip/target",
        Roles,
        "{router: ['router', 'peer'], peer: ['router', 'peer']}",
        Full,
    ),
    by_role("scouting/gossip/autoconnect", Roles, AUTOCONNECT, Full),
    key("scouting/gossip/autoconnect_strategy", Tree, STRATEGY, Full),
    // Time.
    by_role(
        "timestamping/enabled",
        Bool,
        "{router: true, peer: false, client: false}",
        Full,
    ),
    key("timestamping/drop_future_timestamp", Bool, "false", Full),
    key("queries_default_timeout", COUNT, "10000", Full),
    // Routing.
    key(
        "routing/router/peers_failover_brokering",
        Bool,
        "null",
        Gone,
    ),
    key(
        "routing/router/linkstate/transport_weights",
        Tree,
        "[]",
        ROUTING,
    ),
    key("routing/peer", Tree, "null", Gone),
    key("routing/interests/timeout", COUNT, "10000", Full),
    key(
        "aggregation/subscribers",
        Texts,
        "[]",
        Not("not supported yet"),
    ),
    key(
        "aggregation/publishers",
        Texts,
        "[]",
        Not("not supported yet"),
    ),
    // Filters on the way.
    key("qos/publication", Tree, "[]", FILTERS),
    key("qos/network", Tree, "[]", FILTERS),
    key("downsampling", Tree, "[]", FILTERS),
    key("low_pass_filter", Tree, "[]", FILTERS),
    key("access_control/enabled", Bool, "false", ACL),
    key(
        "access_control/default_permission",
        Choice(&["allow", "deny"]),
        "'deny'",
        ACL,
    ),
    key("access_control/rules", Tree, "null", ACL),
    key("access_control/subjects", Tree, "null", ACL),
    key("access_control/policies", Tree, "null", ACL),
    // Unicast transport.
    key("transport/unicast/open_timeout", POSITIVE, "10000", Full),
    key("transport/unicast/accept_timeout", POSITIVE, "10000", Full),
    key("transport/unicast/accept_pending", POSITIVE, "100", Full),
    key("transport/unicast/max_sessions", POSITIVE, "1000", Full),
    key("transport/unicast/max_links", POSITIVE, "1", MULTILINK),
    key("transport/unicast/lowlatency", Bool, "false", Full),
    key("transport/unicast/qos/enabled", Bool, "true", Full),
    key(
        "transport/unicast/compression/enabled",
        Bool,
        "false",
        COMPRESSION,
    ),
    // Multicast transport.
    key(
        "transport/multicast/join_interval",
        COUNT,
        "2500",
        MULTICAST,
    ),
    key("transport/multicast/max_sessions", COUNT, "1000", MULTICAST),
    key("transport/multicast/qos/enabled", Bool, "false", MULTICAST),
    key(
        "transport/multicast/compression/enabled",
        Bool,
        "false",
        MULTICAST,
    ),
    // Links.
    key("transport/link/protocols", Texts, "null", Full),
    key(
        "transport/link/tx/sequence_number_resolution",
        Choice(&["8bit", "16bit", "32bit", "64bit"]),
        "'32bit'",
        Full,
    ),
    key("transport/link/tx/lease", POSITIVE, "10000", Full),
    key(
        "transport/link/tx/keep_alive",
        Whole { min: 1, max: 1000 },
        "4",
        Full,
    ),
    key(
        "transport/link/tx/batch_size",
        Whole {
            min: 64,
            max: 65535,
        },
        "65535",
        Full,
    ),
    key("transport/link/tx/queue/size/control", QUEUE, "2", Full),
    key("transport/link/tx/queue/size/real_time", QUEUE, "2", Full),
    key(
        "transport/link/tx/queue/size/interactive_high",
        QUEUE,
        "2",
        Full,
    ),
    key(
        "transport/link/tx/queue/size/interactive_low",
        QUEUE,
        "2",
        Full,
    ),
    key("transport/link/tx/queue/size/data_high", QUEUE, "2", Full),
    key("transport/link/tx/queue/size/data", QUEUE, "2", Full),
    key("transport/link/tx/queue/size/data_low", QUEUE, "2", Full),
    key("transport/link/tx/queue/size/background", QUEUE, "2", Full),
    key(
        "transport/link/tx/queue/congestion_control/drop/wait_before_drop",
        COUNT,
        "1000",
        Not("a Drop message never waits"),
    ),
    key(
        "transport/link/tx/queue/congestion_control/drop/max_wait_before_drop_fragments",
        COUNT,
        "50000",
        Not("a Drop message never waits"),
    ),
    key(
        "transport/link/tx/queue/congestion_control/block/wait_before_close",
        COUNT,
        "5000000",
        Full,
    ),
    key(
        "transport/link/tx/queue/batching/enabled",
        Bool,
        "true",
        Not(
            "messages share a batch only while a link is busy; publish with `express` to send each at once",
        ),
    ),
    key(
        "transport/link/tx/queue/batching/time_limit",
        COUNT,
        "1",
        Not("no message waits for company for more than 0.2 ms"),
    ),
    key(
        "transport/link/tx/queue/allocation/mode",
        Choice(&["init", "lazy"]),
        "'lazy'",
        Not("buffers are made when they are needed, and given back"),
    ),
    key(
        "transport/link/tx/threads",
        POSITIVE,
        "null",
        Not("messages are written by those who send them; set runtime_threads for the rest"),
    ),
    key(
        "transport/link/rx/buffer_size",
        Whole {
            min: 1024,
            max: 1 << 30,
        },
        "65535",
        Not("buffers grow and shrink with what arrives: 4 to 256 KiB"),
    ),
    key(
        "transport/link/rx/max_message_size",
        POSITIVE,
        "1073741824",
        Full,
    ),
    key("transport/link/tcp/so_sndbuf", U32, "null", Full),
    key("transport/link/tcp/so_rcvbuf", U32, "null", Full),
    key(
        "transport/link/unixpipe/file_access_mask",
        U32,
        "null",
        Not("pipes are not supported yet"),
    ),
    key("transport/link/tls/root_ca_certificate", Text, "null", TLS),
    key(
        "transport/link/tls/root_ca_certificate_base64",
        Text,
        "null",
        TLS,
    ),
    key("transport/link/tls/listen_private_key", Text, "null", TLS),
    key(
        "transport/link/tls/listen_private_key_base64",
        Text,
        "null",
        TLS,
    ),
    key("transport/link/tls/listen_certificate", Text, "null", TLS),
    key(
        "transport/link/tls/listen_certificate_base64",
        Text,
        "null",
        TLS,
    ),
    key("transport/link/tls/connect_private_key", Text, "null", TLS),
    key(
        "transport/link/tls/connect_private_key_base64",
        Text,
        "null",
        TLS,
    ),
    key("transport/link/tls/connect_certificate", Text, "null", TLS),
    key(
        "transport/link/tls/connect_certificate_base64",
        Text,
        "null",
        TLS,
    ),
    key("transport/link/tls/enable_mtls", Bool, "false", TLS),
    key(
        "transport/link/tls/verify_name_on_connect",
        Bool,
        "true",
        TLS,
    ),
    key(
        "transport/link/tls/close_link_on_expiration",
        Bool,
        "false",
        TLS,
    ),
    key("transport/link/tls/so_sndbuf", U32, "null", TLS),
    key("transport/link/tls/so_rcvbuf", U32, "null", TLS),
    // Shared memory.
    key(
        "transport/shared_memory/enabled",
        Bool,
        "true",
        Only(
            "false",
            "shared memory is not supported yet; messages go through the socket",
        ),
    ),
    key(
        "transport/shared_memory/mode",
        Choice(&["init", "lazy"]),
        "'lazy'",
        SHM,
    ),
    key(
        "transport/shared_memory/transport_optimization/enabled",
        Bool,
        "true",
        Only("false", "shared memory is not supported yet"),
    ),
    key(
        "transport/shared_memory/transport_optimization/pool_size",
        POSITIVE,
        "16777216",
        SHM,
    ),
    key(
        "transport/shared_memory/transport_optimization/message_size_threshold",
        COUNT,
        "3072",
        SHM,
    ),
    key(
        "transport/shared_memory/transport_optimization/messages",
        Texts,
        "['put', 'query', 'reply']",
        SHM,
    ),
    // Authentication.
    key("transport/auth/usrpwd/user", Text, "null", Full),
    key("transport/auth/usrpwd/password", Text, "null", Full),
    key("transport/auth/usrpwd/dictionary_file", Text, "null", Full),
    key(
        "transport/auth/usrpwd/dictionary_file_mode",
        Choice(&["private", "any"]),
        "'private'",
        Full,
    ),
    key(
        "transport/auth/usrpwd/send_to",
        Choice(&["endpoints", "all"]),
        "'endpoints'",
        Full,
    ),
    key("transport/auth/pubkey/public_key_pem", Text, "null", AUTH),
    key("transport/auth/pubkey/private_key_pem", Text, "null", AUTH),
    key("transport/auth/pubkey/public_key_file", Text, "null", AUTH),
    key("transport/auth/pubkey/private_key_file", Text, "null", AUTH),
    key("transport/auth/pubkey/key_size", COUNT, "null", AUTH),
    key("transport/auth/pubkey/known_keys_file", Text, "null", AUTH),
    // Limits; these are ours.
    key("limits/sessions_per_address", POSITIVE, "null", Full),
    key("limits/found_nodes", POSITIVE, "10000", Full),
    key("limits/found_nodes_per_neighbour", POSITIVE, "2500", Full),
    key("limits/found_failures_per_address", POSITIVE, "16", Full),
    key("limits/found_failures_per_neighbour", POSITIVE, "64", Full),
    key("limits/found_names", Bool, "false", Full),
    key(
        "limits/batch_bytes_min",
        Whole {
            min: 32,
            max: 65535,
        },
        "1024",
        Full,
    ),
    key(
        "limits/lease_max_ms",
        Whole {
            min: 1000,
            max: 31_536_000_000,
        },
        "60000",
        Full,
    ),
    key(
        "limits/key_length",
        Whole { min: 1, max: 65535 },
        "65535",
        Full,
    ),
    key("limits/key_glob_chunks", POSITIVE, "32", Full),
    key("limits/key_glob_bytes", POSITIVE, "1024", Full),
    key(
        "limits/key_ids",
        Whole { min: 1, max: 65535 },
        "65535",
        Full,
    ),
    key("limits/own_key_ids", POSITIVE, "16384", Full),
    key("limits/subscribers", POSITIVE, "2000000", Full),
    key("limits/queryables", POSITIVE, "500000", Full),
    key("limits/tokens", POSITIVE, "500000", Full),
    key("limits/interests", POSITIVE, "20000", Full),
    key("limits/questions", POSITIVE, "150000", Full),
    key("limits/neighbours", POSITIVE, "10000", Full),
    key("limits/memory_bytes", POSITIVE, "null", Full),
    key("limits/key_memory_bytes", POSITIVE, "1073741824", Full),
    key("limits/key_chunks", POSITIVE, "256", Full),
    key("limits/wild_keys", POSITIVE, "65536", Full),
    key("limits/declaration_steps", POSITIVE, "8192", Full),
    key("limits/route_keys", POSITIVE, "65536", Full),
    key("limits/route_bytes", POSITIVE, "67108864", Full),
    key("limits/unfinished_bytes", POSITIVE, "null", Full),
    key("limits/unfinished_ms", POSITIVE, "5000", Full),
    // Administration and plugins.
    key("adminspace/enabled", Bool, "false", Full),
    key("adminspace/permissions/read", Bool, "true", Full),
    key(
        "adminspace/permissions/write",
        Bool,
        "false",
        Not("the configuration cannot be changed remotely yet"),
    ),
    key("stats/filters", Tree, "[]", Not("not supported yet")),
    key("plugins_loading/enabled", Bool, "false", PLUGINS),
    key("plugins_loading/search_dirs", Tree, "null", PLUGINS),
    key("plugins", Tree, "null", PLUGINS),
];

const AUTOCONNECT: &str =
    "{router: [], peer: ['router', 'peer', 'client'], client: ['router', 'peer', 'client']}";
const STRATEGY: &str = "{peer: {to_router: 'always', to_peer: 'always'}}";
