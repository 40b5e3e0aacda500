// SPDX-License-Identifier: MIT OR Apache-2.0

//! Check of the permissions of a file with secrets.

use std::path::Path;

use crate::{Config, ConfigError, value::Value};

pub(super) const DICTIONARY_MODE: &str = "transport/auth/usrpwd/dictionary_file_mode";

impl Config {
    /// Reads the file that a key names, which has to be private unless
    /// `transport/auth/usrpwd/dictionary_file_mode` is `any`; `None` if the key is not set.
    ///
    /// # Errors
    /// The file cannot be read, or others than its owner may access it.
    ///
    /// # Blocking
    /// Reads the file.
    pub fn private_file(&self, key: &str) -> Result<Option<String>, ConfigError> {
        let Some(Value::Text(file)) = self.settings.get(key).map(|setting| &setting.value) else {
            return Ok(None);
        };
        if !self.settings().users_file_of_any_mode {
            check(Path::new(file)).map_err(|reason| ConfigError::Combination {
                reason: format!("{key} {file}: {reason}; or set {DICTIONARY_MODE} to 'any'"),
            })?;
        }
        let text = std::fs::read_to_string(file).map_err(|error| ConfigError::Read {
            file: format!("{file} ({key})"),
            reason: error.to_string(),
        })?;
        Ok(Some(text))
    }
}

/// Checks that only the owner of a file can access it, and that the owner is this process's user or
/// root. The process's group may read it, so that a service can read a file of root. A file without
/// accessible metadata passes: the code that reads it reports the error.
///
/// # Errors
/// The fault, and the remedy.
#[cfg(unix)]
pub fn check(file: &Path) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;

    let Ok(facts) = std::fs::metadata(file) else {
        return Ok(());
    };
    let access = Access {
        mode: facts.mode() & 0o777,
        owner: facts.uid(),
        group: facts.gid(),
    };
    problem(&access, &Process::own()).map_or(Ok(()), Err)
}

/// The user and the groups of a process.
#[cfg(unix)]
struct Process {
    user: u32,
    groups: Vec<u32>,
}

#[cfg(unix)]
impl Process {
    fn own() -> Process {
        let mut groups = vec![rustix::process::getegid().as_raw()];
        let others = rustix::process::getgroups().unwrap_or_default();
        groups.extend(others.into_iter().map(rustix::process::Gid::as_raw));
        Process {
            user: rustix::process::geteuid().as_raw(),
            groups,
        }
    }
}

/// The owners of a file, and its permission bits.
#[cfg(unix)]
struct Access {
    mode: u32,
    owner: u32,
    group: u32,
}

/// Returns the fault of a file that must be private.
#[cfg(unix)]
fn problem(access: &Access, process: &Process) -> Option<String> {
    /// Permissions of other users, and those of the group except for reading.
    const NOT_FOR_READERS: u32 = 0o037;
    /// All permissions of the group.
    const GROUP: u32 = 0o070;
    let Access { mode, owner, group } = *access;
    let own = process.user;
    let others = "others than its owner may read or write it";
    match () {
        () if mode & NOT_FOR_READERS != 0 => {
            Some(format!("{others} (mode {mode:03o}); run chmod 600"))
        }
        () if mode & GROUP != 0 && !process.groups.contains(&group) => Some(format!(
            "{others} (mode {mode:03o}, and this process is not in its group {group}); run chmod 600, or chgrp"
        )),
        () if owner != own && owner != 0 => Some(format!(
            "it belongs to user {owner}, not to the user of this process ({own}); run chown"
        )),
        () => None,
    }
}

/// Accepts any file: permissions are checked on Unix only.
#[cfg(not(unix))]
pub fn check(_file: &Path) -> Result<(), String> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::{Access, Process, problem};
    use crate::Config;

    #[test]
    fn what_root_keeps_for_a_group_is_read_by_its_members() {
        let process = Process {
            user: 900,
            groups: vec![900, 44],
        };
        for (mode, owner, group, is_fine) in [
            (0o600, 900, 900, true),
            (0o600, 0, 0, true),
            (0o640, 0, 900, true),
            (0o440, 0, 44, true),
            (0o640, 900, 900, true),
            (0o640, 0, 0, false),
            (0o440, 0, 1000, false),
            (0o660, 0, 900, false),
            (0o644, 0, 900, false),
            (0o650, 0, 900, false),
            (0o600, 901, 900, false),
            (0o440, 901, 900, false),
        ] {
            let found = problem(&Access { mode, owner, group }, &process);
            assert_eq!(
                found.is_none(),
                is_fine,
                "{mode:o} {owner}:{group}: {found:?}"
            );
        }
    }

    #[test]
    fn a_list_of_users_that_others_may_read_is_refused() {
        let name = format!("zonda-private-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, "bob:secret\n").expect("a folder for temporary files");
        let allow = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&file, mode).expect("the file is ours");
        };
        let key = "transport/auth/usrpwd/dictionary_file";
        let config = Config::router().with(key, &format!("'{}'", file.display()));
        for mode in [0o644, 0o606, 0o660] {
            allow(mode);
            let error = config
                .settings()
                .link_options()
                .expect_err("not private")
                .to_string();
            assert!(
                error.contains(key) && error.contains("chmod 600"),
                "{error}"
            );
            assert!(!error.contains("secret"), "{error}");
            let any = config.clone().with(&format!("{key}_mode"), "'any'");
            assert!(any.settings().link_options().is_ok());
        }
        for mode in [0o600, 0o400] {
            allow(mode);
            assert!(config.settings().link_options().is_ok());
        }
        std::fs::remove_file(&file).expect("the file is ours");
    }
}
