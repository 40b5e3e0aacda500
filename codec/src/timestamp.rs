// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time of a publication, by the hybrid logical clocks of the nodes.

use core::{fmt, str::FromStr, time::Duration};
use std::time::SystemTime;

use crate::{
    civil,
    error::DecodeError,
    extension::Chain,
    id::{IdError, ZenohId},
    reader::Reader,
    writer::{EncodeError, Writer, vle_len},
};

/// A time as 32 bits of seconds since 1970 and 32 bits of their fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Ntp64(pub u64);

impl Ntp64 {
    /// Returns the time this long after the start of 1970, rounded up to the next 2^-32 s so that
    /// nanoseconds survive; beyond the year 2106 it stays at the last second.
    pub const fn from_unix(since_1970: Duration) -> Self {
        let seconds = since_1970.as_secs();
        let seconds = if seconds > u32::MAX as u64 {
            u32::MAX as u64
        } else {
            seconds
        };
        let fraction = ((since_1970.subsec_nanos() as u64) << 32).div_ceil(1_000_000_000);
        Ntp64(seconds << 32 | fraction)
    }

    /// Returns the time elapsed since the start of 1970.
    pub const fn to_unix(self) -> Duration {
        let nanoseconds = ((self.0 & u32::MAX as u64) * 1_000_000_000) >> 32;
        Duration::new(self.0 >> 32, nanoseconds as u32)
    }
}

/// The reference's names.
impl Ntp64 {
    /// Seconds in the upper 32 bits, their fraction in the lower.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Returns the whole seconds since 1970.
    pub const fn as_secs(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Seconds since 1970.
    pub const fn as_secs_f64(self) -> f64 {
        self.to_unix().as_secs_f64()
    }

    /// Nanoseconds since 1970.
    pub const fn as_nanos(self) -> u64 {
        let time = self.to_unix();
        time.as_secs() * 1_000_000_000 + time.subsec_nanos() as u64
    }

    /// Returns the nanoseconds after the whole second.
    pub const fn subsec_nanos(self) -> u32 {
        self.to_unix().subsec_nanos()
    }

    /// Returns the time elapsed since the start of 1970.
    pub const fn to_duration(self) -> Duration {
        self.to_unix()
    }

    /// Returns the time by the system's clock.
    pub fn to_system_time(self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.to_unix()
    }

    /// Returns the time in UTC, to the nanosecond: `2024-07-01T13:51:12.129693000Z`.
    pub fn to_string_rfc3339_lossy(self) -> String {
        let time = self.to_unix();
        let (days, rest) = (time.as_secs() / 86_400, time.as_secs() % 86_400);
        let (year, month, day) = civil::date(days as i64);
        let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
        let nanos = time.subsec_nanos();
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
    }
}

impl From<Duration> for Ntp64 {
    fn from(since_1970: Duration) -> Self {
        Ntp64::from_unix(since_1970)
    }
}

impl FromStr for Ntp64 {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Ntp64)
    }
}

impl fmt::Display for Ntp64 {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A time and the node whose clock gave it; ordered by time, then id.
///
/// ```text
/// vle time | u8 length of id | id
/// ```
/// The text form is `<decimal time>/<hex id>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp {
    time: Ntp64,
    id: ZenohId,
}

impl Timestamp {
    pub(crate) const KEY: u8 = 0x42;

    /// Creates the timestamp of `time` on the clock of `id`.
    #[inline]
    pub const fn new(time: Ntp64, id: ZenohId) -> Self {
        Timestamp { time, id }
    }

    /// Returns the time.
    #[inline]
    pub const fn time(&self) -> Ntp64 {
        self.time
    }

    /// Returns the node whose clock gave it.
    #[inline]
    pub const fn id(&self) -> ZenohId {
        self.id
    }

    /// Calls [`time`](Self::time), by the reference's name.
    pub const fn get_time(&self) -> &Ntp64 {
        &self.time
    }

    /// Calls [`id`](Self::id), by the reference's name.
    pub const fn get_id(&self) -> &ZenohId {
        &self.id
    }

