// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any bytes, or messages in any spelling, through a router.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_fuzz::spelled::forwarding(data));
