// SPDX-License-Identifier: MIT OR Apache-2.0

//! The items of `downsampling`, which limit the rate of messages by key, kind, direction and link.

use zonda_codec::KeyExpr;

use crate::{
    rule::{
        ITEM, MessageKind, RULE, items, key, kind, members, named, text, unique_items, yes_or_no,
    },
    scope::Scope,
    value::{Located, Value},
};

/// One item.
#[derive(Debug, Clone, PartialEq)]
pub struct DownsamplingItem {
    /// The messages that the item applies to, without keys. It applies to a neighbour all of whose
    /// links match.
    pub scope: Scope,
    /// The rates; the first rule whose key intersects that of a message counts.
    pub rules: Vec<DownsamplingRule>,
}

/// The rate of messages whose keys intersect a key expression.
#[derive(Debug, Clone, PartialEq)]
pub struct DownsamplingRule {
    /// The key expression.
    pub key: KeyExpr<'static>,
    /// Maximum number of messages per second; none passes if it is 0.
    pub freq: f64,
    /// True if the rate is for each key of a message, not for all of them together.
    pub per_key: bool,
}

/// Reads the items of a value.
///
/// # Errors
/// The form that was expected instead of the first invalid item, in words.
pub fn list(value: &Value) -> Result<Vec<DownsamplingItem>, String> {
    unique_items(ITEM, value, item, |item| item.scope.id.as_deref())
}

/// Most pairs of rules that are compared for a warning.
const PAIRS_MAX: usize = 1 << 17;

/// Returns a description of the first rule that no message reaches, as a rule before it has all of
/// its keys; `None` also if there are too many rules to compare.
pub fn unreached(list: &[DownsamplingItem]) -> Option<String> {
    let mut pairs = PAIRS_MAX;
    list.iter().enumerate().find_map(|(number, item)| {
        item.rules.iter().enumerate().find_map(|(later, rule)| {
            pairs = pairs.saturating_sub(later);
            let before = item.rules.iter().take(later.min(pairs));
            let mut before = before.enumerate();
            let (earlier, _) = before.find(|(_, other)| other.key.includes(&rule.key))?;
            Some(format!(
                "{ITEM} {}: {RULE} {} ({}) has no effect: {RULE} {} has all of its keys, and the \
                 first {RULE} counts; write the narrow one first",
                number + 1,
                later + 1,
                rule.key,
                earlier + 1
            ))
        })
    })
}

fn item(value: &Value) -> Result<DownsamplingItem, String> {
    let (mut scope, mut rules) = (Scope::new(), None);
    for (name, member) in members("", value)? {
        match name {
            "rules" => rules = Some(rates(&member.value)?),
            "messages" => scope.messages = named(name, &member.value, downsampled)?,
            "key_exprs" => {
                return Err("key_exprs is not a part of an item; each rule has a key_expr".into());
            }
            _ if scope.take(name, member)? => {}
            other => return Err(format!("{other:?} is not a part of an item")),
        }
    }
    let scope = scope.checked()?;
    let rules = rules.ok_or("it has no rules")?;
    Ok(DownsamplingItem { scope, rules })
}

/// Reads a kind of message. Up to 1.9 the reference has one name for two of them.
fn downsampled(text: &str) -> Result<MessageKind, String> {
    match text {
        "push" => Err("messages has \"push\", which is now \"put\" and \"delete\"".into()),
        other => kind(other),
    }
}

fn rates(value: &Value) -> Result<Vec<DownsamplingRule>, String> {
    match items(RULE, value, rate) {
        Ok(rules) if rules.is_empty() => Err("rules is not a list with at least one rule".into()),
        Err(_) if !matches!(value, Value::List(_)) => {
            Err("rules is not a list with at least one rule".into())
        }
        read => read,
    }
}

