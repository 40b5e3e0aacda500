// SPDX-License-Identifier: MIT OR Apache-2.0

//! Cases that every kind of link has to pass, written once: each case runs on each runtime for each
//! kind. A new kind is a function of [`Place`], and a line at the end of this file.

mod cases;
mod lines;
mod place;

use place::Place;
use zonda::config::RuntimeKind;

/// Defines every case of each kind as a test of its own, on each runtime in turn.
macro_rules! of_each_kind {
    ($($(#[$condition:meta])* $kind:ident)+) => {
        $($(#[$condition])*
        mod $kind {
            of_each_kind!(@cases $kind
                everything_passes
                a_router_passes_everything_on
                a_listener_comes_back
                what_is_agreed_on_holds
                nobody_there_is_one_line
                a_kind_that_is_not_allowed_is_one_line
            );
        })+
    };
    (@cases $kind:ident $($case:ident)+) => {
        $(#[test]
        fn $case() {
            super::on_each_runtime(super::Place::$kind, super::cases::$case);
        })+
    };
}

fn on_each_runtime(place: fn() -> Place, case: fn(&Place, RuntimeKind)) {
    for runtime in RuntimeKind::available() {
        let place = place();
        if let Some(reason) = place.missing {
            return eprintln!("SKIPPED: {}: {reason}", place.kind);
        }
        case(&place, runtime);
    }
}

of_each_kind! {
    tcp
    udp
    #[cfg(target_os = "linux")]
    unixpipe
    #[cfg(unix)]
    unixsock
    #[cfg(target_os = "linux")]
    vsock
    #[cfg(feature = "ws")]
    ws
    #[cfg(feature = "tls")]
    tls
    #[cfg(feature = "tls")]
    mtls
    #[cfg(feature = "wss")]
    wss
    #[cfg(feature = "quic")]
    quic
    #[cfg(feature = "quic")]
    quic_datagrams
}
