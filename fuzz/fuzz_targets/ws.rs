// SPDX-License-Identifier: MIT OR Apache-2.0
//! Input of a WebSocket connection after the upgrade.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_fuzz::ws::ws(data));
