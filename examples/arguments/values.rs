// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of flags that need a look before the program starts.

use std::time::Duration;

/// The longest time a flag takes, in seconds: ten days.
const LONGEST: f64 = 864_000.0;

/// A time in seconds, with decimals.
pub fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..=LONGEST).contains(&s) => Ok(Duration::from_secs_f64(s)),
        _ => Err(format!("expected seconds between 0 and {LONGEST}")),
    }
}
