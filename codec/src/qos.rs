// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quality of service of a message: priority, congestion control, express, reliability.

use core::fmt;

use crate::{
    error::DecodeError,
    extension::Chain,
    reader::Reader,
    writer::{EncodeError, Writer},
};

/// The eight priorities; a smaller number goes first.
#[repr(u8)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Priority {
    /// Messages of the protocol itself: declarations, interests.
    Control = 0,
    /// Real time.
    RealTime = 1,
    /// Interactive, high.
    InteractiveHigh = 2,
    /// Interactive, low.
    InteractiveLow = 3,
    /// Data, high.
    DataHigh = 4,
    /// Data; the default.
    #[default]
    Data = 5,
    /// Data, low.
    DataLow = 6,
    /// Traffic that is sent when no other is waiting.
    Background = 7,
}

impl Priority {
    /// The default as a constant.
    pub const DEFAULT: Priority = Priority::Data;

    /// All priorities, the most urgent first.
    pub const ALL: [Priority; 8] = [
        Priority::Control,
        Priority::RealTime,
        Priority::InteractiveHigh,
        Priority::InteractiveLow,
        Priority::DataHigh,
        Priority::Data,
        Priority::DataLow,
        Priority::Background,
    ];

    /// Returns the priority in the low three bits.
    #[inline]
    pub const fn from_low_bits(bits: u8) -> Self {
        match bits & 7 {
            0 => Priority::Control,
            1 => Priority::RealTime,
            2 => Priority::InteractiveHigh,
            3 => Priority::InteractiveLow,
            4 => Priority::DataHigh,
            5 => Priority::Data,
            6 => Priority::DataLow,
            _ => Priority::Background,
        }
    }
}

/// Converts a number; one above 7 names no priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("priority {0} is not within 0 to 7")]
pub struct NoSuchPriority(pub u8);

impl TryFrom<u8> for Priority {
    type Error = NoSuchPriority;

    fn try_from(number: u8) -> Result<Self, NoSuchPriority> {
        if number > 7 {
            return Err(NoSuchPriority(number));
        }
        Ok(Self::from_low_bits(number))
    }
}

/// Permission of the transport to lose a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Reliability {
    /// The transport may lose it.
    BestEffort,
    /// The transport must not lose it; the default.
    #[default]
    Reliable,
}

/// Treatment of a message that finds no room on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CongestionControl {
    /// The message is dropped.
    #[default]
    Drop,
    /// The sender waits.
    Block,
    /// The first one waits, in the queue and beyond its limit, so that its sender does not; further
    /// ones are dropped during its wait.
    BlockFirst,
}

impl CongestionControl {
    /// The default as a constant.
    pub const DEFAULT: CongestionControl = CongestionControl::Drop;
}

impl Reliability {
    /// The default as a constant.
    pub const DEFAULT: Reliability = Reliability::Reliable;
}

const BLOCK: u8 = 0x08;
const EXPRESS: u8 = 0x10;
const BLOCK_FIRST: u8 = 0x20;

/// The quality-of-service byte of a network message.
///
/// ```text
///  7 6 5 4 3 2 1 0
/// +-+-+-+-+-+-----+
/// |X|X|F|E|D|prio |   D block, E express, F block first (D wins over F)
/// +-+-+-+-+-+-----+
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Qos(u8);

impl Qos {
    /// Data, drop, not express: the default, which is never written.
    pub const DATA: Qos = Qos(0x05);
    /// Control, block: declarations, interests, OAM.
    pub const DECLARE: Qos = Qos(0x08);
    /// Data, block: requests and the responses to them.
    pub const REQUEST: Qos = Qos(0x0d);

    pub(crate) const KEY: u8 = 0x21;

    /// Creates the byte of these settings.
    #[inline]
    pub const fn new(priority: Priority, congestion: CongestionControl, express: bool) -> Self {
        let congestion = match congestion {
            CongestionControl::Drop => 0,
            CongestionControl::Block => BLOCK,
            CongestionControl::BlockFirst => BLOCK_FIRST,
        };
        let express = if express { EXPRESS } else { 0 };
        Qos(priority as u8 | congestion | express)
    }

    /// Creates it from the byte as received.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Qos(bits)
    }

    /// Returns the byte as sent.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the priority.
    #[inline]
    pub const fn priority(self) -> Priority {
        Priority::from_low_bits(self.0)
    }

    /// Returns the treatment under congestion.
    #[inline]
    pub const fn congestion_control(self) -> CongestionControl {
        if self.0 & BLOCK != 0 {
            CongestionControl::Block
        } else if self.0 & BLOCK_FIRST != 0 {
            CongestionControl::BlockFirst
        } else {
            CongestionControl::Drop
        }
    }

    /// Returns true if the message is sent at once instead of in a common batch.
    #[inline]
    pub const fn is_express(self) -> bool {
        self.0 & EXPRESS != 0
    }

    #[inline(always)]
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Qos(reader.z64()? as u8))
    }

    #[inline(always)]
    pub(crate) fn write(
        self,
        chain: &mut Chain,
        writer: &mut Writer<'_>,
    ) -> Result<(), EncodeError> {
        if self != Qos::DATA {
            chain.number(writer, Self::KEY, u64::from(self.0))?;
        }
        Ok(())
    }
}

impl Default for Qos {
    fn default() -> Self {
        Qos::DATA
    }
}

impl fmt::Debug for Qos {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Qos")
            .field("priority", &self.priority())
            .field("congestion_control", &self.congestion_control())
            .field("express", &self.is_express())
            .field("bits", &self.0)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_byte() {
        assert_eq!(
            Qos::DATA,
            Qos::new(Priority::Data, CongestionControl::Drop, false)
        );
        assert_eq!(
            Qos::DECLARE,
            Qos::new(Priority::Control, CongestionControl::Block, false)
        );
        assert_eq!(
            Qos::REQUEST,
            Qos::new(Priority::Data, CongestionControl::Block, false)
        );
        let qos = Qos::new(Priority::Background, CongestionControl::BlockFirst, true);
        assert_eq!(qos.bits(), 0x37);
        assert_eq!(qos.congestion_control(), CongestionControl::BlockFirst);
        assert!(qos.is_express());
        assert_eq!(
            Qos::from_bits(0x28).congestion_control(),
            CongestionControl::Block
        );
    }

    #[test]
    fn priorities_are_numbers() {
        for (number, priority) in Priority::ALL.into_iter().enumerate() {
            assert_eq!(Priority::try_from(number as u8), Ok(priority));
            assert_eq!(priority as usize, number);
        }
        assert_eq!(Priority::try_from(8), Err(NoSuchPriority(8)));
    }
}
