// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pipelined mode: messages leave on their schedule independently of earlier answers, and a
//! separate reader finds the time of each message in the map.

use std::sync::Arc;
use std::time::Instant;

use zonda_program::Failure;

use super::flight::Flight;
use super::native::{Native, Receiver, Sender, Watch};
use super::pacing::Pacer;
use super::ping::{counter, expected, gone, is_lost, is_sent, set_counter};
use super::plan::Ping;
use super::samples::Recording;

/// Sends until the time is over, and closes the flight in any case. The sender outlives the call,
/// because dropping half a stream may end the other half.
pub async fn write<N: Native>(
    sender: &mut impl Sender,
    flight: Arc<Flight>,
    ping: Ping,
) -> Result<(), Failure> {
    let result = write_open::<N>(sender, &flight, &ping).await;
    flight.close();
    result
}

async fn write_open<N: Native>(
    sender: &mut impl Sender,
    flight: &Flight,
    ping: &Ping,
) -> Result<(), Failure> {
    let mut pacer = Pacer::<N>::new(ping.pacing, ping.interval)
        .map_err(|e| Failure::doing("cannot make a timer", e))?;
    let mut message = vec![0; ping.size];
    let end = Instant::now() + ping.warm_up + ping.duration;
    let mut sequence = 0;
    // each message is entered in the map before it leaves
    while !ping.interrupt.happened() {
        pacer.before().await;
        if Instant::now() >= end {
            break;
        }
        if !ping.may_lose {
            make_room::<N>(flight, sequence, ping).await?;
        }
        set_counter(&mut message, sequence);
        flight.leave(sequence);
        let result;
        (result, message) = sender.send(message).await;
        is_sent(result, ping)?;
        sequence += 1;
        pacer.after().await;
    }
    Ok(())
}

/// Waits for the oldest message when the map is full, because a stream loses no message.
async fn make_room<N: Native>(flight: &Flight, sequence: u64, ping: &Ping) -> Result<(), Failure> {
    let since = Instant::now();
    while !flight.has_room(sequence) {
        if since.elapsed() > ping.timeout {
            return is_lost(ping);
        }
        if ping.interrupt.happened() {
            return Ok(());
        }
        N::yield_now().await;
    }
    Ok(())
}

/// Receives the answers until none is missing, or the missing ones have timed out.
pub async fn read<N: Native>(
    mut receiver: impl Receiver,
    flight: Arc<Flight>,
    ping: Ping,
) -> Result<Recording, Failure> {
    let mut watch = Watch::new(N::tick);
    let mut answer = vec![0; ping.size];
    let mut recording = Recording::start(expected(&ping));
    let warm = Instant::now() + ping.warm_up;
    let mut is_warm = ping.warm_up.is_zero();
    let mut closed = None;
    let mut last = Instant::now();
    while !flight.is_over() {
        // give up after the timeout that follows the last message
        let give_up = || {
            let closed = closed.get_or_insert_with(Instant::now);
            if !flight.is_closed() {
                *closed = Instant::now();
            }
            flight.is_over() || closed.elapsed() >= ping.timeout || ping.interrupt.happened()
        };
        let received = watch.receive(&mut receiver, answer, give_up).await;
        let Some((result, buffer)) = received else {
            break;
        };
        answer = buffer;
        // match the answer with its message
        let length = result.map_err(|e| gone(&e))?;
        let sequence = answer.get(..length).and_then(counter);
        match sequence.and_then(|s| Some((s, flight.land(s)?))) {
            Some((sequence, took)) => {
                recording.add(sequence, took);
                last = Instant::now();
            }
            None => recording.late += 1,
        }
        // restart the recording after the warm-up
        if !is_warm && Instant::now() >= warm {
            is_warm = true;
            recording = Recording::start(expected(&ping));
            recording.first = sequence.map_or(0, |s| s + 1);
        }
    }
    // the wait for lost messages is not part of the run
    recording.finish(last);
    Ok(recording)
}

/// Combines the results of the two halves: a message that was sent and did not come back is lost.
pub fn join(
    written: Result<(), Failure>,
    read: Result<Recording, Failure>,
    flight: &Flight,
    ping: &Ping,
) -> Result<Recording, Failure> {
    let mut recording = read?;
    written?;
    recording.sent = flight.sent().saturating_sub(recording.first);
    recording.lost = recording.sent.saturating_sub(recording.answered());
    if recording.lost > 0 && !ping.interrupt.happened() {
        is_lost(ping)?;
    }
    Ok(recording)
}
