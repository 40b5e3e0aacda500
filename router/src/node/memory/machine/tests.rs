// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines and containers as folders of files.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

const MIB: usize = 1 << 20;

/// Folder that looks like `/` of a machine with 1024 MiB.
struct Machine(PathBuf);

impl Machine {
    fn new(groups: &str, mounts: &str) -> Machine {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("zonda-machine-{}-{number}", std::process::id());
        let machine = Machine(std::env::temp_dir().join(name));
        machine.write(
            "proc/meminfo",
            "MemTotal:        1048576 kB\nMemFree: 7 kB\n",
        );
        machine.write("proc/self/cgroup", groups);
        machine.write("proc/self/mountinfo", mounts);
        machine
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn has(&self) -> Option<usize> {
        of_root(&self.0)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const UNIFIED: &str =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

#[test]
fn without_groups_it_is_the_memory_of_the_machine() {
    let machine = Machine::new("", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    assert_eq!(machine.has(), Some(1024 * MIB));
    assert_eq!(of_root(Path::new("/nowhere/at/all")), None);
}

#[test]
fn the_limit_of_the_own_group_counts_and_those_above_it() {
    let machine = Machine::new("0::/system.slice/zondad.service\n", UNIFIED);
    let below = "sys/fs/cgroup/system.slice/zondad.service";
    machine.write(&format!("{below}/memory.max"), "max\n");
    assert_eq!(machine.has(), Some(1024 * MIB));
    machine.write(&format!("{below}/memory.max"), "268435456\n");
    assert_eq!(machine.has(), Some(256 * MIB));
    machine.write("sys/fs/cgroup/system.slice/memory.max", "134217728\n");
    assert_eq!(machine.has(), Some(128 * MIB));
    machine.write(&format!("{below}/memory.high"), "67108864\n");
    assert_eq!(machine.has(), Some(64 * MIB));
    // the limit of another service has no effect
    machine.write("sys/fs/cgroup/system.slice/other.service/memory.max", "1\n");
    assert_eq!(machine.has(), Some(64 * MIB));
}

#[test]
fn a_container_sees_its_limit_at_the_mount_point() {
    // in a namespace of its own
    let machine = Machine::new("0::/\n", UNIFIED);
    machine.write("sys/fs/cgroup/memory.max", "268435456\n");
    assert_eq!(machine.has(), Some(256 * MIB));
    // in the namespace of the host, with its own group mounted
    let mounts = "30 23 0:26 /docker/ab12 /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
    let machine = Machine::new("0::/docker/ab12\n", mounts);
    machine.write("sys/fs/cgroup/memory.max", "268435456\n");
    assert_eq!(machine.has(), Some(256 * MIB));
    // the group is outside the mounted part
    for group in ["0::/../other\n", "0::/elsewhere\n"] {
        machine.write("proc/self/cgroup", group);
        assert_eq!(machine.has(), Some(256 * MIB), "{group}");
    }
}

#[test]
fn the_older_kind_of_groups_counts_as_well() {
    let mounts = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                  32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                  35 31 0:32 / /sys/fs/cgroup/memory\\040here rw - cgroup cgroup rw,memory\n\
                  41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let groups = "4:memory:/jobs/one\n1:cpu,cpuacct:/\n0::/\n";
    let machine = Machine::new(groups, mounts);
    let memory = "sys/fs/cgroup/memory here";
    machine.write(
        &format!("{memory}/memory.limit_in_bytes"),
        "9223372036854771712\n",
    );
    machine.write(
        &format!("{memory}/jobs/memory.limit_in_bytes"),
        "402653184\n",
    );
    assert_eq!(machine.has(), Some(384 * MIB));
    machine.write(
        &format!("{memory}/jobs/one/memory.limit_in_bytes"),
        "201326592\n",
    );
    assert_eq!(machine.has(), Some(192 * MIB));
}

#[test]
fn nonsense_is_no_limit() {
    let machine = Machine::new(
        "0:\n:::\n0::/a\nx",
        "- - -\n - cgroup2\n30 23 0:26 / / - cgroup2 c rw\n",
    );
    for text in ["", "-1", "many", "99999999999999999999999"] {
        machine.write("a/memory.max", text);
        assert_eq!(machine.has(), Some(1024 * MIB), "{text}");
    }
}
