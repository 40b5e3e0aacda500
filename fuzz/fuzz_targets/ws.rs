// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a WebSocket connection brings behind the upgrade.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_fuzz::ws::ws(data));
