// SPDX-License-Identifier: MIT OR Apache-2.0
//! Configuration of the bridge: JSON5 in, validated rules out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rdkafka::config::ClientConfig;
use serde::Deserialize;
use serde_json::Value;
use zonda::Config;
use zonda::key_expr::KeyExpr;

use super::places::Places;
use super::template::{Field, Template};
use crate::settings::{self, Problem, Purpose};

/// File as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default = "bridge_name")]
    name: String,
    #[serde(default)]
    zonda: Value,
    kafka: KafkaPart,
    #[serde(default)]
    limits: Limits,
    dead_letters: Option<String>,
    metrics: Option<String>,
    rules: Vec<RulePart>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KafkaPart {
    brokers: String,
    #[serde(default)]
    producer: BTreeMap<String, Value>,
    #[serde(default)]
    consumer: BTreeMap<String, Value>,
}

/// Limits of the memory and time that the bridge may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Samples of each rule from a key that wait for room in the producer's queue. Default 256.
    pub waiting_messages: usize,
    /// Messages that wait for the broker. Default 100 000.
    pub queue_messages: u32,
    /// Kibibytes that wait for the broker. Default 65 536.
    pub queue_kib: u32,
    /// Kibibytes that are read ahead of each partition of a topic. Default 16 384.
    pub ahead_kib: u32,
    /// Time that the broker may take for one message, in ms. Default 30 000.
    pub delivery_ms: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            waiting_messages: 256,
            queue_messages: 100_000,
            queue_kib: 65_536,
            ahead_kib: 16_384,
            delivery_ms: 30_000,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulePart {
    from: Place,
    to: Target,
    encoding: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    key: Option<String>,
    topic: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    key: Option<String>,
    topic: Option<String>,
    partition_key: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

fn bridge_name() -> String {
    "zonda-kafka".to_owned()
}

/// A rule from the keys that an expression matches to a topic.
#[derive(Debug, Clone)]
pub(super) struct ToKafka {
    /// Index of the rule in the file, from 0.
    pub number: usize,
    pub from: KeyExpr<'static>,
    pub topic: Template,
    pub partition_key: Option<Template>,
    pub headers: Vec<(String, Template)>,
}

/// A rule from a topic to keys.
#[derive(Debug, Clone)]
pub(super) struct ToZonda {
    /// Index of the rule in the file, from 0.
    pub number: usize,
    pub from: String,
    pub key: Template,
    /// Encoding of messages that carry none.
    pub encoding: Option<String>,
}

/// Configuration of a bridge.
#[derive(Clone)]
pub struct BridgeConfig {
    pub(super) name: String,
    pub(super) node: Config,
    pub(super) producer: ClientConfig,
    pub(super) consumer: ClientConfig,
    pub(super) limits: Limits,
    pub(super) dead_letters: KeyExpr<'static>,
    pub(super) metrics: KeyExpr<'static>,
    pub(super) to_kafka: Vec<ToKafka>,
    pub(super) to_zonda: Vec<ToZonda>,
}

impl fmt::Debug for BridgeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, topics) = (self.to_kafka.len(), self.to_zonda.len());
        write!(
            f,
            "BridgeConfig({}: {keys} rules from keys, {topics} from topics)",
            self.name
        )
    }
}

