// SPDX-License-Identifier: MIT OR Apache-2.0

//! The compiled rules, and their decision about a neighbour, a direction and a key.

use std::collections::{BTreeSet, HashMap};

use zonda_codec::KeyExpr;

use crate::{
    config::{AccessControl, AccessMode, AccessRule, Flow, MessageKind, Permission},
    filter::contract::Message,
};

use super::{
    identity::{Combination, Identity, fitting},
    key_index::KeyIndex,
};

/// Number of kinds of messages.
const KINDS: usize = MessageKind::ALL.len();

/// Rule that denies a message: its place in the list, or `None` if no rule allows it.
pub(super) type Cause = Option<usize>;

/// Kinds of messages that are denied, each with its cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Verdict([Option<Cause>; KINDS]);

impl Verdict {
    /// Creates the verdict of a default permission.
    fn by_default(permission: Permission) -> Verdict {
        Verdict([(permission == Permission::Deny).then_some(None); KINDS])
    }

    /// Returns the cause for which messages of a kind are denied; `None` if they pass.
    #[inline]
    pub(super) fn cause(&self, kind: MessageKind) -> Option<Cause> {
        self.0[kind as usize]
    }
}

/// The compiled access control of a node.
pub(super) struct Policy {
    control: AccessControl,
    keys: KeyIndex,
    /// Directions that are decided about, by their numbers.
    is_judged: [bool; 2],
}

impl Policy {
    pub(super) fn new(control: AccessControl) -> Policy {
        // the keys of rules that some policy applies
        let mut keys = KeyIndex::default();
        let denies = control.default_permission() == Permission::Deny;
        let mut is_judged = [denies; 2];
        let applied = control.rules().iter().enumerate();
        let is_applied = |number| !control.grants_of_rule(number).is_empty();
        for (number, rule) in applied.filter(|(number, _)| is_applied(*number)) {
            for key in rule.keys() {
                keys.insert(key.clone(), number);
            }
            for flow in rule.flows() {
                is_judged[*flow as usize] = true;
            }
        }
        Policy {
            control,
            keys,
            is_judged,
        }
    }

    /// Returns the rules as configured.
    pub(super) fn control(&self) -> &AccessControl {
        &self.control
    }

    /// Returns true if a subject names interfaces.
    pub(super) fn names_interfaces(&self) -> bool {
        let mut subjects = self.control.subjects().iter();
        subjects.any(|subject| subject.interfaces().is_some())
    }

    /// Decides about all messages on `key` between a neighbour and this node in one direction. A
    /// key that could not be resolved meets no rule, and is denied.
    pub(super) fn judge(
        &self,
        who: &Identity<'_>,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Verdict {
        // with the default to allow, a direction without a rule is not decided about
        if !self.is_judged[flow as usize] {
            return Verdict::default();
        }
        let Some(key) = key else {
            return Verdict::by_default(Permission::Deny);
        };
        // a neighbour that no subject fits has the default permission
        let combinations = self.combinations(who);
        if combinations.is_empty() {
            return Verdict::by_default(self.control.default_permission());
        }
        let rules = self.rules_about(flow, key);
        let rights: Vec<_> = combinations
            .values()
            .map(|grants| self.rights(&rules, grants))
            .collect();
        Verdict(MessageKind::ALL.map(|kind| self.denied(kind, &rights)))
    }

    /// Returns the rules that decide about a message to or from a neighbour if it may be denied: the
    /// combinations of its subjects, each with its policies and its rules about the message.
    pub(super) fn about(&self, who: &Identity<'_>, message: Message<'_>) -> Vec<About> {
        let Message { flow, kind, key } = message;
        let rules = self.rules_about(flow, key);
        let combinations = self.combinations(who).into_iter();
        let about = combinations.map(|(combination, grants)| {
            let subjects = self.control.subjects().iter().enumerate();
            let subjects =
                subjects.filter(|(_, subject)| fitting(subject, who).contains(&combination));
            let subjects = subjects.map(|(place, _)| place).collect();
            let is_about = |place: &usize| {
                let rule = self.control.rules().get(*place);
                let mut by = self.control.grants_of_rule(*place).iter();
                rule.is_some_and(|rule| rule.messages().contains(&kind))
                    && by.any(|grant| grants.binary_search(grant).is_ok())
            };
            let rules = rules.iter().copied().filter(is_about).collect();
            About {
                rules,
                grants,
                subjects,
            }
        });
        let mut about: Vec<_> = about.collect();
        about.sort_unstable();
        about
    }

