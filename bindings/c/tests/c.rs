// SPDX-License-Identifier: MIT OR Apache-2.0

//! Programs in C, compiled with the headers of the project and linked to the library that cargo built.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Argument of the compiler for the generation that the library has, and its header.
#[cfg(feature = "generation-a")]
const GENERATION: [&str; 2] = ["-DZONDA_GENERATION_A", "zenoh_generation_a.h"];
#[cfg(not(feature = "generation-a"))]
const GENERATION: [&str; 2] = ["-UZONDA_GENERATION_A", "zenoh_generation_b.h"];

/// Argument of the compiler for the release of the generation that the library has.
#[cfg(feature = "generation-1-4")]
const RELEASE: &str = "-DZONDA_GENERATION_1_4";
#[cfg(not(feature = "generation-1-4"))]
const RELEASE: &str = "-UZONDA_GENERATION_1_4";

/// Returns the library, which is beside this program or a folder above.
fn library() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a path");
    let folders = program.ancestors().skip(1).take(2);
    let mut found: Vec<PathBuf> = folders
        .map(|folder| folder.join("libzenohc.so"))
        .filter(|path| path.exists())
        .collect();
    found.sort_by_key(|path| path.metadata().and_then(|of| of.modified()).ok());
    found.pop().expect("cargo builds the library for its tests")
}

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Compiles a program and links it; every name that it uses is resolved when it starts.
fn compile(source: &Path, name: &str) -> PathBuf {
    let program = scratch(name);
    let library = library();
    let folder = library.parent().expect("the library is in a folder");
    let compiled = Command::new("cc")
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-g",
            "-Wl,-z,now",
            // the folder in the program comes before LD_LIBRARY_PATH, in which cargo names folders with other builds
            "-Wl,--disable-new-dtags",
            GENERATION[0],
            RELEASE,
            "-I",
        ])
        .arg(crate_folder().join("include"))
        .arg(source)
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(folder)
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .args(["-lzenohc", "-lpthread"])
        .output()
        .expect("there is a C compiler, which the build of the project needs, too");
    assert!(compiled.status.success(), "{}", text_of(&compiled));
    program
}

