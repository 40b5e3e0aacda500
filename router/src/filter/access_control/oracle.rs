// SPDX-License-Identifier: MIT OR Apache-2.0

//! Random rules, subjects, policies, neighbours and keys: the compiled rules and a naive evaluation
//! of the reference's procedure decide alike.

use std::collections::{HashMap, HashSet};

use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
};
use zonda_codec::{KeyExpr, ZenohId};

use crate::config::{
    AccessControl, AccessMode, AccessSubject, Config, Flow, MessageKind, Permission,
};

use super::{
    explain::{Neighbour, Rules},
    identity::fitting,
    policy::Policy,
};

const KEYS: [&str; 23] = [
    "a",
    "b",
    "a/b",
    "a/b/c",
    "a/*",
    "a/**",
    "**",
    "*",
    "*/b",
    "a/*/c",
    "**/c",
    "@x",
    "@x/**",
    "a/@x",
    "a/**/@x",
    "a$*/b",
    "ab/b",
    "a/b$*",
    "*/**",
    "b/c",
    "@/*/router/config/a",
    "@/a1/router/config/**",
    "@/a1/*/config/b",
];

const INTERFACES: [&str; 2] = ["lo", "eth0"];
const USERS: [&str; 2] = ["u1", "u2"];
const NAMES: [&str; 2] = ["n1", "n2"];
const PROTOCOLS: [&str; 2] = ["tcp", "tls"];
const ZIDS: [&str; 3] = ["a1", "b2", "c3"];

/// One item of each list of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Expanded {
    interface: Option<String>,
    cert_name: Option<String>,
    user: Option<String>,
    protocol: Option<String>,
    zid: Option<ZenohId>,
}

impl Expanded {
    fn fits(&self, who: &Neighbour) -> bool {
        let is_in = |wanted: &Option<String>, own: &[String]| {
            wanted.as_ref().is_none_or(|wanted| own.contains(wanted))
        };
        is_in(&self.interface, &who.interfaces)
            && is_in(&self.cert_name, &who.cert_names)
            && is_in(&self.protocol, &who.protocols)
            && (self.user.is_none() || self.user == who.user)
            && self.zid.is_none_or(|zid| Some(zid) == who.zid)
    }
}

fn options<T: Clone>(list: Option<&[T]>) -> Vec<Option<T>> {
    match list {
        None => vec![None],
        Some(items) => items.iter().cloned().map(Some).collect(),
    }
}

/// Returns the cartesian product of a subject's lists.
fn expand(subject: &AccessSubject) -> Vec<Expanded> {
    let mut all = Vec::new();
    for interface in options(subject.interfaces()) {
        for cert_name in options(subject.cert_common_names()) {
            for user in options(subject.usernames()) {
                for protocol in options(subject.link_protocols()) {
                    all.extend(options(subject.zids()).into_iter().map(|zid| Expanded {
                        interface: interface.clone(),
                        cert_name: cert_name.clone(),
                        user: user.clone(),
                        protocol: protocol.clone(),
                        zid,
                    }));
                }
            }
        }
    }
    all
}

/// A message that is decided about.
struct Message<'m> {
    kind: MessageKind,
    flow: Flow,
    key: &'m KeyExpr<'m>,
}

