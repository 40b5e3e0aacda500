// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tests in Python, run with the library that cargo built; left out, with a line that says so, where there is no Python.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns whether a Python that the library is for is there.
fn has_python() -> bool {
    let check =
        "import sys; sys.exit(sys.version_info < (3, 11) or sys.implementation.name != 'cpython')";
    let ran = Command::new("python3").args(["-c", check]).status();
    ran.is_ok_and(|status| status.success())
}

/// Returns the library, which is beside this program or a folder above.
fn library() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a path");
    let folders = program.ancestors().skip(1).take(2);
    let mut found: Vec<PathBuf> = folders
        .map(|folder| folder.join("lib_zonda.so"))
        .filter(|path| path.exists())
        .collect();
    found.sort_by_key(|path| path.metadata().and_then(|of| of.modified()).ok());
    found.pop().expect("cargo builds the library for its tests")
}

/// Lays out the package as an installation has it.
fn install(site: &Path) {
    let package = site.join("zonda");
    std::fs::create_dir_all(&package).expect("the folder can be made");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/zonda");
    for entry in std::fs::read_dir(source).expect("the package is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_file()
            && let Some(name) = path.file_name()
        {
            std::fs::copy(&path, package.join(name)).expect("the file can be copied");
        }
    }
    std::fs::copy(library(), package.join("_zonda.abi3.so")).expect("the library can be copied");
}

#[test]
fn the_package_passes_its_tests_in_python() {
    if !has_python() {
        println!("left out: no CPython of 3.11 or later is found as python3");
        return;
    }
    let site = Path::new(env!("CARGO_TARGET_TMPDIR")).join("site");
    let _ = std::fs::remove_dir_all(&site);
    install(&site);
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/test_zonda.py");
    let ran = Command::new("python3")
        .arg("-X")
        .arg("faulthandler")
        .arg(tests)
        .env("PYTHONPATH", &site)
        .env("ZONDA_MULTICAST_SCOUTING", "off")
        .status()
        .expect("python3 runs");
    assert!(ran.success(), "python3 ended with {ran}");
}
