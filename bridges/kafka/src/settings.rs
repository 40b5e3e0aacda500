// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks that the client library accepts its settings. Unknown settings, settings of features that
//! are not built in, and settings without effect, for which the library only warns, are refused
//! with their names.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, ConsumerContext};
use rdkafka::error::KafkaError;
use rdkafka::producer::{BaseProducer, DeliveryResult, ProducerContext};

/// Facility of the library's log lines about its settings.
const ABOUT_SETTINGS: &str = "CONFWARN";

/// Settings that select a mechanism of SASL, the most specific first: without one there is a
/// default.
const OF_SASL: [&str; 3] = ["sasl.mechanism", "sasl.mechanisms", "security.protocol"];

/// Use of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A client that writes.
    Producer,
    /// A client that reads.
    Consumer,
}

/// A problem with a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Name of the setting, if the problem is with one.
    pub setting: Option<String>,
    /// Problem in the library's words.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.setting {
            Some(setting) => write!(f, "{setting}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// Checks settings without contacting a broker.
///
/// # Errors
/// Everything that is wrong; what only shows with all of them together only if each by itself is right.
///
/// # Blocking
/// Some milliseconds, for a client that is made and ended.
pub fn check(config: &ClientConfig, purpose: Purpose) -> Result<(), Vec<Problem>> {
    // each setting alone, so that an error has the name of its setting
    let mut problems: Vec<Problem> = config
        .config_map()
        .iter()
        .filter_map(|(name, value)| {
            let mut one = ClientConfig::new();
            one.set(*name, *value);
            let error = one.create_native_config().err()?;
            Some(Problem {
                setting: Some((*name).to_owned()),
                what: words(error),
            })
        })
        .collect();
    // all settings together, for warnings about combinations
    if problems.is_empty() {
        let said = together(config, purpose);
        problems.extend(said.into_iter().map(|what| Problem {
            setting: blamed(config, purpose, &what),
            what,
        }));
    }
    problems.sort_by(|a, b| a.setting.cmp(&b.setting));
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems),
    }
}

fn words(error: KafkaError) -> String {
    match error {
        KafkaError::ClientConfig(_, what, ..) | KafkaError::ClientCreation(what) => what,
        other => other.to_string(),
    }
}

/// Returns the library's messages when it creates a client with all settings.
fn together(config: &ClientConfig, purpose: Purpose) -> Vec<String> {
    let mut alone = config.clone();
    // a client without brokers connects to none
    alone.remove("bootstrap.servers");
    alone.set_log_level(RDKafkaLogLevel::Warning);
    let heard = Heard::default();
    let made = match purpose {
        Purpose::Producer => {
            alone
                .create_with_context(heard.clone())
                .map(|client: BaseProducer<Heard>| {
                    client.poll(Duration::ZERO);
                })
        }
        Purpose::Consumer => {
            alone
                .create_with_context(heard.clone())
                .map(|client: BaseConsumer<Heard>| {
                    client.poll(Duration::ZERO);
                })
        }
    };
    let mut said = std::mem::take(&mut *heard.0.lock().unwrap_or_else(PoisonError::into_inner));
    said.extend(made.err().map(words));
    said
}

/// Returns the setting that a text is about: the first setting in the text that is set, or else one
/// without which the library does not log the text, as it calls some settings by another name.
fn blamed(config: &ClientConfig, purpose: Purpose, text: &str) -> Option<String> {
    let is_set = |name: &&str| config.get(name).is_some();
    if text.contains("SASL mechanism") {
        return OF_SASL.into_iter().find(is_set).map(str::to_owned);
    }
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
    let named = text.split(|c| !is_of_name(c)).find(is_set);
    let is_behind = |name: &&str| {
        let mut rest = config.clone();
        rest.remove(name);
        !together(&rest, purpose).iter().any(|said| said == text)
    };
    let all = config.config_map();
    let found = named.or_else(|| all.keys().copied().find(is_behind));
    found.map(str::to_owned)
}

