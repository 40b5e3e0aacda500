// SPDX-License-Identifier: MIT OR Apache-2.0

//! Warnings about access control that is valid and probably does not do what its author wants.

use std::collections::{BTreeSet, HashMap, HashSet};

use zonda_codec::KeyExpr;

use crate::rule::{Flow, MessageKind};

use super::{AccessControl, AccessGrant, AccessMode, AccessRule, AccessSubject, Permission};

/// Key of a warning and its text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Trap {
    pub(crate) key: &'static str,
    pub(crate) text: String,
}

const RULES: &str = "access_control/rules";
const SUBJECTS: &str = "access_control/subjects";
const POLICIES: &str = "access_control/policies";

/// Most warnings of one kind.
const EACH_MAX: usize = 3;

/// Most pairs of keys or of subjects that are compared for one kind of warning.
const PAIRS_MAX: usize = 1 << 17;

/// Returns the warnings.
pub(crate) fn traps(control: &AccessControl) -> Vec<Trap> {
    let of = |key, texts: Vec<String>| texts.into_iter().map(move |text| Trap { key, text });
    let all = of(POLICIES, nothing_passes(control))
        .chain(of(POLICIES, unused(control)))
        .chain(of(RULES, moot(control)))
        .chain(of(RULES, walked_around(control)))
        .chain(of(RULES, verbatim(control)))
        .chain(of(SUBJECTS, lifted(control)));
    all.collect()
}

/// Returns true if some policy applies the rule at this place.
fn is_applied(control: &AccessControl, rule: usize) -> bool {
    !control.grants_of_rule(rule).is_empty()
}

/// Returns the rules that some policy applies and that have a permission.
fn applied(control: &AccessControl, permission: Permission) -> impl Iterator<Item = &AccessRule> {
    let all = control.rules().iter().enumerate();
    let applied = all.filter(|(place, _)| is_applied(control, *place));
    applied
        .map(|(_, rule)| rule)
        .filter(move |rule| rule.permission() == permission)
}

fn nothing_passes(control: &AccessControl) -> Vec<String> {
    let is_closed = control.default_permission() == Permission::Deny;
    let text = "nothing passes: access_control/default_permission is deny, and no policy applies a rule that allows anything";
    match is_closed && applied(control, Permission::Allow).next().is_none() {
        true => vec![text.into()],
        false => Vec::new(),
    }
}

/// Lists rules that no policy applies.
fn unused(control: &AccessControl) -> Vec<String> {
    let all = control.rules().iter().enumerate();
    let unused = all.filter(|(place, _)| !is_applied(control, *place));
    let text = |(_, rule): (usize, &AccessRule)| {
        format!("rule {:?} has no effect: no policy applies it", rule.id())
    };
    unused.map(text).take(EACH_MAX).collect()
}

/// Lists rules that allow what is allowed anyway.
fn moot(control: &AccessControl) -> Vec<String> {
    if control.default_permission() == Permission::Deny {
        return Vec::new();
    }
    let text = |rule: &AccessRule| {
        format!(
            "rule {:?} has no effect: access_control/default_permission allows what no rule denies",
            rule.id()
        )
    };
    let moot = applied(control, Permission::Allow);
    moot.map(text).take(EACH_MAX).collect()
}

/// Lists rules that deny a subscription or a query, around which a wider one leads.
fn walked_around(control: &AccessControl) -> Vec<String> {
    if control.mode() == AccessMode::Strict {
        return Vec::new();
    }
    let data = [
        (MessageKind::DeclareSubscriber, MessageKind::Put),
        (MessageKind::Query, MessageKind::Reply),
    ];
    let mut kept = data.map(|(_, sent)| KeptKeys::new(control, sent));
    let denials = applied(control, Permission::Deny).flat_map(|rule| {
        let asked = data.iter().enumerate();
        let asked = asked.filter(|(_, (asked, _))| rule.messages().contains(asked));
        asked.map(move |(number, kinds)| (rule, number, kinds))
    });
    let text = |(rule, number, (asked, sent)): (
        &AccessRule,
        usize,
        &(MessageKind, MessageKind),
    )| {
        let key = rule.keys().iter().find(|key| !kept[number].include(key))?;
        Some(format!(
            "rule {:?} denies {} on {key}, but not on wider keys such as **, which bring the same data: \
             deny {} at egress, too, or set access_control/mode to strict",
            rule.id(),
            asked.name(),
            sent.name()
        ))
    };
    denials.filter_map(text).take(EACH_MAX).collect()
}

