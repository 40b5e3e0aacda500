// SPDX-License-Identifier: MIT OR Apache-2.0

//! Links over serial lines: two pseudo terminals, and a wire between them that may garble bytes.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use zonda::config::RuntimeKind;
use zonda::{Config, Session, Wait};

use crate::pair::{LONG, until};
use crate::traffic::{check_question, check_traffic};

/// A wire with a terminal at each end.
struct Wire {
    devices: [String; 2],
    /// Set to garble the next bytes that pass.
    garbles: Arc<AtomicBool>,
}

fn terminal() -> (File, String) {
    let end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&end).expect("one of ours");
    unlockpt(&end).expect("one of ours");
    let device = ptsname(&end, Vec::new()).expect("a name");
    let device = OsStr::from_bytes(device.as_bytes()).to_str();
    let device = device.expect("text").to_owned();
    (end.into(), device)
}

impl Wire {
    fn new() -> Wire {
        let (first, second) = (terminal(), terminal());
        let garbles = Arc::new(AtomicBool::new(false));
        let ends = [&first.0, &second.0].map(|end| end.try_clone().expect("a descriptor"));
        let [one, two] = ends;
        for (mut from, mut to) in [(first.0, two), (second.0, one)] {
            let garbles = Arc::clone(&garbles);
            // The thread ends with the process: another process could open a terminal that none has
            // open.
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                loop {
                    let Ok(count) = from.read(&mut bytes) else {
                        std::thread::sleep(Duration::from_millis(1));
                        continue;
                    };
                    if garbles.swap(false, Ordering::AcqRel) {
                        bytes[..count].iter_mut().for_each(|byte| *byte ^= 0x55);
                    }
                    if to.write_all(&bytes[..count]).is_err() {
                        return;
                    }
                }
            });
        }
        Wire {
            devices: [first.1, second.1],
            garbles,
        }
    }

    fn endpoint(&self, end: usize) -> String {
        format!("serial/{}#baudrate=115200", self.devices[end])
    }

    /// Opens two sessions, one at each end.
    fn sessions(&self, runtime: RuntimeKind) -> (Session, Session) {
        let far = Config::peer().listen([self.endpoint(0)]);
        let far = zonda::open(far.with_runtime(runtime)).wait();
        let far = far.expect("it listens");
        (self.dial(runtime), far)
    }

    fn dial(&self, runtime: RuntimeKind) -> Session {
        let near = Config::client([self.endpoint(1)]).with_runtime(runtime);
        zonda::open(near).wait().expect("a link")
    }
}

#[test]
fn everything_passes_a_line_on_every_runtime() {
    for runtime in RuntimeKind::available() {
        let wire = Wire::new();
        let (near, far) = wire.sessions(runtime);
        let link = near.info().links().remove(0);
        assert_eq!(
            link.remote.to_string(),
            format!("serial/{}", wire.devices[1])
        );
        check_traffic(&near, &far, &[0, 8, 1490, 1500, 20_000, 9]);
        check_question(&near, &far);
    }
}

#[test]
fn a_line_has_one_link_after_the_other() {
    let wire = Wire::new();
    let (near, far) = wire.sessions(RuntimeKind::default());
    near.close().wait().expect("it closes");
    until("the link is gone", || far.info().links().is_empty());
    let near = wire.dial(RuntimeKind::default());
    check_question(&near, &far);
}

#[test]
fn what_is_garbled_is_lost_and_the_link_stays() {
    let wire = Wire::new();
    let (near, far) = wire.sessions(RuntimeKind::default());
    let subscriber = far.declare_subscriber("a").wait().expect("a subscriber");
    until("both ends have the link", || !far.info().links().is_empty());
    let link = far.info().links().remove(0);
    for round in 0..5_u8 {
        wire.garbles.store(true, Ordering::Release);
        until("a message comes", || {
            near.put("a", [round]).wait().expect("it is sent");
            let found = subscriber.recv_timeout(LONG / 100).expect("open");
            found.is_some_and(|sample| *sample.payload().to_bytes() == [round])
        });
    }
    assert_eq!(far.info().links().remove(0).remote, link.remote);
}