    /// Returns the time by which it is later than another one; zero if it is not.
    pub const fn get_diff_duration(&self, earlier: &Timestamp) -> Duration {
        Ntp64(self.time.0.saturating_sub(earlier.time.0)).to_unix()
    }

    /// Returns the time in UTC to the nanosecond, and the id: `2024-07-01T13:51:12.129693000Z/33`.
    ///
    /// ```
    /// let timestamp: zonda_codec::Timestamp = "7386690599959157260/33".parse()?;
    /// assert_eq!(timestamp.to_string_rfc3339_lossy(), "2024-07-01T15:32:06.860479000Z/33");
    /// assert_eq!(timestamp.get_time().as_secs(), 1_719_847_926);
    /// # Ok::<(), zonda_codec::timestamp::TimestampError>(())
    /// ```
    pub fn to_string_rfc3339_lossy(&self) -> String {
        format!("{}/{}", self.time.to_string_rfc3339_lossy(), self.id)
    }

    /// Reads the wire form.
    ///
    /// # Errors
    /// If the input is cut or the id is not 1 to 16 bytes other than zero.
    #[inline]
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Timestamp {
            time: Ntp64(reader.z64()?),
            id: ZenohId::read_sized(reader)?,
        })
    }

    /// Writes the wire form; on [`EncodeError`] part of it may have been written.
    ///
    /// # Errors
    /// [`EncodeError`] if it does not fit.
    #[inline]
    pub fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.vle_long(self.time.0)?;
        self.id.write_sized(writer)
    }

    /// Returns the length of the wire form, 3 to 26 bytes.
    #[inline]
    pub fn wire_len(&self) -> usize {
        vle_len(self.time.0) + self.id.sized_len()
    }

    /// Writes it as the extension that network messages have, if there is one.
    #[inline(always)]
    pub(crate) fn write_extension(
        timestamp: &Option<Timestamp>,
        chain: &mut Chain,
        writer: &mut Writer<'_>,
    ) -> Result<(), EncodeError> {
        match timestamp {
            None => Ok(()),
            Some(timestamp) => {
                chain.section(writer, Self::KEY, timestamp.wire_len())?;
                timestamp.write(writer)
            }
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.time, self.id)
    }
}

/// A text is not a timestamp.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimestampError {
    /// The text has no `/`.
    #[error("timestamp lacks the '/' between time and id")]
    NoSlash,
    /// The part before `/` is not a decimal number of 64 bits.
    #[error("time of the timestamp is not a decimal number of 64 bits")]
    Time,
    /// The part behind `/` is not an id.
    #[error(transparent)]
    Id(#[from] IdError),
}

crate::debug_as_text!(TimestampError);

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        let (time, id) = text.split_once('/').ok_or(TimestampError::NoSlash)?;
        let time = time.parse().map_err(|_| TimestampError::Time)?;
        Ok(Timestamp::new(Ntp64(time), id.parse()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let timestamp: Timestamp = "7386690599959157260/33".parse().expect("a timestamp");
        assert_eq!(timestamp.to_string(), "7386690599959157260/33");
        assert_eq!("33".parse::<Timestamp>(), Err(TimestampError::NoSlash));
        assert_eq!("x/33".parse::<Timestamp>(), Err(TimestampError::Time));
        assert_eq!(
            "1/0".parse::<Timestamp>(),
            Err(TimestampError::Id(IdError::Zero))
        );
    }

    #[test]
    fn nanoseconds_survive() {
        for nanoseconds in [0, 1, 2, 499_999_999, 500_000_000, 999_999_999] {
            let time = Duration::new(1_700_000_000, nanoseconds);
            assert_eq!(Ntp64::from_unix(time).to_unix(), time);
        }
        assert_eq!(
            Ntp64::from_unix(Duration::new(1, 500_000_000)).0,
            0x1_8000_0000
        );
        assert_eq!(Ntp64::from_unix(Duration::MAX).0 >> 32, u64::from(u32::MAX));
    }
}
