// SPDX-License-Identifier: MIT OR Apache-2.0

//! Decisions of access control in words, for people who write rules: the rule, policy and subject
//! that decide about a message, and what would change the decision.

use std::{cmp::Reverse, collections::BTreeSet};

use zonda_codec::ZenohId;
use zonda_transport::text::distance;

use crate::{
    config::{AccessControl, AccessRule, AccessSubject, MessageKind, Permission},
    filter::contract::Message,
};

use super::{
    identity::{Identity, fitting},
    policy::{About, Cause, Policy},
};

/// Neighbour as rules know it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Neighbour {
    /// Its id.
    pub zid: Option<ZenohId>,
    /// The user that it has proved to be.
    pub user: Option<String>,
    /// The common names in its certificate.
    pub cert_names: Vec<String>,
    /// The interfaces of this machine that its links use.
    pub interfaces: Vec<String>,
    /// The protocols of its links.
    pub protocols: Vec<String>,
}

impl Neighbour {
    pub(super) fn identity(&self) -> Identity<'_> {
        Identity {
            zid: self.zid,
            user: self.user.as_deref(),
            cert_names: &self.cert_names,
            interfaces: &self.interfaces,
            protocols: &self.protocols,
        }
    }
}

/// Rule that decides about a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidingRule {
    /// The id of the rule.
    pub rule: String,
    /// The policies that apply it to the neighbour.
    pub policies: Vec<String>,
    /// The subjects of these policies that fit the neighbour.
    pub subjects: Vec<String>,
}

/// Decision about a message, and its cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// True if the message passes.
    pub is_allowed: bool,
    /// The rule that decides; `None` if the default permission does.
    pub by: Option<DecidingRule>,
    /// The subjects that fit the neighbour.
    pub subjects: Vec<String>,
    /// Changes that would let a denied message pass, a sentence each.
    pub hints: Vec<String>,
}

impl Explanation {
    /// Names the cause of the decision, such as `by rule "r" of policy "p" for subject "s"`.
    #[must_use]
    pub fn cause(&self) -> String {
        match &self.by {
            Some(by) => format!(
                "by rule {:?} of policy {} for subject {}",
                by.rule,
                quoted(&by.policies),
                quoted(&by.subjects)
            ),
            None if self.is_allowed => "by the default permission".into(),
            None => "because no rule allows it".into(),
        }
    }
}

/// Returns names in quotes, with commas between them.
fn quoted(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    names.join(", ")
}

/// Most hints about rules.
const HINTS_MAX: usize = 5;

/// Most keys of rules that are compared with the key of a message.
const COMPARED_MAX: usize = 1024;

/// Longest keys that are compared with each other.
const COMPARED_LENGTH_MAX: usize = 128;

/// Explains the decision of `control` about messages between a neighbour and this node.
///
/// ```
/// use zonda_router::{Config, access::{Message, Neighbour, Rules}, config::{Flow, MessageKind}};
///
/// let config = Config::from_json5("{access_control: {enabled: true,
///     rules: [{id: 'r', permission: 'allow', messages: ['put'], key_exprs: ['demo/**']}],
///     subjects: [{id: 's', usernames: ['u1']}], policies: [{rules: ['r'], subjects: ['s']}]}}")
///     .unwrap();
/// let control = config.settings().access_control().ok().flatten().unwrap();
/// let rules = Rules::new(control);
/// let who = Neighbour { user: Some("u1".into()), ..Neighbour::default() };
/// let key = zonda_codec::KeyExpr::new("demo/a").unwrap();
/// let message = Message { flow: Flow::Ingress, kind: MessageKind::Put, key: &key };
/// let explained = rules.explain(&who, message);
/// assert!(explained.is_allowed);
/// assert_eq!(explained.by.unwrap().rule, "r");
/// ```
pub struct Rules {
    policy: Policy,
}

impl Rules {
    /// Compiles the rules, as a node does when it opens.
    #[must_use]
    pub fn new(control: AccessControl) -> Rules {
        let policy = Policy::new(control);
        Rules { policy }
    }

