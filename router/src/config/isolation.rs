// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the configuration says of neighbours that do not keep up.

use zonda_transport::protocol::patience::Isolation;

use crate::config::Config;

impl Config {
    /// What a neighbour has to do so that its sources wait for it. Default: see [`Isolation`].
    pub fn isolation(&self) -> Isolation {
        let standstill = self.wait_before_close();
        if self.text("isolation/slow").as_deref() == Some("pause") {
            return Isolation {
                min_rate: 0,
                stall: standstill,
                standstill,
                backlog_bytes: 0,
            };
        }
        Isolation {
            min_rate: self.whole("isolation/min_rate").unwrap_or(1 << 20),
            stall: self.millis("isolation/stall_ms"),
            standstill,
            backlog_bytes: self.count("isolation/backlog_bytes"),
        }
    }
}
