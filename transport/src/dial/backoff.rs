// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits between attempts: they grow by a factor up to a limit, with a random part. The module has
//! no clock and does not sleep.

use std::time::Duration;

use zonda_codec::Endpoint;

use crate::link::{EndpointProblem, option};

/// Minimum wait: a shorter one would be a busy loop of connection attempts.
const WAIT_MIN: Duration = Duration::from_millis(10);

/// Growth of the waits between attempts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// The first wait. Default 1 s.
    pub init: Duration,
    /// Longest wait, except that the first one always counts. Default 4 s.
    pub max: Duration,
    /// Factor from one wait to the next; at least 1. Default 2.
    pub factor: f64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            init: Duration::from_secs(1),
            max: Duration::from_secs(4),
            factor: 2.0,
        }
    }
}

impl RetryPolicy {
    /// Returns this policy with the options of the endpoint applied: `retry_period_init_ms`,
    /// `retry_period_max_ms` and `retry_period_increase_factor`.
    ///
    /// # Errors
    /// [`EndpointProblem::Option`] for a value that cannot be.
    pub fn with_endpoint(self, endpoint: &Endpoint) -> Result<RetryPolicy, EndpointProblem> {
        // Parsers of the values.
        let milliseconds = |value: &str| {
            value
                .parse()
                .ok()
                .map(|ms: u32| Duration::from_millis(ms.into()))
        };
        let expected = "a number of milliseconds";
        let factor = |value: &str| {
            value
                .parse()
                .ok()
                .filter(|factor: &f64| factor.is_finite() && *factor >= 1.0)
        };
        // Options of the endpoint override the policy.
        Ok(RetryPolicy {
            init: option(endpoint, "retry_period_init_ms", expected, milliseconds)?
                .unwrap_or(self.init),
            max: option(endpoint, "retry_period_max_ms", expected, milliseconds)?
                .unwrap_or(self.max),
            factor: option(
                endpoint,
                "retry_period_increase_factor",
                "a number from 1 up",
                factor,
            )?
            .unwrap_or(self.factor),
        })
    }
}

/// Waits between attempts to reach one endpoint.
///
/// ```
/// use std::time::Duration;
/// use zonda_transport::dial::{Backoff, RetryPolicy};
///
/// let mut backoff = Backoff::new(RetryPolicy::default());
/// let waits: Vec<_> = (0..4).map(|_| backoff.next_wait().as_secs()).collect();
/// assert_eq!(waits, [1, 2, 4, 4]);
/// backoff.reset();
/// assert_eq!(backoff.next_wait(), Duration::from_secs(1));
/// ```
#[derive(Debug, Clone)]
pub struct Backoff {
    policy: RetryPolicy,
    next: Duration,
}

impl Backoff {
    /// Creates a backoff that begins with the policy's first wait.
    pub fn new(policy: RetryPolicy) -> Backoff {
        Backoff {
            policy,
            next: policy.init,
        }
    }

    /// Creates a backoff from the defaults and the options of the endpoint.
    ///
    /// # Errors
    /// The errors of [`RetryPolicy::with_endpoint`].
    pub fn of(endpoint: &Endpoint) -> Result<Backoff, EndpointProblem> {
        RetryPolicy::default()
            .with_endpoint(endpoint)
            .map(Backoff::new)
    }

    /// Returns the wait after an attempt that failed; at least 10 ms.
    pub fn next_wait(&mut self) -> Duration {
        let wait = self.next.max(WAIT_MIN);
        let limit = self.policy.max.max(self.policy.init);
        let grown = Duration::try_from_secs_f64(wait.as_secs_f64() * self.policy.factor.max(1.0));
        self.next = grown.unwrap_or(limit).min(limit);
        wait
    }

    /// Returns the wait minus a random part of at most half of it: many nodes that lost the same
    /// router do not all reconnect at the same time.
    pub fn next_wait_apart(&mut self) -> Duration {
        let half = self.next_wait() / 2;
        // Every node waits for the whole time if the system has no random numbers.
        let part = getrandom::u32().map_or(1.0, |number| f64::from(number) / f64::from(u32::MAX));
        half + half.mul_f64(part)
    }

    /// Restarts the sequence of waits, as after an attempt that succeeded.
    pub fn reset(&mut self) {
        self.next = self.policy.init;
    }
}
