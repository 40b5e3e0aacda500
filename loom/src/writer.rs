// SPDX-License-Identifier: MIT OR Apache-2.0
//! The election of the writer: no queued message is left behind, one thread writes at a time, and a
//! message that is reported as written is with the socket.
//!
//! The actors are those of `transport/src/outbox`, with the same steps; messages are bits.

use loom::{
    model::Builder,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use crate::election::{Action, Event, WriteEnd, WriterElection};

/// The socket, and the state that only the writer uses.
struct Socket {
    /// Messages that the peer has received.
    wire: u32,
    /// Number of writes that the socket takes before it is full.
    room: u32,
    is_lost: bool,
    is_over: bool,
}

struct Link {
    election: WriterElection,
    /// Queued messages.
    lane: Mutex<u32>,
    socket: Mutex<Socket>,
    /// True if the driver has a signal.
    is_woken: AtomicBool,
}

impl Link {
    fn new(room: u32) -> Arc<Link> {
        Arc::new(Link {
            election: WriterElection::new(),
            lane: Mutex::new(0),
            socket: Mutex::new(Socket {
                wire: 0,
                room,
                is_lost: false,
                is_over: false,
            }),
            is_woken: AtomicBool::new(false),
        })
    }

    fn push(&self, message: u32) {
        *self.lane.lock().expect("no panic") |= message;
    }

    /// Models `Signals::raise`.
    fn wake(&self) {
        self.is_woken.swap(true, Ordering::SeqCst);
    }

    fn take_signal(&self) -> bool {
        self.is_woken.swap(false, Ordering::SeqCst)
    }

    /// Models `Outbox::flush`.
    fn flush(&self) -> bool {
        while self.election.apply(Event::Demand) == Action::Write {
            match self.write_elected() {
                Action::Done => return true,
                Action::Again => {}
                _ => return false,
            }
        }
        false
    }

    /// Models `Outbox::write_elected`.
    fn write_elected(&self) -> Action {
        let mut socket = self.socket.lock().expect("no panic");
        let batch = std::mem::take(&mut *self.lane.lock().expect("no panic"));
        // a refused batch goes back to the lane
        let end = if socket.is_over {
            self.push(batch);
            WriteEnd::Ended
        } else if batch == 0 {
            WriteEnd::Done
        } else if socket.is_lost || socket.room == 0 {
            self.push(batch);
            match socket.is_lost {
                true => WriteEnd::Lost,
                false => WriteEnd::Full,
            }
        } else {
            socket.wire |= batch;
            socket.room -= 1;
            WriteEnd::Done
        };
        let action = self.election.apply(Event::Finish(end));
        if action == Action::WakeDriver {
            self.wake();
        }
        action
    }

    /// Models `Outbox::resume`, once the socket takes more.
    fn resume(&self) {
        self.socket.lock().expect("no panic").room += 4;
        if self.election.apply(Event::Resume) == Action::Write {
            self.write_elected();
        }
    }

    /// Models `Outbox::drain_direct`, for `looks` attempts.
    fn drain(&self, looks: u32) -> bool {
        for _ in 0..looks {
            if !self.election.is_blocked() {
                self.flush();
                return true;
            }
            match self.election.apply(Event::DriverWaits) {
                Action::LookAgain => {
                    thread::yield_now();
                    self.election.apply(Event::DriverWoke);
                }
                _ => self.resume(),
            }
        }
        false
    }

    /// Returns the messages that the peer has once the driver has handled its signals.
    fn end(&self) -> u32 {
        if self.take_signal() {
            assert!(self.drain(4), "it ends");
        }
        assert!(self.election.is_idle(), "no thread writes");
        assert_eq!(*self.lane.lock().expect("no panic"), 0, "left behind");
        self.wire()
    }

    fn wire(&self) -> u32 {
        self.socket.lock().expect("no panic").wire
    }

    /// Sends a message at once.
    fn send(&self, message: u32) {
        self.push(message);
        if self.flush() {
            assert!(self.wire() & message != 0, "it is not with the socket");
        }
    }

    /// Sends a message of a stream.
    fn send_next(&self, message: u32) {
        self.push(message);
        match self.election.turn() {
            Action::Write => {
                self.flush();
            }
            Action::Measure => {
                if self.election.apply(Event::BecomeDense) == Action::WakeDriver {
                    self.wake();
                }
            }
            _ => {}
        }
    }

    /// Models `Outbox::tick`.
    fn tick(&self) {
        if self.election.apply(Event::Tick) == Action::Write {
            self.flush();
        }
    }

    /// Ends a stream.
    fn cool_down(&self) {
        self.election.apply(Event::CoolDown);
        let is_empty = *self.lane.lock().expect("no panic") == 0;
        if !is_empty {
            self.flush();
        }
    }
}

/// Tries every order of steps with at most three preemptions.
fn model(test: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(test);
}

fn spawn(link: &Arc<Link>, work: impl FnOnce(&Link) + 'static) -> thread::JoinHandle<()> {
    let link = Arc::clone(link);
    thread::spawn(move || work(&link))
}

fn join(threads: impl IntoIterator<Item = thread::JoinHandle<()>>) {
    for thread in threads {
        thread.join().expect("no panic");
    }
}

#[test]
fn what_several_senders_demand_is_written() {
    model(|| {
        let link = Link::new(9);
        let others = [
            spawn(&link, |link| link.send(1)),
            spawn(&link, |link| link.send(2)),
        ];
        link.send(4);
        join(others);
        assert_eq!(link.end(), 7);
    });
}

#[test]
fn a_full_socket_is_left_to_a_driver_that_knows() {
    model(|| {
        let link = Link::new(1);
        let others = [
            spawn(&link, |link| link.send(1)),
            spawn(&link, |link| {
                if link.take_signal() && !link.drain(2) {
                    // it continues later
                    link.wake();
                }
            }),
        ];
        link.send(2);
        join(others);
        assert_eq!(link.end(), 3);
    });
}

#[test]
fn a_sender_that_waits_for_the_socket_and_the_driver_leave_nothing_to_each_other() {
    model(|| {
        let link = Link::new(0);
        link.send(1);
        assert!(link.take_signal(), "it is full");
        let others = [
            // `Outbox::wait_room`
            spawn(&link, |link| {
                let first = link.election.attend();
                if let Some(first) = first {
                    link.resume();
                    drop(first);
                    link.flush();
                }
            }),
            spawn(&link, |link| link.send(2)),
        ];
        if !link.drain(2) {
            link.wake();
        }
        join(others);
        assert_eq!(link.end(), 3);
    });
}

#[test]
fn one_sender_waits_for_the_socket_at_a_time() {
    model(|| {
        let link = Link::new(1);
        let waiting = Arc::new(AtomicBool::new(false));
        let attend = |waiting: &AtomicBool, link: &Link| {
            let Some(first) = link.election.attend() else {
                return;
            };
            assert!(!waiting.swap(true, Ordering::Relaxed), "two wait");
            waiting.swap(false, Ordering::Relaxed);
            drop(first);
        };
        let other = Arc::clone(&waiting);
        let others = [spawn(&link, move |link| attend(&other, link))];
        attend(&waiting, &link);
        link.election.apply(Event::DriverWaits);
        link.election.apply(Event::DriverWoke);
        join(others);
    });
}

#[test]
fn a_stream_that_ends_leaves_nothing_in_the_open_batch() {
    model(|| {
        let link = Link::new(9);
        // the driver ticks
        link.election.apply(Event::BecomeDense);
        let others = [
            spawn(&link, |link| link.send_next(1)),
            spawn(&link, |link| link.send_next(2)),
        ];
        link.tick();
        link.cool_down();
        join(others);
        if link.take_signal() {
            // dense again: the driver ticks as long as messages wait
            link.tick();
            link.tick();
        }
        assert_eq!(link.end(), 3);
    });
}

#[test]
fn a_full_batch_does_not_hide_a_message_behind_it() {
    model(|| {
        let link = Link::new(9);
        link.election.apply(Event::BecomeDense);
        let others = [
            spawn(&link, |link| {
                link.push(1);
                link.election.full_batch();
                link.flush();
            }),
            spawn(&link, |link| link.send_next(2)),
        ];
        link.tick();
        join(others);
        // at most: a full batch was written, the batch becomes due, the driver writes
        for _ in 0..3 {
            link.tick();
        }
        assert_eq!(link.end(), 3);
    });
}

/// Checks that a driver that is the only writer is woken for each message that it misses.
#[test]
fn a_driver_that_alone_writes_misses_nothing() {
    fn send(link: &Link, message: u32) {
        link.push(message);
        link.election.apply(Event::DemandDriver);
        link.wake();
    }
    /// Models `Outbox::drain_owned`.
    fn drain(link: &Link) {
        loop {
            assert_eq!(link.election.apply(Event::Take), Action::Write);
            let batch = std::mem::take(&mut *link.lane.lock().expect("no panic"));
            link.socket.lock().expect("no panic").wire |= batch;
            if link.election.apply(Event::HandBack) == Action::Done {
                return;
            }
        }
    }
    model(|| {
        let link = Link::new(0);
        let others = [
            spawn(&link, |link| send(link, 1)),
            spawn(&link, |link| send(link, 2)),
        ];
        if link.take_signal() {
            drain(&link);
        }
        join(others);
        if link.take_signal() {
            drain(&link);
        }
        assert_eq!(link.end(), 3);
    });
}

/// Checks that a connection that ends while two senders send has no writer, and that no sender is
/// stuck.
#[test]
fn a_connection_that_ends_has_no_writer() {
    model(|| {
        let link = Link::new(9);
        link.socket.lock().expect("no panic").is_over = true;
        let others = [
            spawn(&link, |link| link.send(1)),
            spawn(&link, |link| link.send(2)),
        ];
        join(others);
        assert!(link.election.is_idle() && !link.flush());
        assert_eq!(link.wire(), 0);
    });
}

/// Checks the takeover of a link that is lost while two senders send.
#[test]
fn a_link_that_takes_over_writes_what_the_lost_one_did_not() {
    model(|| {
        let link = Link::new(9);
        link.socket.lock().expect("no panic").is_lost = true;
        let others = [
            spawn(&link, |link| link.send(1)),
            spawn(&link, |link| link.send(2)),
        ];
        // `Outbox::switch`, and the first flush of the other link's driver
        let mut socket = link.socket.lock().expect("no panic");
        socket.is_lost = false;
        link.election.apply(Event::Reset);
        drop(socket);
        link.flush();
        join(others);
        assert_eq!(link.end(), 3);
    });
}
