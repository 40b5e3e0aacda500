// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reloads of a running daemon by SIGHUP.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use zonda::Wait;
use zonda_testkit::Folder;

use super::Daemon;

/// Hangups of a daemon, and the lines that it prints.
struct Hangups {
    pid: String,
    errors: BufReader<std::process::ChildStderr>,
}

impl Hangups {
    /// Takes the standard error of a daemon, to read the result of each hangup.
    fn of(daemon: &mut Daemon) -> Hangups {
        Hangups {
            pid: daemon.0.id().to_string(),
            errors: BufReader::new(daemon.0.stderr.take().expect("it is piped")),
        }
    }

    /// Sends a SIGHUP; asserts that the daemon's line about it has these words.
    fn next(&mut self, words: &[&str]) {
        let sent = Command::new("kill").args(["-HUP", &self.pid]).status();
        assert!(sent.is_ok_and(|s| s.success()));
        loop {
            let mut line = String::new();
            let read = self.errors.read_line(&mut line).expect("text");
            assert!(read > 0, "it ended");
            if line.contains("SIGHUP") {
                return assert!(words.iter().all(|word| line.contains(word)), "{line}");
            }
        }
    }
}

/// Rules of another file are in force from the next SIGHUP on, without an end of any link; a wrong
/// file changes nothing.
#[test]
fn a_hangup_reads_the_rules_again() {
    let file = std::env::temp_dir().join(format!("zonda-rules-{}.json5", std::process::id()));
    let write = |permission: &str, port: u16| {
        let text = format!(
            "{{listen: {{endpoints: ['tcp/127.0.0.1:{port}']}},\n\
               access_control: {{enabled: true, rules: [], subjects: [], policies: [],\n\
                                default_permission: '{permission}'}}}}"
        );
        std::fs::write(&file, text).expect("a folder for temporary files");
    };
    write("deny", 0);
    let path = file.display().to_string();
    let mut daemon = Daemon::start(&["-c", &path, "--no-multicast-scouting"]);
    let address = daemon.address();
    let mut hangups = Hangups::of(&mut daemon);
    let open = || {
        let config = zonda::Config::client([format!("tcp/{address}")]);
        zonda::open(config).wait().expect("it opens")
    };
    let sessions = [open(), open()];
    let _subscriber = sessions[0].declare_subscriber("a").wait();
    let publisher = sessions[1].declare_publisher("a").wait();
    let publisher = publisher.expect("declared");
    let matches = || {
        let status = publisher.matching_status().wait();
        status.expect("it is open").matching()
    };
    assert!(!matches());
    hangups.next(&["nothing new to take over"]);
    write("allowed", 0);
    hangups.next(&[
        "is not reloaded, the old one stays",
        "line 3",
        "default_permission",
    ]);
    write("allow", 0);
    hangups.next(&["in force now: access_control/default_permission;"]);
    let begin = Instant::now();
    while !matches() {
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "the subscriber counts now"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    std::fs::remove_file(&file).expect("the file is ours");
}

/// Users that are added to the list or removed from it count from the next SIGHUP on.
#[test]
fn a_hangup_reads_the_list_of_users_again() {
    use std::os::unix::fs::PermissionsExt;
    let file = std::env::temp_dir().join(format!("zonda-users-{}", std::process::id()));
    std::fs::write(&file, "ann:secret\n").expect("a folder for temporary files");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&file, mode).expect("the file is ours");
    let users = format!("transport/auth/usrpwd/dictionary_file:'{}'", file.display());
    let arguments = [
        "-l",
        "tcp/127.0.0.1:0",
        "--no-multicast-scouting",
        "--cfg",
        &users,
    ];
    let mut daemon = Daemon::start(&arguments);
    let address = daemon.address();
    let mut hangups = Hangups::of(&mut daemon);
    let may_connect = |user: &str| {
        let mut config = zonda_router::Config::client([format!("tcp/{address}")]);
        for (key, value) in [
            ("transport/auth/usrpwd/user", user),
            ("transport/auth/usrpwd/password", "secret"),
        ] {
            let value = format!("'{value}'");
            config.insert_json5(key, &value).expect("a value");
        }
        let opened = zonda_runtime::block_on(zonda_router::node::Node::open(config));
        opened.is_ok()
    };
    assert!(may_connect("ann") && !may_connect("eve"));
    std::fs::write(&file, "no colon\n").expect("the file is ours");
    hangups.next(&["the old one stays"]);
    assert!(may_connect("ann"));
    std::fs::write(&file, "eve:secret\nbob:secret\n").expect("the file is ours");
    hangups.next(&["2 may connect from now on"]);
    assert!(may_connect("eve") && !may_connect("ann"));
    std::fs::remove_file(&file).expect("the file is ours");
}

