// SPDX-License-Identifier: MIT OR Apache-2.0
//! Networks of a test's own: the test runs itself again in a fresh network namespace without other
//! nodes and without routes to the outside. Needs Linux with `unshare` and `ip`, and a system that
//! permits them; elsewhere the test is skipped and reports that.

use std::io::{self, Write};
use std::process::Command;
use std::sync::OnceLock;

/// Variable that names the test to the inner run.
const INSIDE: &str = "ZONDA_TEST_INSIDE";

/// Interfaces of the namespace.
#[allow(dead_code, reason = "not every program that includes this needs each")]
#[derive(Clone, Copy)]
pub enum Network {
    /// No interface that is up.
    Nothing,
    /// Loopback only.
    Loopback,
    /// Loopback, and an interface with the address 10.249.62.1 whose cable leads nowhere.
    Usual,
    /// `Usual`, with 10.249.63.1 on another interface.
    TwoSubnets,
}

/// Address outside of loopback.
#[allow(dead_code, reason = "not every program that includes this needs it")]
pub const ADDRESS: &str = "10.249.62.1";

impl Network {
    fn setup(self) -> &'static str {
        match self {
            Network::Nothing => "ip link add z0 type veth peer name z1",
            Network::Loopback => "ip link set lo up",
            Network::Usual => {
                "ip link set lo up && ip link add z0 type veth peer name z1 && \
                 ip addr add 10.249.62.1/24 dev z0 && ip link set z0 up && ip link set z1 up"
            }
            Network::TwoSubnets => {
                "ip link set lo up && ip link add z0 type veth peer name z1 && \
                 ip addr add 10.249.62.1/24 dev z0 && ip addr add 10.249.63.1/24 dev z1 && \
                 ip link set z0 up && ip link set z1 up"
            }
        }
    }
}

/// Runs `body` inside of such a network. `test` is the name of the calling test with its module, as the test program
/// lists it.
pub fn inside(test: &str, network: Network, body: impl FnOnce()) {
    if std::env::var(INSIDE).is_ok_and(|name| name == test) {
        return body();
    }
    if !is_permitted() {
        return skipped(test);
    }
    let program = std::env::current_exe().expect("this program is a file");
    let script = format!("{} && exec \"$@\"", network.setup());
    let output = Command::new("unshare")
        .args(["-rn", "sh", "-c", &script, "sh"])
        .arg(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, test)
        .env_remove("ZONDA_MULTICAST_SCOUTING")
        .output()
        .expect("it started before");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{test} inside:\n{said}\n{complained}"
    );
}

/// Returns true if this system permits the namespaces.
fn is_permitted() -> bool {
    static PERMITTED: OnceLock<bool> = OnceLock::new();
    *PERMITTED.get_or_init(|| {
        let setup = Network::TwoSubnets.setup();
        let tried = Command::new("unshare")
            .args(["-rn", "sh", "-c", setup])
            .output();
        tried.is_ok_and(|output| output.status.success())
    })
}

/// Reports a skipped test past the capture of test output, so that silence is not taken for
/// success.
fn skipped(test: &str) {
    let line = format!("\nSKIPPED: {test} (no network namespaces with veth here)\n");
    // with standard error closed the report has no reader
    let _ = io::stderr().write_all(line.as_bytes());
}
