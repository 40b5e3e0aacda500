// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two nodes that introduce themselves, and somebody who edits what they say.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_fuzz::handshake::handshake(data));
