// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the reference runs: a virtual environment in the build folder, made on first use.
//!
//! It is made under a name of its own and renamed when it is complete, so that neither a broken installation nor
//! another test run at the same time leaves half of one behind.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The release of the reference that the tests run against.
const VERSION: &str = "1.10.2";

/// What to set to `skip` where the reference cannot be installed.
const SWITCH: &str = "ZONDA_INTEROP";

/// The interpreter that has the reference. `None`, and one line on standard error, where there is no Python.
///
/// # Panics
/// Python is there but the reference cannot be installed.
pub fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Result<Option<PathBuf>, String>> = OnceLock::new();
    match PYTHON.get_or_init(find) {
        Ok(python) => python.as_deref(),
        Err(failure) => panic!("{failure}"),
    }
}

fn find() -> Result<Option<PathBuf>, String> {
    if std::env::var(SWITCH).is_ok_and(|value| value == "skip") {
        return Ok(skipped(&format!("{SWITCH}=skip")));
    }
    let candidates = ["python3", "python"];
    let Some(system) = candidates.into_iter().find(|p| makes_environments(p)) else {
        return Ok(skipped("no Python 3 with the module venv"));
    };
    let environment = target().join(format!("interop-venv-{VERSION}"));
    if !environment.is_dir() {
        install(system, &environment)?;
    }
    Ok(Some(interpreter(&environment)))
}

/// Says that nothing is tested, past the capture of test output: nobody shall take the silence for success.
fn skipped(why: &str) -> Option<PathBuf> {
    let line = format!("\nSKIPPED: every test against the reference ({why})\n");
    // with standard error closed there is nobody to tell
    let _ = io::stderr().write_all(line.as_bytes());
    None
}

fn makes_environments(python: &str) -> bool {
    let check = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 8))";
    let output = Command::new(python).args(["-c", check]).output();
    output.is_ok_and(|o| o.status.success())
}

fn install(system: &str, environment: &Path) -> Result<(), String> {
    let name = format!("interop-venv-building-{}", std::process::id());
    let building = target().join(name);
    let installed = install_at(system, &building);
    if installed.is_ok() && std::fs::rename(&building, environment).is_ok() {
        return Ok(());
    }
    // it failed, or another test run was faster; what is left over is in nobody's way
    let _ = std::fs::remove_dir_all(&building);
    match installed {
        Ok(()) if environment.is_dir() => Ok(()),
        Ok(()) => Err(format!("cannot make {}", environment.display())),
        failed => failed,
    }
}

fn install_at(system: &str, folder: &Path) -> Result<(), String> {
    let path = folder
        .to_str()
        .ok_or("the build folder's name is not text")?;
    run(Path::new(system), &["-m", "venv", path])?;
    let package = format!("eclipse-zenoh=={VERSION}");
    let quiet = ["--quiet", "--no-input", "--disable-pip-version-check"];
    let install = [&["-m", "pip", "install"], &quiet[..], &[&package]].concat();
    run(&interpreter(folder), &install)
}

fn run(program: &Path, arguments: &[&str]) -> Result<(), String> {
    let (shown, arguments_shown) = (program.display(), arguments.join(" "));
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|e| format!("{shown} does not start: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{shown} {arguments_shown} failed; set {SWITCH}=skip to do without the reference\n{said}"
    ))
}

fn interpreter(environment: &Path) -> PathBuf {
    let name = if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    };
    environment.join(name)
}

/// The build folder.
fn target() -> &'static Path {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR"));
    own.parent().expect("it lies in the build folder")
}
