// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handshakes of two nodes with an attacker between them that edits their batches.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_testkit::handshake::handshake(data));
