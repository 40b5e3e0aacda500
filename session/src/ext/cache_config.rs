// SPDX-License-Identifier: MIT OR Apache-2.0

//! How much a cache keeps, and how it answers.

use crate::qos::{CongestionControl, Priority};

/// How the cache of an [`AdvancedPublisher`](super::AdvancedPublisher) replies.
///
/// Replies travel as their query wants it, so none of this changes anything here; it is for programs that say it.
#[derive(Debug, Clone, Default)]
pub struct RepliesConfig {
    priority: Priority,
    congestion_control: CongestionControl,
    is_express: bool,
}

impl RepliesConfig {
    /// Which replies go first.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// What happens when a peer is slow.
    pub fn congestion_control(mut self, control: CongestionControl) -> Self {
        self.congestion_control = control;
        self
    }

    /// Whether replies are not to wait for company in a batch.
    pub fn express(mut self, is_express: bool) -> Self {
        self.is_express = is_express;
        self
    }
}

/// How much the cache of an [`AdvancedPublisher`](super::AdvancedPublisher) keeps: the newest samples, at most so many and
/// so many bytes.
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
    /// How many bytes a cache keeps unless it says otherwise.
    pub const MAX_BYTES: usize = 64 << 20;

    /// At most so many samples. Default: 1. A publisher that is to keep none is not declared.
    pub fn max_samples(mut self, depth: usize) -> Self {
        self.max_samples = depth;
        self
    }

    /// At most so many bytes: payloads, attachments, and what each sample takes by itself. A sample that alone is larger is
    /// not kept. Default: [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// How it replies.
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
