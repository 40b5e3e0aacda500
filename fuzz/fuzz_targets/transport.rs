// SPDX-License-Identifier: MIT OR Apache-2.0
//! Target for any bytes as the messages of a batch.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_testkit::checks::transport(data));
