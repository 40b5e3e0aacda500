// SPDX-License-Identifier: MIT OR Apache-2.0

//! One policy of `access_control/policies`: the rules that apply to subjects.

use crate::{
    rule::{POLICY, members, named, text},
    value::Value,
};

use super::{list, name};

/// A policy, with the names of rules and subjects as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessPolicy {
    pub(super) id: Option<String>,
    pub(super) rules: Vec<String>,
    pub(super) subjects: Vec<String>,
}

/// Reads the policies of a value; `None` if it is null.
///
/// # Errors
/// The form that was expected instead of the first invalid item, in words.
pub fn policies(value: &Value) -> Result<Option<Vec<AccessPolicy>>, String> {
    list(POLICY, value, policy, |policy| policy.id.as_deref())
}

fn policy(value: &Value) -> Result<AccessPolicy, String> {
    let (mut id, mut rules, mut subjects) = (None, None, None);
    for (part, member) in members("", value)? {
        match part {
            "id" => id = Some(name(text(part, member)?)?),
            "rules" => rules = Some(named(part, &member.value, name)?),
            "subjects" => subjects = Some(named(part, &member.value, name)?),
            other => return Err(format!("{other:?} is none of id, rules, subjects")),
        }
    }
    Ok(AccessPolicy {
        id,
        rules: rules.ok_or("it has no rules")?,
        subjects: subjects.ok_or("it has no subjects")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json5;

    fn read(text: &str) -> Result<Option<Vec<AccessPolicy>>, String> {
        policies(&json5::parse(text).expect("it is JSON5").value)
    }

    #[test]
    fn a_policy_names_rules_and_subjects() {
        let policies = read(
            "[{rules: ['r'], subjects: ['s', 't']}, {id: 'p', rules: ['r'], subjects: ['s']}]",
        );
        let policies = policies.expect("they are policies").expect("a list");
        assert_eq!((&policies[0].id, policies[0].subjects.len()), (&None, 2));
        assert_eq!(policies[1].id.as_deref(), Some("p"));
    }

    #[test]
    fn each_fault_is_named() {
        for (text, said) in [
            ("{}", "a list of policies"),
            ("[{rules: ['r']}]", "policy 1: it has no subjects"),
            ("[{subjects: ['s']}]", "policy 1: it has no rules"),
            (
                "[{rules: [], subjects: ['s']}]",
                "rules is not a list with at least one",
            ),
            (
                "[{rules: ['r'], subjects: []}]",
                "subjects is not a list with at least",
            ),
            (
                "[{rules: ['r'], subjects: ['s'], who: 1}]",
                "\"who\" is none of id, rules",
            ),
            (
                "[{id: 'p', rules: ['r'], subjects: ['s']}, {id: 'p', rules: ['r'], subjects: ['s']}]",
                "policy 2: the id \"p\" is repeated",
            ),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
