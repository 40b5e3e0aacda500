// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tests of sessions that can share a process: one program, as each additional one is linked
//! for every runtime.

mod admin;
mod aggregation;
mod anywhere;
mod api;
mod asking;
#[cfg(feature = "tls")]
mod authority;
mod callbacks;
mod connecting;
mod delivery;
mod discarded;
mod divided_links;
mod errors;
#[cfg(feature = "ext")]
mod ext;
mod for_ever;
mod gone;
#[cfg(target_os = "linux")]
mod groups;
mod leaving;
#[cfg(feature = "legacy")]
mod legacy;
mod link_options;
mod links;
mod liveliness;
mod local;
mod locality;
mod matching;
mod metrics;
mod moved;
mod multilink;
mod namespace;
mod on_one_node;
mod own_space;
mod pair;
mod peer_to_peer;
mod proxy;
mod queries;
mod queries_ending;
mod queries_lost;
mod queries_reconnect;
#[cfg(feature = "quic")]
mod quic;
#[cfg(feature = "quic")]
mod quic_by_hand;
mod reconnect;
mod reentrancy;
mod reentrancy_matrix;
mod reentrancy_queries;
mod relay;
mod reliability;
mod rules_figures;
#[cfg(all(target_os = "linux", feature = "serial"))]
mod serial;
mod service;
#[cfg(all(feature = "shm", target_os = "linux"))]
mod shm;
mod slow_alone;
mod slow_peer;
mod stacks;
mod streams;
mod timestamps;
#[cfg(feature = "tls")]
mod tls;
mod traffic;
#[cfg(feature = "quic")]
mod trusted;
mod turns;
mod udp;
mod writers;
#[cfg(feature = "ws")]
mod ws;
#[cfg(feature = "wss")]
mod wss;
