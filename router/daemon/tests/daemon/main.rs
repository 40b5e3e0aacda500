// SPDX-License-Identifier: MIT OR Apache-2.0

//! The program `zondad` itself: its start, its output, and its end. Unit tests cover its flags, and
//! the tests of `zonda router`, which is the same function, more of its behaviour.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

#[cfg(unix)]
mod hangups;

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
    let tls = "tls/127.0.0.1:0#listen_certificate_file=nofile.pem";
    check_and_start(&["-l", tls], 2);
    check_and_start(&["-l", "tcp/192.0.2.1:0"], 1);
    check_and_start(&["-l", "tcp/127.0.0.1:0#iface=none77"], 1);
    check_and_start(&["-l", "unixsock-stream//no/such/folder/socket"], 1);
    check_and_start(&["-l", "tcp/127.0.0.1:0#ifac=lo"], 2);
    check_and_start(&["--cfg", "plugins:{dds: {__required__: true}}"], 2);
}

#[cfg(feature = "serial")]
#[test]
fn a_check_finds_a_line_that_is_not_there() {
    check_and_start(&["-l", "serial//dev/no/such/line"], 1);
}

#[cfg(feature = "storage")]
#[test]
fn a_check_finds_a_folder_of_a_storage_that_cannot_be() {
    for backend in ["redb", "fs"] {
        let volume = format!("{{id: '{backend}', dir: '/dev/null/data'}}");
        let storages = format!("{{a: {{key_expr: 'a/**', volume: {volume}}}}}");
        let value = format!("plugins:{{storage_manager: {{storages: {storages}}}}}");
        check_and_start(&["-l", "tcp/127.0.0.1:0", "--cfg", &value], 1);
    }
}

#[cfg(feature = "http")]
#[test]
fn a_check_finds_an_address_of_a_service_that_is_not_here() {
    for (service, open) in [("http", ", open: true"), ("metrics", "")] {
        let value = format!("services/{service}:{{listen: '192.0.2.1:8000'{open}}}");
        check_and_start(&["-l", "tcp/127.0.0.1:0", "--cfg", &value], 1);
    }
}

#[cfg(feature = "remote-api")]
#[test]
fn a_check_finds_a_certificate_of_a_plugin_that_is_not_there() {
    let files = "{certificate_path: 'nofile', private_key_path: 'nofile'}";
    for (is_required, code) in [(true, 2), (false, 0)] {
        let plugin = format!(
            "{{websocket_port: '127.0.0.1:0', secure_websocket: {files}, __required__: {is_required}}}"
        );
        let value = format!("plugins:{{remote_api: {plugin}}}");
        let arguments = ["-l", "tcp/127.0.0.1:0", "--cfg", &value];
        if is_required {
            check_and_start(&arguments, code);
            continue;
        }
        let (told, found) = check(&arguments);
        let is_told = told.contains("listen_certificate nofile") && told.contains("runs on");
        assert!(is_told && found == Some(code), "{told}");
    }
}

/// Runs `--check-config` with these arguments; returns all that it prints, and its exit code.
#[cfg(any(
    feature = "tls",
    feature = "serial",
    feature = "storage",
    feature = "http"
))]
fn check(arguments: &[&str]) -> (String, Option<i32>) {
    let mut check = Daemon::start(&[arguments, &["--check-config"]].concat());
    let code = check.0.wait().expect("our child").code();
    let mut told = check.errors();
    let out = check.0.stdout.as_mut().expect("it is piped");
    out.read_to_string(&mut told).expect("text");
    (told, code)
}

/// Starts a daemon that cannot start, and checks its configuration: both end with this code and the
/// same errors.
#[cfg(any(
    feature = "tls",
    feature = "serial",
    feature = "storage",
    feature = "http"
))]
fn check_and_start(arguments: &[&str], code: i32) {
    let errors = |told: &str| -> Vec<String> {
        let is_told = |line: &&str| line.starts_with("error") || line.starts_with("hint: ");
        told.lines().filter(is_told).map(str::to_owned).collect()
    };
    let mut start = Daemon::start(arguments);
    assert_eq!(start.0.wait().expect("our child").code(), Some(code));
    let (told, found) = check(arguments);
    assert_eq!(found, Some(code), "{arguments:?}: {told}");
    assert_eq!(errors(&told), errors(&start.errors()), "{arguments:?}");
    assert!(!errors(&told).is_empty(), "{arguments:?}: {told}");
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
            "could read and write every key that access_control allows clients without a name",
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
