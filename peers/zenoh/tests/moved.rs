// SPDX-License-Identifier: MIT OR Apache-2.0

//! The program that Zonda's tests move by changing its `use` is one of the reference's: this test
//! compiles and runs it with the reference.

use {zenoh, zenoh_ext};

#[path = "../../../session/tests/moved/program.rs"]
mod program;

#[test]
fn the_program_is_one_of_the_reference() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(program::program()).unwrap();
}
