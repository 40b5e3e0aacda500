// SPDX-License-Identifier: MIT OR Apache-2.0
//! Target for datagrams of several addresses in a multicast group.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_transport::multicast::fuzzed::group(data));
