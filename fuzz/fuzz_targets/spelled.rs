// SPDX-License-Identifier: MIT OR Apache-2.0
//! Target for one message in any spelling.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_testkit::spelled::spelled(data));