/// A configuration file in a folder of its own.
struct ConfigFile {
    path: String,
    _folder: Folder,
}

impl ConfigFile {
    fn new(name: &str) -> ConfigFile {
        let folder = Folder::new(name);
        ConfigFile {
            path: folder.file("router.json5"),
            _folder: folder,
        }
    }

    fn write(&self, text: &str) {
        std::fs::write(&self.path, text).expect("room");
    }
}

/// Waits for a condition, with a deadline.
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns a port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    listener.local_addr().expect("address").port()
}

fn client(address: &str) -> Result<zonda::Session, String> {
    let config = zonda::Config::client([address]).with("connect/timeout_ms", "0");
    let opened = zonda::open(config).wait();
    opened.map_err(|error| error.to_string())
}

#[test]
fn a_hangup_opens_and_closes_listeners_and_keeps_the_links() {
    let file = ConfigFile::new("listeners");
    let (old, new) = (free_port(), free_port());
    let write = |ports: &[u16], batch: u32| {
        let endpoints: Vec<String> = ports
            .iter()
            .map(|p| format!("'tcp/127.0.0.1:{p}'"))
            .collect();
        let endpoints = endpoints.join(", ");
        file.write(&format!(
            "{{listen: {{endpoints: [{endpoints}]}}, transport: {{link: {{tx: {{batch_size: {batch}}}}}}}}}"
        ));
    };
    write(&[old], 10_000);
    let mut daemon = Daemon::start(&["-c", &file.path, "--no-multicast-scouting"]);
    assert_eq!(daemon.address().port(), old);
    let mut hangups = Hangups::of(&mut daemon);
    let at = |port: u16| format!("tcp/127.0.0.1:{port}");
    let first = client(&at(old)).expect("it listens");
    // A key that needs a restart is named.
    write(&[old, new], 20_000);
    hangups.next(&[
        "in force now: listen/endpoints;",
        "in force after a restart: transport/link/tx/batch_size",
    ]);
    let second = client(&at(new)).expect("it listens there, too");
    // A port that is taken changes nothing, not even the rest of the file.
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let taken = taken.local_addr().map(|at| (at, taken)).expect("address");
    write(&[taken.0.port()], 10_000);
    hangups.next(&[
        "is not reloaded, the old one stays",
        &format!("cannot listen on tcp/{}", taken.0),
    ]);
    assert!(client(&at(old)).is_ok() && client(&at(new)).is_ok());
    // The old listener ends, and its link does not.
    write(&[new], 10_000);
    hangups.next(&["in force now: listen/endpoints;"]);
    until("the old port is closed", || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, old)).is_err()
    });
    let subscriber = first.declare_subscriber("a").wait().expect("declared");
    let publisher = second.declare_publisher("a").wait().expect("declared");
    until("the subscriber counts", || {
        publisher.matching_status().wait().expect("open").matching()
    });
    publisher.put("still there").wait().expect("sent");
    let sample = subscriber.recv_timeout(Duration::from_secs(20));
    assert!(sample.expect("open").is_some());
}