    /// Returns the compiled rules.
    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    fn control(&self) -> &AccessControl {
        self.policy.control()
    }

    /// Explains the decision about a message, which is the one that a node with these rules makes.
    #[must_use]
    pub fn explain(&self, who: &Neighbour, message: Message<'_>) -> Explanation {
        self.explain_to(&who.identity(), message)
    }

    /// Returns the cause for which a message is denied; `None` if it is allowed.
    pub(super) fn cause(&self, who: &Identity<'_>, message: Message<'_>) -> Option<Cause> {
        let Message { flow, kind, key } = message;
        self.policy.judge(who, flow, Some(key)).cause(kind)
    }

    /// Explains the decision about a message of a neighbour with this identity.
    pub(super) fn explain_to(&self, who: &Identity<'_>, message: Message<'_>) -> Explanation {
        let fits = |subject: &AccessSubject| !fitting(subject, who).is_empty();
        let all = self.control().subjects().iter().enumerate();
        let all = all.filter(|(_, subject)| fits(subject));
        let fitting: BTreeSet<usize> = all.map(|(place, _)| place).collect();
        // The decision, then the rules behind it.
        let cause = self.cause(who, message);
        let is_open = self.control().default_permission() == Permission::Allow;
        let about = self.policy.about(who, message);
        let by = match cause {
            Some(denying) => denying.map(|rule| self.deciding(rule, &fitting)),
            None if is_open => None,
            None => self.allowing(&about),
        };
        let mut hints = Vec::new();
        if cause.is_some() {
            let denying = self.of(&about, Permission::Deny);
            hints.extend(self.hint_of_denials(&denying, message.kind));
            if !is_open && self.of(&about, Permission::Allow).is_empty() {
                hints.extend(self.hints(who, &fitting, message));
            }
        }
        Explanation {
            is_allowed: cause.is_none(),
            by,
            subjects: self.ids(&fitting),
            hints,
        }
    }

    /// Returns the rule that allows a message to a combination of subjects that no rule denies it.
    fn allowing(&self, about: &[About]) -> Option<DecidingRule> {
        about.iter().find_map(|one| {
            let one_only = std::slice::from_ref(one);
            let is_denied = !self.of(one_only, Permission::Deny).is_empty();
            let allows = self.of(one_only, Permission::Allow);
            let rule = allows.first().filter(|_| !is_denied)?;
            Some(self.deciding(*rule, &one.subjects))
        })
    }

    /// Returns the rules with a permission.
    fn of(&self, about: &[About], permission: Permission) -> BTreeSet<usize> {
        let rules = about.iter().flat_map(|one| one.rules.iter().copied());
        let has = |place: &usize| self.control().rules()[*place].permission() == permission;
        rules.filter(has).collect()
    }

    /// Returns a rule with the policies that apply it to one of these subjects.
    fn deciding(&self, rule: usize, fitting: &BTreeSet<usize>) -> DecidingRule {
        let (mut policies, mut subjects) = (Vec::new(), BTreeSet::new());
        let all = self.control().grants_of_rule(rule).iter();
        for grant in all.map(|place| &self.control().grants()[*place]) {
            let of_both = grant.subjects().iter().copied();
            let of_both: Vec<_> = of_both.filter(|one| fitting.contains(one)).collect();
            if !of_both.is_empty() {
                policies.push(grant.name().to_owned());
                subjects.extend(of_both);
            }
        }
        DecidingRule {
            rule: self.control().rules()[rule].id().to_owned(),
            policies,
            subjects: self.ids(&subjects),
        }
    }

    fn ids(&self, subjects: &BTreeSet<usize>) -> Vec<String> {
        let all = self.control().subjects().iter().enumerate();
        let all = all.filter(|(place, _)| subjects.contains(place));
        all.map(|(_, subject)| subject.id().to_owned()).collect()
    }

