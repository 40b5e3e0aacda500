// SPDX-License-Identifier: MIT OR Apache-2.0

//! The daemon as the unit of systemd starts it, without systemd: as a user without any right, with
//! a configuration, a key and a list of users that belong to root and that its group may read.
#![cfg(all(target_os = "linux", feature = "tls"))]

#[path = "../../../session/tests/authority/mod.rs"]
mod authority;

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use authority::Authority;

/// User and group of the service; no user of a usual machine has these numbers.
const USER: u32 = 64_748;
const GROUP: u32 = 64_747;

/// A running daemon. Dropping it kills it.
struct Daemon(Child);

impl Daemon {
    /// Starts it as the service's user in this group.
    fn start(group: u32, arguments: &[&str]) -> std::io::Result<Daemon> {
        Command::new("setpriv")
            .args([format!("--regid={group}"), format!("--reuid={USER}")])
            .args(["--clear-groups", "--no-new-privs", "--bounding-set=-all"])
            .arg(env!("CARGO_BIN_EXE_zondad"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map(Daemon)
    }

    /// Waits until it ends; returns its exit code and its standard error.
    fn end(&mut self) -> (Option<i32>, String) {
        let mut text = String::new();
        let errors = self.0.stderr.as_mut().expect("it is piped");
        errors.read_to_string(&mut text).expect("text");
        (self.0.wait().expect("our child").code(), text)
    }

    /// Reads its lines up to the port that it listens on.
    fn port(&mut self) -> String {
        let out = BufReader::new(self.0.stdout.take().expect("it is piped"));
        for line in out.lines().map_while(Result::ok) {
            if let Some(port) = line.strip_prefix("listening on tls/127.0.0.1:") {
                return port.to_owned();
            }
        }
        panic!("it ended without an address: {:?}", self.end())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // An error means that the daemon has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The folder of the service's configuration, which is deleted when it is dropped.
struct Folder(PathBuf);

impl Folder {
    /// Creates it with a key, a list of users, and a configuration that names both.
    fn of(authority: &Authority) -> Folder {
        let name = format!("zonda-service-{}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).expect("a folder for temporary files");
        give_to_group(&folder.0, 0o750);
        let pair = authority.sign("server", &["localhost"]);
        let read = |file: &str| std::fs::read_to_string(file).expect("a file");
        let certificate = folder.keep("server.pem", &read(&pair.certificate), 0o440);
        let key = folder.keep("server.key", &read(&pair.key), 0o440);
        let users = folder.keep("users", "ann:secret\n", 0o440);
        let endpoint = format!(
            "tls/127.0.0.1:0#listen_certificate_file={certificate};listen_private_key_file={key}"
        );
        let configuration = format!(
            "{{scouting: {{multicast: {{enabled: false}}}}, listen: {{endpoints: [{endpoint:?}]}}, \
             transport: {{auth: {{usrpwd: {{dictionary_file: {users:?}}}}}}}}}"
        );
        folder.keep("router.json5", &configuration, 0o640);
        folder
    }

    /// Writes a file of root that the service's group may read.
    fn keep(&self, name: &str, text: &str, mode: u32) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("the folder is ours");
        give_to_group(&path, mode);
        path.to_str().expect("text").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // An error leaves it in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn give_to_group(path: &Path, mode: u32) {
    chown(path, Some(0), Some(GROUP)).expect("root may do so");
    std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("root may do so");
}

/// Returns true if a client gets in with this user's name and the password of the list.
fn may_connect(authority: &Authority, port: &str, user: &str) -> bool {
    let ca = authority.ca();
    let to = format!("tls/localhost:{port}#root_ca_certificate_file={ca}");
    let mut config = zonda_router::Config::client([to]);
    for (key, value) in [("user", user), ("password", "secret")] {
        let key = format!("transport/auth/usrpwd/{key}");
        let value = format!("'{value}'");
        config.insert_json5(&key, &value).expect("a value");
    }
    zonda_runtime::block_on(zonda_router::node::Node::open(config)).is_ok()
}

#[test]
fn its_group_reads_keys_and_users_that_root_keeps() {
    // Only root may start it as another user, which has to reach the program.
    let tried = Daemon::start(GROUP, &["--version"]).map(|mut daemon| daemon.end());
    if !matches!(&tried, Ok((Some(0), _))) {
        eprintln!("SKIPPED: the daemon cannot be started as another user: {tried:?}");
        return;
    }
    let authority = Authority::new();
    let folder = Folder::of(&authority);
    let file = folder.0.join("router.json5");
    let file = file.to_str().expect("text");
    // The check and the start succeed, and a user of the list gets in.
    let check = Daemon::start(GROUP, &["-c", file, "--check-config"]);
    let (code, errors) = check.expect("setpriv").end();
    assert_eq!(code, Some(0), "{errors}");
    let mut daemon = Daemon::start(GROUP, &["-c", file]).expect("setpriv");
    let port = daemon.port();
    assert!(may_connect(&authority, &port, "ann"));
    assert!(!may_connect(&authority, &port, "eve"));
    // In another group it reads nothing of it.
    let other = Daemon::start(GROUP + 2, &["-c", file]);
    let (code, errors) = other.expect("setpriv").end();
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("router.json5"), "{errors}");
    // A list of users that anybody may read is refused.
    folder.keep("users", "ann:secret\n", 0o444);
    let check = Daemon::start(GROUP, &["-c", file, "--check-config"]);
    let (code, _) = check.expect("setpriv").end();
    assert_eq!(code, Some(2));
}
