// SPDX-License-Identifier: MIT OR Apache-2.0
//! Installation of the reference: a virtual environment in the build folder for each release, made
//! on first use.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

/// Variable to set to `skip` where the reference cannot be installed, and to `all` to run every
/// test.
const SWITCH: &str = "ZONDA_INTEROP";

/// A release of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    V1_8,
    V1_9,
    V1_10,
}

impl Release {
    /// Release that tests run against by default.
    pub const NEWEST: Release = Release::V1_10;

    pub const ALL: [Release; 3] = [Release::V1_8, Release::V1_9, Release::V1_10];

    /// Returns its newest patch.
    pub fn version(self) -> &'static str {
        match self {
            Release::V1_8 => "1.8.0",
            Release::V1_9 => "1.9.0",
            Release::V1_10 => "1.10.2",
        }
    }

    /// Returns the name of the module of its tests.
    pub fn module(self) -> &'static str {
        match self {
            Release::V1_8 => "v1_8",
            Release::V1_9 => "v1_9",
            Release::V1_10 => "v1_10",
        }
    }

    /// Returns the release whose tests are in this module.
    pub fn of_module(name: &str) -> Release {
        let found = Release::ALL.into_iter().find(|r| r.module() == name);
        found.unwrap_or_else(|| panic!("{name} is not named after a release"))
    }
}

/// Runs in which a test takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// In every run.
    Short,
    /// Only in runs of all tests.
    Long,
}

impl Extent {
    /// Returns the extent of tests that represent the rest with every release.
    pub fn always(_: Release) -> Extent {
        Extent::Short
    }

    /// Returns the extent of tests that run with the newest release, and with the older ones when
    /// all tests are requested.
    pub fn of_newest(release: Release) -> Extent {
        if release == Release::NEWEST {
            Extent::Short
        } else {
            Extent::Long
        }
    }

    /// Returns the extent of tests that run only when all tests are requested.
    pub fn of_long_run(_: Release) -> Extent {
        Extent::Long
    }
}

thread_local! {
    /// Release that the test on this thread runs against.
    static AGAINST: Cell<Release> = const { Cell::new(Release::NEWEST) };
}

/// Returns the release that the test on this thread runs against.
pub fn release() -> Release {
    AGAINST.get()
}

/// Runs a test with this release, if that is installed and the test is part of this run.
pub fn against(release: Release, extent: Extent, test: impl FnOnce()) {
    if extent == Extent::Long && !is_asked_for_all() {
        return skipped(&format!(
            "the tests of the long run, among them most of those against older releases ({SWITCH}=all runs them)"
        ));
    }
    AGAINST.set(release);
    if python().is_some() {
        test();
    }
}

fn is_asked_for_all() -> bool {
    match std::env::var(SWITCH).as_deref() {
        Ok("all") => true,
        Ok("skip" | "") | Err(_) => false,
        Ok(other) => panic!("{SWITCH} is {other:?}; it may be all or skip"),
    }
}

/// Returns the interpreter that has the [release] of this thread; returns `None`, and one line on
/// standard error, where there is no Python or no such release.
///
/// # Panics
/// Python is there but the newest release cannot be installed.
pub fn python() -> Option<&'static Path> {
    static PYTHONS: [OnceLock<Result<Option<PathBuf>, String>>; 3] = [const { OnceLock::new() }; 3];
    let release = release();
    match PYTHONS[release as usize].get_or_init(|| find(release)) {
        Ok(python) => python.as_deref(),
        Err(failure) => panic!("{failure}"),
    }
}

