// SPDX-License-Identifier: MIT OR Apache-2.0
//! This project and the reference, as processes that talk to each other over loopback.
//!
//! The reference is installed on first use, see [`environment`]; where there is no Python, every test here is skipped
//! and says so.

mod auth;
mod cases;
mod closing;
mod compression;
mod environment;
mod identity;
mod ids;
mod lowlatency;
mod message;
mod multilink;
mod others;
mod party;
mod proxy;
mod reference;
#[path = "../../session/tests/relay/mod.rs"]
mod relay;
mod restart;
mod router;
mod runtimes;
mod scene;
mod stamping;
mod transport;
mod wait;

/// Every case in every scene, as a test of its own.
macro_rules! in_scenes {
    ($($scene:ident)+) => {
        $(in_scenes!(@scene $scene
            every_field_arrives
            every_service_arrives
            wildcards_match_alike
            payloads_of_all_sizes_arrive_whole
            ten_thousand_arrive_in_order
            subscribers_come_and_go
        );)+
    };
    (@scene $scene:ident $($case:ident)+) => {
        mod $scene {
            $(#[test]
            fn $case() {
                if crate::environment::python().is_some() {
                    let scene = crate::scene::$scene();
                    crate::cases::$case(&scene);
                    assert_eq!(scene.complaints(), [""; 0]);
                }
            })+
        }
    };
}

in_scenes! {
    theirs_our_router_theirs
    theirs_our_library_router_theirs
    theirs_our_router_ours
    ours_our_router_theirs
    ours_their_router_ours
    ours_their_router_theirs
    theirs_their_router_ours
    ours_dials_theirs
    ours_is_dialled_by_theirs
    theirs_dials_ours
    theirs_is_dialled_by_ours
    their_peer_our_router_their_client
    their_client_our_router_their_peer
    our_peer_their_router_their_client
    their_client_their_router_our_peer
    their_client_to_our_peer
    our_peer_to_their_client
    our_client_to_their_peer
    their_peer_to_our_client
}

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
