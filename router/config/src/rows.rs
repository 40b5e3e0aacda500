// SPDX-License-Identifier: MIT OR Apache-2.0

//! The table of configuration keys. A row is: path, kind of values, default (JSON5), support by
//! this node, description; and `=> field: type, reader` for keys that the node reads, which are
//! fields of [`Settings`]. These rows define the typed settings, the checks, `--print-config` and
//! `docs/reference/configuration.md`: to add a key, or to honour one, change one row.

use std::{net::SocketAddr, time::Duration};

use zonda_codec::{Endpoint, KeyExpr, Resolution, WhatAmI, ZenohId};
use zonda_runtime::RuntimeKind;

use crate::{
    access::{AccessMode, AccessPolicy, AccessRule, AccessSubject, Permission},
    downsampling::DownsamplingItem,
    kind::{
        Key,
        Kind::{self, *},
        Support::{self, Full, Gone, Not, Only},
    },
    low_pass::LowPassRule,
    network::NetworkRule,
    publication::PublicationRule,
    read::*,
    trusted::Trusted as TrustedRouters,
};

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
/// Range up to ten seconds, so that even one message per second can find its reader awake.
const SPIN: Kind = Whole {
    min: 0,
    max: 10_000_000,
};
const QUEUE: Kind = Whole { min: 1, max: 16 };
const U32: Kind = Whole {
    min: 0,
    max: u32::MAX as i64,
};

const PIPES: Support = match cfg!(target_os = "linux") {
    true => Full,
    false => Not("there are no links over pipes on this system"),
};

const TLS: Support = match zonda_transport::link::HAS_TLS {
    true => Full,
    false => Not("this build has no TLS: build it with the feature `tls`"),
};
const SHM: Support = match zonda_transport::protocol::shared::AVAILABLE {
    true => Full,
    false => Not("this build shares no memory: build it for Linux with the feature `shm`"),
};
const SHM_ENABLED: Support = match zonda_transport::protocol::shared::AVAILABLE {
    true => Full,
    false => Only(
        "false",
        "this build shares no memory: build it for Linux with the feature `shm`; messages go through the socket",
    ),
};
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
const ROUTING: Support = Not("regions other than those by role are not supported yet");
const PLUGINS: Support = Not("no plugin is loaded");
const AUTOCONNECT: &str =
    "{router: [], peer: ['router', 'peer', 'client'], client: ['router', 'peer', 'client']}";
const STRATEGY: &str = "{peer: {to_router: 'always', to_peer: 'always'}}";

/// Settings that are never displayed.
pub const SECRETS: &[&str] = &[
    "transport/auth/usrpwd/password",
    "transport/auth/pubkey/private_key_pem",
    "transport/link/tls/listen_private_key_base64",
    "transport/link/tls/connect_private_key_base64",
];

/// Defines the table of keys and the typed settings.
macro_rules! rows {
    ($($path:literal, $kind:expr, $default:expr, $support:expr, $meaning:literal
        $(=> $field:ident: $type:ty, $read:path)?;)*) => {
        /// Every key.
        pub const ROWS: &[Key] = &[$(Key {
            path: $path,
            kind: $kind,
            default: $default,
            support: $support,
            meaning: $meaning,
        }),*];

        /// The settings of a node for its role: each key that the node reads, with its type.
        /// `Config::settings` creates them once, when the node opens.
        #[derive(Clone)]
        #[non_exhaustive]
        pub struct Settings {
            $($(
                #[doc = concat!("`", $path, "`: ", $meaning, ".")]
                pub $field: $type,
            )?)*
        }

        impl Settings {
            /// Reads the value that `find` returns for each path.
            pub(super) fn read(find: impl Fn(&str) -> Found) -> Settings {
                Settings {
                    $($($field: $read(&find($path)),)?)*
                }
            }
        }
    };
}

