// SPDX-License-Identifier: MIT OR Apache-2.0

//! Names the shared library, so that a program that was linked to the reference's finds this one.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libzenohc.so");
    }
}
