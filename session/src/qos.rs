// SPDX-License-Identifier: MIT OR Apache-2.0

//! Quality of service.

pub use zonda_codec::{CongestionControl, Priority, Reliability};
