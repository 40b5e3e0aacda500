// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of this project and the reference, as processes that talk to each other over loopback.
//!
//! The reference is installed on first use, see [`environment`]; where there is no Python, every
//! test here is skipped and reports that.

mod access;
#[cfg(feature = "ext")]
mod advanced;
mod agreed;
mod answers;
mod auth;
#[cfg(feature = "quic")]
mod busy;
mod cases;
mod closing;
mod commands;
mod compression;
mod config_cases;
mod configuration;
mod downsampling;
mod environment;
mod features;
mod filtering;
mod gateways;
#[cfg(target_os = "linux")]
mod gossip;
#[cfg(target_os = "linux")]
mod groups;
mod identity;
mod ids;
mod listening;
mod live_cases;
mod low_pass;
mod lowlatency;
mod matching_cases;
mod matrix;
mod mesh;
mod message;
mod multilink;
#[cfg(target_os = "linux")]
#[path = "../discovery/namespace.rs"]
mod namespace;
mod network_rules;
mod others;
mod party;
mod positions;
#[path = "../command/program.rs"]
#[allow(dead_code, reason = "not every program that includes this needs each")]
mod program;
mod proxy;
mod query_cases;
mod questions;
#[cfg(feature = "quic")]
mod quic;
mod reference;
#[path = "../../session/tests/relay/mod.rs"]
mod relay;
mod restart;
mod router;
mod runtimes;
mod scene;
#[cfg(target_os = "linux")]
mod scouting;
mod shm;
#[cfg(all(feature = "shm", target_os = "linux"))]
mod shm_loans;
mod stacks;
mod stamping;
#[cfg(feature = "tls")]
mod tls;
mod tokens;
mod transport;
mod udp;
mod unixsock;
mod wait;
#[cfg(feature = "ws")]
mod ws;

/// Every case in every scene against every release, as a test of its own: `release::scene::case`.
macro_rules! against_releases {
    ($($module:ident)+) => {
        $(mod $module {
            fn release() -> crate::environment::Release {
                crate::environment::Release::of_module(stringify!($module))
            }

            // in the short run of every release: one scene for each kind of connection
            against_releases!(@scenes always
                theirs_our_router_ours
                ours_their_router_theirs
                ours_dials_theirs
            );
            against_releases!(@scenes of_newest
                theirs_our_router_theirs
                ours_our_router_theirs
                ours_their_router_ours
                theirs_their_router_ours
                ours_is_dialled_by_theirs
                theirs_dials_ours
                theirs_is_dialled_by_ours
            );
            against_releases!(@roles
                theirs_our_library_router_theirs
                their_peer_our_router_their_client
                their_client_our_router_their_peer
                our_peer_their_router_their_client
                their_client_their_router_our_peer
                their_client_to_our_peer
                our_peer_to_their_client
                our_client_to_their_peer
                their_peer_to_our_client
            );
            // the reference alone, which proves that the expectations are the protocol's and not
            // ours
            against_releases!(@scenes of_long_run
                theirs_their_router_theirs
                theirs_dials_theirs
            );
        })+
    };
    (@scenes $extent:ident $($scene:ident)+) => {
        $(against_releases!(@tests $scene $extent
            cases {
                every_field_arrives
                every_service_arrives
                wildcards_match_alike
                payloads_of_all_sizes_arrive_whole
                ten_thousand_arrive_in_order
                subscribers_come_and_go
            }
            query_cases {
                queries_are_answered
                queries_are_answered_one_by_one
                query_fields_arrive
                reply_fields_arrive
                replies_have_the_service_of_the_query
                errors_and_deletes_arrive
                targets_choose_queryables
                consolidation_keeps_what_it_should
                replies_may_have_any_key_if_asked
                queries_time_out
                a_thousand_queries_wait_at_once
                queries_and_replies_of_all_sizes_arrive
                queryables_come_and_go
                a_lost_link_ends_the_query
                queries_are_cancelled
                queriers_ask
            }
            live_cases {
                tokens_are_found
                tokens_are_nothing_else
                coming_and_going_is_seen
                history_comes_first
                tokens_of_one_key_are_one
                a_crash_ends_liveliness
            }
            matching_cases {
                publishers_know_whether_anybody_listens
                publishers_know_of_a_crash
                queriers_know_whether_anybody_answers
                queriers_of_complete_queryables_wait_for_them
            }
            config_cases {
                sessions_stamp_when_told_to
                namespaces_hold_for_publications
                namespaces_hold_for_queries
                namespaces_hold_for_liveliness
            }
        );)+
    };
    (@roles $($scene:ident)+) => {
        $(against_releases!(@tests $scene of_newest
            cases {
                every_field_arrives
                every_service_arrives
                wildcards_match_alike
                payloads_of_all_sizes_arrive_whole
                ten_thousand_arrive_in_order
                subscribers_come_and_go
            }
            query_cases {
                queries_are_answered
                queryables_come_and_go
                targets_choose_queryables
            }
            live_cases {
                history_comes_first
                a_crash_ends_liveliness
            }
            matching_cases {
                publishers_know_whether_anybody_listens
                queriers_know_whether_anybody_answers
            }
        );)+
    };
    (@tests $scene:ident $extent:ident $($file:ident { $($case:ident)+ })+) => {
        mod $scene {
            $($(#[test]
            fn $case() {
                use crate::environment::{Extent, against};

                let release = super::release();
                against(release, Extent::$extent(release), || {
                    let arrangement = crate::scene::arrangement::$scene();
                    crate::$file::play(arrangement, crate::$file::$case);
                });
            })+)+
        }
    };
}

against_releases! { v1_8 v1_9 v1_10 }

/// Every case in the scenes of each runtime.
macro_rules! on_runtimes {
    ($($runtime:ident $name:literal)+) => {
        $(mod $runtime {
            on_runtimes!(@scene $name routed_to_ours);
            on_runtimes!(@scene $name routed_to_theirs);
            on_runtimes!(@scene $name dialled_by_theirs);
        })+
    };
    (@scene $name:literal $scene:ident) => {
        mod $scene {
            on_runtimes!(@cases $name $scene
                every_field_arrives
                payloads_of_all_sizes_arrive_whole
                ten_thousand_arrive_in_order
                subscribers_come_and_go
            );
        }
    };
    (@cases $name:literal $scene:ident $($case:ident)+) => {
        $(#[test]
        fn $case() {
            if crate::environment::python().is_some() {
                let scene = crate::runtimes::$scene($name);
                crate::cases::$case(&scene);
                assert_eq!(scene.complaints(), [""; 0]);
            }
        })+
    };
}

#[cfg(feature = "tokio")]
on_runtimes! { on_tokio_current_thread "'tokio-current'" }
#[cfg(feature = "smol")]
on_runtimes! { on_smol "'smol'" }
#[cfg(feature = "async-std")]
on_runtimes! { on_async_std "'async-std'" }
#[cfg(all(feature = "threads", unix))]
on_runtimes! { on_threads "'threads'" }
#[cfg(all(feature = "uring", target_os = "linux"))]
on_runtimes! { on_uring "'uring'" }