    /// Returns the combinations of subjects that fit a neighbour, with the policies of each.
    fn combinations<'w>(&self, who: &Identity<'w>) -> HashMap<Combination<'w>, Vec<usize>> {
        let mut all = HashMap::new();
        for (place, subject) in self.control.subjects().iter().enumerate() {
            for combination in fitting(subject, who) {
                let of: &mut Vec<usize> = all.entry(combination).or_default();
                of.extend(self.control.grants_of_subject(place));
            }
        }
        for grants in all.values_mut() {
            grants.sort_unstable();
        }
        all
    }

    /// Returns the rules for a direction and a key, in ascending order. In the mode strict, and for
    /// the configuration of several nodes, a rule that denies is for each key that one of its own
    /// intersects.
    fn rules_about(&self, flow: Flow, key: &KeyExpr<'_>) -> Vec<usize> {
        let rule = |place: &usize| self.control.rules().get(*place);
        let is_in = |rule: &AccessRule| rule.flows().contains(&flow);
        let mut about = self.keys.including(key);
        if self.control.mode() == AccessMode::Strict || is_configuration_of_several(key) {
            let denies = |rule: &AccessRule| rule.permission() == Permission::Deny;
            let wider = self.keys.intersecting(key).into_iter();
            about.extend(wider.filter(|place| rule(place).is_some_and(denies)));
            about.sort_unstable();
            about.dedup();
        }
        about.retain(|place| rule(place).is_some_and(is_in));
        about
    }

    /// Returns what the rules of some policies allow and deny, of the given rules.
    fn rights(&self, rules: &[usize], grants: &[usize]) -> Rights {
        let mut rights = Rights::default();
        for &place in rules {
            let Some(rule) = self.control.rules().get(place) else {
                continue;
            };
            let mut by = self.control.grants_of_rule(place).iter();
            if !by.any(|grant| grants.binary_search(grant).is_ok()) {
                continue;
            }
            for &kind in rule.messages() {
                let side = match rule.permission() {
                    Permission::Allow => &mut rights.allowed[kind as usize],
                    Permission::Deny => &mut rights.denied[kind as usize],
                };
                side.get_or_insert(place);
            }
        }
        rights
    }

    /// Returns the cause for which a kind of message is denied to a neighbour with these rights.
    fn denied(&self, kind: MessageKind, rights: &[Rights]) -> Option<Cause> {
        let of_rule = rights
            .iter()
            .filter_map(|one| one.denied[kind as usize])
            .min();
        if self.control.mode() == AccessMode::Strict && of_rule.is_some() {
            return Some(of_rule);
        }
        // the first combination that allows it decides
        let by_default = self.control.default_permission() == Permission::Allow;
        let is_allowed = rights.iter().any(|one| {
            let is_denied = one.denied[kind as usize].is_some();
            !is_denied && (by_default || one.allowed[kind as usize].is_some())
        });
        (!is_allowed).then_some(of_rule)
    }
}

/// Returns true for `@/ID/ROLE/config/..` with a wildcard for the id or the role: a write there is one on
/// the key of each node that it names, so a denial for one of them counts.
fn is_configuration_of_several(key: &KeyExpr<'_>) -> bool {
    let mut chunks = key.as_str().split('/');
    let mut next = || chunks.next().unwrap_or_default();
    let (root, id, role, section) = (next(), next(), next(), next());
    root == "@" && section == "config" && (id.contains('*') || role.contains('*'))
}

/// Policies of a combination of subjects, and their rules about a message.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct About {
    /// Places of the rules, in ascending order.
    pub(super) rules: Vec<usize>,
    /// Places of the policies, in ascending order.
    pub(super) grants: Vec<usize>,
    /// Places of the subjects.
    pub(super) subjects: BTreeSet<usize>,
}

/// First rule that allows and that denies each kind of message, for one combination.
#[derive(Debug, Default)]
struct Rights {
    allowed: [Option<usize>; KINDS],
    denied: [Option<usize>; KINDS],
}
