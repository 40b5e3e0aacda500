// SPDX-License-Identifier: MIT OR Apache-2.0

//! What each configuration key means, in one line with its unit: the last column of the table in the documentation.
//! Apart from the table of keys, so that a key may learn to be honoured without a change here.

/// What the key of this path means.
pub fn of(path: &str) -> Option<&'static str> {
    let row = MEANINGS.iter().find(|(known, _)| *known == path);
    row.map(|(_, meaning)| *meaning)
}

/// One line for each key, in the order of the table of keys.
pub const MEANINGS: &[(&str, &str)] = &[
    (
        "mode",
        "the node's role; `zondad` is a router unless told otherwise",
    ),
    (
        "id",
        "the node's id, 1 to 32 hexadecimal digits; without one it draws 128 random bits",
    ),
    (
        "metadata",
        "anything about the node; shown in its admin space",
    ),
    (
        "namespace",
        "a key that is put before every key of the session on the way out and taken off on the way in",
    ),
    ("region_name", "the name of the region that the node is in"),
    ("gateway/south", "which neighbours are south of this node"),
    (
        "runtime",
        "what the node's tasks run on; without it the first that is compiled in",
    ),
    (
        "runtime_threads",
        "threads of the runtime; without it the runtime's own choice",
    ),
    (
        "runtime_cpus",
        "the cpus that the runtime's threads may use, by number; none means all",
    ),
    (
        "runtime_scheduling",
        "scheduling class of the runtime's threads: `inherit`, `fifo:N`, `round-robin:N` or `nice:N`",
    ),
    (
        "runtime_uring_required",
        "fail where the system refuses io_uring, instead of taking another runtime",
    ),
    (
        "runtime_spin_us",
        "µs that a thread looks for work before it sleeps",
    ),
    (
        "close_timeout_ms",
        "ms that peers have to take what is queued when the node closes; without it 5000 for `zondad`, 10000 for a session",
    ),
    (
        "isolation/slow",
        "what becomes of a neighbour that takes less than `isolation/min_rate` while others wait for it: its link is closed, or its sources pause",
    ),
    (
        "isolation/min_rate",
        "bytes per second that a neighbour has to take while a source waits for it, unless less than twice as much is offered to it",
    ),
    (
        "isolation/stall_ms",
        "ms within 10 s that all sources together wait for a neighbour that takes less",
    ),
    (
        "isolation/backlog_bytes",
        "bytes of Block messages and declarations that may wait for a neighbour before their sources pause",
    ),
    (
        "connect/timeout_ms",
        "ms that connecting is tried: 0 once, -1 for ever",
    ),
    (
        "connect/endpoints",
        "whom to connect to; a client connects to the first that answers, others to each",
    ),
    (
        "connect/exit_on_failure",
        "fail to open when no connection came about in time",
    ),
    (
        "connect/retry/period_init_ms",
        "ms before the second attempt to connect",
    ),
    (
        "connect/retry/period_max_ms",
        "ms between attempts to connect at most",
    ),
    (
        "connect/retry/period_increase_factor",
        "each pause between attempts to connect is so many times the one before",
    ),
    (
        "listen/timeout_ms",
        "ms that listening is tried: 0 once, -1 for ever",
    ),
    (
        "listen/endpoints",
        "where to listen; port 0 takes a free one",
    ),
    (
        "listen/exit_on_failure",
        "fail to open when an endpoint could not be listened on in time",
    ),
    (
        "listen/retry/period_init_ms",
        "ms before the second attempt to listen",
    ),
    (
        "listen/retry/period_max_ms",
        "ms between attempts to listen at most",
    ),
    (
        "listen/retry/period_increase_factor",
        "each pause between attempts to listen is so many times the one before",
    ),
    (
        "open/return_conditions/connect_scouted",
        "opening waits until nodes that were found are connected",
    ),
    (
        "open/return_conditions/declares",
        "opening waits for the first declarations of those connected",
    ),
    (
        "scouting/timeout",
        "ms that a client without endpoints looks for a router",
    ),
    (
        "scouting/delay",
        "ms that a peer looks for others before opening returns",
    ),
    (
        "scouting/multicast/enabled",
        "look for others by multicast, and answer those who do",
    ),
    ("scouting/multicast/address", "the multicast group and port"),
    (
        "scouting/multicast/interface",
        "the interfaces to use, by name, or `auto` for all",
    ),
    (
        "scouting/multicast/ttl",
        "hops that a multicast packet may go",
    ),
    (
        "scouting/multicast/autoconnect",
        "roles that are connected to when found by multicast",
    ),
    (
        "scouting/multicast/autoconnect_strategy",
        "whether both of two nodes connect when they find each other, or the greater id alone",
    ),
    (
        "scouting/multicast/listen",
        "answer those who look for others by multicast",
    ),
    ("scouting/gossip/enabled", "tell neighbours of each other"),
    ("scouting/gossip/multihop", "pass on what neighbours tell"),
    ("scouting/gossip/target", "roles that are told"),
    (
        "scouting/gossip/autoconnect",
        "roles that are connected to when heard of",
    ),
    (
        "scouting/gossip/autoconnect_strategy",
        "whether both of two nodes connect when they hear of each other, or the greater id alone",
    ),
    (
        "timestamping/enabled",
        "stamp the node's own publications and what it forwards unstamped",
    ),
    (
        "timestamping/drop_future_timestamp",
        "drop what is stamped more than 500 ms ahead, instead of stamping it anew",
    ),
    (
        "queries_default_timeout",
        "ms that a query may take unless it says otherwise",
    ),
    (
        "routing/router/peers_failover_brokering",
        "given up: routers do not broker between peers",
    ),
    (
        "routing/router/linkstate/transport_weights",
        "costs of links between routers",
    ),
    ("routing/peer", "given up: peers have one way of routing"),
    (
        "routing/interests/timeout",
        "ms that a neighbour may take to answer what it was asked to tell",
    ),
    (
        "aggregation/subscribers",
        "keys under which subscribers are declared as one",
    ),
    (
        "aggregation/publishers",
        "keys under which publishers are declared as one",
    ),
    (
        "qos/publication",
        "priority, congestion control and the like of publications, by key",
    ),
    ("qos/network", "the same of what passes the node"),
    (
        "downsampling",
        "rates that messages are thinned out to, by key",
    ),
    (
        "low_pass_filter",
        "sizes above which messages are dropped, by key",
    ),
    (
        "access_control/enabled",
        "apply the rules of access control",
    ),
    (
        "access_control/default_permission",
        "what happens to messages that no rule is for",
    ),
    ("access_control/rules", "what may be done on which keys"),
    ("access_control/subjects", "who may be meant by a rule"),
    ("access_control/policies", "which rules are for whom"),
    (
        "transport/unicast/open_timeout",
        "ms that a handshake of this node's own may take",
    ),
    (
        "transport/unicast/accept_timeout",
        "ms that a stranger's handshake may take",
    ),
    (
        "transport/unicast/accept_pending",
        "strangers' handshakes under way at once; here 1024 unless set",
    ),
    ("transport/unicast/max_sessions", "neighbours at once"),
    ("transport/unicast/max_links", "links to one neighbour"),
    (
        "transport/unicast/lowlatency",
        "offer links without batches, priorities and fragments",
    ),
    (
        "transport/unicast/qos/enabled",
        "offer priorities to neighbours",
    ),
    (
        "transport/unicast/compression/enabled",
        "offer compression (LZ4) to neighbours",
    ),
    (
        "transport/multicast/join_interval",
        "ms between two introductions to a multicast group",
    ),
    (
        "transport/multicast/max_sessions",
        "neighbours in a multicast group",
    ),
    (
        "transport/multicast/qos/enabled",
        "use priorities in a multicast group",
    ),
    (
        "transport/multicast/compression/enabled",
        "compress what is sent to a multicast group",
    ),
    (
        "transport/link/protocols",
        "the only protocols that links may use; without it all",
    ),
    (
        "transport/link/tx/sequence_number_resolution",
        "width of sequence numbers that is offered",
    ),
    (
        "transport/link/tx/lease",
        "ms that a neighbour may be silent before its link is dead",
    ),
    (
        "transport/link/tx/keep_alive",
        "signs of life per lease when there is nothing else to send",
    ),
    ("transport/link/tx/batch_size", "bytes of a batch at most"),
    (
        "transport/link/tx/queue/size/control",
        "batches that may wait in priority control; here 512 KiB unless set",
    ),
    (
        "transport/link/tx/queue/size/real_time",
        "batches that may wait in priority real-time; here 512 KiB unless set",
    ),
    (
        "transport/link/tx/queue/size/interactive_high",
        "batches that may wait in priority interactive-high; here 512 KiB unless set",
    ),
    (
        "transport/link/tx/queue/size/interactive_low",
        "batches that may wait in priority interactive-low; here 512 KiB unless set",
    ),
    (
        "transport/link/tx/queue/size/data_high",
        "batches that may wait in priority data-high; here 512 KiB unless set",
    ),
    (
        "transport/link/tx/queue/size/data",
        "batches that may wait in priority data; here 512 KiB unless set",
    ),
    (
        "transport/link/tx/queue/size/data_low",
        "batches that may wait in priority data-low; here 512 KiB unless set",
    ),
    (
        "transport/link/tx/queue/size/background",
        "batches that may wait in priority background; here 512 KiB unless set",
    ),
    (
        "transport/link/tx/queue/congestion_control/drop/wait_before_drop",
        "µs that a message of congestion control Drop waits for room",
    ),
    (
        "transport/link/tx/queue/congestion_control/drop/max_wait_before_drop_fragments",
        "µs that all fragments of such a message wait at most",
    ),
    (
        "transport/link/tx/queue/congestion_control/block/wait_before_close",
        "µs that a message of congestion control Block waits for room",
    ),
    (
        "transport/link/tx/queue/batching/enabled",
        "messages may share a batch",
    ),
    (
        "transport/link/tx/queue/batching/time_limit",
        "ms that a message may wait for company",
    ),
    (
        "transport/link/tx/queue/allocation/mode",
        "when the memory of queues is taken",
    ),
    ("transport/link/tx/threads", "threads that write to links"),
    (
        "transport/link/rx/buffer_size",
        "bytes read from a link at once",
    ),
    (
        "transport/link/rx/max_message_size",
        "bytes of the largest message that is accepted",
    ),
    (
        "transport/link/tcp/so_sndbuf",
        "bytes of a TCP socket's send buffer; without it the system's choice",
    ),
    (
        "transport/link/tcp/so_rcvbuf",
        "bytes of a TCP socket's receive buffer; without it the system's choice",
    ),
    (
        "transport/link/unixpipe/file_access_mask",
        "permissions of the files of pipes",
    ),
    (
        "transport/link/tls/root_ca_certificate",
        "file of the authorities that are trusted",
    ),
    (
        "transport/link/tls/root_ca_certificate_base64",
        "the same, itself",
    ),
    (
        "transport/link/tls/listen_private_key",
        "file of the key for accepted links",
    ),
    (
        "transport/link/tls/listen_private_key_base64",
        "the same, itself; never shown",
    ),
    (
        "transport/link/tls/listen_certificate",
        "file of the certificate for accepted links",
    ),
    (
        "transport/link/tls/listen_certificate_base64",
        "the same, itself",
    ),
    (
        "transport/link/tls/connect_private_key",
        "file of the key for opened links",
    ),
    (
        "transport/link/tls/connect_private_key_base64",
        "the same, itself; never shown",
    ),
    (
        "transport/link/tls/connect_certificate",
        "file of the certificate for opened links",
    ),
    (
        "transport/link/tls/connect_certificate_base64",
        "the same, itself",
    ),
    (
        "transport/link/tls/enable_mtls",
        "ask for certificates of those who connect",
    ),
    (
        "transport/link/tls/verify_name_on_connect",
        "check that a certificate is for the host connected to",
    ),
    (
        "transport/link/tls/close_link_on_expiration",
        "close a link when a certificate of it expires",
    ),
    (
        "transport/link/tls/so_sndbuf",
        "bytes of a TLS socket's send buffer",
    ),
    (
        "transport/link/tls/so_rcvbuf",
        "bytes of a TLS socket's receive buffer",
    ),
    (
        "transport/shared_memory/enabled",
        "pass large messages to nodes of this host by shared memory",
    ),
    (
        "transport/shared_memory/mode",
        "when shared memory is set up",
    ),
    (
        "transport/shared_memory/transport_optimization/enabled",
        "also messages that were not made in shared memory",
    ),
    (
        "transport/shared_memory/transport_optimization/pool_size",
        "bytes of shared memory for that",
    ),
    (
        "transport/shared_memory/transport_optimization/message_size_threshold",
        "bytes from which on a message goes that way",
    ),
    (
        "transport/shared_memory/transport_optimization/messages",
        "kinds of messages that go that way",
    ),
    (
        "transport/auth/usrpwd/user",
        "the name that this node gives",
    ),
    (
        "transport/auth/usrpwd/password",
        "the password that belongs to it; never shown",
    ),
    (
        "transport/auth/usrpwd/dictionary_file",
        "file of lines `user:password`: who may connect",
    ),
    (
        "transport/auth/usrpwd/dictionary_file_mode",
        "`private`: a dictionary file that others than its owner may read or write, or that belongs to another user, is refused; `any`: it is taken",
    ),
    (
        "transport/auth/usrpwd/send_to",
        "who is shown the user: nodes at connect/endpoints only, or `all`, also those found by scouting or gossip, who can log in elsewhere with what they are shown",
    ),
    (
        "transport/auth/pubkey/public_key_pem",
        "this node's public key, itself",
    ),
    (
        "transport/auth/pubkey/private_key_pem",
        "this node's private key, itself; never shown",
    ),
    (
        "transport/auth/pubkey/public_key_file",
        "file of this node's public key",
    ),
    (
        "transport/auth/pubkey/private_key_file",
        "file of this node's private key",
    ),
    (
        "transport/auth/pubkey/key_size",
        "bits of a key that this node draws",
    ),
    (
        "transport/auth/pubkey/known_keys_file",
        "file of the public keys that may connect",
    ),
    (
        "limits/sessions_per_address",
        "neighbours that may come from one address (IPv6: one /64); without it three quarters of transport/unicast/max_sessions",
    ),
    (
        "limits/found_nodes",
        "nodes that are remembered from scouting and gossip",
    ),
    (
        "limits/found_nodes_per_neighbour",
        "of these, nodes that one neighbour may have named",
    ),
    (
        "limits/found_failures_per_address",
        "attempts to connect to found nodes at one address that may fail in a minute, or be under way",
    ),
    (
        "limits/found_failures_per_neighbour",
        "the same of nodes that one neighbour has named",
    ),
    (
        "limits/found_names",
        "connect to found nodes also where they are said to be by a host name, which is looked up then",
    ),
    (
        "limits/batch_bytes_min",
        "bytes: a neighbour that wants smaller batches is refused, because the other receivers of a message wait while it is written in many pieces",
    ),
    (
        "limits/lease_max_ms",
        "ms of silence after which a neighbour is given up, however long a lease it announces",
    ),
    (
        "limits/key_length",
        "bytes of one key that a neighbour sends",
    ),
    ("limits/key_glob_chunks", "chunks of one key with `$*`"),
    ("limits/key_glob_bytes", "bytes of these chunks together"),
    (
        "limits/key_ids",
        "ids of keys that one neighbour may declare",
    ),
    (
        "limits/own_key_ids",
        "ids of keys that this node declares to one neighbour; further keys are written in full",
    ),
    (
        "limits/subscribers",
        "subscribers that one neighbour may declare",
    ),
    (
        "limits/queryables",
        "queryables that one neighbour may declare",
    ),
    (
        "limits/tokens",
        "liveliness tokens that one neighbour may declare",
    ),
    ("limits/interests", "interests of one neighbour"),
    ("limits/questions", "open questions of one neighbour"),
    (
        "limits/neighbours",
        "neighbours that a peer may list as its own in gossip",
    ),
    (
        "limits/memory_bytes",
        "bytes of memory that all of the node may hold: what is received and queued, declared, and kept of routes; the neighbour that keeps most gives way, its link is closed. By default a quarter of the machine's memory and at most 2 GiB, or four times `transport/link/rx/max_message_size` where that is above 1 GiB",
    ),
    (
        "limits/key_memory_bytes",
        "bytes of memory that the keys one neighbour declares may take: their text, and 64 for each and 80 for each chunk",
    ),
    (
        "limits/key_chunks",
        "chunks a key expression may have; what is declared or sent on a longer one is ignored",
    ),
    (
        "limits/wild_keys",
        "declarations on keys with wildcards that one neighbour may make",
    ),
    (
        "limits/declaration_steps",
        "what one declaration may cost at one go, in looks at interests and neighbours; the rest is announced in slices",
    ),
    (
        "limits/route_keys",
        "keys on which kept routes end one by one when something changes on them; those on further keys end with every change",
    ),
    (
        "limits/route_bytes",
        "bytes of memory that the routes kept for one neighbour's messages may take; others are asked for anew",
    ),
    (
        "limits/unfinished_bytes",
        "bytes of all messages of one neighbour together of which fragments are missing; by default twice as many as one message may have",
    ),
    (
        "limits/unfinished_ms",
        "ms for which a neighbour that has begun a message may say nothing but keep-alives; then its link is closed",
    ),
    (
        "adminspace/enabled",
        "answer queries below `@/<id>/<role>`; `zondad` does unless told otherwise",
    ),
    ("adminspace/permissions/read", "the admin space may be read"),
    (
        "adminspace/permissions/write",
        "the configuration may be changed by the admin space",
    ),
    ("stats/filters", "keys whose traffic is counted apart"),
    ("plugins_loading/enabled", "load plugins"),
    (
        "plugins_loading/search_dirs",
        "folders to look for plugins in",
    ),
    ("plugins", "the plugins and what each is told"),
];
