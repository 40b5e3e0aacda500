// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two networks with a cable between them, created for one run and removed at its end: the
//! equivalent of two hosts on one machine. Needs Linux, the program `ip` and root privileges.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use zonda_program::Failure;

use crate::process::Program;

/// The prefix of the networks' names; the process id of their creator follows.
const PREFIX: &str = "zonda-rtt-";
/// The addresses of pong and ping.
const ADDRESSES: [&str; 2] = ["10.249.61.1", "10.249.61.2"];
/// The interfaces at the ends of the cable. At most fifteen letters.
const CABLE: [&str; 2] = ["zonda-pong", "zonda-ping"];

/// The two networks. Dropping this removes them in all cases.
#[derive(Debug)]
pub struct Namespaces {
    names: [String; 2],
}

impl Namespaces {
    /// Creates the networks, after removing those that a killed run has left.
    pub fn make() -> Result<Self, Failure> {
        remove_orphans();
        let id = process::id();
        let made = Namespaces {
            names: [format!("{PREFIX}{id}-pong"), format!("{PREFIX}{id}-ping")],
        };
        let [pong, ping] = &made.names;
        for name in [pong, ping] {
            ip(&format!("netns add {name}"))?;
        }
        ip(&format!(
            "link add {} netns {pong} type veth peer name {} netns {ping}",
            CABLE[0], CABLE[1]
        ))?;
        for ((name, end), address) in made.names.iter().zip(CABLE).zip(ADDRESSES) {
            ip(&format!("-n {name} addr add {address}/30 dev {end}"))?;
            ip(&format!("-n {name} link set {end} up"))?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        Ok(made)
    }

    /// Returns the address of pong.
    pub fn address(&self) -> &str {
        ADDRESSES[0]
    }

    /// Returns the program in a form that starts it in one of the two networks.
    pub fn inside(&self, is_pong: bool, program: Program) -> Program {
        let name = &self.names[usize::from(!is_pong)];
        let mut arguments: Vec<String> = ["netns", "exec", name].map(String::from).into();
        arguments.push(program.executable.display().to_string());
        arguments.extend(program.arguments);
        Program {
            name: program.name,
            executable: PathBuf::from("ip"),
            arguments,
        }
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            // deleting the first one removes the cable too; an error cannot be reported here
            let _ = run(&format!("netns del {name}"));
        }
    }
}

fn ip(command: &str) -> Result<(), Failure> {
    let said = match run(command) {
        Ok(said) if said.is_empty() => return Ok(()),
        Ok(said) => said,
        Err(error) => error.to_string(),
    };
    Err(Failure::Run(format!(
        "--namespaces: ip {command}: {said}; needs root and iproute2, or leave the flag away for \
         loopback"
    )))
}

/// Runs `ip`; returns its error output if it failed.
fn run(command: &str) -> io::Result<String> {
    let output = Command::new("ip").args(command.split(' ')).output()?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Ok(match output.status.success() {
        true => String::new(),
        false if said.is_empty() => output.status.to_string(),
        false => said,
    })
}

/// Removes the networks of processes that have ended.
fn remove_orphans() {
    let Ok(all) = Command::new("ip").args(["netns", "list"]).output() else {
        return;
    };
    for line in String::from_utf8_lossy(&all.stdout).lines() {
        let name = line.split_whitespace().next().unwrap_or("");
        if maker(name).is_some_and(|pid| !is_alive(pid)) {
            // another run may have removed it first
            let _ = run(&format!("netns del {name}"));
        }
    }
}

/// Returns the process id in a name.
fn maker(name: &str) -> Option<u32> {
    let rest = name.strip_prefix(PREFIX)?;
    let (pid, side) = rest.split_once('-')?;
    matches!(side, "pong" | "ping").then(|| pid.parse().ok())?
}

fn is_alive(pid: u32) -> bool {
    fs::exists(Path::new("/proc").join(pid.to_string())).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_are_understood() {
        assert_eq!(maker("zonda-rtt-77-pong"), Some(77));
        assert_eq!(maker("zonda-rtt-77-ping"), Some(77));
        for other in [
            "pong",
            "zonda-rtt-x-pong",
            "zonda-rtt-77",
            "zonda-rtt-77-other",
        ] {
            assert_eq!(maker(other), None, "{other}");
        }
        assert!(CABLE.iter().all(|name| name.len() <= 15));
    }

    #[test]
    fn programs_are_started_through_ip() {
        let there = Namespaces {
            names: ["none-a", "none-b"].map(String::from),
        };
        let program = Program {
            name: "x".into(),
            executable: "zonda".into(),
            arguments: vec!["perf".into()],
        };
        let inside = there.inside(false, program);
        assert_eq!(inside.executable, PathBuf::from("ip"));
        assert_eq!(
            inside.arguments,
            ["netns", "exec", "none-b", "zonda", "perf"]
        );
        std::mem::forget(there);
    }
}
