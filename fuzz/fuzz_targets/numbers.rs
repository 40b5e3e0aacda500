// SPDX-License-Identifier: MIT OR Apache-2.0
//! Target for the numbers of samples at an advanced subscriber.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda::ext::fuzzed::numbers(data));
