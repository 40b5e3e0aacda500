// SPDX-License-Identifier: MIT OR Apache-2.0

//! The program `zondad` itself: its start, its output, and its end. Unit tests cover its flags, and
//! the tests of `zonda router`, which is the same function, more of its behaviour.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use zonda::Wait;

/// Hangups of a daemon, and the lines that it prints.
#[cfg(unix)]
struct Hangups {
    pid: String,
    errors: BufReader<std::process::ChildStderr>,
}

#[cfg(unix)]
impl Hangups {
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

/// A running daemon. Dropping it kills it.
struct Daemon(Child);

impl Daemon {
    fn start(arguments: &[&str]) -> Daemon {
        let child = Command::new(env!("CARGO_BIN_EXE_zondad"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Daemon(child.expect("the daemon is built beside this test"))
    }

    /// Takes its standard error, to read the result of each hangup.
    #[cfg(unix)]
    fn hangups(&mut self) -> Hangups {
        Hangups {
            pid: self.0.id().to_string(),
            errors: BufReader::new(self.0.stderr.take().expect("it is piped")),
        }
    }

    /// Reads its lines up to the first address, and returns that address.
    fn address(&mut self) -> SocketAddr {
        let out = self.0.stdout.as_mut().expect("it is piped");
        for line in BufReader::new(out).lines() {
            let line = line.expect("text");
            if let Some(address) = line.strip_prefix("listening on tcp/") {
                return address.parse().expect("an address");
            }
            assert!(line.starts_with("zid "), "{line}");
        }
        panic!("it ended without an address: {}", self.errors())
    }

    /// Returns its whole standard error, once it has ended.
    fn errors(&mut self) -> String {
        let mut text = String::new();
        let err = self.0.stderr.as_mut().expect("it is piped");
        err.read_to_string(&mut text).expect("text");
        text
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // An error means that the daemon has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(unix)]
#[test]
fn it_listens_until_it_is_asked_to_end() {
    let arguments = [
        "-l",
        "tcp/127.0.0.1:0",
        "--no-multicast-scouting",
        "--rest-http-port",
        "none",
    ];
    let mut daemon = Daemon::start(&arguments);
    let address = daemon.address();
    assert_ne!(address.port(), 0);
    TcpStream::connect(address).expect("it listens there");
    let pid = daemon.0.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(sent.is_ok_and(|s| s.success()));
    assert_eq!(daemon.0.wait().expect("it is our child").code(), Some(0));
    let log = daemon.errors();
    assert!(log.lines().all(|line| line.contains(" INFO ")), "{log}");
    let reached = format!("starts; it is reached at tcp/{address}");
    assert!(
        log.contains(&reached) && log.contains(env!("CARGO_PKG_VERSION")),
        "{log}"
    );
}

/// Without handlers, SIGHUP and SIGUSR1 would end the process.
#[cfg(unix)]
#[test]
fn a_hangup_and_a_question_do_not_end_it() {
    let arguments = ["-l", "tcp/127.0.0.1:0", "--no-multicast-scouting"];
    let mut daemon = Daemon::start(&arguments);
    let address = daemon.address();
    let mut errors = BufReader::new(daemon.0.stderr.take().expect("it is piped"));
    let pid = daemon.0.id().to_string();
    for (signal, words) in [
        (
            "-HUP",
            "SIGHUP: nothing new to take over; there is no list of users to read again",
        ),
        (
            "-USR1",
            &*format!("listening on tcp/{address}; links: 0 to routers"),
        ),
        ("-HUP", "SIGHUP: nothing new to take over"),
    ] {
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.is_ok_and(|s| s.success()));
        let mut line = "starts;".to_owned();
        while line.contains("starts;") {
            line.clear();
            errors.read_line(&mut line).expect("text");
        }
        assert!(line.contains(words), "{line}");
    }
    TcpStream::connect(address).expect("it listens still");
}

/// Rules of another file are in force from the next SIGHUP on, without an end of any link; a wrong
/// file changes nothing.
#[cfg(unix)]
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
    let mut hangups = daemon.hangups();
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
#[cfg(unix)]
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
    let mut hangups = daemon.hangups();
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

/// The service's sample configuration is valid, and opens no port to other machines.
#[test]
fn the_sample_of_the_service_listens_on_this_machine_alone() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../packaging/systemd/router.json5"
    );
    let mut check = Daemon::start(&["-c", file, "--check-config"]);
    assert_eq!(check.0.wait().expect("our child").code(), Some(0));
    let mut said = String::new();
    let out = check.0.stdout.as_mut().expect("it is piped");
    out.read_to_string(&mut said).expect("text");
    assert_eq!(said, "ok: every value takes effect\n");
    let text = std::fs::read_to_string(file).expect("the sample");
    let config = zonda_router::Config::from_json5(&text).expect("the sample");
    for endpoint in config.settings().listen_endpoints {
        assert!(endpoint.address().starts_with("127.0.0.1:"), "{endpoint}");
    }
}

/// A router without its certificate fails at the check and at the start, with the same text and
/// exit code.
#[cfg(feature = "tls")]
#[test]
fn a_check_ends_as_the_start_would() {
    for (arguments, code) in [
        (
            ["-l", "tls/127.0.0.1:0#listen_certificate_file=nofile.pem"],
            2,
        ),
        (["-l", "tcp/192.0.2.1:0"], 1),
        (["-l", "tcp/127.0.0.1:0#iface=none77"], 1),
        (["-l", "unixsock-stream//no/such/folder/socket"], 1),
        (["-l", "tcp/127.0.0.1:0#ifac=lo"], 2),
        (["--cfg", "plugins:{dds: {__required__: true}}"], 2),
    ] {
        let mut start = Daemon::start(&arguments);
        let mut check = Daemon::start(&[&arguments[..], &["--check-config"]].concat());
        assert_eq!(start.0.wait().expect("our child").code(), Some(code));
        assert_eq!(check.0.wait().expect("our child").code(), Some(code));
        let mut said = check.errors();
        let out = check.0.stdout.as_mut().expect("it is piped");
        out.read_to_string(&mut said).expect("text");
        let is_told = |line: &&str| line.starts_with("error") || line.starts_with("hint: ");
        let errors = said.lines().filter(is_told);
        let said: String = errors.map(|line| format!("{line}\n")).collect();
        assert_eq!(said, start.errors(), "{arguments:?}");
    }
}

#[test]
fn a_port_in_use_is_one_line() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let taken = format!("tcp/{}", listener.local_addr().expect("address"));
    let mut daemon = Daemon::start(&["-l", &taken]);
    assert_eq!(daemon.0.wait().expect("it is our child").code(), Some(1));
    let errors = daemon.errors();
    assert!(
        errors.starts_with("error: ") && errors.contains(&taken),
        "{errors}"
    );
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn bad_usage_is_one_line() {
    let mut daemon = Daemon::start(&["--listen"]);
    assert_eq!(daemon.0.wait().expect("it is our child").code(), Some(2));
    let errors = daemon.errors();
    assert!(
        errors.starts_with("error: ") && errors.contains("--listen"),
        "{errors}"
    );
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

/// A build without TLS and WebSocket reports the missing feature.
#[cfg(not(any(feature = "tls", feature = "ws")))]
#[test]
fn a_kind_of_link_that_is_not_built_in_names_its_feature() {
    for kind in ["tls", "ws"] {
        let at = format!("{kind}/127.0.0.1:0");
        let mut daemon = Daemon::start(&["-l", &at, "--no-multicast-scouting"]);
        let said = daemon.errors();
        let expected = format!(
            "links of kind {kind} are not in this build; build it with the feature `{kind}`"
        );
        assert!(said.contains(&at) && said.contains(&expected), "{said}");
    }
}

/// Returns the first line of standard error that contains these words.
#[cfg(feature = "http")]
fn line_with(errors: &mut impl BufRead, words: &str) -> String {
    let mut lines = errors.lines().map(|line| line.expect("text"));
    lines.find(|line| line.contains(words)).expect(words)
}

#[cfg(feature = "http")]
#[test]
fn metrics_are_served_until_it_ends() {
    use std::io::Write;
    let arguments = [
        "-l",
        "tcp/127.0.0.1:0",
        "--no-multicast-scouting",
        "--metrics-port",
        "0",
    ];
    let mut daemon = Daemon::start(&arguments);
    daemon.address();
    let mut errors = BufReader::new(daemon.0.stderr.take().expect("it is piped"));
    let line = line_with(&mut errors, "metrics: HTTP on 127.0.0.1:");
    let (_, address) = line.split_once("HTTP on ").expect("an address");
    let mut client = TcpStream::connect(address).expect("it listens");
    client
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .expect("it reads");
    let mut text = String::new();
    client.read_to_string(&mut text).expect("text");
    assert!(
        text.starts_with("HTTP/1.1 200 ") && text.ends_with("# EOF\n"),
        "{text}"
    );
}

#[cfg(feature = "http")]
#[test]
fn a_port_for_metrics_that_is_taken_ends_it_with_one_line() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let listen = format!("services/metrics/listen:'{address}'");
    for (value, code, words) in [
        (listen.as_str(), 1, "cannot listen on"),
        ("services/metrics/listen:'9090'", 2, "is no ADDRESS:PORT"),
        (
            "services/metricz/listen:'x'",
            2,
            "did you mean `services/metrics/listen`",
        ),
    ] {
        let arguments = [
            "-l",
            "tcp/127.0.0.1:0",
            "--no-multicast-scouting",
            "-q",
            "--cfg",
            value,
        ];
        let mut daemon = Daemon::start(&arguments);
        let errors = daemon.errors();
        assert_eq!(
            daemon.0.wait().expect("it is our child").code(),
            Some(code),
            "{errors}"
        );
        let told = errors
            .lines()
            .filter(|line| !line.starts_with("hint: "))
            .count();
        assert!(told == 1 && errors.contains(words), "{errors}");
    }
}

/// Sends a request to the address of a line such as `http: HTTP on 127.0.0.1:8000`.
#[cfg(feature = "http")]
fn fetch(line: &str, path: &str) -> String {
    use std::io::Write;
    let (_, address) = line.split_once("HTTP on ").expect("an address");
    let mut client = TcpStream::connect(address).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: any.name\r\nConnection: close\r\n\r\n");
    client.write_all(request.as_bytes()).expect("it reads");
    let mut text = String::new();
    client.read_to_string(&mut text).expect("text");
    text
}

#[cfg(feature = "http")]
#[test]
fn rest_is_served_as_zenohd_s_configurations_and_flags_ask() {
    for arguments in [
        ["--cfg", "plugins:{rest:{http_port:'127.0.0.1:0'}}"],
        ["--rest-http-port", "127.0.0.1:0"],
    ] {
        let more = [
            "-l",
            "tcp/127.0.0.1:0",
            "--no-multicast-scouting",
            "-i",
            "a1",
        ];
        let mut daemon = Daemon::start(&[&arguments[..], &more].concat());
        daemon.address();
        let mut errors = BufReader::new(daemon.0.stderr.take().expect("it is piped"));
        let line = line_with(&mut errors, "http: HTTP on 127.0.0.1:");
        let answer = fetch(&line, "/@/local/router");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.contains(r#"{"key":"@/a1/router","#), "{answer}");
        assert!(fetch(&line, "/readyz").ends_with("ready\n"));
    }
}

#[cfg(feature = "http")]
#[test]
fn a_check_warns_of_a_server_that_is_open_to_strangers() {
    let open = "ANY MACHINE that reaches [::]:8000";
    for (arguments, code, words) in [
        (["--rest-http-port", "8000"], 0, open),
        (["--cfg", "plugins:{rest:{http_port:8000}}"], 0, open),
        (["--rest-http-port", "none"], 0, ""),
        (["--cfg", "plugins:{rest:{}}"], 0, "has no http_port"),
        (
            ["--cfg", "plugins:{rest:{http_port:'none',__config__:[]}}"],
            0,
            "write the keys",
        ),
        (
            ["--rest-http-port", "no:where:8000"],
            2,
            "is no port and no HOST:PORT",
        ),
        (
            ["--http-port", "0.0.0.0:8000"],
            2,
            "services/http/open to true",
        ),
        (
            [
                "--cfg",
                ":{plugins:{rest:{http_port:8000}},access_control:{enabled:true,rules:[],subjects:[],policies:[]}}",
            ],
            2,
            "could read and write every key, past access_control",
        ),
        (
            ["--cfg", "services/http/auth/dictionary_file:'/no/file'"],
            0,
            "",
        ),
        (
            ["--cfg", "plugins:{rest:{http_port:'x'},dds:{}}"],
            2,
            "plugins/rest/http_port",
        ),
    ] {
        let check = ["-l", "tcp/127.0.0.1:0", "--check-config"];
        let mut daemon = Daemon::start(&[&arguments[..], &check].concat());
        let ended = daemon.0.wait().expect("our child").code();
        let mut said = daemon.errors();
        let out = daemon.0.stdout.as_mut().expect("it is piped");
        out.read_to_string(&mut said).expect("text");
        assert_eq!(ended, Some(code), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
        assert_eq!(said.contains("ANY MACHINE"), words == open, "{said}");
    }
}

#[cfg(feature = "http")]
#[test]
fn a_port_that_is_taken_ends_it_only_if_rest_is_required() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let loose = format!("plugins:{{rest:{{http_port:'{address}'}}}}");
    let quiet = ["-l", "tcp/127.0.0.1:0", "--no-multicast-scouting"];
    let mut daemon = Daemon::start(&[&["--cfg", loose.as_str()][..], &quiet].concat());
    daemon.address();
    let mut daemon = Daemon::start(&[&["--rest-http-port", address.as_str()][..], &quiet].concat());
    assert_eq!(daemon.0.wait().expect("our child").code(), Some(1));
    let errors = daemon.errors();
    assert!(errors.contains("cannot listen on"), "{errors}");
}

/// A configuration file, which is deleted with this.
#[cfg(unix)]
struct ConfigFile(std::path::PathBuf);

#[cfg(unix)]
impl ConfigFile {
    fn new(name: &str) -> ConfigFile {
        let name = format!("zonda-{name}-{}.json5", std::process::id());
        ConfigFile(std::env::temp_dir().join(name))
    }

    fn write(&self, text: &str) {
        std::fs::write(&self.0, text).expect("a folder for temporary files");
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("text")
    }
}

#[cfg(unix)]
impl Drop for ConfigFile {
    fn drop(&mut self) {
        // A file that stays does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Waits for a condition, with a deadline.
#[cfg(unix)]
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns a port that was free a moment ago.
#[cfg(unix)]
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    listener.local_addr().expect("address").port()
}

#[cfg(unix)]
fn client(address: &str) -> Result<zonda::Session, String> {
    let config = zonda::Config::client([address]).with("connect/timeout_ms", "0");
    let opened = zonda::open(config).wait();
    opened.map_err(|error| error.to_string())
}

#[cfg(unix)]
#[test]
fn a_hangup_opens_and_closes_listeners_and_keeps_the_links() {
    let file = ConfigFile::new("listeners");
    let (old, new) = (free_port(), free_port());
    let write = |ports: &[u16], lease: u32| {
        let endpoints: Vec<String> = ports
            .iter()
            .map(|p| format!("'tcp/127.0.0.1:{p}'"))
            .collect();
        let endpoints = endpoints.join(", ");
        file.write(&format!(
            "{{listen: {{endpoints: [{endpoints}]}}, transport: {{link: {{tx: {{lease: {lease}}}}}}}}}"
        ));
    };
    write(&[old], 10_000);
    let mut daemon = Daemon::start(&["-c", file.path(), "--no-multicast-scouting"]);
    assert_eq!(daemon.address().port(), old);
    let mut hangups = daemon.hangups();
    let at = |port: u16| format!("tcp/127.0.0.1:{port}");
    let first = client(&at(old)).expect("it listens");
    // A key that needs a restart is named.
    write(&[old, new], 9_000);
    hangups.next(&[
        "in force now: listen/endpoints;",
        "in force after a restart: transport/link/tx/lease",
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

#[cfg(unix)]
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
    let mut daemon = Daemon::start(&["-c", file.path(), "--no-multicast-scouting"]);
    daemon.address();
    let mut hangups = daemon.hangups();
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

/// Certificates for `localhost` in a directory of their own, each its own authority.
#[cfg(all(unix, feature = "tls"))]
struct Certificates(std::path::PathBuf);

#[cfg(all(unix, feature = "tls"))]
impl Certificates {
    fn new() -> Certificates {
        let name = format!("zonda-certificates-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).expect("a directory");
        Certificates(directory)
    }

    fn path(&self, file: &str) -> String {
        self.0.join(file).display().to_string()
    }

    fn make(&self, name: &str) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
        let write = |end: &str, text: String| {
            std::fs::write(self.path(&format!("{name}.{end}")), text).expect("room");
        };
        write("pem", made.cert.pem());
        write("key", made.signing_key.serialize_pem());
    }

    /// Connects with TLS, trusting this certificate alone.
    fn connect(&self, to: &str, trusted: &str) -> Result<zonda::Session, String> {
        let trusted = format!("'{}'", self.path(trusted));
        let config = zonda::Config::client([to]).with("connect/timeout_ms", "0");
        let config = config.with("transport/link/tls/root_ca_certificate", &trusted);
        let opened = zonda::open(config).wait();
        opened.map_err(|error| error.to_string())
    }
}

#[cfg(all(unix, feature = "tls"))]
impl Drop for Certificates {
    fn drop(&mut self) {
        // Files that stay do no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Links over TLS, WebSocket within TLS, and QUIC show the new certificate at once; a bad file
/// keeps the old one.
#[cfg(all(unix, feature = "wss", feature = "quic"))]
#[test]
fn a_hangup_shows_other_certificates_to_new_links() {
    let (file, certificates) = (ConfigFile::new("certificates"), Certificates::new());
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
        let listen: Vec<String> = to
            .iter()
            .map(|to| format!("'{}'", to.replace("localhost", "127.0.0.1")))
            .collect();
        file.write(&format!(
            "{{listen: {{endpoints: [{}]}},
               transport: {{link: {{tls: {{listen_certificate: '{}', listen_private_key: '{}'}}}}}}}}",
            listen.join(", "),
            certificates.path(certificate),
            certificates.path(key),
        ));
    };
    write("one.pem", "one.key");
    let mut daemon = Daemon::start(&["-c", file.path(), "--no-multicast-scouting"]);
    let mut lines = BufReader::new(daemon.0.stdout.take().expect("it is piped")).lines();
    until("it listens", || {
        let line = lines.next().expect("a line").expect("text");
        line.starts_with("listening on quic/")
    });
    let mut hangups = daemon.hangups();
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
        &certificates.path("one.key"),
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
    std::fs::copy(certificates.path("one.pem"), certificates.path("two.pem")).expect("room");
    std::fs::copy(certificates.path("one.key"), certificates.path("two.key")).expect("room");
    hangups.next(&["nothing new to take over", "3 listeners have read"]);
    assert!(all("one.pem"));
}