/// Returns true if a message passes: the procedure word by word, with a look at everything.
fn passes(control: &AccessControl, who: &Neighbour, message: &Message<'_>) -> bool {
    // the rules of each expanded combination
    let mut rules: HashMap<Expanded, HashSet<usize>> = HashMap::new();
    for subject in control.subjects() {
        for combination in expand(subject) {
            rules.entry(combination).or_default();
        }
    }
    for grant in control.grants() {
        for subject in grant.subjects() {
            for combination in expand(&control.subjects()[*subject]) {
                rules.entry(combination).or_default().extend(grant.rules());
            }
        }
    }
    // those that match
    let matching: Vec<_> = rules.iter().filter(|(one, _)| one.fits(who)).collect();
    let by_default = control.default_permission() == Permission::Allow;
    if matching.is_empty() {
        return by_default;
    }
    let has = |rules: &HashSet<usize>, permission, is_about: &dyn Fn(&KeyExpr<'_>) -> bool| {
        rules.iter().any(|rule| {
            let rule = &control.rules()[*rule];
            rule.permission() == permission
                && rule.flows().contains(&message.flow)
                && rule.messages().contains(&message.kind)
                && rule.keys().iter().any(is_about)
        })
    };
    let includes = |key: &KeyExpr<'_>| key.includes(message.key);
    let intersects = |key: &KeyExpr<'_>| key.intersects(message.key);
    // strict: a rule that denies anywhere ends it
    if control.mode() == AccessMode::Strict {
        let mut all = matching.iter();
        if all.any(|(_, rules)| has(rules, Permission::Deny, &intersects)) {
            return false;
        }
    }
    // the first combination that allows it; a denial for the configuration of one of several nodes counts
    let is_about: &dyn Fn(&KeyExpr<'_>) -> bool = match message.key.as_str() {
        "@/*/router/config/a" | "@/a1/*/config/b" => &intersects,
        _ => &includes,
    };
    matching.iter().any(|(_, rules)| {
        !has(rules, Permission::Deny, is_about)
            && (by_default || has(rules, Permission::Allow, &includes))
    })
}

fn list(items: &[&str]) -> String {
    format!("{items:?}")
}

