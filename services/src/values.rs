// SPDX-License-Identifier: MIT OR Apache-2.0

//! Values of the configuration that several services read.

use std::net::SocketAddr;

use zonda::Config;

use crate::StartError;

/// Returns the text of a key, if it has one.
pub(crate) fn text_of(config: &Config, key: &str) -> Option<String> {
    let json = config.get_json(key).ok()?;
    serde_json::from_str(&json).ok()
}

/// Returns the texts of a key, in lower case.
pub(crate) fn texts_of(config: &Config, key: &str) -> Vec<String> {
    let json = config.get_json(key).unwrap_or_default();
    let texts: Vec<String> = serde_json::from_str(&json).unwrap_or_default();
    let texts = texts.iter().map(|text| text.trim().to_ascii_lowercase());
    texts.filter(|text| !text.is_empty()).collect()
}

/// Returns true if the value of a key is `true`.
pub(crate) fn is_true(config: &Config, key: &str) -> bool {
    config.get_json(key).is_ok_and(|json| json == "true")
}

/// Returns the number of a key. The check of the configuration has refused what is none.
pub(crate) fn number_of(config: &Config, key: &str) -> u64 {
    let json = config.get_json(key).unwrap_or_default();
    json.parse().unwrap_or(u64::MAX)
}

/// Returns a bound below `services/http/limits`.
pub(crate) fn limit_of(config: &Config, name: &str) -> usize {
    let number = number_of(config, &format!("services/http/limits/{name}"));
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns the address of a key; `None` if it is not set.
///
/// # Errors
/// The value is none; the text has an example.
pub(crate) fn address_of(
    config: &Config,
    key: &str,
    example: &str,
) -> Result<Option<SocketAddr>, StartError> {
    let Some(text) = text_of(config, key) else {
        return Ok(None);
    };
    match text.parse() {
        Ok(address) => Ok(Some(address)),
        Err(_) => Err(StartError::Config(format!(
            "`{key}`: {text:?} is no ADDRESS:PORT, such as {example:?}"
        ))),
    }
}