    fn hint_of_denials(&self, rules: &BTreeSet<usize>, kind: MessageKind) -> Option<String> {
        let names = rules.iter().map(|rule| self.control().rules()[*rule].id());
        let names: Vec<_> = names.map(|id| format!("{id:?}")).collect();
        (!names.is_empty()).then(|| {
            format!(
                "a denial wins over the other rights of the same subjects: take {} or the key out of {}",
                kind.name(),
                names.join(" and ")
            )
        })
    }

    /// Returns hints for a message that no rule allows.
    fn hints(
        &self,
        who: &Identity<'_>,
        fitting: &BTreeSet<usize>,
        message: Message<'_>,
    ) -> Vec<String> {
        let mut hints = Vec::new();
        if fitting.is_empty() {
            hints.extend(self.nearest_subject(who));
        }
        hints.extend(self.likeliest(fitting, message));
        let rules = self.control().rules().iter().enumerate();
        let near = rules.filter_map(|(place, rule)| self.near(place, rule, fitting, message));
        hints.extend(near.take(HINTS_MAX));
        if hints.is_empty() {
            let Message { kind, key, .. } = message;
            hints.push(format!(
                "no rule is about {} on {key}: add one",
                kind.name()
            ));
        }
        hints
    }

    /// Returns true if a policy applies a rule to one of these subjects.
    fn is_applied(&self, place: usize, fitting: &BTreeSet<usize>) -> bool {
        let grants = self.control().grants_of_rule(place).iter();
        let mut grants = grants.map(|grant| &self.control().grants()[*grant]);
        grants.any(|grant| grant.subjects().iter().any(|one| fitting.contains(one)))
    }

    /// Names a rule of the neighbour's that allows such messages on another key which is nearly the
    /// same: one of the two may be misspelt.
    fn likeliest(&self, fitting: &BTreeSet<usize>, message: Message<'_>) -> Option<String> {
        let Message { flow, kind, key } = message;
        let wanted = key.as_str();
        let rules = self.control().rules().iter().enumerate();
        let own = rules.filter(|(place, rule)| {
            rule.permission() == Permission::Allow
                && rule.messages().contains(&kind)
                && rule.flows().contains(&flow)
                && self.is_applied(*place, fitting)
        });
        let keys = own.flat_map(|(_, rule)| rule.keys().iter().map(move |own| (rule, own)));
        let others = keys.filter(|(_, own)| !own.intersects(key));
        let is_short = |key: &str| key.len() <= COMPARED_LENGTH_MAX;
        let short = others.filter(|(_, own)| is_short(own.as_str()) && is_short(wanted));
        let steps = short
            .take(COMPARED_MAX)
            .map(|(rule, own)| (distance(own.as_str(), wanted), rule, own));
        let (steps, rule, own) = steps.min_by_key(|(steps, ..)| *steps)?;
        let id = rule.id();
        (steps <= 3.max(wanted.len() / 4))
            .then(|| format!("rule {id:?} allows it on {own}: is {key} meant, or misspelt?"))
    }

    /// Returns the reason for which a rule that nearly allows a message does not. Of rules that are
    /// not the neighbour's, only those that allow it otherwise are named.
    fn near(
        &self,
        place: usize,
        rule: &AccessRule,
        fitting: &BTreeSet<usize>,
        message: Message<'_>,
    ) -> Option<String> {
        let Message { flow, kind, key } = message;
        let meets = rule.keys().iter().find(|own| own.intersects(key))?;
        if rule.permission() == Permission::Deny {
            return None;
        }
        let (id, kind_name) = (rule.id(), kind.name());
        let includes = rule.keys().iter().any(|own| own.includes(key));
        let is_whole = includes && rule.messages().contains(&kind) && rule.flows().contains(&flow);
        if !is_whole && !self.is_applied(place, fitting) {
            return None;
        }
        if !rule.messages().contains(&kind) {
            let names: Vec<_> = rule.messages().iter().map(|kind| kind.name()).collect();
            let names = names.join(", ");
            return includes.then(|| {
                format!("rule {id:?} allows {names} on that key: add {kind_name} to its messages")
            });
        }
        if !includes {
            return Some(format!(
                "rule {id:?} allows it on {meets}, which does not include {key}"
            ));
        }
        if !rule.flows().contains(&flow) {
            let other = rule.flows().first().map_or("", |flow| flow.name());
            return Some(format!("rule {id:?} allows it at {other} only"));
        }
        let grants = self.control().grants_of_rule(place);
        let Some(grant) = grants.first().map(|first| &self.control().grants()[*first]) else {
            return Some(format!("rule {id:?} allows it, but no policy applies it"));
        };
        let of: BTreeSet<usize> = grant.subjects().iter().copied().collect();
        of.is_disjoint(fitting).then(|| {
            let subjects: Vec<_> = self.ids(&of).iter().map(|id| format!("{id:?}")).collect();
            format!(
                "rule {id:?} allows it to {} (policy {:?}), which the neighbour is not",
                subjects.join(", "),
                grant.name()
            )
        })
    }