#[test]
fn a_hangup_dials_new_endpoints_and_forgets_old_ones() {
    let file = ConfigFile::new("endpoints");
    let write = |endpoints: &[&SocketAddr]| {
        let endpoints: Vec<String> = endpoints.iter().map(|at| format!("'tcp/{at}'")).collect();
        file.write(&format!(
            "{{listen: {{endpoints: ['tcp/127.0.0.1:0']}},
               connect: {{endpoints: [{}], retry: {{period_init_ms: 5, period_max_ms: 5}}}}}}",
            endpoints.join(", ")
        ));
    };
    write(&[]);
    let mut daemon = Daemon::start(&["-c", &file.path, "--no-multicast-scouting"]);
    daemon.address();
    let mut hangups = Hangups::of(&mut daemon);
    let server = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
        let address = listener.local_addr().expect("address");
        listener.set_nonblocking(true).expect("the system can");
        (listener, address)
    };
    let router = zonda::open(zonda::Config::router().listen(["tcp/127.0.0.1:0"]));
    let router = router.wait().expect("it opens");
    let peer = router.info().locators().remove(0);
    let peer: SocketAddr = peer.address().parse().expect("an address");
    let (silent, silent_at) = server();
    write(&[&peer, &silent_at]);
    hangups.next(&["in force now: connect/endpoints;"]);
    let is_linked = || router.info().links().len() == 1;
    until("both are dialled", || {
        is_linked() && silent.accept().is_ok()
    });
    // The links of endpoints that are gone stay; the endpoints are not dialled again.
    let (next, next_at) = server();
    write(&[&next_at]);
    hangups.next(&["in force now: connect/endpoints;"]);
    // Attempts have been made up to now, and one may be under way.
    while silent.accept().is_ok() {}
    let mut late = 0;
    for _ in 0..5 {
        until("one more attempt", || next.accept().is_ok());
        late += usize::from(silent.accept().is_ok());
    }
    assert!(late <= 1, "{late} attempts at what is gone");
    assert!(is_linked());
}

/// Certificates for `localhost` in a folder of their own, each its own authority.
#[cfg(feature = "tls")]
struct Certificates(Folder);

#[cfg(feature = "tls")]
impl Certificates {
    fn make(&self, name: &str) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
        let write = |end: &str, text: String| {
            std::fs::write(self.0.file(&format!("{name}.{end}")), text).expect("room");
        };
        write("pem", made.cert.pem());
        write("key", made.signing_key.serialize_pem());
    }

    /// Connects with TLS, trusting this certificate alone.
    fn connect(&self, to: &str, trusted: &str) -> Result<zonda::Session, String> {
        let trusted = format!("'{}'", self.0.file(trusted));
        let config = zonda::Config::client([to]).with("connect/timeout_ms", "0");
        let config = config.with("transport/link/tls/root_ca_certificate", &trusted);
        let opened = zonda::open(config).wait();
        opened.map_err(|error| error.to_string())
    }

    /// Writes the configuration that listens at the addresses `to` and shows a certificate.
    #[cfg(all(feature = "wss", feature = "quic"))]
    fn configuration(&self, to: &[String], certificate: &str, key: &str) -> String {
        let listen: Vec<String> = to
            .iter()
            .map(|to| format!("'{}'", to.replace("localhost", "127.0.0.1")))
            .collect();
        format!(
            "{{listen: {{endpoints: [{}]}},
               transport: {{link: {{tls: {{listen_certificate: '{}', listen_private_key: '{}'}}}}}}}}",
            listen.join(", "),
            self.0.file(certificate),
            self.0.file(key),
        )
    }
}

