// SPDX-License-Identifier: MIT OR Apache-2.0

//! Time-stamp stacks: the times at which a message passes the nodes on its way.
//!
//! A put, a delete or a get with [`timestamp_instrumentation`] asks for them. Each node on the way
//! then appends a record to the stack of the message, at the points that were chosen:
//!
//! | [`InterceptionPoint`] | node | time |
//! |---|---|---|
//! | `Send` | that of the publisher, or of the get | before the message leaves the application |
//! | `Route` | each node, the first and the last too | when it forwards the message to neighbours, or takes one from a neighbour |
//! | `Receive` | that of the subscriber or queryable | before the handler is called |
//!
//! From a client through a router to a client that is `Send`, `Route`, `Route`, `Route`, `Receive`.
//! A message that stays in its session has no `Route`. A reply has the stack of its query, which
//! continues with the records of the way back. A message for several destinations has one record of
//! `Route` at a node, which they share.
//!
//! A record is a timestamp of the node's clock, or what the function of
//! [`with_timestamp_callback`] returns. A stack has at most 255 records, and a node appends none
//! that makes it longer than 64 KiB; the counter `zonda_timestamps_not_recorded` counts those
//! records. Messages without a stack cost nothing more.
//!
//! ```
//! use zonda::timestamp_stack::{InterceptionPoint, TimestampInstrumentationBuilder};
//! use zonda::{Config, Wait};
//!
//! let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
//! let subscriber = session.declare_subscriber("demo/**").wait()?;
//! let points = TimestampInstrumentationBuilder::new().set_send(true).set_receive(true).build()?;
//! session.put("demo/key", "value").timestamp_instrumentation(points).wait()?;
//!
//! let sample = subscriber.recv()?;
//! let stack = sample.timestamp_stack().expect("the publisher has asked for it");
//! let points: Vec<_> = stack.records().iter().map(|record| record.point()).collect();
//! assert_eq!(points, [InterceptionPoint::Send, InterceptionPoint::Receive]);
//! # Ok::<(), zonda::Error>(())
//! ```
//!
//! [`timestamp_instrumentation`]: crate::pubsub::PublisherPutBuilder::timestamp_instrumentation
//! [`with_timestamp_callback`]: crate::session::OpenBuilder::with_timestamp_callback

use zonda_codec::{Reader, Timestamp, TsStack};

pub use zonda_router::node::TimestampContext;

/// Any error, as `zonda::Error`, whose file imports those of the operations.
type Error = Box<dyn std::error::Error + Send + Sync + 'static>;

/// The place on a message's way at which a time was recorded.
///
/// ```
/// use zonda::timestamp_stack::InterceptionPoint;
///
/// assert_eq!(InterceptionPoint::try_from(2)?, InterceptionPoint::Route);
/// assert!(InterceptionPoint::try_from(3).is_err());
/// # Ok::<(), zonda::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterceptionPoint {
    /// The message leaves the application that publishes, asks or replies.
    Send,
    /// The message passes the routing of a node.
    Route,
    /// The message reaches the application that subscribes, answers or asked.
    Receive,
}

impl From<InterceptionPoint> for u8 {
    fn from(point: InterceptionPoint) -> u8 {
        match point {
            InterceptionPoint::Send => TsStack::SEND,
            InterceptionPoint::Route => TsStack::ROUTE,
            InterceptionPoint::Receive => TsStack::RECEIVE,
        }
    }
}

impl TryFrom<u8> for InterceptionPoint {
    type Error = Error;

    fn try_from(flags: u8) -> Result<Self, Error> {
        match flags & !TsStack::CUSTOM {
            TsStack::SEND => Ok(InterceptionPoint::Send),
            TsStack::ROUTE => Ok(InterceptionPoint::Route),
            TsStack::RECEIVE => Ok(InterceptionPoint::Receive),
            _ => Err(format!("{flags:#04x} is no interception point: use 1, 2 or 4").into()),
        }
    }
}

/// Choice of points at which times are recorded, under construction.
#[derive(Debug, Default, Clone, Copy)]
pub struct TimestampInstrumentationBuilder {
    points: u8,
}

impl TimestampInstrumentationBuilder {
    /// Creates a choice of no point.
    pub fn new() -> Self {
        Self::default()
    }

    /// Chooses whether a time is recorded where the message leaves its application. Default: no.
    pub fn set_send(self, enabled: bool) -> Self {
        self.set(InterceptionPoint::Send, enabled)
    }

    /// Chooses whether each node on the way records a time. Default: no.
    pub fn set_route(self, enabled: bool) -> Self {
        self.set(InterceptionPoint::Route, enabled)
    }

    /// Chooses whether a time is recorded where the message reaches an application. Default: no.
    pub fn set_receive(self, enabled: bool) -> Self {
        self.set(InterceptionPoint::Receive, enabled)
    }

    /// Returns the choice.
    ///
    /// # Errors
    /// No point is chosen.
    pub fn build(self) -> Result<TimestampInstrumentation, Error> {
        match self.points {
            0 => {
                Err("no point is chosen: call set_send, set_route or set_receive with true".into())
            }
            points => Ok(TimestampInstrumentation { points }),
        }
    }

    fn set(self, point: InterceptionPoint, enabled: bool) -> Self {
        let points = match enabled {
            true => self.points | u8::from(point),
            false => self.points & !u8::from(point),
        };
        TimestampInstrumentationBuilder { points }
    }
}

