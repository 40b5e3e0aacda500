// SPDX-License-Identifier: MIT OR Apache-2.0

//! Memory that this process may have: all of the machine, or less where a limit of a control group
//! or of the process is set. A container sees the memory of its host in `/proc/meminfo`, and is
//! killed at its own limit.

use std::path::{Component, Path, PathBuf};

/// Returns the bytes of memory that this process may have; `None` if the system does not report it.
#[cfg(target_os = "linux")]
pub(super) fn available() -> Option<usize> {
    use rustix::process::{Resource, getrlimit};
    let address_space = getrlimit(Resource::As).current;
    let address_space = address_space.and_then(|bytes| usize::try_from(bytes).ok());
    of_root(Path::new("/"))
        .into_iter()
        .chain(address_space)
        .min()
}

/// Returns `None`, because other systems are not supported.
#[cfg(not(target_os = "linux"))]
pub(super) fn available() -> Option<usize> {
    None
}

/// Reads the limits from the files below `root`.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn of_root(root: &Path) -> Option<usize> {
    let machine = read(&root.join("proc/meminfo")).and_then(|text| of_meminfo(&text));
    machine.into_iter().chain(of_groups(root)).min()
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn of_meminfo(text: &str) -> Option<usize> {
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib.saturating_mul(1024))
}

/// Returns the least limit of the control groups that this process is in, each with the groups
/// above it.
fn of_groups(root: &Path) -> Option<usize> {
    let own = read(&root.join("proc/self/cgroup"))?;
    let mounts = read(&root.join("proc/self/mountinfo"))?;
    let hierarchies = mounts.lines().filter_map(Hierarchy::of_line);
    let limits = hierarchies.filter_map(|hierarchy| hierarchy.least(root, &own));
    limits.min()
}

/// Tree of control groups with memory limits, as it is mounted.
#[derive(Debug, PartialEq, Eq)]
struct Hierarchy {
    is_unified: bool,
    /// Group that is seen at the mount point.
    top: PathBuf,
    mount_point: PathBuf,
}

impl Hierarchy {
    /// Parses a line of `mountinfo`: number, parent, device, root, mount point, options, optional
    /// fields, `-`, kind, source, options of the kind.
    fn of_line(line: &str) -> Option<Hierarchy> {
        let (head, tail) = line.split_once(" - ")?;
        let mut head = head.split(' ').skip(3);
        let (top, mount_point) = (head.next()?, head.next()?);
        let mut tail = tail.split(' ');
        let (kind, options) = (tail.next()?, tail.nth(1)?);
        let is_unified = kind == "cgroup2";
        let is_memory = kind == "cgroup" && options.split(',').any(|option| option == "memory");
        (is_unified || is_memory).then(|| Hierarchy {
            is_unified,
            top: unescaped(top),
            mount_point: unescaped(mount_point),
        })
    }

    /// Returns the least limit between the group of this process and the mount point.
    fn least(&self, root: &Path, own: &str) -> Option<usize> {
        let group = own.lines().find_map(|line| self.group_in(line))?;
        // In a namespace of its own the process may see another group than the mounted one: then
        // only the mount point can be read.
        let below = Path::new(group)
            .strip_prefix(&self.top)
            .unwrap_or(Path::new(""));
        let is_plain = below
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let below = if is_plain { below } else { Path::new("") };
        // every group up to the mount point has its limits in files
        let names: &[&str] = match self.is_unified {
            true => &["memory.max", "memory.high"],
            false => &["memory.limit_in_bytes"],
        };
        let mount_point = self.mount_point.strip_prefix("/").ok()?;
        let limits = below.ancestors().flat_map(|folder| {
            let folder = root.join(mount_point).join(folder);
            names
                .iter()
                .filter_map(move |name| of_limit(&read(&folder.join(name))?))
        });
        limits.min()
    }

    /// Returns the group in a line of `/proc/self/cgroup`, if it is one of this tree: number,
    /// controllers, path.
    fn group_in<'t>(&self, line: &'t str) -> Option<&'t str> {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, group) = (fields.next()?, fields.next()?, fields.next()?);
        let is_this = match self.is_unified {
            true => number == "0" && controllers.is_empty(),
            false => controllers.split(',').any(|name| name == "memory"),
        };
        is_this.then_some(group)
    }
}

/// Parses a number of bytes; `max` stands for no limit, as does a very large number in the older
/// kind of groups.
fn of_limit(text: &str) -> Option<usize> {
    text.trim().parse().ok()
}

/// Decodes a path of `mountinfo`, which writes spaces, tabs, line ends and backslashes in octal
/// digits.
fn unescaped(text: &str) -> PathBuf {
    let mut path = text.to_owned();
    for (escape, c) in [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ] {
        path = path.replace(escape, c);
    }
    PathBuf::from(path)
}

#[cfg(test)]
mod tests;
