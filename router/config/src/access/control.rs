// SPDX-License-Identifier: MIT OR Apache-2.0

//! The whole of `access_control`, with the references between its parts resolved.

use std::collections::HashMap;

use crate::Settings;

use super::{AccessMode, AccessPolicy, AccessRule, AccessSubject, Permission};

/// Rules of one policy and the subjects that it applies them to, by their places in the lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessGrant {
    name: String,
    rules: Vec<usize>,
    subjects: Vec<usize>,
}

impl AccessGrant {
    /// The id of the policy, or its number in the list.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Places of its rules in the list of all rules.
    #[must_use]
    pub fn rules(&self) -> &[usize] {
        &self.rules
    }

    /// Places of its subjects in the list of all subjects.
    #[must_use]
    pub fn subjects(&self) -> &[usize] {
        &self.subjects
    }
}

/// A complete configuration of access control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessControl {
    default_permission: Permission,
    mode: AccessMode,
    judges_groups: bool,
    rules: Vec<AccessRule>,
    subjects: Vec<AccessSubject>,
    grants: Vec<AccessGrant>,
    of_rule: Vec<Vec<usize>>,
    of_subject: Vec<Vec<usize>>,
}

impl AccessControl {
    /// Creates the access control of a node without any right.
    #[must_use]
    pub fn closed() -> AccessControl {
        AccessControl {
            default_permission: Permission::Deny,
            mode: AccessMode::Normal,
            judges_groups: true,
            rules: Vec::new(),
            subjects: Vec::new(),
            grants: Vec::new(),
            of_rule: Vec::new(),
            of_subject: Vec::new(),
        }
    }

    /// The permission of messages that no rule decides about.
    #[must_use]
    pub fn default_permission(&self) -> Permission {
        self.default_permission
    }

    /// The way in which rules decide.
    #[must_use]
    pub fn mode(&self) -> AccessMode {
        self.mode
    }

    /// Returns true if it decides about the messages of multicast groups, too.
    #[must_use]
    pub fn judges_groups(&self) -> bool {
        self.judges_groups
    }

    /// All rules, also those that no policy applies.
    #[must_use]
    pub fn rules(&self) -> &[AccessRule] {
        &self.rules
    }

    /// All subjects, also those that no policy has.
    #[must_use]
    pub fn subjects(&self) -> &[AccessSubject] {
        &self.subjects
    }

    /// The policies.
    #[must_use]
    pub fn grants(&self) -> &[AccessGrant] {
        &self.grants
    }

    /// Places of the policies that apply the rule at `place`, in ascending order.
    #[must_use]
    pub fn grants_of_rule(&self, place: usize) -> &[usize] {
        self.of_rule.get(place).map_or(&[], Vec::as_slice)
    }

    /// Places of the policies that have the subject at `place`, in ascending order.
    #[must_use]
    pub fn grants_of_subject(&self, place: usize) -> &[usize] {
        self.of_subject.get(place).map_or(&[], Vec::as_slice)
    }
}

/// A key of access control that contradicts the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessProblem {
    pub(crate) key: &'static str,
    pub(crate) found: String,
    pub(crate) expected: String,
}

impl AccessProblem {
    /// Builds the problem of a list that is absent although access control is on.
    fn absent(key: &'static str, what: &str) -> AccessProblem {
        AccessProblem {
            key,
            found: "absent".into(),
            expected: format!(
                "a list of {what}, because access_control/enabled is true; an empty list is one"
            ),
        }
    }

    /// Builds the problem of a policy with a name that is not in `list`.
    fn unknown(policy: &str, name: &str, list: &str, known: &HashMap<&str, usize>) -> Self {
        let mut names: Vec<_> = known.keys().map(|name| format!("{name:?}")).collect();
        names.sort_unstable();
        names.truncate(NAMES_SHOWN);
        let known = match names.is_empty() {
            true => "which is empty".to_owned(),
            false => format!("such as {}", names.join(", ")),
        };
        AccessProblem {
            key: "access_control/policies",
            found: format!("not right ({policy}: {name:?} is not in access_control/{list})"),
            expected: format!("ids from that list, {known}"),
        }
    }
}

/// Most names in an error.
const NAMES_SHOWN: usize = 5;

impl Settings {
    /// Returns the access control of the node; `None` if it is off.
    ///
    /// # Errors
    /// A list is absent, or a policy has a name of no rule or no subject.
    pub fn access_control(&self) -> Result<Option<AccessControl>, AccessProblem> {
        if !self.access_enabled {
            return Ok(None);
        }
        let absent = AccessProblem::absent;
        let rules = self.access_rules.clone();
        let rules = rules.ok_or_else(|| absent("access_control/rules", "rules"))?;
        let subjects = self.access_subjects.clone();
        let subjects = subjects.ok_or_else(|| absent("access_control/subjects", "subjects"))?;
        let policies = self.access_policies.as_ref();
        let policies = policies.ok_or_else(|| absent("access_control/policies", "policies"))?;
        let grants = grants(policies, &rules, &subjects)?;
        Ok(Some(AccessControl {
            default_permission: self.access_default,
            mode: self.access_mode,
            judges_groups: self.access_judges_groups,
            of_rule: inverted(rules.len(), grants.iter().map(AccessGrant::rules)),
            of_subject: inverted(subjects.len(), grants.iter().map(AccessGrant::subjects)),
            rules,
            subjects,
            grants,
        }))
    }
}