    /// Returns the subject that fits a neighbour but for the fewest lists, and these lists. Of
    /// several, the one counts of which most lists fit.
    fn nearest_subject(&self, who: &Identity<'_>) -> Option<String> {
        let of = |subject: &AccessSubject| {
            let lists = lists(subject, who).into_iter().flatten();
            let (fitting, missing): (Vec<_>, Vec<_>) = lists.partition(|list| list.fits);
            (missing, Reverse(fitting.len()), subject.id().to_owned())
        };
        let all = self.control().subjects().iter().map(of);
        let (missing, _, id) = all.min_by_key(|(missing, fitting, _)| (missing.len(), *fitting))?;
        let names: Vec<_> = missing.iter().map(|list| list.name).collect();
        Some(format!(
            "no subject fits the neighbour; {id:?} would, but for its {}",
            names.join(" and ")
        ))
    }
}

/// List of a subject.
struct List {
    name: &'static str,
    /// True if one of its items is one of the neighbour's.
    fits: bool,
}

/// Returns the lists that a subject has.
fn lists(subject: &AccessSubject, who: &Identity<'_>) -> [Option<List>; 5] {
    let of_texts = |name, listed: Option<&[String]>, own: &[String]| {
        let fits = listed?.iter().any(|item| own.contains(item));
        Some(List { name, fits })
    };
    let user: Vec<String> = who.user.into_iter().map(str::to_owned).collect();
    let zids = subject.zids().map(|zids| List {
        name: "zids",
        fits: who.zid.is_some_and(|zid| zids.contains(&zid)),
    });
    [
        of_texts("interfaces", subject.interfaces(), who.interfaces),
        of_texts(
            "cert_common_names",
            subject.cert_common_names(),
            who.cert_names,
        ),
        of_texts("usernames", subject.usernames(), &user),
        of_texts("link_protocols", subject.link_protocols(), who.protocols),
        zids,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonda_codec::KeyExpr;

    use crate::config::{Config, Flow};

    const PARTS: &str = "{enabled: true,
        rules: [
            {id: 'data', permission: 'allow', messages: ['put', 'declare_subscriber'], key_exprs: ['demo/**']},
            {id: 'secret', permission: 'deny', messages: ['put'], key_exprs: ['demo/secret']},
            {id: 'narrow', permission: 'allow', messages: ['query'], key_exprs: ['svc/one']},
            {id: 'way', permission: 'allow', messages: ['reply'], flows: ['egress'], key_exprs: ['svc/**']},
            {id: 'others', permission: 'allow', messages: ['delete'], key_exprs: ['other/**']},
            {id: 'unused', permission: 'allow', messages: ['put'], key_exprs: ['free/**']}],
        subjects: [{id: 's', usernames: ['u1']}, {id: 't', usernames: ['u2'], interfaces: ['eth0']}],
        policies: [{id: 'p', rules: ['data', 'secret', 'narrow', 'way'], subjects: ['s']},
                   {id: 'q', rules: ['others'], subjects: ['t']}]}";

    fn rules() -> Rules {
        let config = Config::router().with("access_control", PARTS);
        let control = config.settings().access_control();
        Rules::new(control.expect("it is complete").expect("it is on"))
    }

    fn explained(user: &str, kind: MessageKind, key: &str) -> Explanation {
        let who = Neighbour {
            user: Some(user.into()),
            ..Neighbour::default()
        };
        let (flow, key) = (Flow::Ingress, KeyExpr::new(key).expect("a key"));
        let key = &key;
        rules().explain(&who, Message { flow, kind, key })
    }

    #[test]
    fn the_deciding_rule_is_named_with_policy_and_subject() {
        let allowed = explained("u1", MessageKind::Put, "demo/a");
        assert!(allowed.is_allowed && allowed.hints.is_empty());
        let by = DecidingRule {
            rule: "data".into(),
            policies: vec!["p".into()],
            subjects: vec!["s".into()],
        };
        assert_eq!(allowed.by, Some(by));
        let denied = explained("u1", MessageKind::Put, "demo/secret");
        assert!(!denied.is_allowed);
        assert_eq!(denied.by.map(|by| by.rule).as_deref(), Some("secret"));
        assert!(denied.hints[0].contains("take put or the key out of \"secret\""));
    }

    #[test]
    fn the_subject_that_allows_it_is_named_and_no_other() {
        let parts = "{enabled: true,
            rules: [{id: 'yes', permission: 'allow', messages: ['put'], key_exprs: ['a']},
                    {id: 'no', permission: 'deny', messages: ['put'], key_exprs: ['a']}],
            subjects: [{id: 's', usernames: ['u1']}, {id: 't', interfaces: ['lo']}],
            policies: [{rules: ['yes'], subjects: ['s', 't']}, {rules: ['no'], subjects: ['s']}]}";
        let explain = |default: &str| {
            let config = Config::router().with("access_control", parts);
            let config = config.with("access_control/default_permission", default);
            let control = config.settings().access_control();
            let rules = Rules::new(control.expect("it is complete").expect("it is on"));
            let who = Neighbour {
                user: Some("u1".into()),
                interfaces: vec!["lo".into()],
                ..Neighbour::default()
            };
            let (flow, kind) = (Flow::Ingress, MessageKind::Put);
            let key = &KeyExpr::new("a").expect("a key");
            rules.explain(&who, Message { flow, kind, key })
        };
        let by = explain("'deny'").by.expect("a rule");
        assert_eq!(
            (by.rule.as_str(), by.subjects),
            ("yes", vec!["t".to_owned()])
        );
        // With the default to allow, no rule is needed.
        let open = explain("'allow'");
        assert!(open.is_allowed && open.by.is_none(), "{open:?}");
    }

    #[test]
    fn a_hint_names_what_is_missing() {
        for (user, kind, key, hint) in [
            (
                "u1",
                MessageKind::Put,
                "**",
                "rule \"data\" allows it on demo/**, which does not include **",
            ),
            (
                "u1",
                MessageKind::Delete,
                "demo/a",
                "add delete to its messages",
            ),
            (
                "u1",
                MessageKind::Reply,
                "svc/one",
                "rule \"way\" allows it at egress only",
            ),
            (
                "u1",
                MessageKind::Delete,
                "other/a",
                "allows it to \"t\" (policy \"q\"), which the neighbour is not",
            ),
            ("u1", MessageKind::Put, "free/a", "no policy applies it"),
            (
                "u1",
                MessageKind::Put,
                "demos/a",
                "rule \"data\" allows it on demo/**: is demos/a meant, or misspelt?",
            ),
            (
                "u1",
                MessageKind::Put,
                "nothing",
                "no rule is about put on nothing",
            ),
            (
                "u2",
                MessageKind::Delete,
                "other/a",
                "\"t\" would, but for its interfaces",
            ),
            (
                "u3",
                MessageKind::Put,
                "demo/a",
                "\"s\" would, but for its usernames",
            ),
        ] {
            let found = explained(user, kind, key);
            assert!(!found.is_allowed && found.by.is_none(), "{key}: {found:?}");
            assert!(
                found.hints.iter().any(|one| one.contains(hint)),
                "{hint}: {found:?}"
            );
        }
    }
}
