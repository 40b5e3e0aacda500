// SPDX-License-Identifier: MIT OR Apache-2.0
//! Target for batches of a link with compression.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_testkit::compressed::compressed(data));