fn some_of<const N: usize>(all: [&'static str; N]) -> impl Strategy<Value = String> {
    subsequence(all.to_vec(), 1..=N).prop_map(|items| list(&items))
}

fn maybe<const N: usize>(
    name: &'static str,
    all: [&'static str; N],
) -> impl Strategy<Value = String> {
    let some = some_of(all).prop_map(move |items| format!("{name}: {items}, "));
    prop_oneof![2 => Just(String::new()), 1 => some]
}

fn rule() -> impl Strategy<Value = String> {
    let kinds = MessageKind::ALL.map(MessageKind::name);
    let permission = select(vec!["allow", "deny"]);
    let keys = subsequence(KEYS.to_vec(), 1..4).prop_map(|keys| list(&keys));
    let flows = maybe("flows", ["ingress", "egress"]);
    (permission, some_of(kinds), keys, flows).prop_map(|(permission, kinds, keys, flows)| {
        format!("permission: '{permission}', messages: {kinds}, {flows} key_exprs: {keys}")
    })
}

fn subject() -> impl Strategy<Value = String> {
    let lists = (
        maybe("interfaces", INTERFACES),
        maybe("usernames", USERS),
        maybe("cert_common_names", NAMES),
        maybe("link_protocols", PROTOCOLS),
        maybe("zids", ZIDS),
    );
    lists.prop_map(|(a, b, c, d, e)| [a, b, c, d, e].concat())
}

/// A policy, as places in the lists of rules and subjects, modulo their lengths.
fn policy() -> impl Strategy<Value = [Vec<usize>; 2]> {
    let places = || vec(0..60_usize, 1..4);
    [places(), places()]
}

fn control() -> impl Strategy<Value = AccessControl> {
    let (rules, subjects) = (vec(rule(), 1..8), vec(subject(), 1..6));
    let policies = vec(policy(), 0..5);
    let default = select(vec!["allow", "deny"]);
    let mode = select(vec!["normal", "strict"]);
    let parts = (rules, subjects, policies, default, mode);
    parts.prop_map(|(rules, subjects, policies, default, mode)| {
        let numbered = |all: &[String]| {
            let each = all.iter().enumerate();
            let each = each.map(|(id, parts)| format!("{{id: '{id}', {parts}}}"));
            each.collect::<Vec<_>>().join(", ")
        };
        let policies = policies.iter().map(|[in_rules, in_subjects]| {
            let ids = |places: &[usize], len: usize| {
                let ids = places.iter().map(|place| format!("'{}'", place % len));
                ids.collect::<Vec<_>>().join(", ")
            };
            let rules = ids(in_rules, rules.len());
            let subjects = ids(in_subjects, subjects.len());
            format!("{{rules: [{rules}], subjects: [{subjects}]}}")
        });
        let policies = policies.collect::<Vec<_>>().join(", ");
        let (rules, subjects) = (numbered(&rules), numbered(&subjects));
        let text = format!(
            "{{enabled: true, default_permission: '{default}', mode: '{mode}', \
              rules: [{rules}], subjects: [{subjects}], policies: [{policies}]}}"
        );
        let mut config = Config::default();
        config.insert_json5("access_control", &text).expect(&text);
        let control = config.settings().access_control();
        control.expect(&text).expect("it is on")
    })
}

fn neighbour() -> impl Strategy<Value = Neighbour> {
    fn names(all: [&'static str; 2], least: usize) -> impl Strategy<Value = Vec<String>> {
        let some = subsequence(all.to_vec(), least..=2);
        some.prop_map(|some| some.into_iter().map(str::to_owned).collect())
    }
    let parts = (
        select(ZIDS.to_vec()),
        proptest::option::of(select(USERS.to_vec())),
        names(NAMES, 0),
        names(INTERFACES, 0),
        names(PROTOCOLS, 1),
    );
    parts.prop_map(|(zid, user, cert_names, interfaces, protocols)| Neighbour {
        zid: Some(zid.parse().expect("an id")),
        user: user.map(str::to_owned),
        cert_names,
        interfaces,
        protocols,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn compiled_rules_decide_like_a_naive_evaluation(control in control(), who in neighbour()) {
        let policy = Policy::new(control.clone());
        for text in KEYS {
            let key = KeyExpr::new(text).expect("a key expression");
            for flow in [Flow::Ingress, Flow::Egress] {
                let verdict = policy.judge(&who.identity(), flow, Some(&key));
                for kind in MessageKind::ALL {
                    let message = Message { kind, flow, key: &key };
                    let naive = passes(&control, &who, &message);
                    let ours = verdict.cause(kind).is_none();
                    prop_assert_eq!(ours, naive, "{:?} {:?} {}", flow, kind, text);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn an_explanation_is_that_of_the_decision(control in control(), who in neighbour()) {
        let rules = Rules::new(control.clone());
        let is_open = control.default_permission() == Permission::Allow;
        for text in KEYS {
            let key = &KeyExpr::new(text).expect("a key expression");
            for flow in [Flow::Ingress, Flow::Egress] {
                for kind in MessageKind::ALL {
                    let naive = passes(&control, &who, &Message { kind, flow, key });
                    let found = rules.explain(&who, crate::filter::Message { flow, kind, key });
                    prop_assert_eq!(found.is_allowed, naive);
                    prop_assert_eq!(found.hints.is_empty(), naive, "{:?}", found);
                    let Some(by) = found.by else {
                        prop_assert_eq!(is_open, naive, "{:?} {:?} {}", flow, kind, text);
                        continue;
                    };
                    // The rule is about the message, and a policy has it and a subject that fits.
                    let rule = control.rules().iter().find(|rule| rule.id() == by.rule);
                    let rule = rule.expect("a rule of these");
                    prop_assert_eq!(rule.permission() == Permission::Allow, naive);
                    prop_assert!(rule.messages().contains(&kind) && rule.flows().contains(&flow));
                    prop_assert!(rule.keys().iter().any(|own| own.intersects(key)));
                    prop_assert!(!by.policies.is_empty() && !by.subjects.is_empty());
                    for id in &by.subjects {
                        let mut all = control.subjects().iter();
                        let subject = all.find(|subject| subject.id() == id).expect("one of these");
                        prop_assert!(!fitting(subject, &who.identity()).is_empty());
                    }
                }
            }
        }
    }
}