impl BridgeConfig {
    /// Reads a configuration.
    ///
    /// # Errors
    /// Everything that is wrong, one line each.
    pub fn from_json5(text: &str) -> Result<BridgeConfig, Vec<String>> {
        let file: File = json5::from_str(text).map_err(|error| vec![error.to_string()])?;
        let places = Places::of(text);
        let mut problems = Vec::new();
        // problems are collected, so that one run reports all of them
        let mut keep = |what: &str, result: Result<KeyExpr<'static>, String>| {
            result
                .map_err(|error| problems.push(format!("{what}: {error}")))
                .ok()
        };
        // keys that the bridge declares itself
        let name = file.name.clone();
        let own = |last: &str| format!("{name}/{last}");
        let dead_letters = file.dead_letters.clone().unwrap_or_else(|| own("dead"));
        let dead_letters = keep("dead_letters", plain_key(&dead_letters));
        let metrics = file.metrics.clone().unwrap_or_else(|| own("metrics"));
        let metrics = keep("metrics", plain_key(&metrics));
        // the rules; one whose key includes the dead letters would feed itself
        let (mut to_kafka, mut to_zonda) = (Vec::new(), Vec::new());
        for (index, part) in file.rules.iter().enumerate() {
            let place = format!("rules[{index}]");
            match rule(index, part) {
                Ok(Rule::ToKafka(rule)) => {
                    if dead_letters
                        .as_ref()
                        .is_some_and(|key| key.intersects(&rule.from))
                    {
                        problems.push(format!("{place}: from.key includes dead_letters: a letter would come back for ever"));
                    }
                    to_kafka.push(rule);
                }
                Ok(Rule::ToZonda(rule)) => to_zonda.push(rule),
                Err(error) => problems.push(format!("{place}: {error}")),
            }
        }
        if file.rules.is_empty() {
            problems.push("rules: there are none".to_owned());
        }
        // the node's and the client library's own settings
        let node = node(&file.zonda, &places).map_err(|error| problems.push(error));
        let producer = file.producer().map_err(|errors| problems.extend(errors));
        let consumer = file.consumer().map_err(|errors| problems.extend(errors));
        match (dead_letters, metrics, node, producer, consumer) {
            (Some(dead_letters), Some(metrics), Ok(node), Ok(producer), Ok(consumer))
                if problems.is_empty() =>
            {
                Ok(BridgeConfig {
                    name: file.name,
                    node,
                    producer,
                    consumer,
                    limits: file.limits,
                    dead_letters,
                    metrics,
                    to_kafka,
                    to_zonda,
                })
            }
            _ => Err(problems.iter().map(|one| places.locate(one)).collect()),
        }
    }

    /// Returns the topics that are read, each once.
    pub(super) fn topics(&self) -> Vec<&str> {
        let topics: BTreeSet<&str> = self.to_zonda.iter().map(|rule| &*rule.from).collect();
        topics.into_iter().collect()
    }
}

impl File {
    fn producer(&self) -> Result<ClientConfig, Vec<String>> {
        let mut config = self.client();
        config
            .set("linger.ms", "5")
            .set("compression.type", "lz4")
            .set("acks", "all")
            .set("enable.idempotence", "true")
            .set(
                "queue.buffering.max.messages",
                self.limits.queue_messages.to_string(),
            )
            .set(
                "queue.buffering.max.kbytes",
                self.limits.queue_kib.to_string(),
            )
            .set("message.timeout.ms", self.limits.delivery_ms.to_string());
        checked(Purpose::Producer, config, &self.kafka.producer)
    }

    fn consumer(&self) -> Result<ClientConfig, Vec<String>> {
        let mut config = self.client();
        config
            .set("group.id", &self.name)
            .set("auto.offset.reset", "earliest")
            .set("enable.auto.commit", "true")
            .set("auto.commit.interval.ms", "1000")
            // a message counts as read when the node has accepted it, not when it was fetched
            .set("enable.auto.offset.store", "false")
            .set(
                "queued.max.messages.kbytes",
                self.limits.ahead_kib.to_string(),
            )
            // a neighbour that does not keep up may pause reading without limit
            .set("max.poll.interval.ms", "86400000")
            // a topic that is created later is found
            .set("topic.metadata.refresh.interval.ms", "2000");
        checked(Purpose::Consumer, config, &self.kafka.consumer)
    }

    fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", &self.kafka.brokers)
            .set("client.id", &self.name)
            .set("reconnect.backoff.max.ms", "1000");
        config
    }
}

/// Returns the client's properties with those of the file, after checking that all have an effect.
fn checked(
    purpose: Purpose,
    mut config: ClientConfig,
    properties: &BTreeMap<String, Value>,
) -> Result<ClientConfig, Vec<String>> {
    // values of the file become texts, as the library has them
    let place = match purpose {
        Purpose::Producer => "kafka.producer",
        Purpose::Consumer => "kafka.consumer",
    };
    for (name, value) in properties {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => {
                let what = "is no text, number or truth value";
                return Err(vec![format!("{place}.{name}: {what}")]);
            }
        };
        config.set(name, value);
    }
    // a problem with a property of the file names its place there
    match settings::check(&config, purpose) {
        Ok(()) => Ok(config),
        Err(problems) => {
            let in_file = |problem: &Problem| match &problem.setting {
                Some(name) if properties.contains_key(name) => format!("{place}.{problem}"),
                _ => format!("{place}: {problem}"),
            };
            Err(problems.iter().map(in_file).collect())
        }
    }
}

