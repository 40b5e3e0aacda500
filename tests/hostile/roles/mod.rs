// SPDX-License-Identifier: MIT OR Apache-2.0
//! Roles of processes in a world. This test program starts itself again with the role in an
//! environment variable and with the one test below as its filter; without that variable the test
//! does nothing.

mod advanced;
mod honest;
mod ledger;
mod stage;

use std::net::SocketAddr;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::attacks::ATTACKS;
use crate::world::{Load, Process};
pub use stage::Stage;

/// Variables with a process's role, and an argument for it.
const PART: &str = "ZONDA_HOSTILE_PART";
const ARGUMENT: &str = "ZONDA_HOSTILE_ARGUMENT";

/// Prefix of lines to the case; lines without it are the test harness's.
const MARK: &str = "@ ";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Part {
    /// Honest clients of the router at this address, or two peers without one.
    Honest(Load, Option<SocketAddr>),
    /// An attacker from the table of attacks.
    Attack {
        name: String,
        address: SocketAddr,
        seed: u64,
    },
}

/// Starts a process that plays a role.
pub fn start(part: &Part, argument: &str) -> Process {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new("sh");
    command
        // a crowd of attackers needs as many descriptors as possible
        .args(["-c", "ulimit -n $(ulimit -Hn); exec \"$0\" \"$@\""])
        .arg(program)
        .args(["roles::play_a_part", "--exact", "--nocapture"])
        .env(
            PART,
            serde_json::to_string(part).expect("a part has a text"),
        )
        .env(ARGUMENT, argument)
        .env("ZONDA_MULTICAST_SCOUTING", "off");
    Process::marked(&mut command, MARK)
}

/// Prints a line to the case.
fn say(line: &str) {
    println!("{MARK}{line}");
}

#[test]
fn play_a_part() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    match serde_json::from_str(&part).expect("a part") {
        Part::Honest(load, address) => honest::run(load, address),
        Part::Attack {
            name,
            address,
            seed,
        } => {
            let attack = ATTACKS.iter().find(|(known, _)| *known == name);
            let (_, attack) = attack.unwrap_or_else(|| panic!("no attack {name} in the table"));
            let argument = std::env::var(ARGUMENT).unwrap_or_default();
            attack(&Stage::enter(address, seed, argument));
        }
    }
}
