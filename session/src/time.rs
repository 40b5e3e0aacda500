// SPDX-License-Identifier: MIT OR Apache-2.0

//! Timestamps.

pub use zonda_codec::{Ntp64, Timestamp};

/// The reference's spelling of [`Ntp64`].
pub type NTP64 = Ntp64;
