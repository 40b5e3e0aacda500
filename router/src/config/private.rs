// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether a file with secrets is nobody else's.

use std::path::Path;

/// Checks that nobody but its owner may read or write a file, and that the owner is this process's user or root. What
/// cannot be looked at is left to the code that reads it.
///
/// # Errors
/// What is wrong, and what to do.
#[cfg(unix)]
pub fn check(file: &Path) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;

    /// Everything that is for the group and for others.
    const NOT_THE_OWNER: u32 = 0o077;

    let Ok(facts) = std::fs::metadata(file) else {
        return Ok(());
    };
    let (mode, owner) = (facts.mode() & 0o777, facts.uid());
    let own = rustix::process::geteuid().as_raw();
    match () {
        () if mode & NOT_THE_OWNER != 0 => Err(format!(
            "others than its owner may read or write it (mode {mode:03o}); run chmod 600"
        )),
        () if owner != own && owner != 0 => Err(format!(
            "it belongs to user {owner}, not to the user of this process ({own}); run chown"
        )),
        () => Ok(()),
    }
}

/// Other systems have other means.
#[cfg(not(unix))]
pub fn check(_file: &Path) -> Result<(), String> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use crate::Config;

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