fn find(release: Release) -> Result<Option<PathBuf>, String> {
    // reasons to skip every test
    if std::env::var(SWITCH).is_ok_and(|value| value == "skip") {
        skipped(&format!("every test against the reference ({SWITCH}=skip)"));
        return Ok(None);
    }
    let candidates = ["python3", "python"];
    let Some(system) = candidates.into_iter().find(|p| makes_environments(p)) else {
        skipped("every test against the reference (no Python 3 with the module venv)");
        return Ok(None);
    };
    // an installed release, or a new installation; only the newest one must succeed
    let environment = target().join(format!("interop-venv-{}", release.version()));
    if environment.is_dir() {
        return Ok(Some(interpreter(&environment)));
    }
    match install(system, release, &environment) {
        Ok(()) => Ok(Some(interpreter(&environment))),
        Err(failure) if release == Release::NEWEST => Err(failure),
        Err(failure) => {
            let version = release.version();
            skipped(&format!(
                "every test against {version}, which cannot be installed: {failure}"
            ));
            Ok(None)
        }
    }
}

/// Reports once which tests are skipped, past the capture of test output, so that silence is not
/// taken for success.
fn skipped(what: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(|e| e.into_inner());
    if said.insert(what.to_owned()) {
        let line = format!("\nSKIPPED: {what}\n");
        // with standard error closed the report has no reader
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

fn makes_environments(python: &str) -> bool {
    let check = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 8))";
    let output = Command::new(python).args(["-c", check]).output();
    output.is_ok_and(|o| o.status.success())
}

fn install(system: &str, release: Release, environment: &Path) -> Result<(), String> {
    let version = release.version();
    let name = format!("interop-venv-building-{version}-{}", std::process::id());
    let building = target().join(name);
    let installed = install_at(system, version, &building);
    if installed.is_ok() && std::fs::rename(&building, environment).is_ok() {
        return Ok(());
    }
    // the installation failed, or another test run was faster; leftover files do no harm
    let _ = std::fs::remove_dir_all(&building);
    match installed {
        Ok(()) if environment.is_dir() => Ok(()),
        Ok(()) => Err(format!("cannot make {}", environment.display())),
        failed => failed,
    }
}

fn install_at(system: &str, version: &str, folder: &Path) -> Result<(), String> {
    let path = folder
        .to_str()
        .ok_or("the build folder's name is not text")?;
    run(Path::new(system), &["-m", "venv", path])?;
    let package = format!("eclipse-zenoh=={version}");
    let quiet = ["--quiet", "--no-input", "--disable-pip-version-check"];
    let install = [&["-m", "pip", "install"], &quiet[..]].concat();
    let built = [&install[..], &["--only-binary=:all:", &package]].concat();
    let python = interpreter(folder);
    match run(&python, &built) {
        // Not every release exists for every machine. Building one takes minutes, and a compiler
        // for Rust.
        Err(_) if is_asked_for_all() => run(&python, &[&install[..], &[&package]].concat()),
        done => done,
    }
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

/// Returns the build folder.
fn target() -> &'static Path {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR"));
    own.parent().expect("it lies in the build folder")
}

/// Returns the name of a module's test when it is [against an older release](against_older).
pub fn of_release(test: &str, release: Release) -> String {
    match test.split_once("::") {
        Some((module, name)) if release != Release::NEWEST => {
            format!("{module}::{}::{name}", release.module())
        }
        _ => test.to_owned(),
    }
}

/// Runs a module's tests, which are against the newest release, against the older ones too:
/// `module::release::test`. Tests behind `v1_9` are not run against still older ones.
macro_rules! against_older {
    ($($test:ident)+) => {
        crate::environment::against_older! { $($test)+; v1_9: }
    };
    ($($test:ident)+; v1_9: $($later:ident)*) => {
        mod v1_8 {
            $(#[test]
            fn $test() {
                use crate::environment::{Extent, Release, against};

                against(Release::V1_8, Extent::Long, super::$test);
            })+
        }

        mod v1_9 {
            $(#[test]
            fn $test() {
                use crate::environment::{Extent, Release, against};

                against(Release::V1_9, Extent::Long, super::$test);
            })+
            $(#[test]
            fn $later() {
                use crate::environment::{Extent, Release, against};

                against(Release::V1_9, Extent::Long, super::$later);
            })*
        }
    };
}

pub(crate) use against_older;
