// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick: the asking worker of bare blocking sockets. On the wire a message is its payload, whose size both sides
//! know. Back to back it writes and reads in turns; on a schedule a second thread reads. A late writer sends what has
//! become due in one go, as any sender would.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use zonda_program::{Failure, pattern};

use super::book::{Answer, Book, COUNTED, WARM};
use super::drive::{RealTime, Run, lead, settle};
use super::told::Told;
use super::worker::{BareAsking, Pace};
use crate::event::Event;
use crate::schedule::Timetable;
use crate::thr::tally::stamp;

/// Bytes that the reading thread takes at a time, and one message at least.
const BLOCK: usize = 64 * 1024;

/// Measures as the flags say, and hands the result over.
pub fn ask(asking: &BareAsking) -> Result<(), Failure> {
    let stream = asking.side.open()?;
    let mut sides = Sides {
        stream,
        message: pattern(asking.size),
        answer: vec![0; asking.size],
    };
    let told = match asking.pace.rate {
        None => sides.back_to_back(&asking.pace),
        Some(rate) => sides.on_schedule(&asking.pace, rate),
    }?;
    told.hand_over();
    Ok(())
}

struct Sides {
    stream: TcpStream,
    message: Vec<u8>,
    answer: Vec<u8>,
}

impl Sides {
    /// There and back, once; gives the time at which the message left.
    fn round_trip(&mut self, publisher: u16, number: u64) -> io::Result<Instant> {
        set_stamp(&mut self.message, publisher, number);
        let sent = Instant::now();
        self.stream.write_all(&self.message)?;
        self.stream.read_exact(&mut self.answer)?;
        Ok(sent)
    }

    fn back_to_back(&mut self, pace: &Pace) -> io::Result<Told> {
        let mut book = Book::default();
        let mut begun = Instant::now();
        let mut number = 0;
        loop {
            let sent = self.round_trip(COUNTED, number)?;
            let now = Instant::now();
            book.answered(&self.answer, sent, now);
            number += 1;
            let elapsed = now - begun;
            if !book.counts() && elapsed >= pace.warm_up {
                Event::Measuring.say();
                book.count_from(number);
                begun = Instant::now();
            } else if book.counts() && elapsed >= pace.seconds {
                return Ok(book.tell(number, number, elapsed));
            }
        }
    }

    fn on_schedule(&mut self, pace: &Pace, rate: f64) -> io::Result<Told> {
        let lead = lead(rate, pace.warm_up);
        let warm = Instant::now();
        while lead.is_zero() && warm.elapsed() < pace.warm_up {
            self.round_trip(WARM, 0)?;
        }
        let clock = RealTime::on_this_thread();
        let first = (lead.as_secs_f64() * rate).ceil() as u64;
        let run = Run::new(Instant::now(), rate, lead + pace.seconds);
        let mut book = Book::default();
        book.count_from(first);
        let book = Arc::new(Mutex::new(book));
        let reader = Reader {
            stream: self.stream.try_clone()?,
            size: self.message.len(),
            table: run.table,
            book: Arc::clone(&book),
        };
        thread::Builder::new()
            .name("answers".into())
            .spawn(move || reader.read())?;
        let mut batch = Vec::new();
        let sent = run.send(&clock, |numbers| {
            if numbers.contains(&first) {
                Event::Measuring.say();
            }
            self.write(numbers, &mut batch)
        })?;
        let end = Instant::now();
        settle(sent, || lock(&book).answers());
        // the connection stays, and with it the reader: what the other programs have used is still to be looked at
        let book = lock(&book);
        let over = book.last().map_or(end, |last| last.max(end));
        Ok(book.tell(run.planned, sent, run.length(first, sent, over)))
    }

    /// Writes what is due: a large message from where it lies, small ones together.
    fn write(&mut self, numbers: Range<u64>, batch: &mut Vec<u8>) -> io::Result<()> {
        batch.clear();
        for number in numbers {
            set_stamp(&mut self.message, COUNTED, number);
            if self.message.len() >= BLOCK {
                self.stream.write_all(&self.message)?;
                continue;
            }
            batch.extend_from_slice(&self.message);
            if batch.len() >= BLOCK {
                self.stream.write_all(batch)?;
                batch.clear();
            }
        }
        self.stream.write_all(batch)
    }
}

fn set_stamp(message: &mut [u8], publisher: u16, number: u64) {
    if let Some(head) = message.first_chunk_mut() {
        *head = stamp(publisher, number);
    }
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that takes the answers.
struct Reader {
    stream: TcpStream,
    size: usize,
    table: Timetable,
    book: Arc<Mutex<Book>>,
}

impl Reader {
    /// Until the connection ends.
    fn read(mut self) {
        let mut block = vec![0; BLOCK.max(self.size)];
        let mut filled = 0;
        while let Some(room) = block.get_mut(filled..)
            && let Ok(n @ 1..) = self.stream.read(room)
        {
            let now = Instant::now();
            filled += n;
            let whole = filled - filled % self.size;
            let mut book = lock(&self.book);
            for answer in block
                .get(..whole)
                .unwrap_or_default()
                .chunks_exact(self.size)
            {
                let since = match Answer::read(answer) {
                    Answer::To(number) => self.table.due(number),
                    Answer::Warm | Answer::Strange => now,
                };
                book.answered(answer, since, now);
            }
            drop(book);
            block.copy_within(whole..filled, 0);
            filled -= whole;
        }
    }
}
