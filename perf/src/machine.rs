// SPDX-License-Identifier: MIT OR Apache-2.0
//! The environment of a measurement: machine, kernel and build, as far as they are known.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::thread;

use serde_json::{Value, json};
use zonda_program::build;

/// Returns processor, memory, kernel and load.
pub fn machine() -> Value {
    let cpu_info = read("/proc/cpuinfo");
    let memory = read("/proc/meminfo");
    json!({
        "cpu": field(&cpu_info, "model name"),
        "cores": cores(),
        "memory_kib": field(&memory, "MemTotal")
            .and_then(|m| m.split_whitespace().next()?.parse::<u64>().ok()),
        "os": OS,
        "arch": ARCH,
        "kernel": line("/proc/sys/kernel/osrelease"),
        "tcp_congestion_control": line("/proc/sys/net/ipv4/tcp_congestion_control"),
        "load_average": load_average(),
    })
}

/// Returns version, profile and compiler of this executable.
pub fn build() -> Value {
    json!({
        "version": build::VERSION,
        "profile": build::PROFILE,
        "rustc": build::RUSTC,
        "target": build::TARGET,
        "debug_assertions": cfg!(debug_assertions),
    })
}

/// Returns the average number of runnable programs over the last 1, 5 and 15 minutes.
pub fn load_average() -> Option<Vec<f64>> {
    let text = line("/proc/loadavg")?;
    text.split_whitespace()
        .take(3)
        .map(|n| n.parse().ok())
        .collect()
}

/// Returns the number of processors that this process may use.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Returns one line on machine and version, for the head of the table.
pub fn summary() -> String {
    let cpu = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| ARCH.to_owned());
    let kernel = line("/proc/sys/kernel/osrelease").unwrap_or_default();
    let tcp = line("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_else(|| "unknown".into());
    format!(
        "{} x {cpu}, {OS} {kernel}, TCP {tcp}, zonda {}",
        cores(),
        build::VERSION
    )
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn line(path: &str) -> Option<String> {
    Some(read(path).trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the value of the first line `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name() {
        let text = "processor\t: 0\nmodel name\t: A: B\nmodel name\t: C\n";
        assert_eq!(field(text, "model name").as_deref(), Some("A: B"));
        assert_eq!(field(text, "model"), None);
    }

    #[test]
    fn the_build_is_named() {
        let build = build();
        assert!(
            build["rustc"]
                .as_str()
                .is_some_and(|r| r.starts_with("rustc ")),
            "{build}"
        );
    }
}