/// Messages that a client logged about its settings.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl ClientContext for Heard {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        // an old name still has its effect
        let is_grave = matches!(level, RDKafkaLogLevel::Warning) && !message.contains("deprecated");
        if facility == ABOUT_SETTINGS && is_grave {
            // the library begins with its own name and thread
            let text = message.rsplit_once("]: ").map_or(message, |(_, text)| text);
            let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            said.push(text.to_owned());
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!("{error}: {reason}");
    }
}

impl ProducerContext for Heard {
    type DeliveryOpaque = ();

    fn delivery(&self, _result: &DeliveryResult<'_>, _opaque: ()) {}
}

impl ConsumerContext for Heard {}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(purpose: Purpose, settings: &[(&str, &str)]) -> Vec<String> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", "127.0.0.1:1");
        for (name, value) in settings {
            config.set(*name, *value);
        }
        let problems = check(&config, purpose).err().unwrap_or_default();
        problems.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn what_is_not_built_in_is_refused_by_name() {
        for (name, value) in [
            ("security.protocol", "ssl"),
            ("security.protocol", "sasl_ssl"),
            ("ssl.ca.location", "/etc/ssl/ca.pem"),
            ("ssl.keystore.location", "/key.p12"),
            ("sasl.oauthbearer.method", "oidc"),
        ] {
            for purpose in [Purpose::Producer, Purpose::Consumer] {
                let said = said(purpose, &[(name, value)]);
                assert_eq!(said.len(), 1, "{name}: {said:?}");
                assert!(said[0].starts_with(&format!("{name}: ")), "{said:?}");
                assert!(said[0].contains("not available at build time"), "{said:?}");
            }
        }
        for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER"] {
            let settings = [
                ("security.protocol", "sasl_plaintext"),
                ("sasl.mechanisms", mechanism),
            ];
            let said = said(Purpose::Producer, &settings);
            let begin = format!("sasl.mechanisms: No provider for SASL mechanism {mechanism}");
            assert!(said.len() == 1 && said[0].starts_with(&begin), "{said:?}");
        }
    }

    #[test]
    fn what_is_built_in_passes() {
        for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
            let said = said(Purpose::Producer, &[("compression.type", codec)]);
            assert!(said.is_empty(), "{said:?}");
        }
        let plain = [
            ("security.protocol", "sasl_plaintext"),
            ("sasl.mechanisms", "PLAIN"),
            ("sasl.username", "a"),
            ("sasl.password", "b"),
            ("group.id", "g"),
        ];
        let (with, without) = (
            said(Purpose::Consumer, &plain),
            said(Purpose::Producer, &plain[..4]),
        );
        assert!(
            with.is_empty() && without.is_empty(),
            "{with:?} {without:?}"
        );
    }

    #[test]
    fn what_would_have_no_effect_is_refused_by_name() {
        for (purpose, settings, begin) in [
            (Purpose::Producer, &[("group.id", "g")][..], "group.id: "),
            (Purpose::Consumer, &[("linger.ms", "7")], "linger.ms: "),
            (
                Purpose::Producer,
                &[("sasl.mechanisms", "PLAIN")],
                "sasl.mechanisms: ",
            ),
            (
                Purpose::Producer,
                &[("sasl.username", "a")],
                "sasl.username: ",
            ),
            (
                Purpose::Producer,
                &[("enable.idempotence", "true"), ("acks", "1")],
                "acks: ",
            ),
            (Purpose::Producer, &[("linger.mss", "7")], "linger.mss: "),
            (
                Purpose::Producer,
                &[("security.protocol", "sasl_plaintext")],
                "security.protocol: ",
            ),
        ] {
            let said = said(purpose, settings);
            assert!(
                said.len() == 1 && said[0].starts_with(begin),
                "{settings:?}: {said:?}"
            );
        }
    }
}
