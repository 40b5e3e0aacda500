// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pipes and their files, with the test in the part of the reference.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicU32;

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, mkfifoat};
use zonda_runtime::{RuntimeOptions, TokioRuntime, block_on_until};

use super::*;

/// Directory that is removed on drop.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("zonda-pipes-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a directory");
        Place(path)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("a directory").flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn pipe(path: &Path) {
    mkfifoat(CWD, path, Mode::from_raw_mode(0o600)).expect("a pipe");
}

/// Opens a pipe like the reference opens one that it reads.
fn theirs(path: &Path) -> File {
    pipe(path);
    let flags = OFlags::RDWR | OFlags::NONBLOCK;
    let file: File = rustix::fs::open(path, flags, Mode::empty())
        .expect("it")
        .into();
    flock(&file, FlockOperation::NonBlockingLockExclusive).expect("a lock");
    file
}

fn exactly(mut file: &File, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    let mut filled = 0;
    while filled < count {
        wait_until(&file, Instant::now() + PATIENCE).expect("in time");
        match file.read(&mut bytes[filled..]) {
            Err(error) if is_nothing(&error) => {}
            result => filled += result.expect("bytes"),
        }
    }
    bytes
}

fn endpoint(text: &str) -> Endpoint {
    text.parse().expect("an endpoint")
}

