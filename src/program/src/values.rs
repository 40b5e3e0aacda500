// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of flags that are checked before the program starts.

use std::time::Duration;

use zonda::key_expr::KeyExpr;
use zonda::qos::Priority;
use zonda::query::{ConsolidationMode, QueryTarget, Selector};

/// Limit of the time of a flag, in seconds: ten days.
const LONGEST: f64 = 864_000.0;

/// Parses a time in seconds, with decimals.
pub fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..=LONGEST).contains(&s) => Ok(Duration::from_secs_f64(s)),
        _ => Err(format!("expected seconds between 0 and {LONGEST}")),
    }
}

/// Parses a time in seconds, with decimals, that is not 0.
pub fn some_seconds(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        Duration::ZERO => Err("nothing can be measured in no time".into()),
        time => Ok(time),
    }
}

/// Checks an endpoint, such as `tcp/127.0.0.1:7447`, and returns it as it was written.
pub fn endpoint(text: &str) -> Result<String, String> {
    zonda::config::parse_endpoint(text).map(|_| text.to_owned())
}

/// Parses a key expression, such as `demo/*/temperature`.
pub fn key_expr(text: &str) -> Result<KeyExpr<'static>, String> {
    KeyExpr::try_from(text.to_owned()).map_err(|e| e.to_string())
}

/// Parses a selector, such as `demo/*?unit=celsius`.
pub fn selector(text: &str) -> Result<Selector<'static>, String> {
    text.parse().map_err(|e: zonda::KeyExprError| e.to_string())
}

/// Parses the target of a query, in the spelling of this command or of the reference's examples.
pub fn target(text: &str) -> Result<QueryTarget, String> {
    match text.to_ascii_lowercase().replace('_', "-").as_str() {
        "best" | "best-matching" => Ok(QueryTarget::BestMatching),
        "all" => Ok(QueryTarget::All),
        "all-complete" => Ok(QueryTarget::AllComplete),
        _ => Err("expected best, all or all-complete".into()),
    }
}

/// Parses the consolidation of replies.
pub fn consolidation(text: &str) -> Result<ConsolidationMode, String> {
    match text.to_ascii_lowercase().as_str() {
        "auto" => Ok(ConsolidationMode::Auto),
        "none" => Ok(ConsolidationMode::None),
        "monotonic" => Ok(ConsolidationMode::Monotonic),
        "latest" => Ok(ConsolidationMode::Latest),
        _ => Err("expected auto, none, monotonic or latest".into()),
    }
}

/// Parses a priority: 1 (most urgent) to 7 (least).
pub fn priority(text: &str) -> Result<Priority, String> {
    let number: u8 = text.parse().map_err(|_| "expected 1 to 7".to_owned())?;
    // 0 is for the protocol itself
    match Priority::try_from(number) {
        Ok(priority) if number > 0 => Ok(priority),
        _ => Err("expected 1 (most urgent) to 7 (least)".into()),
    }
}

/// Returns `size` bytes with some variety in them.
pub fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|i| (i % 251) as u8).collect()
}
