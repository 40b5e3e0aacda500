// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counters of remote sessions.

use std::sync::atomic::{AtomicU64, Ordering};

use zonda::session::{Kind, Metric, Sample};

macro_rules! counters {
    ($($field:ident $kind:ident $name:literal $help:literal;)+) => {
        /// Counters of a server of remote sessions.
        #[derive(Debug, Default)]
        pub(super) struct Counts {
            $(pub $field: AtomicU64,)+
        }

        impl Counts {
            /// Returns them as samples, with the name of the service that has the server.
            pub fn samples(&self, service: &'static str) -> Vec<Sample> {
                vec![$({
                    static METRIC: Metric = Metric {
                        name: $name,
                        kind: Kind::$kind,
                        help: $help,
                    };
                    let value = self.$field.load(Ordering::Relaxed);
                    Sample::of(&METRIC, value).with("service", service)
                },)+]
            }
        }
    };
}

counters! {
    sessions Gauge "zonda_remote_sessions" "Remote sessions over WebSocket.";
    refused Counter "zonda_remote_sessions_refused" "Remote sessions that were refused because too many were open, or the node was closed.";
    slow Counter "zonda_remote_sessions_slow" "Remote sessions that were dropped because the client did not read its messages in time.";
    silent Counter "zonda_remote_sessions_silent" "Remote sessions that were dropped because the client sent nothing in time.";
    malformed Counter "zonda_remote_sessions_malformed" "Remote sessions that were dropped because of a malformed or too large message.";
    received Counter "zonda_remote_messages_received" "Messages of remote sessions that were received.";
    failed Counter "zonda_remote_requests_failed" "Messages of remote sessions whose request failed.";
}

/// Adds one to a counter.
pub(super) fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