fn until_handed(handed: &HandedSockets) -> Socket {
    let begin = Instant::now();
    loop {
        match handed.take() {
            Ok((socket, _)) => return socket,
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
        assert!(begin.elapsed() < PATIENCE, "nobody came");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn handed_of(bound: &BoundSocket) -> Arc<HandedSockets> {
    match &bound.entrance {
        ServerHandshake::Handed(handed) => Arc::clone(handed),
        other => panic!("{other:?}"),
    }
}

#[test]
fn paths_and_permissions_that_cannot_be() {
    for (text, expected) in [
        ("unixpipe/a/", "is a directory"),
        (&*format!("unixpipe/{}", "a".repeat(240)), "is longer than"),
        (
            "unixpipe/a#file_mask=0o600",
            "option file_mask=0o600 is invalid",
        ),
        ("unixpipe/a#file_mask=512", "decimal number"),
    ] {
        let problem = check(&endpoint(text)).expect_err(text).to_string();
        assert!(problem.contains(expected), "{problem}");
    }
    check(&endpoint("unixpipe//run/a#file_mask=384")).expect("well formed");
}

#[test]
fn one_that_invites_as_the_reference_does_has_a_link() {
    let place = Place::new();
    let path = place.at("z");
    let bound = listen(&path, 0o600).expect("free");
    let handed = handed_of(&bound);
    let mode = fs::metadata(place.at("z_uplink"))
        .expect("there")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let down = theirs(&place.at("z_downlink7"));
    let requests = open_writer(&place.at("z_uplink")).expect("it listens");
    let number = 7_u32.to_ne_bytes();
    let invitation = [&[0xde, 0xad, 0xbe, 0xef][..], &number].concat();
    (&requests).write_all(&invitation).expect("room");
    assert_eq!(exactly(&down, 8), invitation);
    let up = open_writer(&place.at("z_uplink7")).expect("it reads");
    (&up).write_all(&invitation).expect("room");
    let mut link = until_handed(&handed);
    link.set_nonblocking(false).expect("a socket");
    (&up).write_all(b"\x02\0up").expect("room");
    let mut bytes = [0; 4];
    link.read_exact(&mut bytes).expect("bytes");
    assert_eq!(&bytes, b"\x02\0up");
    link.write_all(b"\x04\0down").expect("room");
    assert_eq!(exactly(&down, 6), b"\x04\0down");
    // The end of the peer is seen at once, and the names are removed long before.
    drop(up);
    assert_eq!(link.read(&mut bytes).expect("an end"), 0);
    assert_eq!(place.names(), ["z_downlink7", "z_uplink"]);
    drop(bound);
    assert_eq!(place.names(), ["z_downlink7"]);
}

#[test]
fn a_listener_as_the_reference_has_it_is_found() {
    let place = Place::new();
    let requests = theirs(&place.at("z_uplink"));
    let at = place.at("z");
    let names = Names::of(&at);
    let listener = std::thread::spawn(move || {
        let invitation = exactly(&requests, 8);
        let number = number_in(*invitation.first_chunk().expect("8")).expect("an invitation");
        let down = open_writer(&names.down(number)).expect("it reads");
        let up = theirs(&names.up(number));
        (&down).write_all(&invitation).expect("room");
        assert_eq!(exactly(&up, 8), invitation);
        assert_eq!(exactly(&up, 5), b"hello");
        (&down).write_all(b"there").expect("room");
        fs::remove_file(names.up(number)).expect("it is there");
        requests
    });
    let links = LinkSettings::default();
    let to = endpoint(&format!("unixpipe/{}", at.display()));
    let terms = LinkParameters {
        endpoint: &to,
        deadline: Instant::now() + PATIENCE,
        links: &links,
    };
    let runtime = TokioRuntime::start_current_thread(&RuntimeOptions::default());
    let runtime = runtime.expect("a runtime");
    let connected = block_on_until(terms.deadline, connect(&runtime, &terms));
    let connected = connected.expect("in time").expect("it answers");
    assert_eq!(connected.remote.to_string(), at.display().to_string());
    let socket = connected.stream.into_socket();
    let mut link: &Socket = &socket;
    link.set_nonblocking(false).expect("a socket");
    link.write_all(b"hello").expect("room");
    let mut bytes = [0; 5];
    link.read_exact(&mut bytes).expect("bytes");
    assert_eq!(&bytes, b"there");
    drop(listener.join().expect("it ends"));
    assert_eq!(place.names(), ["z_uplink"]);
    // The listener has crashed, and its file has stayed.
    let text = format!(
        "{:?}",
        block_on_until(terms.deadline, connect(&runtime, &terms))
    );
    assert!(text.contains("ConnectionRefused"), "{text}");
}

#[test]
fn what_a_crash_left_is_cleaned_up_and_what_lives_is_left_alone() {
    let place = Place::new();
    let path = place.at("z");
    for left in [
        "z_uplink",
        "z_uplink12",
        "z_downlink12",
        "z_uplinkx",
        "y_uplink1",
    ] {
        pipe(&place.at(left));
    }
    let _living = theirs(&place.at("z_downlink13"));
    let bound = listen(&path, 0o600).expect("nobody listens");
    let expected = ["y_uplink1", "z_downlink13", "z_uplink", "z_uplinkx"];
    assert_eq!(place.names(), expected);
    let error = listen(&path, 0o600).err().expect("it is taken");
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    drop(bound);
    drop(listen(&path, 0o600).expect("it is free again"));
    fs::write(place.at("z_uplink"), "precious").expect("room");
    let error = listen(&path, 0o600).err().expect("it is no pipe");
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    let kept = fs::read_to_string(place.at("z_uplink"));
    assert_eq!(kept.expect("there"), "precious");
}

#[test]
fn what_is_no_invitation_keeps_nobody_out() {
    let place = Place::new();
    let bound = listen(&place.at("z"), 0o600).expect("free");
    let handed = handed_of(&bound);
    let requests = open_writer(&place.at("z_uplink")).expect("it listens");
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0], &[0xde; 100]] {
        (&requests).write_all(garbage).expect("room");
    }
    // The pipe of this invitation does not exist.
    (&requests).write_all(&invitation(1)).expect("room");
    let to = endpoint(&format!("unixpipe/{}", place.at("z").display()));
    let links = LinkSettings::default();
    let terms = LinkParameters {
        endpoint: &to,
        deadline: Instant::now() + Duration::from_millis(500),
        links: &links,
    };
    let runtime = TokioRuntime::start_current_thread(&RuntimeOptions::default());
    let runtime = runtime.expect("a runtime");
    // The invitation may have been discarded with the bytes in front of it.
    let found = (0..20).any(|_| {
        let terms = LinkParameters {
            deadline: Instant::now() + Duration::from_millis(500),
            ..terms
        };
        matches!(
            block_on_until(Instant::now() + PATIENCE, connect(&runtime, &terms)),
            Some(Ok(_))
        )
    });
    assert!(found);
    until_handed(&handed);
}

#[test]
fn pipes_are_the_owners_alone_by_default() {
    let nothing = LinkSettings::default();
    let mode = |text: &str, links: &LinkSettings| mode_of(&endpoint(text), links);
    assert_eq!(mode("unixpipe//run/a", &nothing), Ok(0o600));
    assert_eq!(mode("unixpipe//run/a#file_mask=438", &nothing), Ok(0o666));
    let everybody = LinkSettings {
        pipe_mode: Some(0o777),
        ..LinkSettings::default()
    };
    assert_eq!(mode("unixpipe//run/a", &everybody), Ok(0o777));
}