fn text_of(output: &Output) -> String {
    let streams = [&output.stdout, &output.stderr];
    streams.map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

fn passes(name: &str) {
    let program = compile(
        &crate_folder().join("tests").join(format!("{name}.c")),
        name,
    );
    let ran = Command::new("timeout")
        .arg("60")
        .arg(program)
        .output()
        .expect("the program starts");
    assert!(
        ran.status.success(),
        "{name} ended with {}: {}",
        ran.status,
        text_of(&ran)
    );
}

/// Returns the headers with functions, without their comments and macros.
fn headers() -> String {
    let read = |name: &str| std::fs::read_to_string(crate_folder().join("include").join(name));
    let headers = ["zenoh_functions.h", GENERATION[1]].map(|name| read(name).expect("it is there"));
    let headers = headers.concat();
    let lines = headers
        .lines()
        .filter(|line| !line.trim_start().starts_with("//") && !line.starts_with('#'));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Returns the functions that the headers declare.
fn declared() -> BTreeSet<String> {
    let headers = headers();
    let names = headers.lines().filter_map(|line| {
        let (before, _) = line.split_once('(')?;
        let name = before.rsplit([' ', '*']).next()?;
        (name.starts_with('z') && !line.starts_with(' ')).then(|| name.to_owned())
    });
    names.collect()
}

/// Returns the types of the parameters of each declared function; that of a pointer to a function is empty.
fn parameters() -> BTreeMap<String, Vec<String>> {
    let (headers, declared) = (headers(), declared());
    let functions = headers.split(';').filter_map(|statement| {
        let (before, after) = statement.split_once('(')?;
        let name = before.rsplit([' ', '*', '\n']).next()?;
        let (between, _) = after.rsplit_once(')')?;
        let mut depth = 0;
        let parts = between.split(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            letter == ',' && depth == 0
        });
        let parts = parts.map(str::trim).filter(|part| *part != "void");
        let types = parts.map(|part| match part.contains('(') {
            true => String::new(),
            false => part
                .trim_end_matches(|letter: char| letter.is_alphanumeric() || letter == '_')
                .trim()
                .to_owned(),
        });
        declared
            .contains(name)
            .then(|| (name.to_owned(), types.collect()))
    });
    functions.collect()
}

/// Returns the function that writes the empty state of the type that a parameter points to, if there is one.
fn emptying(parameter: &str, declared: &BTreeSet<String>) -> Option<String> {
    let name = parameter.strip_prefix("const ").unwrap_or(parameter);
    let (start, name) = name.strip_suffix("_t *")?.split_once('_')?;
    let kinds = ["loaned_", "owned_", "moved_"];
    let name = kinds.iter().find_map(|kind| name.strip_prefix(kind))?;
    let function = format!("{start}_internal_{name}_null");
    declared.contains(&function).then_some(function)
}

#[test]
fn every_function_of_the_headers_is_in_the_library() {
    let declared = declared();
    assert!(
        declared.len() > 700,
        "{} functions are declared",
        declared.len()
    );
    let table: String = declared
        .iter()
        .map(|name| format!("    (void (*)(void)){name},\n"))
        .collect();
    let source = scratch("all.c");
    let program = format!(
        "#include \"zenoh.h\"\nvoid (*volatile functions[])(void) = {{\n{table}}};\nint main(void) {{\n    \
         return functions[0] == 0;\n}}\n"
    );
    std::fs::write(&source, program).expect("the file can be written");
    let program = compile(&source, "all");
    let ran = Command::new(program).status().expect("the program starts");
    assert!(ran.success(), "{ran}");
}

#[test]
fn every_function_of_the_library_is_in_the_headers_or_for_shared_memory() {
    let symbols = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library())
        .output();
    let symbols = symbols.expect("the tools of the C compiler are there");
    let symbols = String::from_utf8(symbols.stdout).expect("names are texts");
    let exported = symbols.lines().filter_map(|line| line.rsplit(' ').next());
    let exported = exported.filter(|name| {
        ["z_", "zc_", "ze_"]
            .iter()
            .any(|start| name.starts_with(start))
    });
    let declared = declared();
    let is_shared_memory = |name: &str| {
        [
            "shm",
            "alloc_layout",
            "precomputed_layout",
            "memory_layout",
            "chunk_alloc",
            "ptr_in_segment",
        ]
        .iter()
        .any(|part| name.contains(part))
    };
    // names of zenoh-c 1.4 to 1.6, which programs of that time are linked to
    let former = [
        "z_internal_congestion_control_default_response",
        "zc_reply_keyexpr_default",
        "zc_internal_create_transport",
    ];
    let unknown: Vec<&str> = exported
        .filter(|name| {
            !declared.contains(*name) && !is_shared_memory(name) && !former.contains(name)
        })
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Returns the calls of a function, in C: with null for each pointer, and with empty places for those that can be empty.
fn calls(name: &str, types: &[String], declared: &BTreeSet<String>) -> String {
    let null = |of: &String| match of.is_empty() {
        true => "0".to_owned(),
        false => format!("({of}){{0}}"),
    };
    let empty = |of: &String| match emptying(of, declared) {
        Some(function) => format!("({of})empty((void (*)(void *))(void (*)(void)){function})"),
        None => null(of),
    };
    let nulls: Vec<String> = types.iter().map(null).collect();
    let empties: Vec<String> = types.iter().map(empty).collect();
    [nulls, empties]
        .map(|given| {
            let call = format!("{name}({})", given.join(", "));
            format!(
                "    called = \"{}\";\n    (void){call};\n",
                call.replace('"', "\\\"")
            )
        })
        .concat()
}

/// Beginning of the program that calls all functions: it names the call in which it is ended by a signal.
const CALLS: &str = r#"#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "zenoh.h"
static const char *volatile called;
static void report(int number) {
    (void)!write(1, called, strlen(called));
    signal(number, SIG_DFL);
    raise(number);
}
static void *empty(void (*null)(void *)) {
    static _Alignas(16) char places[8][4096];
    static unsigned next;
    void *place = places[next++ % 8];
    null(place);
    return place;
}
int main(void) {
    signal(SIGSEGV, report);
    signal(SIGABRT, report);
"#;

#[test]
fn no_function_fails_for_nulls_and_values_that_were_moved_out() {
    let declared = declared();
    let parameters = parameters();
    assert_eq!(parameters.len(), declared.len());
    // a text without a check is one that the caller has checked
    let all = parameters
        .iter()
        .filter(|(name, _)| !name.ends_with("_unchecked"));
    let all: String = all
        .map(|(name, types)| calls(name, types, &declared))
        .collect();
    let source = scratch("calls.c");
    std::fs::write(&source, format!("{CALLS}{all}    return 0;\n}}\n")).expect("it can be written");
    let program = compile(&source, "calls");
    let ran = Command::new("timeout").arg("60").arg(program).output();
    let ran = ran.expect("the program starts");
    assert!(ran.status.success(), "{}: {}", ran.status, text_of(&ran));
}

#[test]
fn values_keep_their_rules() {
    passes("values");
}

#[test]
fn sessions_exchange_what_they_promise() {
    passes("sessions");
}

#[test]
fn sources_have_the_form_of_the_generation() {
    passes("source");
}

#[test]
fn what_a_sample_shows_stays_where_it_is() {
    passes("addresses");
}

/// Returns a port that no socket has at the moment.
fn free_port() -> u16 {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    socket
        .local_addr()
        .expect("a bound socket has an address")
        .port()
}

#[test]
fn the_calls_of_a_ros_middleware_have_the_results_of_the_reference() {
    let program = compile(&crate_folder().join("tests/rmw.c"), "rmw");
    let mut command = Command::new("timeout");
    command.arg("60").arg(program).arg(free_port().to_string());
    let ran = command
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .expect("the program starts");
    assert!(
        ran.status.success(),
        "rmw ended with {}: {}",
        ran.status,
        text_of(&ran)
    );
    let expected = std::fs::read_to_string(crate_folder().join("tests/rmw.txt"));
    assert_eq!(
        String::from_utf8_lossy(&ran.stdout),
        expected.expect("the file is there")
    );
}
