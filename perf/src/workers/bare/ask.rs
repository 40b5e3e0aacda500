// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick: the asking worker of bare blocking sockets. A message on the wire is its payload,
//! whose size both sides know. Back to back the worker writes and reads in turns; on a schedule a
//! second thread reads. A late writer sends all due messages at once, as any sender would.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use clap::Args;
use zonda_program::pattern;

use super::Side;
use super::wire::Wire;
use crate::event::Event;
use crate::schedule::Timetable;
use crate::workers::ask::stamped_size;
use crate::workers::closed_loop::{Trip, go_round};
use crate::workers::open_loop::{RealTime, Run, settle};
use crate::workers::recorder::{Answer, COUNTED, Recorder, WARM};
use crate::workers::report::Report;
use crate::workers::sequence_check::stamp;
use crate::workers::timing::Timing;

/// Bytes that the reading thread reads at a time; at least one message.
const BLOCK: usize = 64 * 1024;

/// Flags of the asking worker of bare sockets.
#[derive(Args, Clone, Debug)]
pub struct Asking {
    /// Payload of a message in bytes, 8 at least
    #[arg(value_parser = stamped_size)]
    size: usize,
    #[command(flatten)]
    side: Side,
    #[command(flatten)]
    timing: Timing,
}

/// Measures as the flags request, and prints the result.
pub fn ask(asking: &Asking) -> io::Result<()> {
    let mut sides = Sides {
        stream: asking.side.open_one()?,
        batch: asking.side.batch().unwrap_or(BLOCK).min(BLOCK),
        message: pattern(asking.size),
        answer: vec![0; asking.size],
    };
    let report = match asking.timing.rate {
        None => go_round(&asking.timing, |number| {
            let sent = sides.round_trip(COUNTED, number)?;
            let (came, stamp) = (Instant::now(), sides.answer.first_chunk());
            let stamp = stamp.copied().unwrap_or_default();
            Ok::<Trip, io::Error>(Trip { sent, came, stamp })
        }),
        Some(rate) => sides.on_schedule(&asking.timing, rate),
    }?;
    report.hand_over();
    Ok(())
}

struct Sides {
    stream: Wire,
    /// Maximum number of bytes per write, unless a single message is larger.
    batch: usize,
    message: Vec<u8>,
    answer: Vec<u8>,
}

impl Sides {
    /// Makes one round trip; returns the time at which the message left.
    fn round_trip(&mut self, publisher: u16, number: u64) -> io::Result<Instant> {
        set_stamp(&mut self.message, publisher, number);
        let sent = Instant::now();
        self.stream.write_all(&self.message)?;
        self.stream.read_exact(&mut self.answer)?;
        Ok(sent)
    }

    fn on_schedule(&mut self, timing: &Timing, rate: f64) -> io::Result<Report> {
        // warm up, then a second thread records the answers
        let (run, recorder) = Run::begin(timing, rate, || self.round_trip(WARM, 0).map(drop))?;
        let clock = RealTime::on_this_thread();
        let recorder = Arc::new(Mutex::new(recorder));
        let writer = self.stream.writer()?;
        let reader = Reader {
            stream: std::mem::replace(&mut self.stream, writer),
            size: self.message.len(),
            table: run.table,
            recorder: Arc::clone(&recorder),
        };
        thread::Builder::new()
            .name("answers".into())
            .spawn(move || reader.read())?;
        let mut batch = Vec::new();
        // send each message when it is due
        let sent = run.send(&clock, |numbers| {
            if numbers.contains(&run.first) {
                Event::Measuring.say();
            }
            self.write(numbers, &mut batch)
        })?;
        let end = Instant::now();
        settle(sent, || lock(&recorder).answers());
        // the connection is kept, and with it the reader: the starting process has yet to read the
        // usage of all programs
        let recorder = lock(&recorder);
        Ok(run.report(&recorder, sent, end))
    }

    /// Writes the due messages: a large one without a copy, small ones together.
    fn write(&mut self, numbers: Range<u64>, batch: &mut Vec<u8>) -> io::Result<()> {
        batch.clear();
        for number in numbers {
            set_stamp(&mut self.message, COUNTED, number);
            if self.message.len() >= self.batch {
                self.stream.write_all(&self.message)?;
                continue;
            }
            if batch.len() + self.message.len() > self.batch {
                self.stream.write_all(batch)?;
                batch.clear();
            }
            batch.extend_from_slice(&self.message);
        }
        match batch.is_empty() {
            true => Ok(()),
            false => self.stream.write_all(batch),
        }
    }
}

fn set_stamp(message: &mut [u8], publisher: u16, number: u64) {
    if let Some(head) = message.first_chunk_mut() {
        *head = stamp(publisher, number);
    }
}

fn lock(recorder: &Mutex<Recorder>) -> MutexGuard<'_, Recorder> {
    recorder.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that reads the answers.
struct Reader {
    stream: Wire,
    size: usize,
    table: Timetable,
    recorder: Arc<Mutex<Recorder>>,
}

impl Reader {
    /// Reads until the connection ends.
    fn read(mut self) {
        let mut block = vec![0; BLOCK.max(self.size)];
        let mut filled = 0;
        while let Some(room) = block.get_mut(filled..)
            && let Ok(n @ 1..) = self.stream.read(room)
        {
            // record each whole answer
            let now = Instant::now();
            filled += n;
            let whole = filled - filled % self.size;
            let mut recorder = lock(&self.recorder);
            for answer in block
                .get(..whole)
                .unwrap_or_default()
                .chunks_exact(self.size)
            {
                let since = match Answer::read(answer) {
                    Answer::To(number) => self.table.due(number),
                    Answer::Warm | Answer::Strange => now,
                };
                recorder.answered(answer, since, now);
            }
            drop(recorder);
            // keep the rest
            block.copy_within(whole..filled, 0);
            filled -= whole;
        }
    }
}
