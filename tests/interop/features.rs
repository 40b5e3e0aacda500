// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows and columns of the table in `docs/reference/interop.md`.

use crate::environment::Release;

/// Arrangement of the two implementations.
pub struct Position {
    pub name: &'static str,
    /// Scenes of the position.
    pub scenes: &'static [&'static str],
}

/// A feature, and its tests.
pub struct Feature {
    pub name: &'static str,
    pub cells: Cells,
}

/// Tests of a feature, one for each position.
pub enum Cells {
    /// A case that runs in every scene of the position.
    Case(&'static str),
    /// A test with its module, or the reason why there is none.
    Tests([Result<&'static str, &'static str>; POSITIONS.len()]),
}

use Cells::{Case, Tests};

pub const POSITIONS: [Position; 6] = [
    Position {
        name: "their clients, our router",
        scenes: &["theirs_our_router_theirs"],
    },
    Position {
        name: "their client, our router, our client",
        scenes: &["theirs_our_router_ours", "ours_our_router_theirs"],
    },
    Position {
        name: "our clients, their router",
        scenes: &["ours_their_router_ours"],
    },
    Position {
        name: "our client, their router, their client",
        scenes: &["ours_their_router_theirs", "theirs_their_router_ours"],
    },
    Position {
        name: "peers, ours dials",
        scenes: &["ours_dials_theirs", "theirs_is_dialled_by_ours"],
    },
    Position {
        name: "peers, theirs dials",
        scenes: &["theirs_dials_ours", "ours_is_dialled_by_theirs"],
    },
];

/// A mesh of routers, and the test of it against each release, or the reason why there is none.
pub struct Meshed {
    pub name: &'static str,
    pub test: &'static str,
    /// First release that it is tested with.
    pub since: Release,
    /// Reason for not testing other releases.
    pub reason: &'static str,
}

const fn meshed(name: &'static str, test: &'static str) -> Meshed {
    Meshed {
        name,
        test,
        since: Release::V1_8,
        reason: "",
    }
}

/// Returns a pair of gateways of which one is the reference's.
const fn mixed_pair(name: &'static str, test: &'static str) -> Meshed {
    Meshed {
        name,
        test,
        since: Release::V1_9,
        reason: "its routers do not choose among gateways",
    }
}

pub const MESHES: &[Meshed] = &[
    meshed("line: theirs, ours, theirs", "mesh::ours_between_theirs"),
    meshed("line: ours, theirs, ours", "mesh::theirs_between_ours"),
    meshed(
        "ring of four that loses one",
        "mesh::a_ring_finds_another_way",
    ),
    meshed(
        "two of ours, a peer of ours and one of theirs linked to both",
        "gateways::two_of_ours_with_ours_and_theirs",
    ),
    meshed(
        "two of ours, two peers of theirs linked to both",
        "gateways::two_of_ours_with_two_of_theirs",
    ),
    mixed_pair(
        "ours and theirs, peers linked to both; theirs has the greater id",
        "gateways::ours_is_the_lesser",
    ),
    mixed_pair(
        "theirs and ours, peers linked to both; ours has the greater id",
        "gateways::ours_is_the_greater",
    ),
    meshed(
        "two of ours, of which the one that passes on ends",
        "gateways::the_lesser_takes_over",
    ),
];

const fn row(name: &'static str, case: &'static str) -> Feature {
    Feature {
        name,
        cells: Case(case),
    }
}

/// Returns a feature that one test shows with our router, one with theirs and one between peers.
const fn one_each(
    name: &'static str,
    our_router: &'static str,
    their_router: &'static str,
    peers: Result<&'static str, &'static str>,
) -> Feature {
    let (ours, theirs) = (Ok(our_router), Ok(their_router));
    Feature {
        name,
        cells: Tests([ours, ours, theirs, theirs, peers, peers]),
    }
}

const PUBLICATIONS: &[Feature] = &[
    row(
        "put, delete; encoding, attachment, timestamp, source info",
        "every_field_arrives",
    ),
    row(
        "priority, express, congestion control, reliability",
        "every_service_arrives",
    ),
    row("wildcards and verbatim chunks", "wildcards_match_alike"),
    row("0 B to 20 MiB", "payloads_of_all_sizes_arrive_whole"),
    row("10 000 in order", "ten_thousand_arrive_in_order"),
    row("subscribers come and go", "subscribers_come_and_go"),
    Feature {
        name: "nothing is sent without a subscriber",
        cells: Tests([
            Ok("filtering::their_client_sends_our_router_nothing_unwanted"),
            Ok("filtering::our_client_sends_our_router_nothing_unwanted"),
            Ok("filtering::our_client_sends_their_router_nothing_unwanted"),
            Ok("filtering::our_client_sends_their_router_nothing_unwanted"),
            Ok("filtering::our_peer_sends_theirs_nothing_unwanted"),
            Ok("filtering::their_peer_sends_ours_nothing_unwanted"),
        ]),
    },
];

const QUERIES: &[Feature] = &[
    row(
        "get, queryable, wildcards, no queryable",
        "queries_are_answered",
    ),
    row("several at a time", "queries_are_answered_one_by_one"),
    row(
        "parameters, payload, encoding, attachment, source info",
        "query_fields_arrive",
    ),
    row(
        "encoding, attachment, timestamp of replies",
        "reply_fields_arrive",
    ),
    row(
        "priority and express of replies",
        "replies_have_the_service_of_the_query",
    ),
    row("errors and deletes", "errors_and_deletes_arrive"),
    row("targets, complete", "targets_choose_queryables"),
    row("consolidation", "consolidation_keeps_what_it_should"),
    row("`_anyke`", "replies_may_have_any_key_if_asked"),
    row("timeout", "queries_time_out"),
    row("cancellation", "queries_are_cancelled"),
    row("1000 in flight", "a_thousand_queries_wait_at_once"),
    row(
        "0 B to 10 MiB both ways",
        "queries_and_replies_of_all_sizes_arrive",
    ),
    row("queryables come and go", "queryables_come_and_go"),
    row("link lost meanwhile", "a_lost_link_ends_the_query"),
    row("queriers", "queriers_ask"),
];

const LIVELINESS: &[Feature] = &[
    row("tokens, get", "tokens_are_found"),
    row("tokens are nothing else", "tokens_are_nothing_else"),
    row("subscriber", "coming_and_going_is_seen"),
    row("subscriber with history", "history_comes_first"),
    row("one key several times", "tokens_of_one_key_are_one"),
    row("crash", "a_crash_ends_liveliness"),
];

const MATCHING: &[Feature] = &[
    row(
        "publishers: status and listener",
        "publishers_know_whether_anybody_listens",
    ),
    row("publishers: crash", "publishers_know_of_a_crash"),
    row(
        "queriers: status and listener",
        "queriers_know_whether_anybody_answers",
    ),
    row(
        "queriers: complete",
        "queriers_of_complete_queryables_wait_for_them",
    ),
];

const CONFIGURED: &[Feature] = &[
    row("stamps of sessions", "sessions_stamp_when_told_to"),
    one_each(
        "stamps of routers",
        "stamping::our_router_stamps",
        "stamping::their_router_stamps_alike",
        Ok("stamping::peers_stamp_nothing"),
    ),
    row(
        "namespace: publications",
        "namespaces_hold_for_publications",
    ),
    row("namespace: queries", "namespaces_hold_for_queries"),
    row("namespace: liveliness", "namespaces_hold_for_liveliness"),
];

const ADVANCED: &[Feature] = &[Feature {
    name: "history, recovery, heartbeats, losses, late publishers",
    cells: Tests([
        Ok("advanced::theirs_to_theirs_at_our_router"),
        Ok("advanced::theirs_to_ours_at_our_router"),
        Ok("advanced::ours_to_ours_at_their_router"),
        Ok("advanced::ours_to_theirs_at_their_router"),
        Ok("advanced::ours_to_theirs_without_a_router"),
        Ok("advanced::theirs_to_ours_without_a_router"),
    ]),
}];

const LINKS: &[Feature] = &[
    one_each(
        "batch size, resolution, priorities agreed on",
        "transport::their_options_are_agreed_on_with_our_router",
        "transport::our_options_are_agreed_on_with_their_router",
        Err("as with a router: a link knows no roles"),
    ),
    one_each(
        "keep-alive",
        "transport::an_idle_link_to_our_router_lives",
        "transport::an_idle_link_to_their_router_lives",
        Err("as with a router: a link knows no roles"),
    ),
    one_each(
        "close and crash are seen",
        "closing::a_close_is_seen_at_once",
        "closing::a_close_is_seen_at_once",
        Ok("closing::a_killed_process_is_seen_at_once"),
    ),
    Feature {
        name: "the other side comes back",
        cells: Tests([
            Ok("restart::their_client_survives_a_restart_of_our_router"),
            Ok("restart::their_client_survives_an_orderly_restart_of_our_router"),
            Ok("restart::our_client_survives_a_restart_of_their_router"),
            Ok("restart::our_client_survives_a_restart_of_their_router"),
            Ok("restart::our_peer_survives_a_restart_of_theirs"),
            Ok("restart::their_peer_survives_a_restart_of_ours"),
        ]),
    },
    one_each(
        "two nodes of one id",
        "identity::our_router_refuses_a_second_node_of_the_same_id",
        "identity::their_router_refuses_a_second_one_of_ours",
        Ok("identity::peers_that_dial_each_other_keep_one_link"),
    ),
    Feature {
        name: "ids of keys on the wire",
        cells: Tests([
            Ok("ids::their_client_and_our_router"),
            Ok("ids::their_client_and_our_router"),
            Ok("ids::our_client_and_their_router"),
            Ok("ids::our_client_and_their_router"),
            Ok("ids::our_peer_and_theirs"),
            Ok("ids::their_peer_and_ours"),
        ]),
    },
    one_each(
        "users and passwords",
        "auth::our_router_lets_their_users_in",
        "auth::their_router_lets_our_users_in",
        Err("as with a router: who listens lets in"),
    ),
    one_each(
        "compression",
        "compression::compressed_links_to_our_router",
        "compression::compressed_links_to_their_router",
        Ok("compression::compressed_links_between_peers"),
    ),
    one_each(
        "low latency",
        "lowlatency::bare_links_to_our_router",
        "lowlatency::bare_links_to_their_router",
        Ok("lowlatency::bare_links_between_peers"),
    ),
    Feature {
        name: "several links",
        cells: Tests([
            Ok("multilink::two_links_from_their_peer_to_our_router"),
            Ok("multilink::two_links_from_their_peer_to_our_router"),
            Ok("multilink::two_links_from_our_peer_to_their_router"),
            Ok("multilink::two_links_from_our_peer_to_their_router"),
            Ok("multilink::two_links_from_our_peer_to_their_peer"),
            Ok("multilink::two_links_from_their_peer_to_our_peer"),
        ]),
    },
    SHARED_MEMORY,
];

const SHARED_MEMORY: Feature = one_each(
    "theirs shares memory, which ours stays out of",
    "shm::sharing_nodes_at_our_router",
    "shm::our_client_at_a_router_that_shares",
    Ok("shm::a_sharing_peer_and_ours"),
);

const DISCOVERY: &[Feature] = &[
    Feature {
        name: "scouting",
        cells: Tests([
            Ok("scouting::their_scout_finds_our_router_that_listens_on_loopback_only"),
            Ok("scouting::a_message_goes_through_a_router_that_was_found"),
            Ok("scouting::our_scout_finds_their_router_and_their_peer"),
            Ok("scouting::our_client_with_nothing_configured_connects_to_their_router"),
            Ok("scouting::our_peer_finds_theirs"),
            Ok("scouting::their_peer_finds_ours"),
        ]),
    },
    Feature {
        name: "gossip",
        cells: Tests([
            Ok("gossip::two_of_theirs_meet_through_our_router"),
            Ok("gossip::ours_and_theirs_meet_through_our_router"),
            Ok("gossip::two_of_ours_meet_through_their_router"),
            Ok("gossip::ours_and_theirs_meet_through_their_router"),
            Ok("gossip::ours_and_theirs_meet_through_their_peer"),
            Ok("gossip::two_of_theirs_meet_through_our_peer"),
        ]),
    },
];

/// A kind of link: with our router, with theirs, between peers.
const KINDS: &[Feature] = &[
    one_each(
        "`udp`",
        "udp::datagrams_to_our_router",
        "udp::datagrams_to_their_router",
        Ok("udp::datagrams_between_peers"),
    ),
    one_each(
        "`tls`; both ends show a certificate, or the listening one",
        "tls::encrypted_links_to_our_router",
        "tls::encrypted_links_to_their_router",
        Ok("tls::encrypted_links_between_peers"),
    ),
    one_each(
        "`quic`; both ends show a certificate, or the listening one",
        "quic::quic_links_to_our_router",
        "quic::quic_links_to_their_router",
        Ok("quic::quic_links_between_peers"),
    ),
    one_each(
        "`ws`",
        "ws::websockets_to_our_router",
        "ws::websockets_to_their_router",
        Ok("ws::websockets_between_peers"),
    ),
    one_each(
        "`unixsock-stream`",
        "unixsock::paths_to_our_router",
        "unixsock::paths_to_their_router",
        Ok("unixsock::paths_between_peers"),
    ),
];

/// Returns a command at their router; elsewhere it is an ordinary session.
const fn command(name: &'static str, test: &'static str) -> Feature {
    let elsewhere = Err("a command is a session of ours");
    let cells = [
        elsewhere,
        elsewhere,
        Ok(test),
        Ok(test),
        elsewhere,
        elsewhere,
    ];
    Feature {
        name,
        cells: Tests(cells),
    }
}

const COMMANDS: &[Feature] = &[
    command(
        "`zonda pub`, `sub`, `put`, `delete`",
        "commands::values_pass_through_their_router",
    ),
    command(
        "`zonda get`, `queryable`",
        "commands::questions_pass_through_their_router",
    ),
    command(
        "`zonda live`",
        "commands::tokens_are_seen_through_their_router",
    ),
    command("`zonda info`", "commands::info_names_their_router"),
];

/// Rows of the table, by subject.
pub const SECTIONS: &[(&str, &[Feature])] = &[
    ("publications", PUBLICATIONS),
    ("queries", QUERIES),
    ("liveliness", LIVELINESS),
    ("matching", MATCHING),
    ("configuration", CONFIGURED),
    ("advanced publishers and subscribers", ADVANCED),
    ("links", LINKS),
    ("links by kind; `tcp` in all other rows", KINDS),
    ("discovery", DISCOVERY),
    ("commands, with `--json`", COMMANDS),
];
