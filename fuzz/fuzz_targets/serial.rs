// SPDX-License-Identifier: MIT OR Apache-2.0
//! Input of a serial line.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_fuzz::serial::serial(data));
