// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links over pseudo terminals; the test plays the other end.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use zonda_runtime::{RuntimeOptions, TokioRuntime, block_on_until};

use super::super::LinkSettings;
use super::frames as serial_frames;
use super::*;

// The check names private types of this crate, so that the fuzzer and these tests compile it each.
#[path = "../../../../fuzz/src/serial.rs"]
mod corpus;

const PATIENCE: Duration = Duration::from_secs(10);

/// Line whose other end the test has.
struct Wire {
    end: File,
    device: String,
    frames: Frames,
}

impl Wire {
    fn new() -> Wire {
        let end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&end).expect("one of ours");
        unlockpt(&end).expect("one of ours");
        let device = ptsname(&end, Vec::new()).expect("a name");
        let device = OsStr::from_bytes(device.as_bytes()).to_str();
        Wire {
            device: device.expect("text").to_owned(),
            end: end.into(),
            frames: Frames::default(),
        }
    }

    fn say(&mut self, flags: Flags, content: &[u8]) {
        let mut line = Vec::new();
        frame(flags, content, &mut line);
        self.end.write_all(&line).expect("room");
    }

    /// Returns the next frame, which may be broken.
    fn hear(&mut self) -> (Flags, Vec<u8>) {
        let begin = Instant::now();
        let mut found = None;
        while found.is_none() {
            assert!(begin.elapsed() < PATIENCE, "nothing came");
            let mut fds = [PollFd::new(&self.end, PollFlags::IN)];
            let wait = Timespec {
                tv_sec: 0,
                tv_nsec: 10_000_000,
            };
            poll(&mut fds, Some(&wait)).expect("a terminal");
            let mut byte = [0];
            // The system returns an error while no process has the line open.
            if fds[0].revents().contains(PollFlags::IN) && self.end.read(&mut byte).is_ok() {
                self.frames.take(&byte, |one| {
                    found = one.ok().map(|(flags, content)| (flags, content.to_vec()));
                });
            }
        }
        found.expect("the loop ended")
    }
}

fn line_of(text: &str) -> Result<Line, EndpointProblem> {
    Line::of(&text.parse().expect("an endpoint"))
}

fn next(handed: &HandedSockets) -> Socket {
    let begin = Instant::now();
    loop {
        if let Ok((socket, _)) = handed.take() {
            socket.set_nonblocking(false).expect("a socket");
            return socket;
        }
        assert!(begin.elapsed() < PATIENCE, "nobody came");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_an_endpoint_says_of_its_line() {
    let line = line_of("serial//dev/ttyUSB0").expect("well formed");
    let expected = Line {
        device: "/dev/ttyUSB0".to_owned(),
        baud_rate: 9600,
        is_exclusive: true,
        pause: Duration::from_millis(50),
        is_released: true,
    };
    assert_eq!(line, expected);
    let text = "serial//dev/ttyS1#baudrate=115200;exclusive=false;release_on_close=false;tout=7";
    let line = line_of(text).expect("well formed");
    assert_eq!((line.baud_rate, line.is_exclusive), (115_200, false));
    assert_eq!(
        (line.is_released, line.pause),
        (false, Duration::from_micros(7))
    );
    for wrong in ["baudrate=0", "baudrate=fast", "exclusive=1", "tout=-1"] {
        let problem = line_of(&format!("serial//dev/ttyS1#{wrong}")).expect_err(wrong);
        assert!(problem.to_string().contains(wrong), "{problem}");
    }
    line_of("serial//dev/").expect_err("a directory");
}

#[test]
fn one_that_asks_has_a_link_and_one_that_asks_again_the_next() {
    let mut wire = Wire::new();
    // Opening a line discards the bytes that arrived before.
    let at = format!("serial/{}#release_on_close=false", wire.device);
    let line = line_of(&at).expect("well formed");
    let bound = listen(line.clone()).expect("it opens");
    let ServerHandshake::Handed(handed) = &bound.entrance else {
        panic!("sockets are handed over");
    };
    let busy = listen(line).err().expect("it is open already");
    assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
    for _ in 0..2 {
        wire.say(Flags::DATA, b"of another time");
        wire.say(Flags::INIT, b"");
        assert_eq!(wire.hear(), (Flags::ACCEPTED, Vec::new()));
        let mut link = next(handed);
        let mut bytes = [0; 6];
        // A broken frame is lost, and the link survives.
        wire.end.write_all(b"\x03abc\0").expect("room");
        wire.say(Flags::DATA, b"in\0s");
        link.read_exact(&mut bytes).expect("a batch");
        assert_eq!(&bytes, b"\x04\0in\0s");
        link.write_all(b"\x03\0out\x02\0on").expect("room");
        assert_eq!(wire.hear(), (Flags::DATA, b"out".to_vec()));
        assert_eq!(wire.hear(), (Flags::DATA, b"on".to_vec()));
        // The other end restarts.
        wire.say(Flags::INIT, b"");
        assert_eq!(wire.hear(), (Flags::RESET, Vec::new()));
        assert_eq!(link.read(&mut bytes).expect("an end"), 0);
    }
    drop(bound);
}

#[test]
fn one_that_connects_asks_until_there_is_a_link() {
    let mut wire = Wire::new();
    let to: Endpoint = format!("serial/{}#tout=1000", wire.device)
        .parse()
        .expect("an endpoint");
    let links = LinkSettings::default();
    let terms = LinkParameters {
        endpoint: &to,
        deadline: Instant::now() + PATIENCE,
        links: &links,
    };
    let runtime = TokioRuntime::start_current_thread(&RuntimeOptions::default());
    let runtime = runtime.expect("a runtime");
    std::thread::scope(|scope| {
        let connecting = scope.spawn(|| block_on_until(terms.deadline, connect(&runtime, &terms)));
        // The first request is lost.
        assert_eq!(wire.hear(), (Flags::INIT, Vec::new()));
        assert_eq!(wire.hear(), (Flags::INIT, Vec::new()));
        wire.say(Flags::RESET, b"");
        assert_eq!(wire.hear(), (Flags::INIT, Vec::new()));
        wire.say(Flags::ACCEPTED, b"");
        let connected = connecting.join().expect("it ends");
        let connected = connected.expect("in time").expect("it is answered");
        assert_eq!(connected.remote.to_string(), wire.device);
        let link = connected.stream.socket();
        link.set_nonblocking(false).expect("a socket");
        let mut link: &Socket = link;
        link.write_all(b"\x05\0hello").expect("room");
        assert_eq!(wire.hear(), (Flags::DATA, b"hello".to_vec()));
        wire.say(Flags::DATA, b"there");
        let mut bytes = [0; 7];
        link.read_exact(&mut bytes).expect("a batch");
        assert_eq!(&bytes, b"\x05\0there");
    });
}

#[test]
fn the_corpus_of_lines() {
    assert!(zonda_testkit::replay("serial", corpus::serial) > 10);
}
