// SPDX-License-Identifier: MIT OR Apache-2.0
//! Target for datagrams of several addresses at a listener.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_testkit::datagrams::datagrams(data));
