// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wait mode: a message with a counter is sent, the same counter comes back, then the next message
//! is sent.

use std::future::Future;
use std::io;
use std::mem::take;
use std::time::{Duration, Instant};

use zonda_program::Failure;

use super::native::{Native, Receiver, Sender, Watch};
use super::pacing::Pacer;
use super::plan::Ping;
use super::samples::Recording;
use crate::scenario::raw::Pacing;

/// The size of the counter at the beginning of each message, least significant byte first.
pub const COUNTER: usize = size_of::<u64>();
/// Round trips per second for which memory is reserved when back to back.
const FAST: f64 = 100_000.0;

/// Returns the counter of a message; `None` if the message is too short for one.
pub fn counter(message: &[u8]) -> Option<u64> {
    let bytes = message.first_chunk::<COUNTER>()?;
    Some(u64::from_le_bytes(*bytes))
}

/// Writes the counter into a message of at least [`COUNTER`] bytes.
pub fn set_counter(message: &mut [u8], sequence: u64) {
    message[..COUNTER].copy_from_slice(&sequence.to_le_bytes());
}

/// Estimates the number of samples of a run.
pub fn expected(ping: &Ping) -> f64 {
    let interval = ping.interval.as_secs_f64().max(1.0 / FAST);
    ping.duration.as_secs_f64() / interval
}

/// Sends and records until the time is over or the user ends the run.
pub async fn wait<N: Native>(
    sender: impl Sender,
    receiver: impl Receiver,
    ping: Ping,
) -> Result<Recording, Failure> {
    let mut pacer = Pacer::<N>::new(ping.pacing, ping.interval)
        .map_err(|e| Failure::doing("cannot make a timer", e))?;
    let mut line = Line {
        sender,
        receiver,
        watch: Watch::new(N::tick),
        message: vec![0; ping.size],
        answer: vec![0; ping.size],
        sequence: 0,
        late: 0,
    };
    // the warm-up is back to back, because at a slow rate a short one would be a single message
    let mut hurried = Pacer::<N>::new(Pacing::Exact, Duration::ZERO)
        .map_err(|e| Failure::doing("cannot make a timer", e))?;
    record(&mut line, &mut hurried, &ping, ping.warm_up).await?;
    record(&mut line, &mut pacer, &ping, ping.duration).await
}

async fn record<N, S, R, F, M>(
    line: &mut Line<S, R, F, M>,
    pacer: &mut Pacer<N>,
    ping: &Ping,
    duration: Duration,
) -> Result<Recording, Failure>
where
    N: Native,
    S: Sender,
    R: Receiver,
    F: Future<Output = ()>,
    M: Fn() -> F,
{
    let mut recording = Recording::start(expected(ping));
    pacer.restart();
    line.late = 0;
    let end = Instant::now() + duration;
    while !ping.interrupt.happened() {
        pacer.before().await;
        set_counter(&mut line.message, line.sequence);
        let sent = Instant::now();
        if sent >= end {
            break;
        }
        match line.round_trip(sent, ping).await? {
            Some(took) => recording.add(line.sequence, took),
            // the interrupt came before the timeout
            None if ping.interrupt.happened() => break,
            None => {
                is_lost(ping)?;
                recording.lost += 1;
            }
        }
        recording.sent += 1;
        line.sequence += 1;
        pacer.after().await;
    }
    recording.late = line.late;
    recording.finish(Instant::now());
    Ok(recording)
}

/// The connection to the other side, with the current message.
struct Line<S, R, F, M> {
    sender: S,
    receiver: R,
    watch: Watch<F, M>,
    message: Vec<u8>,
    answer: Vec<u8>,
    sequence: u64,
    late: u64,
}

impl<S: Sender, R: Receiver, F: Future<Output = ()>, M: Fn() -> F> Line<S, R, F, M> {
    /// Sends the message at `sent`, and returns the time until its answer, or `None` after the
    /// timeout. Answers to earlier messages count as late and are skipped.
    async fn round_trip(
        &mut self,
        sent: Instant,
        ping: &Ping,
    ) -> Result<Option<Duration>, Failure> {
        // send, then wait for the answer with the same counter
        let result;
        (result, self.message) = self.sender.send(take(&mut self.message)).await;
        is_sent(result, ping)?;
        loop {
            let give_up = || sent.elapsed() >= ping.timeout || ping.interrupt.happened();
            let answer = take(&mut self.answer);
            let received = self.watch.receive(&mut self.receiver, answer, give_up);
            let Some((result, answer)) = received.await else {
                self.answer = vec![0; ping.size];
                return Ok(None);
            };
            let took = sent.elapsed();
            self.answer = answer;
            let length = result.map_err(|e| gone(&e))?;
            match self.answer.get(..length).and_then(counter) {
                Some(of) if of == self.sequence => return Ok(Some(took)),
                _ => self.late += 1,
            }
        }
    }
}

/// Ignores the refusal of a datagram by the system: that message is lost like any other.
pub fn is_sent(result: io::Result<()>, ping: &Ping) -> Result<(), Failure> {
    match result {
        Err(e) if !(ping.may_lose && e.kind() == io::ErrorKind::ConnectionRefused) => Err(gone(&e)),
        _ => Ok(()),
    }
}

/// Returns an error if a message must not be lost.
pub fn is_lost(ping: &Ping) -> Result<(), Failure> {
    match ping.may_lose {
        true => Ok(()),
        false => Err(Failure::Run(format!(
            "no answer within {:?}: does the other side run --mode pong? (--timeout waits longer)",
            ping.timeout
        ))),
    }
}

/// Returns the error of a closed or failed connection.
pub fn gone(error: &io::Error) -> Failure {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    match error.kind() {
        BrokenPipe | ConnectionReset | UnexpectedEof => {
            Failure::Run("the other side closed the connection; start --mode pong again".into())
        }
        _ => Failure::doing("the connection failed", error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_little_endian() {
        let mut message = vec![0xff; 10];
        set_counter(&mut message, 0x0102);
        assert_eq!(message, [2, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
        assert_eq!(counter(&message), Some(0x0102));
        assert_eq!(counter(&message[..7]), None);
    }
}
