// SPDX-License-Identifier: MIT OR Apache-2.0

//! Heartbeats: a publisher sends the number of its newest sample periodically.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use zonda_codec::KeyExpr;

use super::error::AdvancedError;
use super::ledger::Ledger;
use super::serialization::z_serialize;
use super::ticker::Ticker;
use crate::handle::Session;
use crate::qos::CongestionControl;
use crate::wait::Operation;

/// Detection of lost samples by subscribers: samples are always numbered, so a subscriber sees a
/// gap when the next sample comes; with heartbeats it also sees that the newest ones are missing.
/// Default: no heartbeats.
///
/// ```
/// use std::time::Duration;
/// use zonda::ext::MissDetectionConfig;
///
/// let detection = MissDetectionConfig::default().heartbeat(Duration::from_millis(500));
/// ```
#[derive(Debug, Clone, Default)]
pub struct MissDetectionConfig {
    beats: Option<Beats>,
}

#[derive(Debug, Clone, Copy)]
struct Beats {
    period: Duration,
    is_sporadic: bool,
}

impl MissDetectionConfig {
    /// Sends a heartbeat in every period, once something was published. For publishers that publish
    /// often: a heartbeat that is lost does no harm, the next one follows.
    pub fn heartbeat(mut self, period: Duration) -> Self {
        let is_sporadic = false;
        self.beats = Some(Beats {
            period,
            is_sporadic,
        });
        self
    }

    /// Sends a heartbeat in every period in which something was published, with congestion control
    /// `Block`. For publishers that are quiet for long times.
    pub fn sporadic_heartbeat(mut self, period: Duration) -> Self {
        let is_sporadic = true;
        self.beats = Some(Beats {
            period,
            is_sporadic,
        });
        self
    }

    /// Starts the heartbeats on the publisher's own key, with the number of samples in its ledger.
    pub(super) fn start(
        &self,
        session: &Session,
        own: &KeyExpr<'static>,
        ledger: &Arc<Mutex<Ledger>>,
    ) -> Result<Option<Ticker>, AdvancedError> {
        let Some(beats) = self.beats else {
            return Ok(None);
        };
        if beats.period.is_zero() {
            return Err(AdvancedError::Zero {
                what: "the period of heartbeats",
            });
        }
        let publisher = session
            .declare_publisher(own.clone())
            .congestion_control(match beats.is_sporadic {
                true => CongestionControl::Block,
                false => CongestionControl::Drop,
            })
            .perform()?;
        let (publisher, ledger) = (Arc::new(publisher), Arc::clone(ledger));
        let told = Arc::new(AtomicU64::new(0));
        let node = session.node().clone();
        let beat = move || {
            let count = ledger.lock().published();
            let is_due = count > 0 && !(beats.is_sporadic && count == told.load(Ordering::Relaxed));
            let (publisher, node) = (Arc::clone(&publisher), node.clone());
            let told = Arc::clone(&told);
            async move {
                if is_due {
                    let newest = (count - 1) as u32;
                    // One that is not sent is repeated in the next period.
                    if publisher.put(z_serialize(&newest)).await.is_ok() {
                        told.store(count, Ordering::Relaxed);
                    }
                }
                !node.is_closed()
            }
        };
        let ticker = Ticker::start(session.node(), "zonda-heartbeat", beats.period, beat);
        Ok(Some(ticker))
    }
}