rows! {
    // Identity.
    "mode", Choice(&["router", "peer", "client"]), "'peer'", Full,
        "the node's role; `zondad` is a router by default" => mode: WhatAmI, role;
    "id", Id, "null", Full,
        "the node's id, 1 to 32 hexadecimal digits; without one it draws 128 random bits" => id: Option<ZenohId>, parsed;
    "metadata", Tree, "null", Full,
        "anything about the node; shown in its admin space, but for members called `private`" => metadata: String, metadata;
    "namespace", KeyText, "null", Full,
        "a key that is put before every key of the session on the way out and taken off on the way in"
        => namespace: Option<KeyExpr<'static>>, key_expr;
    "region_name", RegionName, "null", Full,
        "the name of the region that the node is in, which it tells its neighbours: a gateway of Zenoh may sort them by it"
        => region_name: Option<String>, text;
    "gateway/south", Tree, "'auto'", ROUTING,
        "which neighbours are south of this node";
    // Of this project.
    "runtime", Runtime, "null", Full,
        "what the node's tasks run on; without it the first that is compiled in"
        => runtime_kind: RuntimeKind, parsed_or_default;
    "runtime_threads", POSITIVE, "null", Full,
        "threads of the runtime; without it the runtime's own choice" => runtime_threads: Option<usize>, optional;
    "runtime_cpus", Cpus, "[]", Full,
        "the cpus that the runtime's threads may use, by number; none means all" => runtime_cpus: Vec<usize>, cpus;
    "runtime_scheduling", Scheduling, "'inherit'", Full,
        "scheduling class of the runtime's threads: `inherit`, `fifo:N`, `round-robin:N` or `nice:N`"
        => runtime_scheduling: zonda_runtime::Scheduling, parsed_or_default;
    "runtime_uring_required", Bool, "false", Full,
        "fail where the system refuses io_uring, instead of taking another runtime" => runtime_uring_required: bool, flag;
    "runtime_spin_us", SPIN, "0", Full,
        "µs that a thread looks for work before it sleeps" => runtime_spin: Duration, micros;
    "close_timeout_ms", COUNT, "null", Full,
        "ms that peers have to take what is queued when the node closes; without it 5000 for `zondad`, 10000 for a \
         session" => close_timeout: Option<Duration>, optional_millis;
    // Slow neighbours.
    "isolation/slow", Choice(&["close", "pause"]), "'close'", Full,
        "what becomes of a neighbour that takes less than `isolation/min_rate` while others wait for it: its link is \
         closed, or its sources pause" => slow_pauses: bool, is_pause;
    "isolation/min_rate", COUNT, "1048576", Full,
        "bytes per second that a neighbour has to take while a source waits for it, unless less than twice as much is \
         offered to it" => slow_min_rate: u64, count64;
    "isolation/stall_ms", POSITIVE, "500", Full,
        "ms within 10 s that all sources together wait for a neighbour that takes less" => slow_stall: Duration, millis;
    "isolation/backlog_bytes", COUNT, "4194304", Full,
        "bytes of Block messages and declarations that may wait for a neighbour before their sources pause"
        => slow_backlog_bytes: usize, count;
    "isolation/query_losses", Choice(&["understood", "all"]), "'understood'", Full,
        "which neighbours get an error reply for a queryable whose link is lost before it has answered: those that \
         understand it, which sessions of this implementation do, or all of them" => query_losses_for_all: bool, is_all;
    // Connections.
    "connect/timeout_ms", PerRole(&FOREVER), "{router: -1, peer: -1, client: 0}", Full,
        "ms that connecting is tried: 0 once, -1 for ever" => connect_timeout: TimeLimit, time_limit;
    "connect/endpoints", PerRole(&Endpoints), "[]", Full,
        "endpoints to connect to; a client connects to the first that answers, a peer or router to each"
        => connect_groups: ConnectGroups, connect_groups;
    "connect/exit_on_failure", PerRole(&Bool), "{router: false, peer: false, client: true}", Full,
        "fail to open when no connection came about in time" => must_connect: bool, flag;
    "connect/retry/period_init_ms", PerRole(&COUNT), "1000", Full,
        "ms before the second attempt to connect, or a little less: of each pause a random part of at most half is left out" => connect_retry_init: Duration, millis;
    "connect/retry/period_max_ms", PerRole(&COUNT), "4000", Full,
        "ms between attempts to connect at most" => connect_retry_max: Duration, millis;
    "connect/retry/period_increase_factor", PerRole(&Factor), "2", Full,
        "each pause between attempts to connect is so many times the one before" => connect_retry_factor: f64, factor;
    "listen/timeout_ms", PerRole(&FOREVER), "0", Full,
        "ms that listening is tried: 0 once, -1 for ever" => listen_timeout: TimeLimit, time_limit;
    "listen/endpoints", PerRole(&Endpoints), "{router: ['tcp/[::]:7447'], peer: ['tcp/[::]:0']}", Full,
        "where to listen; port 0 takes a free one" => listen_endpoints: Vec<Endpoint>, endpoints;
    "listen/exit_on_failure", PerRole(&Bool), "true", Full,
        "fail to open when an endpoint could not be listened on in time" => must_listen: bool, flag;
    "listen/retry/period_init_ms", PerRole(&COUNT), "1000", Full,
        "ms before the second attempt to listen" => listen_retry_init: Duration, millis;
    "listen/retry/period_max_ms", PerRole(&COUNT), "4000", Full,
        "ms between attempts to listen at most" => listen_retry_max: Duration, millis;
    "listen/retry/period_increase_factor", PerRole(&Factor), "2", Full,
        "each pause between attempts to listen is so many times the one before" => listen_retry_factor: f64, factor;
    "open/return_conditions/connect_scouted", Bool, "true", Full,
        "opening waits until nodes that were found are connected" => open_awaits_connection: bool, flag;
    "open/return_conditions/declares", Bool, "true", Full,
        "opening waits for the first declarations of those connected" => open_awaits_declarations: bool, flag;
    // Discovery.
    "scouting/timeout", COUNT, "3000", Full,
        "ms that a client without endpoints looks for a router" => scouting_timeout: Duration, millis;
    "scouting/delay", COUNT, "500", Full,
        "ms that a peer looks for others before opening returns" => scouting_delay: Duration, millis;
    "scouting/multicast/enabled", Bool, "true", Full,
        "look for others by multicast, and answer those who do" => multicast_enabled: bool, multicast_enabled;
    "scouting/multicast/address", Text, "'224.0.0.224:7446'", Full,
        "the multicast group and port" => multicast_group: SocketAddr, group_or_default;
    "scouting/multicast/interface", Text, "'auto'", Full,
        "the interfaces to use, by name, or `auto` for all" => multicast_interfaces: Vec<String>, interfaces;
    "scouting/multicast/ttl", U32, "1", Full,
        "hops that a multicast packet may go" => multicast_ttl: u32, count32;
    "scouting/multicast/autoconnect", PerRole(&Roles), AUTOCONNECT, Full,
        "roles that are connected to when found by multicast" => multicast_autoconnect: zonda_codec::Roles, roles;
    "scouting/multicast/autoconnect_strategy", Tree, STRATEGY, Full,
        "whether both of two nodes connect when they find each other, or the greater id alone"
        => multicast_strategies: Strategies, strategies_or_default;
    "scouting/multicast/listen", PerRole(&Bool), "{router: true, peer: true, client: true}", Full,
        "answer those who look for others by multicast" => multicast_listen: bool, flag;
    "scouting/gossip/enabled", Bool, "true", Full,
        "tell neighbours of each other" => gossip_enabled: bool, flag;
    "scouting/gossip/multihop", Bool, "false", Full,
        "pass on what neighbours tell" => gossip_multihop: bool, flag;
    "scouting/gossip/target", PerRole(&Roles), "{router: ['router', 'peer'], peer: ['router', 'peer']}", Full,
        "roles of the nodes that gossip is sent to" => gossip_target: zonda_codec::Roles, roles;
    "scouting/gossip/autoconnect", PerRole(&Roles), AUTOCONNECT, Full,
        "roles that are connected to when heard of" => gossip_autoconnect: zonda_codec::Roles, roles;
    "scouting/gossip/autoconnect_strategy", Tree, STRATEGY, Full,
        "whether both of two nodes connect when they hear of each other, or the greater id alone"
        => gossip_strategies: Strategies, strategies_or_default;
    // Time.
    "timestamping/enabled", PerRole(&Bool), "{router: true, peer: false, client: false}", Full,
        "stamp the node's own publications and what it forwards unstamped" => timestamping: bool, flag;
    "timestamping/drop_future_timestamp", Bool, "false", Full,
        "drop what is stamped more than 500 ms ahead, instead of stamping it anew" => drop_future_timestamp: bool, flag;
    "queries_default_timeout", COUNT, "10000", Full,
        "ms that a query may take unless it says otherwise" => query_timeout: Duration, millis;
    // Routing.
    "routing/router/peers_failover_brokering", Bool, "true", Full,
        "pass on what one peer has for another one, unless the two are linked to each other. With false nothing passes between peers of \
         this router, as with the reference's since 1.9" => relays_between_peers: bool, flag;
    "routing/router/linkstate/transport_weights", Weights, "[]", Full,
        "weights of the links to other routers, 1 to 65535, which choose among several ways: `dst_zid`, `weight`. The greater one of both \
         ends counts, 100 if neither has one" => link_weights: Vec<(ZenohId, u16)>, weights;
    "routing/router/trusted", Trusted, "null", Full,
        "the routers that may connect to this one as routers: each item names some by `zids` (which proves nothing: a stranger may \
         give the same id), `users` (transport/auth/usrpwd), `cert_names` \
         (any common name, DNS name or URI of the client's certificate, on a link with transport/link/tls/enable_mtls) and `listeners` \
         (endpoints of this node), and includes those that have all of it. `[]`: none. null: any. Routers at `connect/endpoints` may always"
         => trusted: Option<Vec<TrustedRouters>>, trusted;
    "routing/peer", Tree, "null", Gone,
        "given up: peers have one way of routing";
    "routing/interests/timeout", COUNT, "10000", Full,
        "ms that a neighbour may take to answer what it was asked to tell" => interests_timeout: Duration, millis;
    "aggregation/subscribers", KeyExprs, "[]", Full,
        "keys that this node's sessions declare once, in place of all subscribers that they include; the first that includes one \
         counts" => aggregated_subscribers: Vec<KeyExpr<'static>>, key_exprs;
    "aggregation/publishers", KeyExprs, "[]", Full,
        "keys that this node's sessions declare once, in place of all publishers that they include; the first that includes one \
         counts" => aggregated_publishers: Vec<KeyExpr<'static>>, key_exprs;
    // Filters on routes.
    "qos/publication", Publications, "[]", Full,
        "how publications of a session are carried, whatever the program says: rules with `key_exprs` and `config`, which \
         has some of `priority`, `congestion_control`, `express`, `reliability`, `allowed_destination`; the first rule \
         whose key includes that of the publication counts" => publication_rules: Vec<PublicationRule>, publications;
    "qos/network", Network, "[]", Full,
        "how messages are carried from a link on: rules with `messages` (put, delete, query), `overwrite` (some of `priority`, a name \
         or steps from -7 to 7, `congestion_control`, `express`) and, if they are not for all, `key_exprs`, `flows` (ingress, egress), \
         `interfaces`, `link_protocols`, `zids` of neighbours, `qos` that messages have before, `payload_size` such as \"1000..\"; \
         rules apply one after another" => network_rules: Vec<NetworkRule>, network;
    "downsampling", Downsampling, "[]", Full,
        "rates above which messages are dropped: items with `messages` (put, delete, query, reply), `rules` and, if they are not for \
         all, `flows` (ingress, egress), `interfaces`, `link_protocols` (all links to a neighbour have to match), `zids` of neighbours. \
         A rule has `key_expr` and `freq`, the messages per second on all keys that intersect it together, or with `per_key: true`, \
         which is Zonda's own, on each key (as long as the keys of a neighbour fit into 128 KiB; the others share a rate); 0 drops all. \
         The first rule of an item that a key intersects counts, and a message has to pass every item" => downsampling: Vec<DownsamplingItem>, downsampling;
    "low_pass_filter", LowPass, "[]", Full,
        "sizes above which messages are dropped: rules with `messages` (put, delete, query, reply), `key_exprs`, \
         `size_limit` (bytes of payload and attachment) and, if they are not for all, `flows` (ingress, egress), \
         `interfaces`, `link_protocols`, `zids` of neighbours" => low_pass_rules: Vec<LowPassRule>, low_pass;
    // Access control.
    "access_control/enabled", Bool, "false", Full,
        "decide by rules about messages from and to neighbours; `rules`, `subjects` and `policies` have to be there then"
        => access_enabled: bool, flag;
    "access_control/default_permission", Choice(&["allow", "deny"]), "'deny'", Full,
        "what happens to messages that no rule decides about" => access_default: Permission, permission;
    "access_control/rules", AccessRules, "null", Full,
        "what may be done on which keys: `id`, `permission` (allow, deny), `key_exprs`, `messages` (put, delete, query, reply, \
         declare_subscriber, declare_queryable, liveliness_token, declare_liveliness_subscriber, liveliness_query) and, if a rule is \
         not for both, `flows` (ingress, egress). A rule is for messages whose key is included in one of its keys; of the rules for \
         one subject, one that denies counts more than any that allows" => access_rules: Option<Vec<AccessRule>>, access_rules;
    "access_control/subjects", AccessSubjects, "null", Full,
        "neighbours: `id` and, if it is not for all, `interfaces`, `cert_common_names`, `usernames`, `link_protocols`, `zids`. Of each \
         list one item has to fit. A neighbour that several subjects fit may do what one of them may"
         => access_subjects: Option<Vec<AccessSubject>>, access_subjects;
    "access_control/policies", AccessPolicies, "null", Full,
        "which rules apply to which subjects: `rules` and `subjects` by their ids, and an `id`"
         => access_policies: Option<Vec<AccessPolicy>>, access_policies;
    "access_control/mode", Choice(&["normal", "strict", "audit"]), "'normal'", Full,
        "how rules decide: as in the reference; strict, so that a rule denies wherever its key intersects that of a message, and \
         whatever other subjects may do; audit, which lets all pass, and counts and logs what would be denied"
         => access_mode: AccessMode, access_mode;
    "access_control/multicast", Bool, "false", Full,
        "decide about messages from and to multicast groups, too, by their interfaces and protocol: no member of a group proves who it \
         is. The reference lets all of them pass" => access_judges_groups: bool, flag;
    // Unicast transport.
    "transport/unicast/open_timeout", POSITIVE, "10000", Full,
        "ms that a handshake of this node's own may take" => open_timeout: Duration, millis;
    "transport/unicast/accept_timeout", POSITIVE, "10000", Full,
        "ms that a stranger's handshake may take" => accept_timeout: Duration, millis;
    "transport/unicast/accept_pending", POSITIVE, "100", Full,
        "strangers' handshakes under way at once; here 1024 unless set" => accept_pending: Option<usize>, if_set;
    "transport/unicast/max_sessions", POSITIVE, "1000", Full,
        "neighbours at once" => max_sessions: usize, count;
    "transport/unicast/max_links", POSITIVE, "1", MULTILINK,
        "links to one neighbour" => max_links: usize, count;
    "transport/unicast/lowlatency", Bool, "false", Full,
        "offer links without batches, priorities and fragments" => low_latency: bool, flag;
    "transport/unicast/qos/enabled", Bool, "true", Full,
        "offer priorities to neighbours" => qos_enabled: bool, flag;
    "transport/unicast/compression/enabled", Bool, "false", COMPRESSION,
        "offer compression (LZ4) to neighbours" => compression: bool, flag;
    // Multicast transport.
    "transport/multicast/join_interval", POSITIVE, "2500", Full,
        "ms between two introductions to a multicast group" => multicast_join_interval: Duration, millis;
    "transport/multicast/max_sessions", POSITIVE, "1000", Full,
        "others in a multicast group" => multicast_members_max: usize, count;
    "transport/multicast/qos/enabled", Bool, "false", Full,
        "use priorities in a multicast group; the same for all its members" => multicast_qos: bool, flag;
    "transport/multicast/compression/enabled", Bool, "false", Not("what is sent to a group is never compressed"),
        "compress what is sent to a multicast group";
    // Links.
    "transport/link/protocols", Texts, "null", Full,
        "the only protocols that links may use; without it all" => protocols: Option<Vec<String>>, texts;
    "transport/link/tx/sequence_number_resolution", Choice(&["8bit", "16bit", "32bit", "64bit"]), "'32bit'", Full,
        "width of sequence numbers that is offered" => resolution: Resolution, resolution;
    "transport/link/tx/lease", POSITIVE, "10000", Full,
        "ms that a neighbour may be silent before its link is dead" => lease: Duration, millis;
    "transport/link/tx/keep_alive", Whole { min: 1, max: 1000 }, "4", Full,
        "signs of life per lease when there is nothing else to send" => keep_alive_divisor: u32, count32;
    "transport/link/tx/batch_size", Whole { min: 64, max: 65535 }, "65535", Full,
        "bytes of a batch at most" => batch_size: u16, count16;
    "transport/link/tx/queue/size/control", QUEUE, "2", Full,
        "batches that may wait in priority control; here 512 KiB unless set" => queue_size_control: Option<usize>, if_set;
    "transport/link/tx/queue/size/real_time", QUEUE, "2", Full,
        "batches that may wait in priority real-time; here 512 KiB unless set"
        => queue_size_real_time: Option<usize>, if_set;
    "transport/link/tx/queue/size/interactive_high", QUEUE, "2", Full,
        "batches that may wait in priority interactive-high; here 512 KiB unless set"
        => queue_size_interactive_high: Option<usize>, if_set;
    "transport/link/tx/queue/size/interactive_low", QUEUE, "2", Full,
        "batches that may wait in priority interactive-low; here 512 KiB unless set"
        => queue_size_interactive_low: Option<usize>, if_set;
    "transport/link/tx/queue/size/data_high", QUEUE, "2", Full,
        "batches that may wait in priority data-high; here 512 KiB unless set"
        => queue_size_data_high: Option<usize>, if_set;
    "transport/link/tx/queue/size/data", QUEUE, "2", Full,
        "batches that may wait in priority data; here 512 KiB unless set" => queue_size_data: Option<usize>, if_set;
    "transport/link/tx/queue/size/data_low", QUEUE, "2", Full,
        "batches that may wait in priority data-low; here 512 KiB unless set" => queue_size_data_low: Option<usize>, if_set;
    "transport/link/tx/queue/size/background", QUEUE, "2", Full,
        "batches that may wait in priority background; here 512 KiB unless set"
        => queue_size_background: Option<usize>, if_set;
    "transport/link/tx/queue/congestion_control/drop/wait_before_drop", COUNT, "1000", Not("a Drop message never waits"),
        "µs that a message of congestion control Drop waits for room";
    "transport/link/tx/queue/congestion_control/drop/max_wait_before_drop_fragments", COUNT, "50000", Not("a Drop message never waits"),
        "µs that all fragments of such a message wait at most";
    "transport/link/tx/queue/congestion_control/block/wait_before_close", COUNT, "5000000", Full,
        "µs that a message of congestion control Block waits for room" => wait_before_close: Duration, micros;
    "transport/link/tx/queue/batching/enabled", Bool, "true", Not("messages share a batch only while a link is busy; publish with `express` to send each at once"),
        "messages may share a batch";
    "transport/link/tx/queue/batching/time_limit", COUNT, "1", Not("no message waits for company for more than 0.2 ms"),
        "ms that a message may wait for company";
    "transport/link/tx/queue/allocation/mode", Choice(&["init", "lazy"]), "'lazy'", Not("buffers are made when they are needed, and given back"),
        "when the memory of queues is taken";
    "transport/link/tx/threads", POSITIVE, "null", Not("messages are written by those who send them; set runtime_threads for the rest"),
        "threads that write to links";
    "transport/link/rx/buffer_size", Whole { min: 1024, max: 1 << 30 }, "65535", Not("buffers grow and shrink with what arrives: 4 to 256 KiB"),
        "bytes read from a link at once";
    "transport/link/rx/max_message_size", POSITIVE, "1073741824", Full,
        "bytes of the largest message that is accepted" => max_message_size: usize, count;
    "transport/link/tcp/so_sndbuf", U32, "null", Full,
        "bytes of a TCP socket's send buffer; without it the system's choice" => tcp_send_bytes: Option<usize>, optional;
    "transport/link/tcp/so_rcvbuf", U32, "null", Full,
        "bytes of a TCP socket's receive buffer; without it the system's choice"
        => tcp_receive_bytes: Option<usize>, optional;
    "transport/link/unixpipe/file_access_mask", U32, "null", PIPES,
        "permission bits of the files of pipes that this node makes, as a decimal number, less the process's mask; without it 384, \
         the owner's"
        => pipe_mode: Option<usize>, optional;
    "transport/link/ws/origins", Texts, "null", Full,
        "origins of web pages that may connect to `ws` and `wss`, such as `https://robot.example`, or `*` for all; without it \
         those of the host that the request names, on any port, which for `ws` has to be an address or a name of a private network. \
         Programs, which send no `Origin`, may connect"
        => ws_origins: Option<Vec<String>>, texts;
    "transport/link/tls/root_ca_certificate", Text, "null", TLS,
        "PEM file of the authorities that sign the certificates which are trusted; without it those of the public web, for links that this node opens"
        => tls_root_ca: Option<String>, text;
    "transport/link/tls/root_ca_certificate_base64", Text, "null", TLS,
        "the same as base64 of the PEM text"
        => tls_root_ca_base64: Option<String>, text;
    "transport/link/tls/listen_private_key", Text, "null", TLS,
        "PEM file of the private key for links that others open"
        => tls_listen_private_key: Option<String>, text;
    "transport/link/tls/listen_private_key_base64", Text, "null", TLS,
        "the same as base64 of the PEM text; never shown"
        => tls_listen_private_key_base64: Option<String>, text;
    "transport/link/tls/listen_certificate", Text, "null", TLS,
        "PEM file of the certificate, and those above it, that is shown to nodes which connect"
        => tls_listen_certificate: Option<String>, text;
    "transport/link/tls/listen_certificate_base64", Text, "null", TLS,
        "the same as base64 of the PEM text"
        => tls_listen_certificate_base64: Option<String>, text;
    "transport/link/tls/connect_private_key", Text, "null", TLS,
        "PEM file of the private key for links that this node opens"
        => tls_connect_private_key: Option<String>, text;
    "transport/link/tls/connect_private_key_base64", Text, "null", TLS,
        "the same as base64 of the PEM text; never shown"
        => tls_connect_private_key_base64: Option<String>, text;
    "transport/link/tls/connect_certificate", Text, "null", TLS,
        "PEM file of the certificate, and those above it, that is shown where this node connects"
        => tls_connect_certificate: Option<String>, text;
    "transport/link/tls/connect_certificate_base64", Text, "null", TLS,
        "the same as base64 of the PEM text"
        => tls_connect_certificate_base64: Option<String>, text;
    "transport/link/tls/enable_mtls", Bool, "false", TLS,
        "both ends of a link show a certificate, and TLS is 1.3"
        => tls_mtls: bool, flag;
    "transport/link/tls/verify_name_on_connect", Bool, "true", TLS,
        "the certificate of a node that this one connects to must be for the host of the endpoint"
        => tls_verify_name: bool, flag;
    "transport/link/tls/close_link_on_expiration", Bool, "false", TLS,
        "a link is closed when the certificate of its peer expires, or one of those above it that the peer has shown"
        => tls_close_on_expiration: bool, flag;
    "transport/link/tls/so_sndbuf", U32, "null", TLS,
        "bytes of the send buffer of a TLS link's socket; without it the system's choice"
        => tls_send_bytes: Option<usize>, optional;
    "transport/link/tls/so_rcvbuf", U32, "null", TLS,
        "bytes of the receive buffer of a TLS link's socket; without it the system's choice"
        => tls_receive_bytes: Option<usize>, optional;
    // Shared memory.
    "transport/shared_memory/enabled", Bool, "true", SHM_ENABLED,
        "nodes of this host and user get large payloads in shared memory, without a copy" => shm: bool, flag;
    "transport/shared_memory/mode", Choice(&["init", "lazy"]), "'lazy'", SHM,
        "when the pool is set up: `init` when the node opens, `lazy` with the first payload for it" => shm_at_open: bool, is_init;
    "transport/shared_memory/transport_optimization/enabled", Bool, "true", SHM_ENABLED,
        "payloads that were not made in shared memory are copied into a pool of the node" => shm_copies: bool, flag;
    "transport/shared_memory/transport_optimization/pool_size", POSITIVE, "16777216", SHM,
        "bytes of that pool; while receivers hold all of it, payloads go over the link" => shm_pool_bytes: usize, count;
    "transport/shared_memory/transport_optimization/message_size_threshold", COUNT, "3072", SHM,
        "bytes from which on a payload leaves in shared memory" => shm_bytes_min: usize, count;
    "transport/shared_memory/transport_optimization/messages", Texts, "['put', 'query', 'reply']", SHM,
        "kinds of messages whose payloads are copied into the pool: `put`, `query`, `reply`" => shm_messages: Option<Vec<String>>, texts;
    "transport/shared_memory/trust", Choice(&["map", "bytes"]), "'map'", SHM,
        "`map`: a received payload is read where it lies, and a process of this user that truncates its memory can end this one; \
         `bytes`: it is copied out, which such a process cannot disturb" => shm_copies_out: bool, is_bytes;
    // Authentication.
    "transport/auth/usrpwd/user", Text, "null", Full,
        "the name that this node gives" => user: Option<String>, text;
    "transport/auth/usrpwd/password", Text, "null", Full,
        "the password that belongs to it; never shown" => password: Option<String>, text;
    "transport/auth/usrpwd/dictionary_file", Text, "null", Full,
        "file of lines `user:password`: who may connect" => users_file: Option<String>, text;
    "transport/auth/usrpwd/dictionary_file_mode", Choice(&["private", "any"]), "'private'", Full,
        "`private`: a dictionary file that others than its owner may read or write, or that belongs to another user, is \
         refused; `any`: it is taken" => users_file_of_any_mode: bool, is_any;
    "transport/auth/usrpwd/ids", UserIds, "[]", Full,
        "ids with which users may connect: a user that is named here has one of its `zids`, and no other user has"
        => user_ids: Vec<(String, Vec<ZenohId>)>, user_ids;
    "transport/auth/usrpwd/send_to", Choice(&["endpoints", "all"]), "'endpoints'", Full,
        "who is shown the user: nodes at connect/endpoints only, or `all`, also those found by scouting or gossip, who \
         can log in elsewhere with what they are shown" => shows_user_to_all: bool, is_all;
    "transport/auth/pubkey/public_key_pem", Text, "null", AUTH,
        "this node's public key, itself";
    "transport/auth/pubkey/private_key_pem", Text, "null", AUTH,
        "this node's private key, itself; never shown";
    "transport/auth/pubkey/public_key_file", Text, "null", AUTH,
        "file of this node's public key";
    "transport/auth/pubkey/private_key_file", Text, "null", AUTH,
        "file of this node's private key";
    "transport/auth/pubkey/key_size", COUNT, "null", AUTH,
        "bits of a key that this node draws";
    "transport/auth/pubkey/known_keys_file", Text, "null", AUTH,
        "file of the public keys that may connect";
    // Limits, all of this project.
    "limits/sessions_per_address", POSITIVE, "null", Full,
        "neighbours that may come from one address (IPv6: one /64); without it three quarters of \
         transport/unicast/max_sessions" => sessions_per_address: Option<usize>, if_set;
    "limits/found_nodes", POSITIVE, "10000", Full,
        "nodes that are remembered from scouting and gossip" => found_nodes: usize, count;
    "limits/found_nodes_per_neighbour", POSITIVE, "2500", Full,
        "of these, nodes that one neighbour may have named" => found_nodes_per_neighbour: usize, count;
    "limits/found_failures_per_address", POSITIVE, "16", Full,
        "attempts to connect to found nodes at one address that may fail in a minute, or be under way"
        => found_failures_per_address: u32, count32;
    "limits/found_failures_per_neighbour", POSITIVE, "64", Full,
        "the same of nodes that one neighbour has named" => found_failures_per_neighbour: u32, count32;
    "limits/found_names", Bool, "false", Full,
        "connect to found nodes also where they are said to be by a host name, which is looked up then"
        => takes_found_names: bool, flag;
    "limits/batch_bytes_min", Whole { min: 32, max: 65535 }, "1024", Full,
        "bytes: a neighbour that wants smaller batches is refused, because the other receivers of a message wait while it \
         is written in many pieces" => batch_size_min: u16, count16;
    "limits/lease_max_ms", Whole { min: 1000, max: 31_536_000_000 }, "60000", Full,
        "ms of silence after which a neighbour is given up, however long a lease it announces"
        => lease_max: Duration, millis;
    "limits/key_length", Whole { min: 1, max: 65535 }, "65535", Full,
        "bytes of one key that a neighbour sends" => key_length_max: usize, count;
    "limits/key_glob_chunks", POSITIVE, "32", Full,
        "chunks of one key with `$*`" => key_glob_chunks_max: usize, count;
    "limits/key_glob_bytes", POSITIVE, "1024", Full,
        "bytes of these chunks together" => key_glob_bytes_max: usize, count;
    "limits/key_ids", Whole { min: 1, max: 65535 }, "65535", Full,
        "ids of keys that one neighbour may declare" => key_ids_max: usize, count;
    "limits/own_key_ids", POSITIVE, "16384", Full,
        "ids of keys that this node declares to one neighbour; further keys are written in full"
        => own_key_ids_max: usize, count;
    "limits/subscribers", POSITIVE, "2000000", Full,
        "subscribers that one neighbour may declare" => subscribers_max: usize, count;
    "limits/queryables", POSITIVE, "500000", Full,
        "queryables that one neighbour may declare" => queryables_max: usize, count;
    "limits/tokens", POSITIVE, "500000", Full,
        "liveliness tokens that one neighbour may declare" => tokens_max: usize, count;
    "limits/interests", POSITIVE, "20000", Full,
        "interests of one neighbour" => interests_max: usize, count;
    "limits/questions", POSITIVE, "150000", Full,
        "open questions of one neighbour" => questions_max: usize, count;
    "limits/neighbours", POSITIVE, "10000", Full,
        "neighbours that a peer may list as its own in gossip" => neighbours_max: usize, count;
    "limits/memory_bytes", POSITIVE, "null", Full,
        "bytes of memory that all of the node may hold: what is received and queued, declared, and kept of routes; the \
         neighbour that keeps most gives way, its link is closed. By default a quarter of the memory that the machine, the process's control groups and its address \
         space allow, and at most 2 GiB, or four times `transport/link/rx/max_message_size` where that is above 1 GiB"
        => memory_max: Option<usize>, optional;
    "limits/key_memory_bytes", POSITIVE, "1073741824", Full,
        "bytes of memory that the keys one neighbour declares may take: their text, and 64 for each and 80 for each chunk"
        => key_memory_max: usize, count;
    "limits/key_chunks", POSITIVE, "256", Full,
        "chunks a key expression may have; what is declared or sent on a longer one is ignored"
        => key_chunks_max: usize, count;
    "limits/wild_keys", POSITIVE, "65536", Full,
        "declarations on keys with wildcards that one neighbour may make" => wild_keys_max: usize, count;
    "limits/declaration_steps", POSITIVE, "1024", Full,
        "what one declaration may cost at one go, in looks at interests and neighbours; the rest is announced in slices"
        => declaration_steps: usize, count;
    "limits/route_keys", POSITIVE, "65536", Full,
        "keys on which kept routes end one by one when something changes on them; those on further keys end with every \
         change" => route_keys_max: usize, count;
    "limits/route_bytes", POSITIVE, "67108864", Full,
        "bytes of memory that the routes kept for one neighbour's messages may take; others are asked for anew"
        => route_memory_max: usize, count;
    "limits/unfinished_bytes", POSITIVE, "null", Full,
        "bytes of all messages of one neighbour together of which fragments are missing; by default twice as many as one \
         message may have" => unfinished_bytes: Option<usize>, optional;
    "limits/unfinished_ms", POSITIVE, "5000", Full,
        "ms for which a neighbour that has begun a message may say nothing, or nothing but keep-alives; then its link is closed"
        => unfinished_time: Duration, millis;
    // Administration and plugins.
    "log/filter", Text, "null", Full,
        "of `zondad`: what is logged, such as `info` or `warn,zonda_router=debug`, where neither `RUST_LOG` nor a flag says it"
        => log_filter: Option<String>, text;
    "adminspace/enabled", Bool, "false", Full,
        "answer queries below `@/<id>/<role>`; `zondad` does by default" => adminspace_enabled: bool, flag;
    "adminspace/permissions/read", Bool, "true", Full,
        "the admin space may be read" => adminspace_readable: bool, flag;
    "adminspace/permissions/write", Bool, "false", Full,
        "the admin space may write the keys that a running node takes over" => adminspace_writable: bool, flag;
    "services/metrics/listen", Text, "null", Full,
        "of `zondad`: the address and port, such as `127.0.0.1:9090`, on which `GET /metrics` returns its counters";
    "services/metrics/hosts", Texts, "[]", Full,
        "of `zondad`: names by which HTTP clients may reach `/metrics`, in addition to addresses and `localhost`";
    "services/metrics/__required__", Bool, "true", Full,
        "of `zondad`: a start without `/metrics`, as when the port is taken, is a failure";
    "services/http/listen", Text, "null", Full,
        "of `zondad`: the address and port, such as `127.0.0.1:8000`, of its HTTP server: REST, events, `/metrics`, `/healthz` and `/readyz`";
    "services/http/hosts", Texts, "[]", Full,
        "of `zondad`: names by which HTTP clients may reach the server, in addition to addresses and `localhost`; `*` allows any";
    "services/http/open", Bool, "false", Full,
        "of `zondad`: without credentials, the server may listen where other machines reach it, and its live page may publish";
    "services/http/tls", Bool, "false", Full,
        "of `zondad`: HTTPS, with `transport/link/tls/listen_certificate` and `listen_private_key`";
    "services/http/auth/dictionary_file", Text, "null", Full,
        "of `zondad`: file of lines `user:password`: who may use the server (basic authentication); its permissions are checked as \
         `transport/auth/usrpwd/dictionary_file_mode` says";
    "services/http/auth/token_file", Text, "null", Full,
        "of `zondad`: file with `TOKEN` or `USER TOKEN` in each line: who may use the server (bearer authentication)";
    "services/http/cors/origins", Texts, "[]", Full,
        "of `zondad`: origins, such as `https://app.example`, whose pages may use the server in a browser; `*` allows any";
    "services/http/remote_api", Bool, "false", Full,
        "of `zondad`: sessions of browsers over WebSocket (`zenoh-ts`) at `/` and `/remote-api` of the server";
    "services/http/limits/connections", POSITIVE, "256", Full,
        "of `zondad`: HTTP connections at the same time, those of events apart; more are closed";
    "services/http/limits/event_clients", POSITIVE, "1000", Full,
        "of `zondad`: clients that get events at the same time; more are refused";
    "services/http/limits/event_bytes", POSITIVE, "262144", Full,
        "of `zondad`: bytes of events that wait for one client; a client that is further behind is dropped";
    "services/http/limits/body_bytes", POSITIVE, "4194304", Full,
        "of `zondad`: bytes of a request's body, and of a message of a remote session";
    "services/http/limits/answer_bytes", POSITIVE, "16777216", Full,
        "of `zondad`: bytes of the replies to one query";
    "services/http/limits/answer_ms", POSITIVE, "10000", Full,
        "of `zondad`: ms for which a query of an HTTP client waits for replies; `queries_default_timeout` if that is less";
    "services/http/limits/remote_sessions", POSITIVE, "256", Full,
        "of `zondad`: remote sessions over WebSocket at the same time, of each server; more are refused";
    "services/http/limits/remote_bytes", POSITIVE, "4194304", Full,
        "of `zondad`: bytes of messages that wait for the client of a remote session; a client that is further behind is dropped";
    "services/http/limits/remote_declarations", POSITIVE, "1000", Full,
        "of `zondad`: declarations of a remote session, and its queries that are not answered yet; more are refused";
    "services/http/__required__", Bool, "true", Full,
        "of `zondad`: a start without the HTTP server, as when the port is taken, is a failure";
    "stats/filters", Tree, "[]", Not("not supported yet"),
        "keys whose traffic is counted apart";
    "plugins_loading/enabled", Bool, "false", Only("false", "no plugin is loaded; what `zondad` does itself needs no loading"),
        "load plugins; set to `false`, no member of `plugins` has an effect unless a flag or `--cfg` sets it";
    "plugins_loading/search_dirs", Tree, "null", PLUGINS,
        "folders to look for plugins in";
    "plugins", Tree, "null", PLUGINS,
        "the plugins, each with its configuration; `zondad` does the work of `rest`, `remote_api` and `storage_manager`";
}