/// Parses the node's configuration in place, so that an error has its line in the file.
fn node(section: &Value, places: &Places<'_>) -> Result<Config, String> {
    let text = places.alone("zonda").filter(|_| !section.is_null());
    let config = Config::from_json5(&text.unwrap_or_else(|| "{}".to_owned()));
    let config = config.and_then(|config| Ok(config.validate().map(|()| config)?));
    config.map_err(|error| match error.to_string() {
        text if text.starts_with("line ") => text.replacen(": ", ": zonda: ", 1),
        text => format!("zonda: {text}"),
    })
}

/// Parses a key without wildcards.
fn plain_key(text: &str) -> Result<KeyExpr<'static>, String> {
    let key = KeyExpr::try_from(text.to_owned()).map_err(|error| error.to_string())?;
    match text.contains(['*', '$']) {
        true => Err(format!("\"{text}\" has wildcards")),
        false => Ok(key),
    }
}

enum Rule {
    ToKafka(ToKafka),
    ToZonda(ToZonda),
}

fn rule(number: usize, part: &RulePart) -> Result<Rule, String> {
    match (
        &part.from.key,
        &part.from.topic,
        &part.to.key,
        &part.to.topic,
    ) {
        (Some(key), None, None, Some(topic)) => {
            let rule = to_kafka(key, topic, part)?;
            Ok(Rule::ToKafka(ToKafka { number, ..rule }))
        }
        (None, Some(topic), Some(key), None) => {
            let rule = to_zonda(topic, key, part)?;
            Ok(Rule::ToZonda(ToZonda { number, ..rule }))
        }
        _ => Err("is neither {from: {key}, to: {topic}} nor {from: {topic}, to: {key}}".to_owned()),
    }
}

fn to_kafka(key: &str, topic: &str, part: &RulePart) -> Result<ToKafka, String> {
    // source key and topic; a constant topic must be a legal name
    let from = KeyExpr::try_from(key.to_owned()).map_err(|error| format!("from.key: {error}"))?;
    let allowed = |field: &Field| matches!(field, Field::Key | Field::Chunk(_));
    let topic_template = template("to.topic", topic, allowed)?;
    if topic_template.fields().next().is_none() && !is_topic(topic) {
        return Err(format!("to.topic: \"{topic}\" is no name of a topic"));
    }
    if part.encoding.is_some() {
        return Err("encoding: only messages from a topic lack one".to_owned());
    }
    // optional templates of the partition key and the headers
    let partition_key = part.to.partition_key.as_deref();
    let partition_key = partition_key.map(|text| template("to.partition_key", text, allowed));
    let headers = part.to.headers.iter().map(|(name, text)| {
        Ok((
            name.clone(),
            template(&format!("to.headers.{name}"), text, allowed)?,
        ))
    });
    Ok(ToKafka {
        number: 0,
        from,
        topic: topic_template,
        partition_key: partition_key.transpose()?,
        headers: headers.collect::<Result<_, String>>()?,
    })
}

fn to_zonda(topic: &str, key: &str, part: &RulePart) -> Result<ToZonda, String> {
    if !is_topic(topic) {
        return Err(format!("from.topic: \"{topic}\" is no name of a topic"));
    }
    if part.to.partition_key.is_some() || !part.to.headers.is_empty() {
        return Err("to: partition_key and headers belong to a topic".to_owned());
    }
    let allowed = |field: &Field| !matches!(field, Field::Chunk(_));
    let key_template = template("to.key", key, allowed)?;
    if key_template.fields().next().is_none() {
        plain_key(key).map_err(|error| format!("to.key: {error}"))?;
    }
    Ok(ToZonda {
        number: 0,
        from: topic.to_owned(),
        key: key_template,
        encoding: part.encoding.clone(),
    })
}

fn template(place: &str, text: &str, allowed: impl Fn(&Field) -> bool) -> Result<Template, String> {
    let template: Template = text.parse().map_err(|error| format!("{place}: {error}"))?;
    if let Some(field) = template.fields().find(|field| !allowed(field)) {
        return Err(format!("{place}: {field} is not known in this direction"));
    }
    Ok(template)
}

