// SPDX-License-Identifier: MIT OR Apache-2.0
//! Target for any bytes as one scouting datagram.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_testkit::checks::scouting(data));
