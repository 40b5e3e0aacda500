// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pipelined mode: messages leave on their schedule whether or not the earlier ones are back, and a
//! reader of its own finds in the map when each was sent.

use std::sync::Arc;
use std::time::Instant;

use zonda_program::Failure;

use super::flight::Flight;
use super::native::{Native, Receiver, Sender, Watch};
use super::pacing::Pacer;
use super::ping::{counter, expected, gone, is_lost, is_sent, set_counter};
use super::plan::Ping;
use super::samples::Recording;

/// Sends until the time is over, and closes the flight however it ends. The sender outlives it, because
/// to drop half a stream may end the other half.
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

/// A stream loses nothing: when the map is full, its oldest message is waited for.
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

/// Takes the answers until all are there, or those that are missing have had their time.
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
        let length = result.map_err(|e| gone(&e))?;
        let sequence = answer.get(..length).and_then(counter);
        match sequence.and_then(|s| Some((s, flight.land(s)?))) {
            Some((sequence, took)) => {
                recording.add(sequence, took);
                last = Instant::now();
            }
            None => recording.late += 1,
        }
        if !is_warm && Instant::now() >= warm {
            is_warm = true;
            recording = Recording::start(expected(&ping));
            recording.first = sequence.map_or(0, |s| s + 1);
        }
    }
    // the wait for what is lost is no part of the run
    recording.finish(last);
    Ok(recording)
}

/// What the two halves know together: what was sent and did not come back is lost.
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
