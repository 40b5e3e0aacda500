// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening and accepting links over real sockets on loopback, on every runtime in turn.
#![forbid(unsafe_code)]

#[path = "link/cases.rs"]
mod cases;
#[path = "link/datagrams.rs"]
mod datagrams;
#[macro_use]
#[path = "link/peers.rs"]
mod peers;
#[cfg(feature = "wss")]
#[path = "link/wss.rs"]
mod wss;

#[test]
fn links_of_datagrams() {
    each_runtime!(runtime => {
        datagrams::links_open(runtime);
        datagrams::a_peer_begins_anew_from_its_port(runtime);
        datagrams::what_is_no_message_changes_nothing(runtime);
        datagrams::a_message_that_is_lost_is_repeated(runtime);
    });
}

#[cfg(feature = "wss")]
#[test]
fn a_foreign_client_of_websocket_and_tls() {
    each_runtime!(runtime => wss::a_foreign_client_opens_a_link(runtime));
    each_runtime!(runtime => wss::both_ends_know_the_names_of_certificates(runtime));
}

/// Creates a test of each case.
macro_rules! on_each_runtime {
    ($($(#[$only:meta])? $case:ident,)+) => {
        $(
            $(#[$only])?
            #[test]
            fn $case() {
                each_runtime!(runtime => cases::$case(runtime));
            }
        )+
    };
}

on_each_runtime! {
    links_open_over_addresses_and_names,
    #[cfg(unix)]
    links_open_over_a_path,
    #[cfg(feature = "ws")]
    links_open_over_websockets,
    #[cfg(feature = "quic")]
    links_open_over_quic,
    #[cfg(all(feature = "quic", target_os = "linux"))]
    a_link_over_quic_counts_what_it_holds,
    locators_name_the_bound_port_and_keep_metadata,
    socket_options_are_honoured,
    bytes_behind_the_handshake_are_kept,
    batches_in_small_pieces_are_put_together,
    another_version_is_named_on_both_sides,
    a_refusal_and_a_second_link_are_told_apart,
    a_link_to_oneself_and_a_wrong_id_are_refused,
    silence_ends_with_a_timeout_on_either_side,
    peers_of_another_kind_are_recognised_at_once,
    strangers_of_another_kind_are_named_at_once,
    an_introduction_that_is_too_long_is_refused_before_it_arrives,
    a_message_out_of_turn_is_named,
    an_end_in_the_middle_is_told,
    a_peer_that_is_lost_after_its_admission_is_withdrawn,
    what_cannot_be_reached_is_said_in_one_line,
    what_cannot_be_listened_on_is_said_in_one_line,
    the_oldest_stranger_gives_way,
    a_stopped_listener_frees_its_port_and_ends_introductions,
}
