// SPDX-License-Identifier: MIT OR Apache-2.0
//! Passes the compiler's version and the build's profile to the report of a measurement.

use std::env;
use std::process::Command;

fn main() {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
    println!(
        "cargo::rustc-env=ZONDA_RUSTC={}",
        version.unwrap_or_else(|_| "unknown".into())
    );
    for (name, from) in [("ZONDA_PROFILE", "PROFILE"), ("ZONDA_TARGET", "TARGET")] {
        println!(
            "cargo::rustc-env={name}={}",
            env::var(from).unwrap_or_else(|_| "unknown".into())
        );
    }
    println!("cargo::rerun-if-changed=build.rs");
}