/// Links over TLS, WebSocket within TLS, and QUIC show the new certificate at once; a bad file
/// keeps the old one.
#[cfg(all(feature = "wss", feature = "quic"))]
#[test]
fn a_hangup_shows_other_certificates_to_new_links() {
    let (file, certificates) = (
        ConfigFile::new("certificates"),
        Certificates(Folder::new("certificates")),
    );
    certificates.make("one");
    certificates.make("two");
    let ports = [free_port(), free_port(), free_port()];
    let kinds = ["tls", "wss", "quic"];
    let to: Vec<String> = kinds
        .iter()
        .zip(ports)
        .map(|(kind, port)| format!("{kind}/localhost:{port}"))
        .collect();
    let write = |certificate: &str, key: &str| {
        file.write(&certificates.configuration(&to, certificate, key));
    };
    write("one.pem", "one.key");
    let mut daemon = Daemon::start(&["-c", &file.path, "--no-multicast-scouting"]);
    let mut lines = BufReader::new(daemon.0.stdout.take().expect("it is piped")).lines();
    until("it listens", || {
        let line = lines.next().expect("a line").expect("text");
        line.starts_with("listening on quic/")
    });
    let mut hangups = Hangups::of(&mut daemon);
    let connect = |trusted: &str| -> Vec<Result<zonda::Session, String>> {
        to.iter()
            .map(|to| certificates.connect(to, trusted))
            .collect()
    };
    let all = |trusted: &str| connect(trusted).iter().all(Result::is_ok);
    let none = |trusted: &str| connect(trusted).iter().all(Result::is_err);
    let standing: Vec<_> = connect("one.pem")
        .into_iter()
        .map(|one| one.expect("trusted"))
        .collect();
    assert!(none("two.pem"));
    // Files that do not fit, or are not there, are named.
    write("two.pem", "one.key");
    hangups.next(&[
        "is not reloaded, the old one stays",
        "listen_private_key",
        &certificates.0.file("one.key"),
        "does not belong to listen_certificate",
    ]);
    write("none.pem", "one.key");
    hangups.next(&["is not reloaded", "listen_certificate", "none.pem"]);
    assert!(all("one.pem"));
    write("two.pem", "two.key");
    hangups.next(&[
        "in force now: transport/link/tls/listen_private_key, transport/link/tls/listen_certificate",
        "3 listeners have read their certificates again",
    ]);
    assert!(all("two.pem") && none("one.pem"));
    assert!(standing.iter().all(|one| one.info().links().len() == 1));
    // Other contents of a file are read, too.
    std::fs::copy(
        certificates.0.file("one.pem"),
        certificates.0.file("two.pem"),
    )
    .expect("room");
    std::fs::copy(
        certificates.0.file("one.key"),
        certificates.0.file("two.key"),
    )
    .expect("room");
    hangups.next(&["nothing new to take over", "3 listeners have read"]);
    assert!(all("one.pem"));
}

#[test]
fn a_hangup_changes_what_is_logged_and_the_times_of_links() {
    let file = ConfigFile::new("log");
    let write = |filter: &str, lease: u32| {
        file.write(&format!(
            "{{listen: {{endpoints: ['tcp/127.0.0.1:0']}}, log: {{filter: '{filter}'}},
               transport: {{link: {{tx: {{lease: {lease}}}}}}}}}"
        ));
    };
    write("error", 10_000);
    let mut daemon = Daemon::start(&["-c", &file.path, "--no-multicast-scouting"]);
    let address = daemon.address();
    let mut hangups = Hangups::of(&mut daemon);
    let at = format!("tcp/{address}");
    let quiet = client(&at).expect("it listens");
    write("zonda_router=no_level", 10_000);
    hangups.next(&["the old one stays", "log/filter", "zonda_router=no_level"]);
    write("error,zonda_router=info", 9_000);
    hangups.next(&["in force now: transport/link/tx/lease, log/filter;"]);
    // Nothing was logged about the first client; the second one is.
    let loud = client(&at).expect("it listens");
    let [quiet, loud] = [&quiet, &loud].map(|session| session.zid().to_string());
    loop {
        let mut line = String::new();
        let read = hangups.errors.read_line(&mut line).expect("text");
        assert!(read > 0, "it ended");
        assert!(!line.contains(&quiet), "{line}");
        if line.contains(&loud) {
            return;
        }
    }
}
