// SPDX-License-Identifier: MIT OR Apache-2.0
//! The open loop: each message leaves when it is due, whether or not earlier ones have been
//! answered. A late sender sends all due messages at once.

use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use super::recorder::Recorder;
use super::report::Report;
use super::timing::Timing;
use crate::schedule::{Schedule, Timetable, WaitMethod};

/// The maximum number of messages sent between two readings of the clock.
const BURST_MAX: u64 = 64;

/// The number of messages in the warm-up from which a schedule is its own warm-up.
const LEAD_MIN: f64 = 10.0;
/// The time without any answer after which the missing ones are lost.
const PATIENCE: Duration = Duration::from_secs(5);
/// The minimum time that messages may be late before they are not sent any more.
const GRACE: Duration = Duration::from_millis(500);
/// The polling interval of the wait for answers.
const LOOK: Duration = Duration::from_millis(1);

/// A source of time for the loop.
pub trait Clock {
    /// Returns the current time.
    fn now(&self) -> Instant;

    /// Rests by the decision of a schedule.
    fn rest(&self, rest: WaitMethod);
}

/// The real time. The thread that uses it yields the processor when a rest is too short to sleep.
pub struct RealTime(());

impl RealTime {
    /// Makes the sleeps of this thread as exact as the system permits.
    pub fn on_this_thread() -> Self {
        exact_sleeps();
        RealTime(())
    }
}

impl Clock for RealTime {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn rest(&self, rest: WaitMethod) {
        match rest {
            WaitMethod::Go => {}
            WaitMethod::Yield => thread::yield_now(),
            WaitMethod::Sleep(duration) => thread::sleep(duration),
        }
    }
}

/// Sets the timer slack of this thread to 1 ns; by default Linux ends sleeps up to 50 us late.
#[cfg(target_os = "linux")]
fn exact_sleeps() {
    // if the system refuses it, messages leave somewhat later, which their latency includes
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(not(target_os = "linux"))]
fn exact_sleeps() {}

/// Returns the time that a schedule runs before recording begins; zero for a slow one, whose
/// warm-up is back to back.
fn lead(rate: f64, warm_up: Duration) -> Duration {
    match rate * warm_up.as_secs_f64() >= LEAD_MIN {
        true => warm_up,
        false => Duration::ZERO,
    }
}

/// Waits until as many `answers` have arrived as messages were `sent`, or no more arrive.
pub fn settle(sent: u64, answers: impl Fn() -> u64) {
    let mut so_far = 0;
    let mut last = Instant::now();
    while last.elapsed() < PATIENCE {
        let now = answers();
        if now >= sent {
            return;
        }
        if now > so_far {
            (so_far, last) = (now, Instant::now());
        }
        thread::sleep(LOOK);
    }
}

/// The messages of one run.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The due time of each message.
    pub table: Timetable,
    /// The number of messages.
    planned: u64,
    /// The time after which no more messages are sent.
    cutoff: Instant,
    /// The first message that is recorded; earlier ones are the warm-up.
    pub first: u64,
}

impl Run {
    /// Plans the messages of an asking worker that begins now, and the recorder of their answers.
    /// Before that, calls `warm` repeatedly if the schedule is too slow to be its own warm-up.
    pub fn begin<E>(
        timing: &Timing,
        rate: f64,
        mut warm: impl FnMut() -> Result<(), E>,
    ) -> Result<(Run, Recorder), E> {
        let (lead, start) = (lead(rate, timing.warm_up), Instant::now());
        while lead.is_zero() && start.elapsed() < timing.warm_up {
            warm()?;
        }
        let run = Run {
            first: (lead.as_secs_f64() * rate).ceil() as u64,
            ..Run::new(Instant::now(), rate, lead + timing.seconds)
        };
        let mut recorder = Recorder::default();
        recorder.count_from(run.first);
        Ok((run, recorder))
    }

    /// Reports the answers, if the last of `sent` messages left at `end`.
    pub fn report(&self, recorder: &Recorder, sent: u64, end: Instant) -> Report {
        // the wait for lost answers is not part of the run
        let over = recorder.last().map_or(end, |last| last.max(end));
        recorder.report(self.planned, sent, self.length(sent, over))
    }

    /// Plans `rate` messages a second from `start` for `length`, at least one. Late ones may leave
    /// up to half of that time and [`GRACE`] after its end: this includes a stall near the end, and
    /// ends a run on a link that is too slow.
    fn new(start: Instant, rate: f64, length: Duration) -> Self {
        let planned = ((length.as_secs_f64() * rate) as u64).max(1);
        let table = Timetable::new(start, rate);
        Run {
            table,
            planned,
            cutoff: table.due(planned) + length / 2 + GRACE,
            first: 0,
        }
    }