fn rate(value: &Value) -> Result<DownsamplingRule, String> {
    let (mut found, mut freq, mut per_key) = (None, None, false);
    for (name, member) in members("", value)? {
        match name {
            "key_expr" => found = Some(key(text(name, member)?)?),
            "freq" => freq = Some(frequency(member)?),
            "per_key" => per_key = yes_or_no(name, member)?,
            other => return Err(format!("{other:?} is not a part of a rule")),
        }
    }
    Ok(DownsamplingRule {
        key: found.ok_or("it has no key_expr")?,
        freq: freq.ok_or("it has no freq")?,
        per_key,
    })
}

fn frequency(member: &Located) -> Result<f64, String> {
    match &member.value {
        Value::Number(n) if n.is_finite() && *n >= 0.0 => Ok(*n),
        Value::Number(n) => Err(format!(
            "freq is {n}, not a number of messages per second from 0"
        )),
        other => Err(format!(
            "freq is {}, not a number of messages per second from 0",
            other.kind()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Flow, json5};

    fn read(text: &str) -> Result<Vec<DownsamplingItem>, String> {
        list(&json5::parse(text).expect("it is JSON5").value)
    }

    #[test]
    fn an_item_has_what_it_says_and_defaults() {
        let items = read(
            "[{messages: ['put'], rules: [{key_expr: 'a/**', freq: 10}], id: null},
              {id: 'x', flows: ['egress'], interfaces: ['lo'], link_protocols: ['tcp'], zids: ['a1'],
               messages: ['delete', 'query', 'reply'],
               rules: [{key_expr: 'b', freq: 0}, {key_expr: 'c/*', freq: 0.5, per_key: true}]}]",
        )
        .expect("they are items");
        let [first, second] = &items[..] else {
            panic!("two items")
        };
        assert_eq!(first.scope.flows, [Flow::Ingress, Flow::Egress]);
        assert_eq!(first.scope.messages, [MessageKind::Put]);
        assert_eq!((&first.scope.id, &first.scope.interfaces), (&None, &None));
        let [rule] = &first.rules[..] else {
            panic!("one rule")
        };
        assert_eq!(
            (rule.key.as_str(), rule.freq, rule.per_key),
            ("a/**", 10.0, false)
        );
        assert_eq!(second.scope.id.as_deref(), Some("x"));
        assert_eq!(second.scope.flows, [Flow::Egress]);
        assert_eq!(second.scope.zids.as_ref().map(Vec::len), Some(1));
        let rates = second.rules.iter().map(|rule| (rule.freq, rule.per_key));
        assert_eq!(rates.collect::<Vec<_>>(), [(0.0, false), (0.5, true)]);
        assert_eq!(read("[]"), Ok(Vec::new()));
    }

    /// Checks that `text` is refused with an error of one line that contains `said`.
    fn refuses(text: &str, said: &str) {
        let error = read(text).expect_err(text);
        assert!(error.contains(said), "{text}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }

    #[test]
    fn what_is_no_item_says_which_and_why() {
        let rules = "rules: [{key_expr: 'a', freq: 1}]";
        let whole = format!("messages: ['put'], {rules}");
        refuses("{}", "a list of items");
        for (items, said) in [
            ("1", "item 1: is not an object"),
            (&*format!("{{{rules}}}"), "item 1: it has no messages"),
            (
                &*format!("{{messages: [], {rules}}}"),
                "messages is not a list with at least one",
            ),
            (
                &*format!("{{messages: ['push'], {rules}}}"),
                "\"push\", which is now \"put\" and \"delete\"",
            ),
            (
                &*format!("{{messages: ['declare_subscriber'], {rules}}}"),
                "none of put, delete, query, reply",
            ),
            ("{messages: ['put']}", "it has no rules"),
            (
                "{messages: ['put'], rules: {}}",
                "item 1: rules is not a list",
            ),
            (
                "{messages: ['put'], rules: []}",
                "rules is not a list with at least one rule",
            ),
            (
                &*format!("{{id: 'x', {whole}}}, {{id: 'x', {whole}}}"),
                "item 2: the id \"x\" is repeated",
            ),
            (
                &*format!("{{{whole}}}, {{{whole}, flows: []}}"),
                "item 2: flows is not a list",
            ),
        ] {
            refuses(&format!("[{items}]"), said);
        }
        for (part, said) in [
            ("rate: 1", "\"rate\" is not a part of an item"),
            ("key_exprs: ['a']", "each rule has a key_expr"),
            ("flows: ['out']", "\"out\" is neither ingress nor egress"),
            ("interfaces: []", "interfaces is not a list"),
            ("link_protocols: []", "link_protocols is not a list"),
        ] {
            refuses(&format!("[{{{whole}, {part}}}]"), said);
        }
    }

    #[test]
    fn what_is_no_rule_says_which_and_why() {
        for (rules, said) in [
            ("1", "item 1: rule 1: is not an object"),
            ("{freq: 1}", "rule 1: it has no key_expr"),
            ("{key_expr: 'a'}", "rule 1: it has no freq"),
            (
                "{key_expr: 'a', freq: 1}, {key_expr: 'a//b', freq: 1}",
                "item 1: rule 2: ",
            ),
            ("{key_expr: 1, freq: 1}", "key_expr is a number, not a text"),
            ("{key_expr: 'a', freq: -1}", "freq is -1, not a number of"),
            ("{key_expr: 'a', freq: NaN}", "freq is NaN, not a number of"),
            (
                "{key_expr: 'a', freq: Infinity}",
                "freq is inf, not a number of",
            ),
            (
                "{key_expr: 'a', freq: '1'}",
                "freq is a text, not a number of",
            ),
            (
                "{key_expr: 'a', freq: 1, per_key: 1}",
                "per_key is a number, not true",
            ),
            (
                "{key_expr: 'a', freq: 1, each: 1}",
                "\"each\" is not a part of a rule",
            ),
        ] {
            refuses(&format!("[{{messages: ['put'], rules: [{rules}]}}]"), said);
        }
    }

    #[test]
    fn an_error_has_the_line_and_the_number() {
        let text = "{\n downsampling: [{messages: ['push'], rules: [{key_expr: 'a', freq: 1}]}]}";
        let error = Config::from_json5(text).expect_err("push").to_string();
        assert!(error.starts_with("line 2: `downsampling` "), "{error}");
        assert!(error.contains("item 1: messages has \"push\""), "{error}");
    }

    #[test]
    fn a_rule_after_a_wider_one_is_a_warning() {
        let warned = |rules: &str| {
            let text = format!("{{\ndownsampling: [{{messages: ['put'], rules: [{rules}]}}]}}");
            let config = Config::from_json5(&text).expect("valid");
            let warnings = config.warnings().into_iter();
            warnings.map(|one| one.to_string()).collect::<Vec<_>>()
        };
        let [narrow, wide] = ["{key_expr: 'a/b', freq: 1}", "{key_expr: 'a/*', freq: 1}"];
        assert_eq!(warned(&format!("{narrow}, {wide}")), [""; 0]);
        for rules in [format!("{wide}, {narrow}"), format!("{narrow}, {narrow}")] {
            let warnings = warned(&rules);
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert!(warnings[0].contains("item 1: rule 2 (a/b) has no effect: rule 1"));
        }
    }

    /// The rules of a large list are not compared each with each.
    #[test]
    fn ten_thousand_rules_are_looked_through_soon() {
        let rule = |n: usize| format!("{{key_expr: '*/{n}/**', freq: 1}}");
        let rules: Vec<_> = (0..10_000).map(rule).collect();
        let text = format!("[{{messages: ['put'], rules: [{}]}}]", rules.join(","));
        let items = read(&text).expect("they are items");
        let begin = std::time::Instant::now();
        assert_eq!(unreached(&items), None);
        let took = begin.elapsed();
        assert!(took < std::time::Duration::from_secs(10), "{took:?}");
    }
}
