// SPDX-License-Identifier: MIT OR Apache-2.0
//! Target for any bytes in place of a payload that lies in shared memory.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_testkit::shared::shared(data));
