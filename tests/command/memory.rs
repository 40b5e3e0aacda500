// SPDX-License-Identifier: MIT OR Apache-2.0
//! The default budget of a node's memory, if a limit of the process or of its control group is less
//! than the machine's memory.

use std::fs;
use std::path::{Path, PathBuf};

use super::program::{run, zonda};

const MIB: u64 = 1 << 20;

/// Returns the budget of a node that this line of the shell has started, by its own report; `$0` is
/// the program.
fn budget(before: &str) -> u64 {
    let line =
        format!("{before}; exec \"$0\" info -l tcp/127.0.0.1:0 --metrics --no-multicast-scouting");
    let program = zonda();
    let ended = run(
        Path::new("/bin/sh"),
        &["-c", &line, program.to_str().expect("a path")],
    );
    let value = ended
        .out
        .lines()
        .find_map(|line| line.trim().strip_prefix("zonda_memory_budget_bytes "));
    let value = value.unwrap_or_else(|| panic!("no budget is told: {ended:?}"));
    value.trim().parse().expect("a number")
}

#[test]
fn a_quarter_of_the_address_space_is_the_budget() {
    let limited = budget("ulimit -v 1048576");
    assert!(limited <= 256 * MIB, "{limited}");
}

/// A control group of this test's own, below that of the test, with a limit of 256 MiB.
struct Limited {
    folder: PathBuf,
}

impl Limited {
    /// Creates a group of the newer kind, or of the older one.
    fn new() -> Result<Limited, String> {
        // Groups of this process, of either kind.
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let groups = own.lines().filter_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (_, controllers, group) = (fields.next()?, fields.next()?, fields.next()?);
            let (root, file) = match controllers {
                "" => ("/sys/fs/cgroup", "memory.max"),
                "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                _ => return None,
            };
            Some((format!("{root}{}", group.trim_end_matches('/')), file))
        });
        // The first one that can be limited.
        let mut why = "no control groups of memory".to_owned();
        for (parent, file) in groups {
            let folder = PathBuf::from(format!("{parent}/zonda-test-{}", std::process::id()));
            if let Err(error) = fs::create_dir(&folder) {
                why = format!("{}: {error}", folder.display());
                continue;
            }
            let limited = Limited { folder };
            match fs::write(limited.folder.join(file), (256 * MIB).to_string()) {
                Ok(()) => return Ok(limited),
                Err(error) => why = format!("{file}: {error}"),
            }
        }
        Err(why)
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

#[test]
fn a_quarter_of_what_the_control_group_has_is_the_budget() {
    let limited = match Limited::new() {
        Ok(limited) => limited,
        Err(why) => return eprintln!("SKIPPED: no control group can be made here: {why}"),
    };
    let procs = limited.folder.join("cgroup.procs");
    assert_eq!(budget(&format!("echo $$ > {}", procs.display())), 64 * MIB);
}
