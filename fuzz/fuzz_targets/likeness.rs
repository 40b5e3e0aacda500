// SPDX-License-Identifier: MIT OR Apache-2.0
//! Target for messages that are alike, in any spelling: with the recogniser of runs, and one by
//! one.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_testkit::alike::likeness(data));