/// Points at which times are recorded; [`TimestampInstrumentationBuilder`] makes it. The default is
/// none, which asks for no stack.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct TimestampInstrumentation {
    points: u8,
}

impl TimestampInstrumentation {
    /// Returns true if times are recorded at this point.
    pub fn is_instrumented(&self, point: InterceptionPoint) -> bool {
        self.points & u8::from(point) != 0
    }

    /// Returns the points in the form of messages; 0 for none.
    pub(crate) fn points(self) -> u8 {
        self.points
    }
}

/// Time of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstrumentationTimestamp {
    /// A timestamp of the node's clock, which also names the node.
    UHLC(Timestamp),
    /// Bytes that the function of
    /// [`with_timestamp_callback`](crate::session::OpenBuilder::with_timestamp_callback) returned
    /// at that node.
    Custom(Vec<u8>),
}

/// One time in a [`TimestampStack`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimestampStackRecord {
    point: InterceptionPoint,
    timestamp: InstrumentationTimestamp,
}

impl TimestampStackRecord {
    /// Reads a record; `None` if it has another point or another form than this version knows.
    fn read(flags: u8, time: &[u8]) -> Option<TimestampStackRecord> {
        let point = InterceptionPoint::try_from(flags).ok()?;
        let timestamp = match flags & TsStack::CUSTOM {
            0 => InstrumentationTimestamp::UHLC(Timestamp::read(&mut Reader::new(time)).ok()?),
            _ => InstrumentationTimestamp::Custom(time.to_vec()),
        };
        Some(TimestampStackRecord { point, timestamp })
    }

    /// Returns the point at which the time was recorded.
    pub fn point(&self) -> InterceptionPoint {
        self.point
    }

    /// Returns true if a function of the application returned the time.
    pub fn is_custom(&self) -> bool {
        matches!(self.timestamp, InstrumentationTimestamp::Custom(_))
    }

    /// Returns the time.
    pub fn timestamp(&self) -> &InstrumentationTimestamp {
        &self.timestamp
    }
}

/// Times of one message, in the order in which it passed the points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimestampStack {
    instrumentation: TimestampInstrumentation,
    records: Vec<TimestampStackRecord>,
}

impl TimestampStack {
    /// Creates a stack without records.
    pub(crate) fn new(instrumentation: TimestampInstrumentation) -> TimestampStack {
        TimestampStack {
            instrumentation,
            records: Vec::new(),
        }
    }

    /// Reads the stack of a message. Records that this version does not know are left out.
    #[cold]
    pub(crate) fn read(stack: TsStack<'_>) -> TimestampStack {
        TimestampStack {
            instrumentation: TimestampInstrumentation {
                points: stack.conf(),
            },
            records: stack
                .entries()
                .filter_map(|(flags, time)| TimestampStackRecord::read(flags, time))
                .collect(),
        }
    }

    /// Returns the points at which times are recorded.
    pub fn instrumentation(&self) -> TimestampInstrumentation {
        self.instrumentation
    }

    /// Returns the records, the oldest first.
    pub fn records(&self) -> &[TimestampStackRecord] {
        &self.records
    }

    /// Returns about how much memory it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        let record = |record: &TimestampStackRecord| match &record.timestamp {
            InstrumentationTimestamp::UHLC(_) => size_of::<TimestampStackRecord>(),
            InstrumentationTimestamp::Custom(time) => {
                size_of::<TimestampStackRecord>() + time.len()
            }
        };
        self.records.iter().map(record).sum()
    }
}

/// Defines the setter of builders with a [`TimestampInstrumentation`] at the given place.
macro_rules! instrumentation_setter {
    ($($place:tt)+) => {
        /// Asks for the [times](crate::timestamp_stack) at which the message passes these points.
        /// Default: none.
        pub fn timestamp_instrumentation(
            mut self,
            instrumentation: impl Into<Option<$crate::timestamp_stack::TimestampInstrumentation>>,
        ) -> Self {
            self.$($place)+.instrumentation = instrumentation.into().unwrap_or_default();
            self
        }
    };
}

pub(crate) use instrumentation_setter;

#[cfg(test)]
mod tests {
    use zonda_codec::TsStackBuf;

    use super::*;

    #[test]
    fn records_that_are_not_understood_are_left_out() {
        let mut stack = TsStackBuf::new(0x7f).expect("a stack");
        let time = [5, 1, 7];
        for (flags, time) in [
            (TsStack::SEND, &time[..]),
            (TsStack::SEND, &time[..1]),
            (TsStack::SEND | TsStack::ROUTE, &time[..]),
            (0x10, &time[..]),
            (TsStack::RECEIVE | TsStack::CUSTOM, b""),
        ] {
            assert!(stack.push(flags, time));
        }
        let read = TimestampStack::read(stack.view());
        let records: Vec<_> = read
            .records()
            .iter()
            .map(|r| (r.point(), r.is_custom()))
            .collect();
        let (send, receive) = (InterceptionPoint::Send, InterceptionPoint::Receive);
        assert_eq!(records, [(send, false), (receive, true)]);
        assert!(
            read.instrumentation()
                .is_instrumented(InterceptionPoint::Route)
        );
    }
}