/// Resolves the names in policies.
fn grants(
    policies: &[AccessPolicy],
    rules: &[AccessRule],
    subjects: &[AccessSubject],
) -> Result<Vec<AccessGrant>, AccessProblem> {
    let rules = places(rules.iter().map(AccessRule::id));
    let subjects = places(subjects.iter().map(AccessSubject::id));
    let each = policies.iter().enumerate();
    let resolve = |(number, policy): (usize, &AccessPolicy)| {
        let name = match &policy.id {
            Some(id) => id.clone(),
            None => format!("policy {}", number + 1),
        };
        let all = |names: &[String], list, known: &HashMap<&str, usize>| {
            let place = |one: &String| {
                let place = known.get(one.as_str()).copied();
                place.ok_or_else(|| AccessProblem::unknown(&name, one, list, known))
            };
            names.iter().map(place).collect::<Result<Vec<_>, _>>()
        };
        Ok(AccessGrant {
            rules: all(&policy.rules, "rules", &rules)?,
            subjects: all(&policy.subjects, "subjects", &subjects)?,
            name,
        })
    };
    each.map(resolve).collect()
}

/// Returns, for each of `count` places, the numbers of the lists that contain it, in ascending
/// order.
fn inverted<'l>(count: usize, lists: impl Iterator<Item = &'l [usize]>) -> Vec<Vec<usize>> {
    let mut of: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (number, places) in lists.enumerate() {
        for place in places {
            let numbers = &mut of[*place];
            // A list may have a place twice.
            if numbers.last() != Some(&number) {
                numbers.push(number);
            }
        }
    }
    of
}

fn places<'n>(names: impl Iterator<Item = &'n str>) -> HashMap<&'n str, usize> {
    names.enumerate().map(|(at, name)| (name, at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    const RULES: &str = "[{id: 'r', permission: 'allow', messages: ['put'], key_exprs: ['a']}]";

    fn config(policies: &str) -> Config {
        let text = format!(
            "{{\n access_control: {{\n enabled: true,\n rules: {RULES}, subjects: [{{id: 's'}}],\n policies: {policies} }} }}"
        );
        Config::from_json5(&text).expect("its parts are right")
    }

    #[test]
    fn policies_are_resolved() {
        let config = config(
            "[{rules: ['r'], subjects: ['s', 's']}, {id: 'p', rules: ['r'], subjects: ['s']}]",
        );
        assert_eq!(config.validate(), Ok(()));
        let access = config.settings().access_control();
        let access = access.expect("it is right").expect("it is on");
        assert_eq!(access.default_permission(), Permission::Deny);
        assert_eq!(access.mode(), AccessMode::Normal);
        assert!(!access.judges_groups());
        let [first, second] = access.grants() else {
            panic!("two policies")
        };
        assert_eq!((first.name(), second.name()), ("policy 1", "p"));
        assert_eq!((first.rules(), first.subjects()), (&[0][..], &[0, 0][..]));
        assert_eq!(access.grants_of_rule(0), [0, 1]);
        assert_eq!(access.grants_of_subject(0), [0, 1]);
        assert!(access.grants_of_rule(1).is_empty());
    }

    #[test]
    fn a_name_of_nothing_is_refused_with_its_place() {
        for (policies, said) in [
            (
                "[{rules: ['q'], subjects: ['s']}]",
                "policy 1: \"q\" is not in access_control/rules",
            ),
            (
                "[{id: 'p', rules: ['r'], subjects: ['r']}]",
                "p: \"r\" is not in access_control/subjects), expected ids from that list, such as \"s\"",
            ),
        ] {
            let error = config(policies).validate().expect_err(policies).to_string();
            assert!(
                error.starts_with("line 5: `access_control/policies` is not right"),
                "{error}"
            );
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn what_is_on_is_complete() {
        let lists = [("rules", RULES), ("subjects", "[]"), ("policies", "[]")];
        for (left_out, _) in lists {
            let mut config = Config::router().with("access_control/enabled", "true");
            for (list, value) in lists.iter().filter(|(list, _)| *list != left_out) {
                config = config.with(&format!("access_control/{list}"), value);
            }
            let error = config.validate().expect_err(left_out).to_string();
            let said = format!("`access_control/{left_out}` is absent, expected a list");
            assert!(error.contains(&said), "{error}");
            let off = config.with("access_control/enabled", "false");
            assert_eq!(off.validate(), Ok(()));
            assert_eq!(off.settings().access_control(), Ok(None));
        }
    }
}