    /// Returns the time from the first recorded message, after `sent` messages whose last answer
    /// arrived at `over`; it extends at least to the end of the last message's interval.
    fn length(&self, sent: u64, over: Instant) -> Duration {
        let end = over.max(self.table.due(sent));
        end.saturating_duration_since(self.table.due(self.first))
    }

    /// Calls `send` repeatedly with the numbers of the due messages; returns the number of messages
    /// sent.
    pub fn send<E>(
        &self,
        clock: &impl Clock,
        mut send: impl FnMut(Range<u64>) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut next = 0;
        while next < self.planned {
            let now = clock.now();
            if now >= self.cutoff {
                break;
            }
            match Schedule::rest(now, self.table.due(next)) {
                WaitMethod::Go => {
                    let due = self.table.due_by(now).max(next + 1);
                    let end = due.min(next + BURST_MAX).min(self.planned);
                    send(next..end)?;
                    next = end;
                }
                rest => clock.rest(rest),
            }
        }
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::sequence_check::stamp;
    use super::*;

    /// A clock that advances only by rests and by explicit calls.
    struct FakeTime(Cell<Instant>);

    impl FakeTime {
        fn pass(&self, time: Duration) {
            self.0.set(self.0.get() + time);
        }
    }

    impl Clock for FakeTime {
        fn now(&self) -> Instant {
            self.0.get()
        }
        fn rest(&self, rest: WaitMethod) {
            self.pass(match rest {
                WaitMethod::Sleep(duration) => duration,
                _ => Duration::from_nanos(500),
            });
        }
    }

    const MILLI: Duration = Duration::from_millis(1);

    /// Runs a second of 1000 messages a second with answers after 10 us; one message stalls for
    /// `stall`.
    fn with_stall(stall: Duration) -> (Recorder, u64) {
        let time = FakeTime(Cell::new(Instant::now()));
        let run = Run::new(time.now(), 1000.0, MILLI * 1000);
        let mut recorder = Recorder::default();
        recorder.count_from(0);
        let sent = run.send(&time, |numbers| {
            for number in numbers {
                if number == 300 {
                    time.pass(stall);
                }
                let now = time.now() + Duration::from_micros(10);
                recorder.answered(&stamp(0, number), run.table.due(number), now);
            }
            Ok::<(), ()>(())
        });
        (recorder, sent.expect("it cannot fail"))
    }

    #[test]
    fn without_a_stall_all_is_on_time() {
        let (recorder, sent) = with_stall(Duration::ZERO);
        let report = recorder.report(sent, sent, Duration::from_secs(1));
        let longest = report.nanos_times.last().expect("a thousand").0;
        assert!((10_000..12_000).contains(&longest), "{longest}");
        assert_eq!((sent, report.lost), (1000, 0));
    }

    #[test]
    fn a_stall_shows_at_its_true_height_in_every_message_that_it_held_up() {
        let (recorder, sent) = with_stall(MILLI * 50);
        let report = recorder.report(sent, sent, Duration::from_secs(1));
        assert_eq!((sent, report.lost, report.reordered), (1000, 0, 0));
        let above = |nanos| -> u64 {
            let all = report.nanos_times.iter();
            all.filter(|(n, _)| *n > nanos)
                .map(|(_, times)| times)
                .sum()
        };
        let longest = report.nanos_times.last().expect("a thousand").0;
        assert!((50_000_000..50_200_000).contains(&longest), "{longest}");
        // a message became due in each millisecond of the stall, and waited for its end
        assert_eq!((above(1_000_000), above(25_500_000)), (50, 25));
    }

    #[test]
    fn what_cannot_leave_in_time_is_not_sent_and_shows() {
        let time = FakeTime(Cell::new(Instant::now()));
        let run = Run::new(time.now(), 1e6, MILLI * 1000);
        let sent = run.send(&time, |numbers| {
            // each message takes ten times as long as the schedule allows
            time.pass(Duration::from_micros(10) * (numbers.end - numbers.start) as u32);
            Ok::<(), ()>(())
        });
        let sent = sent.expect("it cannot fail");
        assert_eq!(run.planned, 1_000_000);
        // half of the time more, and half a second of grace
        assert!((200_000..201_000).contains(&sent), "{sent}");
    }

    #[test]
    fn the_last_interval_belongs_to_the_run() {
        let start = Instant::now();
        let mut run = Run::new(start, 10.0, MILLI * 1000);
        assert_eq!(run.length(10, start + MILLI * 1500), MILLI * 1500);
        // with messages that could not be sent, the run ends with the last one sent
        assert_eq!(run.length(5, start + MILLI * 300), MILLI * 500);
        run.first = 2;
        assert_eq!(run.length(10, start + MILLI * 905), MILLI * 800);
    }

    #[test]
    fn a_slow_rate_has_one_message_at_least() {
        let time = FakeTime(Cell::new(Instant::now()));
        let run = Run::new(time.now(), 1.0, MILLI);
        assert_eq!(run.send(&time, |_| Ok::<(), ()>(())), Ok(1));
    }
}