/// Set of keys on which a kind of data is denied at egress.
struct KeptKeys<'c> {
    all: HashSet<&'c str>,
    /// Keys among them with wildcards.
    wild: Vec<&'c KeyExpr<'static>>,
    /// Remaining number of comparisons.
    pairs: usize,
}

impl<'c> KeptKeys<'c> {
    fn new(control: &'c AccessControl, sent: MessageKind) -> Self {
        let denials = applied(control, Permission::Deny)
            .filter(|rule| rule.messages().contains(&sent) && rule.flows().contains(&Flow::Egress));
        let keys: Vec<_> = denials.flat_map(AccessRule::keys).collect();
        KeptKeys {
            all: keys.iter().map(|key| key.as_str()).collect(),
            wild: keys
                .into_iter()
                .filter(|key| key.as_str().contains('*'))
                .collect(),
            pairs: PAIRS_MAX,
        }
    }

    /// Returns true if all data on `key` are denied, if no wider key exists, or if too many keys were
    /// compared already.
    fn include(&mut self, key: &KeyExpr<'_>) -> bool {
        // No key is wider than this one.
        let is_widest = key.as_str() == "**";
        if is_widest || self.all.contains(key.as_str()) || self.pairs < self.wild.len() {
            return true;
        }
        self.pairs -= self.wild.len();
        self.wild.iter().any(|wild| wild.includes(key))
    }
}

/// Names a rule that allows everything, if no rule allows keys with verbatim chunks.
fn verbatim(control: &AccessControl) -> Vec<String> {
    if control.default_permission() == Permission::Allow {
        return Vec::new();
    }
    let mut keys = applied(control, Permission::Allow).flat_map(AccessRule::keys);
    if keys.any(|key| key.as_str().contains('@')) {
        return Vec::new();
    }
    let is_wide = |rule: &&AccessRule| {
        let mut keys = rule.keys().iter();
        keys.any(|key| key.as_str().split('/').any(|chunk| chunk == "**"))
    };
    let wide = applied(control, Permission::Allow).find(is_wide);
    let text = |rule: &AccessRule| {
        format!(
            "the ** in rule {:?} includes no chunk that begins with @: the admin space (@/**) and advanced publishers \
             (**/@adv/**) need rules of their own",
            rule.id()
        )
    };
    wide.map(text).into_iter().collect()
}

/// Lists denials that another subject of the same neighbour lifts.
fn lifted(control: &AccessControl) -> Vec<String> {
    let is_open = control.default_permission() == Permission::Allow;
    if !is_open || control.mode() == AccessMode::Strict {
        return Vec::new();
    }
    let mut pairs = PAIRS_MAX;
    // Rules that the same policies apply have the same answer.
    let mut known = HashMap::new();
    let text = |(place, rule): (usize, &AccessRule)| {
        let grants = control.grants_of_rule(place);
        let lifting = known.entry(grants);
        let [denied, other] =
            (*lifting.or_insert_with(|| lifting_pair(control, grants, &mut pairs)))?;
        Some(format!(
            "rule {:?} denies nothing to a neighbour that is {denied:?} and {other:?}: the latter is not in its \
             policy, and the rights of both add up",
            rule.id()
        ))
    };
    let denials = control.rules().iter().enumerate();
    let denials = denials.filter(|(_, rule)| rule.permission() == Permission::Deny);
    denials.filter_map(text).take(EACH_MAX).collect()
}

