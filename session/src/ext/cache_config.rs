// SPDX-License-Identifier: MIT OR Apache-2.0

//! Configuration of a cache: its size and its replies.

use crate::qos::{CongestionControl, Priority};

/// Quality of service of the replies of an [`AdvancedPublisher`](super::AdvancedPublisher)'s cache.
///
/// Replies have the service of their query, so none of these settings changes anything here; the
/// type exists for programs that set them.
#[derive(Debug, Clone, Default)]
pub struct RepliesConfig {
    priority: Priority,
    congestion_control: CongestionControl,
    is_express: bool,
}

impl RepliesConfig {
    /// Sets the priority of replies.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the congestion control of replies.
    pub fn congestion_control(mut self, control: CongestionControl) -> Self {
        self.congestion_control = control;
        self
    }

    /// Chooses whether replies are sent at once instead of in a common batch.
    pub fn express(mut self, is_express: bool) -> Self {
        self.is_express = is_express;
        self
    }
}

/// Size of the cache of an [`AdvancedPublisher`](super::AdvancedPublisher): it keeps the newest
/// samples, up to a number of samples and a number of bytes.
///
/// ```
/// use zonda::ext::CacheConfig;
///
/// let cache = CacheConfig::default().max_samples(100).max_bytes(1 << 20);
/// ```
#[derive(Debug, Clone)]
pub struct CacheConfig {
    pub(super) max_samples: usize,
    pub(super) max_bytes: usize,
    replies: RepliesConfig,
}

impl CacheConfig {
    /// Default limit of a cache in bytes.
    pub const MAX_BYTES: usize = 64 << 20;

    /// Limits the number of samples. Default: 1. A publisher that is to keep none is not declared.
    pub fn max_samples(mut self, depth: usize) -> Self {
        self.max_samples = depth;
        self
    }

    /// Limits the bytes: payloads, attachments, and the administration of each sample. A sample
    /// that alone is larger is not kept. Default: [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the quality of service of the replies.
    pub fn replies_config(mut self, replies: RepliesConfig) -> Self {
        self.replies = replies;
        self
    }
}

impl Default for CacheConfig {
    fn default() -> Self {
        CacheConfig {
            max_samples: 1,
            max_bytes: Self::MAX_BYTES,
            replies: RepliesConfig::default(),
        }
    }
}