/// Returns true if Kafka accepts `text` as the name of a topic.
pub(super) fn is_topic(text: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=249).contains(&text.len()) && text.bytes().all(is_legal) && text != "." && text != ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        BridgeConfig::from_json5(text).err().unwrap_or_default()
    }

    #[test]
    fn a_whole_configuration_is_read() {
        let config = BridgeConfig::from_json5(include_str!("../../bridge.json5"));
        let config = config.expect("the example is good");
        assert_eq!((config.to_kafka.len(), config.to_zonda.len()), (1, 1));
        assert_eq!(config.topics(), ["commands"]);
    }

    #[test]
    fn everything_that_is_wrong_is_said_with_its_place() {
        let with = |rest: &str| format!("{{ kafka: {{ brokers: 'a:1' }}, {rest} }}");
        let rule = |rule: &str| with(&format!("rules: [{rule}]"));
        for (text, part) in [
            ("{".to_owned(), ""),
            ("{ rules: [] }".to_owned(), "kafka"),
            (with("rules: [], x: 1"), "x"),
            (with("rules: []"), "rules: there are none"),
            (rule("{ from: { key: 'a' }, to: { key: 'b' } }"), "rules[0]: is neither"),
            (rule("{ from: { key: 'a//b' }, to: { topic: 't' } }"), "rules[0]: from.key"),
            (rule("{ from: { key: 'a' }, to: { topic: 'a/b' } }"), "rules[0]: to.topic"),
            (rule("{ from: { key: 'a' }, to: { topic: '{topic}' } }"), "not known in this direction"),
            (rule("{ from: { key: 'a' }, to: { topic: 't', partition_key: '{x}' } }"), "to.partition_key"),
            (rule("{ from: { key: 'a' }, to: { topic: 't', headers: { h: '{' } } }"), "to.headers.h"),
            (rule("{ from: { topic: 't' }, to: { key: 'a/*' } }"), "to.key"),
            (rule("{ from: { topic: 't' }, to: { key: '{chunk:1}' } }"), "not known in this direction"),
            (rule("{ from: { topic: 't' }, to: { key: 'a', headers: { a: 'b' } } }"), "belong to a topic"),
            (rule("{ from: { key: '**' }, to: { topic: 't' } }"), "a letter would come back"),
            (
                with("zonda: { mode: 'x' }, rules: [{ from: { key: 'a' }, to: { topic: 't' } }]"),
                "`mode` is",
            ),
            (
                "{ kafka: { brokers: 'a:1', producer: { 'linger.mss': 5 } }, rules: [{ from: { key: 'a' }, to: { topic: 't' } }] }".to_owned(),
                "kafka.producer.linger.mss: ",
            ),
            (
                "{ kafka: { brokers: 'a:1', consumer: { 'linger.ms': 5 } }, rules: [{ from: { key: 'a' }, to: { topic: 't' } }] }".to_owned(),
                "kafka.consumer.linger.ms: ",
            ),
            (
                "{ kafka: { brokers: 'a:1', producer: { 'security.protocol': 'ssl' } }, rules: [{ from: { key: 'a' }, to: { topic: 't' } }] }".to_owned(),
                "kafka.producer.security.protocol: ",
            ),
            (with("dead_letters: 'a/*', rules: []"), "dead_letters"),
        ] {
            let problems = problems(&text);
            assert!(problems.iter().any(|problem| problem.contains(part)), "{text}: {problems:?}");
        }
        let lines = "// names\n{\n zonda: {\n  // of the node\n  mode: 'peer',\n  connect: { endpoint: [] } },\n dead_letters:\n 'a/*',\n\
            kafka: { brokers: 'a:1', producer: {\n 'linger.mss': 5 } },\n rules: [\n { from: {}, to: {} },\n\
            { from: { topic: 't' },\n to: { key: 'a/*' } } ] }";
        let begins = [
            "line 8: dead_letters: ",
            "line 12: rules[0]: ",
            "line 14: rules[1]: to.key: ",
            "line 6: zonda: unknown key `connect/endpoint`",
            "line 10: kafka.producer.linger.mss: ",
        ];
        let problems_of_lines = problems(lines);
        assert_eq!(
            problems_of_lines.len(),
            begins.len(),
            "{problems_of_lines:?}"
        );
        for (problem, begin) in problems_of_lines.iter().zip(begins) {
            assert!(problem.starts_with(begin), "{problem}: {begin}");
        }
        let two = rule("{ from: {}, to: {} }, { from: { topic: '..' }, to: { key: 'a' } }");
        assert_eq!(problems(&two).len(), 2, "not only the first");
    }
}
