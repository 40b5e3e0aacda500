// SPDX-License-Identifier: MIT OR Apache-2.0
//! Target for link states and declarations of other routers.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zonda_testkit::mesh::mesh(data));
