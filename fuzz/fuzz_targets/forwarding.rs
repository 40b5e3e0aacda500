// SPDX-License-Identifier: MIT OR Apache-2.0
//! Target for a router's forwarding of any bytes, or of messages in any spelling.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_testkit::forwarding::forwarding(data));
