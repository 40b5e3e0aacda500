// SPDX-License-Identifier: MIT OR Apache-2.0

//! Timestamps.

pub use zonda_codec::{Ntp64, Timestamp};

/// The reference's name of the id in a [`Timestamp`].
pub type TimestampId = zonda_codec::ZenohId;

/// The reference's spelling of [`Ntp64`].
pub type NTP64 = Ntp64;
