// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end that measures: round trips one after the other, and flows at full speed.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zonda::qos::CongestionControl;
use zonda::{Session, Wait};
use zonda_perf::tools::thousands;
use zonda_program::{Failure, Interrupt, pattern};

use super::super::audience;
use super::{Count, told};

/// Payload of a round trip in bytes, as in the studies.
const TRIP: usize = 64;
/// Time limit of an answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Attempts at the first round trip: the routes may still be under way.
const TRIES: u32 = 5;
/// Silence of a flow after which the rest counts as lost.
const SILENCE: Duration = Duration::from_secs(3);
/// Time between two queries during the measurement.
const PAUSE: Duration = Duration::from_millis(50);

/// Round trips, in nanoseconds, ascending.
pub struct Trips(Vec<u64>);

/// Measures round trips for a time.
pub fn trips(
    session: &Session,
    ping: &str,
    span: Duration,
    interrupt: &Interrupt,
) -> Result<Trips, Failure> {
    // Both directions have to be matched first.
    let answers = session
        .declare_subscriber(ping.replacen("/ping/", "/pong/", 1))
        .wait()?;
    let publisher = session
        .declare_publisher(ping.to_owned())
        .congestion_control(CongestionControl::Block)
        .express(true)
        .wait()?;
    audience::settle(&publisher);
    // One round trip; late answers of earlier ones are skipped.
    let mut payload = pattern(TRIP);
    let mut ask = |number: u64| -> Result<Option<u64>, Failure> {
        payload[..8].copy_from_slice(&number.to_le_bytes());
        let begin = Instant::now();
        publisher.put(payload.clone()).wait()?;
        while let Some(left) = PATIENCE.checked_sub(begin.elapsed()) {
            let Some(answer) = answers.recv_timeout(left)? else {
                break;
            };
            if answer
                .payload()
                .to_bytes()
                .starts_with(&number.to_le_bytes())
            {
                return Ok(Some(
                    u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX),
                ));
            }
        }
        Ok(None)
    };
    // The first answer may take several attempts.
    let mut numbers = 0..;
    let mut next = || numbers.next().unwrap_or_default();
    let mut is_there = false;
    for _ in 0..TRIES {
        is_there = is_there || ask(next())?.is_some();
    }
    if !is_there {
        return Err(Failure::Run("no round trip is answered".to_owned()));
    }
    // Measure until the time is over.
    let (end, mut nanos) = (Instant::now() + span, Vec::new());
    while Instant::now() < end && !interrupt.happened() {
        match ask(next())? {
            Some(time) => nanos.push(time),
            None => return Err(Failure::Run(format!("no answer within {PATIENCE:?}"))),
        }
    }
    nanos.sort_unstable();
    Ok(Trips(nanos))
}

impl Trips {
    /// Returns the time at a percentile, in microseconds.
    fn micros(&self, percentile: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let at = (percentile / 100.0 * last as f64).round() as usize;
        self.0.get(at).map_or(0.0, |nanos| *nanos as f64 / 1e3)
    }

    /// Formats in a line.
    pub fn line(&self) -> String {
        let [median, p90, p99, max] = [50.0, 90.0, 99.0, 100.0].map(|p| self.micros(p));
        let count = self.0.len();
        format!(
            "round trip of {TRIP} B: p50 {median:.1} µs, p90 {p90:.1}, p99 {p99:.1}, max {max:.1}, of {count}"
        )
    }

    /// Formats as JSON, in microseconds.
    pub fn to_json(&self) -> Value {
        json!({
            "payload": TRIP,
            "round_trips": self.0.len(),
            "p50_us": self.micros(50.0),
            "p90_us": self.micros(90.0),
            "p99_us": self.micros(99.0),
            "max_us": self.micros(100.0),
        })
    }
}

/// Destination and size of a flow.
pub struct Way<'p> {
    /// The place of the node that counts.
    pub place: &'p str,
    /// The name of the flow.
    pub run: String,
    /// Bytes of a message.
    pub size: usize,
}

/// Result of a flow.
pub struct Flow {
    size: usize,
    sent: u64,
    count: Count,
}

/// Publishes at full speed for a time, and waits until all has arrived.
pub fn flow(
    session: &Session,
    way: &Way<'_>,
    span: Duration,
    interrupt: &Interrupt,
) -> Result<Flow, Failure> {
    let publisher = session
        .declare_publisher(format!("{}/flow/{}", way.place, way.run))
        .congestion_control(CongestionControl::Block)
        .wait()?;
    audience::settle(&publisher);
    let payload = zonda::bytes::ZBytes::from(pattern(way.size));
    let (end, mut sent) = (Instant::now() + span, 0);
    while !interrupt.happened() && Instant::now() < end {
        // the clock costs more than a small message
        for _ in 0..16 {
            publisher.put(payload.clone()).wait()?;
        }
        sent += 16;
    }
    let mut flow = Flow {
        size: way.size,
        sent,
        count: Count::default(),
    };
    let mut last = Instant::now();
    while flow.lost() > 0 && last.elapsed() < SILENCE {
        let count = told(session, way.place, &way.run)?.count;
        if count.messages > flow.count.messages {
            last = Instant::now();
        }
        flow.count = count;
        if flow.lost() > 0 {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(flow)
}

impl Flow {
    /// Messages that did not arrive.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.count.messages)
    }

    /// Messages per second as they arrived.
    fn rate(&self) -> f64 {
        match self.count.nanos {
            0 => 0.0,
            nanos => self.count.messages as f64 * 1e9 / nanos as f64,
        }
    }

    fn megabits(&self) -> f64 {
        self.rate() * self.size as f64 * 8.0 / 1e6
    }

    /// Formats in a line.
    pub fn line(&self) -> String {
        let (size, rate, bits) = (self.size, self.rate(), self.megabits());
        let rate = thousands(rate.round() as u64);
        format!("{size} B: {rate} messages a second, {bits:.1} Mbit/s")
    }

    /// Returns a row of the table.
    pub fn row(&self) -> [String; 5] {
        [
            self.size.to_string(),
            thousands(self.rate().round() as u64),
            format!("{:.1}", self.megabits()),
            thousands(self.sent),
            thousands(self.lost()),
        ]
    }

    /// Formats as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "payload": self.size,
            "messages_per_second": self.rate(),
            "megabits_per_second": self.megabits(),
            "sent": self.sent,
            "arrived": self.count.messages,
            "lost": self.lost(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_what_was_measured() {
        let trips = Trips((1..=101).map(|n| n * 1000).collect());
        assert_eq!(trips.micros(50.0), 51.0);
        assert_eq!(trips.micros(100.0), 101.0);
        assert_eq!(Trips(Vec::new()).micros(99.0), 0.0);
    }

    #[test]
    fn a_rate_is_of_what_arrived() {
        let count = Count {
            messages: 1000,
            bytes: 8000,
            nanos: 1_000_000,
        };
        let flow = Flow {
            size: 8,
            sent: 1004,
            count,
        };
        assert_eq!((flow.lost(), flow.rate()), (4, 1e6));
        assert_eq!(flow.row()[2], "64.0");
    }
}
