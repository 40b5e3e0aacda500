// SPDX-License-Identifier: MIT OR Apache-2.0
//! Target for any bytes as two key expressions, separated by a zero byte.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_testkit::checks::key_expr(data));