/// Returns the ids of a subject that one of these policies has and of one that none has, if one
/// neighbour may be both. Gives up after `pairs` comparisons, and subtracts its own.
fn lifting_pair<'c>(
    control: &'c AccessControl,
    grants: &[usize],
    pairs: &mut usize,
) -> Option<[&'c str; 2]> {
    let grants = grants
        .iter()
        .filter_map(|place| control.grants().get(*place));
    let denied: BTreeSet<_> = grants.flat_map(AccessGrant::subjects).copied().collect();
    let subjects = control.subjects();
    for one in denied.iter().filter_map(|place| subjects.get(*place)) {
        *pairs = pairs.checked_sub(subjects.len())?;
        let others = subjects.iter().enumerate();
        let mut others = others.filter(|(place, _)| !denied.contains(place));
        if let Some((_, other)) = others.find(|(_, other)| may_be_one(one, other)) {
            return Some([one.id(), other.id()]);
        }
    }
    None
}

/// Returns true if one neighbour with one link may be both subjects, in different combinations.
fn may_be_one(one: &AccessSubject, other: &AccessSubject) -> bool {
    let meets = |a: Option<&[String]>, b: Option<&[String]>| match (a, b) {
        (Some(a), Some(b)) => a.iter().any(|item| b.contains(item)),
        _ => true,
    };
    let zids = match (one.zids(), other.zids()) {
        (Some(a), Some(b)) => a.iter().any(|item| b.contains(item)),
        _ => true,
    };
    let lists = |subject: &AccessSubject| {
        [
            subject.interfaces().is_some(),
            subject.cert_common_names().is_some(),
            subject.usernames().is_some(),
            subject.link_protocols().is_some(),
            subject.zids().is_some(),
        ]
    };
    // with the same lists, what fits both is one combination, which has the rules of both
    lists(one) != lists(other)
        && zids
        && meets(one.interfaces(), other.interfaces())
        && meets(one.cert_common_names(), other.cert_common_names())
        && meets(one.usernames(), other.usernames())
        && meets(one.link_protocols(), other.link_protocols())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use crate::Config;

    /// Returns the warnings about these parts of `access_control`.
    fn warnings(parts: &str) -> Vec<String> {
        let text = format!("{{enabled: true, {parts}}}");
        let mut config = Config::default();
        config.insert_json5("access_control", &text).expect(&text);
        let warnings = config.warnings().into_iter();
        warnings.map(|warning| warning.to_string()).collect()
    }

    fn assert_warned(parts: &str, says: &[&str]) {
        let warnings = warnings(parts);
        assert_eq!(warnings.len(), says.len(), "{warnings:?}");
        for (warning, says) in warnings.iter().zip(says) {
            assert!(
                warning.contains(says) && !warning.contains('\n'),
                "{warning}"
            );
        }
    }

    #[test]
    fn what_lets_nothing_pass_is_named() {
        let empty = "rules: [], subjects: [], policies: []";
        assert_warned(empty, &["nothing passes"]);
        let unused = "rules: [{id: 'r', permission: 'allow', messages: ['put'], key_exprs: ['a']}],
            subjects: [], policies: []";
        assert_warned(
            unused,
            &["nothing passes", "rule \"r\" has no effect: no policy"],
        );
        assert_warned(&format!("default_permission: 'allow', {empty}"), &[]);
    }

    #[test]
    fn rules_that_allow_what_is_allowed_are_named() {
        let parts = "rules: [{id: 'r', permission: 'allow', messages: ['put'], key_exprs: ['a']}],
            subjects: [{id: 's'}], policies: [{rules: ['r'], subjects: ['s']}]";
        assert_warned(parts, &[]);
        let open = format!("default_permission: 'allow', {parts}");
        assert_warned(
            &open,
            &["rule \"r\" has no effect: access_control/default_permission"],
        );
    }

    #[test]
    fn denials_that_a_wider_key_walks_around_are_named() {
        let denies = |messages: &str, more: &str| {
            format!(
                "default_permission: 'allow', {more}
                 rules: [{{id: 'r', permission: 'deny', messages: [{messages}], key_exprs: ['a/b']}}],
                 subjects: [{{id: 's'}}], policies: [{{rules: ['r'], subjects: ['s']}}]"
            )
        };
        let says = "denies declare_subscriber on a/b, but not on wider keys";
        assert_warned(&denies("'declare_subscriber'", ""), &[says]);
        assert_warned(&denies("'declare_subscriber', 'put'", ""), &[]);
        assert_warned(&denies("'declare_subscriber'", "mode: 'strict',"), &[]);
        let widest = denies("'declare_subscriber'", "").replace("a/b", "**");
        assert_warned(&widest, &[]);
        assert_warned(&denies("'query'", ""), &["deny reply at egress"]);
    }

    #[test]
    fn keys_that_two_stars_do_not_include_are_named() {
        let allows = |keys: &str| {
            format!(
                "rules: [{{id: 'r', permission: 'allow', messages: ['put'], key_exprs: [{keys}]}}],
                 subjects: [{{id: 's'}}], policies: [{{rules: ['r'], subjects: ['s']}}]"
            )
        };
        assert_warned(
            &allows("'a/**'"),
            &["the ** in rule \"r\" includes no chunk"],
        );
        assert_warned(&allows("'a/**', '@/**'"), &[]);
        assert_warned(&allows("'a/*'"), &[]);
    }

    #[test]
    fn denials_that_another_subject_lifts_are_named() {
        let subjects = |subjects: &str| {
            format!(
                "default_permission: 'allow',
                 rules: [{{id: 'r', permission: 'deny', messages: ['put'], key_exprs: ['a']}}],
                 subjects: [{{id: 'x', usernames: ['u']}}, {subjects}],
                 policies: [{{rules: ['r'], subjects: ['x']}}]"
            )
        };
        let says = "rule \"r\" denies nothing to a neighbour that is \"x\" and \"y\"";
        assert_warned(&subjects("{id: 'y', interfaces: ['lo']}"), &[says]);
        assert_warned(&subjects("{id: 'y', usernames: ['v']}"), &[]);
        assert_warned(&subjects("{id: 'y', usernames: ['u']}"), &[]);
    }

    /// Rules of a large fleet are looked through in a moment: every pair of them is not compared.
    #[test]
    fn ten_thousand_rules_are_looked_through_soon() {
        const COUNT: usize = 10_000;
        let list = |item: &dyn Fn(usize) -> String| {
            let items: Vec<_> = (0..COUNT).map(item).collect();
            format!("[{}]", items.join(","))
        };
        let subjects = list(&|n| match n % 2 {
            0 => format!("{{id: 's{n}', usernames: ['u{n}']}}"),
            _ => format!("{{id: 's{n}', usernames: ['u{n}'], interfaces: ['i{n}']}}"),
        });
        let policies = list(&|n| format!("{{rules: ['r{n}'], subjects: ['s{n}']}}"));
        for (default, permission) in [("allow", "deny"), ("deny", "allow"), ("allow", "allow")] {
            let rules = list(&|n| {
                let (messages, key) = match n % 2 {
                    0 => ("'declare_subscriber', 'query'", format!("a/{n}")),
                    _ => ("'put', 'reply'", format!("a/*/{n}/**")),
                };
                format!(
                    "{{id: 'r{n}', permission: '{permission}', messages: [{messages}], key_exprs: ['{key}']}}"
                )
            });
            let begin = Instant::now();
            warnings(&format!(
                "default_permission: '{default}', rules: {rules}, subjects: {subjects}, policies: {policies}"
            ));
            let took = begin.elapsed();
            assert!(took < Duration::from_secs(10), "{took:?}");
        }
    }
}
