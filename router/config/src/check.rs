// SPDX-License-Identifier: MIT OR Apache-2.0

//! Check of a value against the kind of its key, and readers of lists of endpoints.

use zonda_codec::{Endpoint, KeyExpr, WhatAmI, ZenohId, masked};
use zonda_runtime::{RuntimeKind, Scheduling};
use zonda_transport::dial::RetryPolicy;
use zonda_transport::link::{EndpointProblem, Protocol, check_options};

use crate::{
    access, downsampling,
    kind::Kind,
    low_pass, network, publication,
    rule::is_about_item,
    trusted, user_ids,
    value::{Located, Value},
    weights,
};

/// Longest name of a region, in bytes.
const REGION_NAME_BYTES_MAX: usize = 32;

/// The names under which a value may be given per role.
pub const ROLES: [&str; 3] = ["router", "peer", "client"];

/// Returns the members of a value given per role; `None` if `value` is not of that form.
pub fn per_role(value: &Value) -> Option<impl Iterator<Item = (&str, &Value)>> {
    match value {
        Value::Object(members) if members.iter().all(|(k, _)| ROLES.contains(&k.as_str())) => {
            Some(members.iter().map(|(k, v)| (k.as_str(), &v.value)))
        }
        _ => None,
    }
}

/// Checks a value against a kind.
///
/// # Errors
/// `(the value found, the form expected)`, in words.
pub fn check(kind: Kind, value: &Value) -> Result<(), (String, String)> {
    // A value per role: each member must be of the kind.
    if let Kind::PerRole(kind) = kind {
        let Some(members) = per_role(value) else {
            return check(*kind, value);
        };
        for (role, member) in members {
            check(*kind, member)
                .map_err(|(found, expected)| (format!("{found} for {role}"), expected))?;
        }
        return Ok(());
    }
    if *value == Value::Null {
        return Ok(());
    }
    // Rules and endpoints give an error more precise than the description of the kind.
    let expected = match fits(kind, value) {
        Ok(true) => return Ok(()),
        Ok(false) => in_words(kind),
        Err(precise) if is_about_item(&precise) => {
            return Err((format!("not right ({precise})"), in_words(kind)));
        }
        Err(precise) => match endpoint_that_is_none(kind, value) {
            Some(found) => return Err((found, precise)),
            None => precise,
        },
    };
    let found = match value {
        Value::List(_) | Value::Object(_) => value.kind().to_owned(),
        scalar => scalar.to_string(),
    };
    Err((found, expected))
}

/// Returns the first text in a list of endpoints that is not an endpoint, with its secrets masked.
fn endpoint_that_is_none(kind: Kind, value: &Value) -> Option<String> {
    let (Kind::Endpoints, Value::List(items)) = (kind, value) else {
        return None;
    };
    let of = |item: &Located| match &item.value {
        Value::Text(text) => parse_endpoint(text)
            .is_err()
            .then(|| format!("{:?}", masked(text))),
        Value::Object(members) => {
            let mut lists = members.iter().filter(|(name, _)| name == "locators");
            lists.find_map(|(_, list)| endpoint_that_is_none(kind, &list.value))
        }
        _ => None,
    };
    items.iter().find_map(of)
}

/// Returns true if `value` is of the kind; `Err` has the expected form, more precisely than
/// [`in_words`] could.
fn fits(kind: Kind, value: &Value) -> Result<bool, String> {
    // Typed views of the value, for the arms below.
    let text = match value {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    };
    let number = match value {
        Value::Number(number) => Some(*number),
        _ => None,
    };
    let list = match value {
        Value::List(items) => texts(items),
        _ => None,
    };
    Ok(match kind {
        // `check` has resolved the role already.
        Kind::PerRole(_) => false,
        Kind::Tree => true,
        Kind::Bool => matches!(value, Value::Bool(_)),
        Kind::Text => text.is_some(),
        Kind::Whole { min, max } => {
            number.is_some_and(|n| n.fract() == 0.0 && n >= min as f64 && n <= max as f64)
        }
        Kind::Factor => number.is_some_and(|n| n >= 1.0 && n.is_finite()),
        Kind::Choice(names) => text.is_some_and(|t| names.contains(&t)),
        Kind::Id => text.is_some_and(|t| t.parse::<ZenohId>().is_ok()),
        Kind::KeyText => text.is_some_and(|t| KeyExpr::try_from(t).is_ok() && !t.contains('*')),
        Kind::RegionName => text.is_some_and(|t| (1..=REGION_NAME_BYTES_MAX).contains(&t.len())),
        Kind::Runtime => text.is_some_and(|t| t.parse::<RuntimeKind>().is_ok()),
        Kind::Cpus => matches!(value, Value::List(_)) && cpus(value).is_some(),
        Kind::Scheduling => text.is_some_and(|t| t.parse::<Scheduling>().is_ok()),
        Kind::Texts => list.is_some(),
        Kind::KeyExprs => list.is_some_and(|keys| keys.iter().all(|k| KeyExpr::new(*k).is_ok())),
        Kind::Roles => list.is_some_and(|names| names.iter().all(|n| n.parse::<WhatAmI>().is_ok())),
        Kind::Downsampling => downsampling::list(value).map(|_| true)?,
        Kind::LowPass => low_pass::rules(value).map(|_| true)?,
        Kind::AccessRules => access::rules(value).map(|_| true)?,
        Kind::AccessSubjects => access::subjects(value).map(|_| true)?,
        Kind::AccessPolicies => access::policies(value).map(|_| true)?,
        Kind::Publications => publication::rules(value).map(|_| true)?,
        Kind::Network => network::rules(value).map(|_| true)?,
        Kind::Weights => weights::weights(value).map(|_| true)?,
        Kind::Trusted => trusted::trusted(value).map(|_| true)?,
        Kind::UserIds => user_ids::user_ids(value).map(|_| true)?,
        Kind::Endpoints => matches!(value, Value::List(_)) && endpoints(value).map(|_| true)?,
    })
}

/// Describes the values of a kind.
pub fn in_words(kind: Kind) -> String {
    match kind {
        Kind::Bool => "true or false".into(),
        Kind::Whole { min: -1, .. } => "a whole number from 0, or -1 for no limit".into(),
        Kind::Whole { min, max } if max >= 1 << 53 => format!("a whole number from {min}"),
        Kind::Whole { min, max } => format!("a whole number from {min} to {max}"),
        Kind::Factor => "a number of at least 1".into(),
        Kind::Text => "a text".into(),
        Kind::Texts => "a list of texts".into(),
        Kind::KeyExprs => "a list of key expressions such as [\"a/**\"]".into(),
        Kind::Choice(names) => format!("one of {}", names.join(", ")),
        Kind::Roles => "a list of router, peer, client".into(),
        Kind::Endpoints => "a list of endpoints such as [\"tcp/127.0.0.1:7447\"]".into(),
        Kind::Id => "1 to 32 hexadecimal digits, not zero, such as \"a1b2\"".into(),
        Kind::KeyText => "a key without wildcards".into(),
        Kind::RegionName => format!("a text of 1 to {REGION_NAME_BYTES_MAX} bytes"),
        Kind::Runtime => format!(
            "one of those compiled in: {}",
            RuntimeKind::available_names()
        ),
        Kind::Cpus => "a list of cpus such as [0, 1]".into(),
        Kind::Scheduling => {
            "inherit, fifo:1 to fifo:99, round-robin:1 to round-robin:99 or nice:-20 to nice:19"
                .into()
        }
        Kind::Downsampling => "a list of items such as [{messages: [\"put\"], rules: [{key_expr: \"a/**\", freq: 10}]}]".into(),
        Kind::LowPass => "a list of rules such as [{messages: [\"put\"], key_exprs: [\"a/**\"], size_limit: 1000}]".into(),
        Kind::AccessRules => "a list of rules such as [{id: \"r\", permission: \"allow\", messages: [\"put\"], key_exprs: [\"a/**\"]}]".into(),
        Kind::AccessSubjects => "a list of subjects such as [{id: \"s\", usernames: [\"u1\"]}]".into(),
        Kind::AccessPolicies => "a list of policies such as [{rules: [\"r\"], subjects: [\"s\"]}]".into(),
        Kind::Publications => "a list of rules such as [{key_exprs: [\"a/**\"], config: {priority: \"data_high\"}}]".into(),
        Kind::Network => "a list of rules such as [{messages: [\"put\"], key_exprs: [\"a/**\"], overwrite: {priority: \"data_high\"}}]".into(),
        Kind::Trusted => "a list of trusted routers such as [{users: [\"uplink\"]}]".into(),
        Kind::UserIds => "a list of users such as [{user: \"ann\", zids: [\"a1b2\"]}]".into(),
        Kind::Weights => "a list of weights such as [{dst_zid: \"a1b2\", weight: 10}]".into(),
        Kind::Tree => "any value".into(),
        Kind::PerRole(kind) => in_words(*kind),
    }
}

/// Returns the numbers of a list of cpus.
pub fn cpus(value: &Value) -> Option<Vec<usize>> {
    let Value::List(items) = value else {
        return None;
    };
    let cpu = |value: &Value| match value {
        Value::Number(n) if n.fract() == 0.0 && (0.0..=65535.0).contains(n) => Some(*n as usize),
        _ => None,
    };
    items.iter().map(|item| cpu(&item.value)).collect()
}

fn texts(items: &[Located]) -> Option<Vec<&str>> {
    if !items.iter().all(|i| as_text(&i.value).is_some()) {
        return None;
    }
    Some(items.iter().filter_map(|i| as_text(&i.value)).collect())
}

/// Returns the text of a text value.
pub fn as_text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(t) => Some(t),
        _ => None,
    }
}

/// Returns the endpoints of a list, including those of its groups.
///
/// # Errors
/// One line about the first element that is not an endpoint.
pub fn endpoints(value: &Value) -> Result<Vec<Endpoint>, String> {
    let groups = groups(value)?.into_iter();
    Ok(groups.flat_map(|group| group.endpoints).collect())
}

/// An element of a list of endpoints: a single endpoint, or a group `{strategy: .., locators:
/// [..]}`.
pub struct Group {
    pub endpoints: Vec<Endpoint>,
    /// True if the node connects to all endpoints of the group; false if one suffices.
    pub is_all: bool,
}

/// Returns the elements of a list of endpoints.
///
/// # Errors
/// The errors of [`endpoints`].
pub fn groups(value: &Value) -> Result<Vec<Group>, String> {
    let Value::List(items) = value else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for item in items {
        match &item.value {
            Value::Text(text) => {
                let endpoint = parse_endpoint(text).map_err(|e| format!("an endpoint: {e}"))?;
                found.push(Group {
                    endpoints: vec![endpoint],
                    is_all: false,
                });
            }
            Value::Object(_) => found.push(group(&item.value)?),
            other => return Err(format!("endpoints as texts (found {})", other.kind())),
        }
    }
    Ok(found)
}

fn group(value: &Value) -> Result<Group, String> {
    let expected = "groups of the form {strategy: \"allOf\" or \"oneOf\", locators: [..]}";
    let (mut is_all, mut found) = (None, None);
    let Value::Object(members) = value else {
        return Err(expected.into());
    };
    for (name, member) in members {
        match (name.as_str(), &member.value) {
            ("strategy", Value::Text(text)) if text == "oneOf" => is_all = Some(false),
            ("strategy", Value::Text(text)) if text == "allOf" => is_all = Some(true),
            ("locators", Value::List(items)) if texts(items).is_some() => {
                found = Some(endpoints(&member.value)?);
            }
            _ => return Err(expected.into()),
        }
    }
    match (is_all, found) {
        (Some(is_all), Some(endpoints)) => Ok(Group { endpoints, is_all }),
        _ => Err(expected.into()),
    }
}

/// Parses an endpoint that a user wrote. If this build has its protocol, the address must be valid,
/// and the options must exist for the protocol and have valid values; an endpoint of another
/// protocol must be well-formed only, because its use reports that the protocol is missing.
///
/// # Errors
/// The fault, in one line.
pub fn parse_endpoint(text: &str) -> Result<Endpoint, String> {
    let endpoint = text.parse::<Endpoint>().map_err(|e| e.to_string())?;
    check_options(&endpoint).map_err(|e| e.to_string())?;
    if let Ok(protocol) = Protocol::of(&endpoint) {
        check_parts(protocol, &endpoint).map_err(|e| e.to_string())?;
    }
    if endpoint.config().get(MUST_SUCCEED).is_some() && option_flag(&endpoint).is_none() {
        return Err(format!("option {MUST_SUCCEED} is neither true nor false"));
    }
    Ok(endpoint)
}

/// Names of the link protocols that this build has.
#[must_use]
pub fn link_kinds() -> Vec<&'static str> {
    Protocol::ALL.iter().map(|kind| kind.name()).collect()
}

fn check_parts(protocol: Protocol, endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    protocol.check(endpoint)?;
    RetryPolicy::default().with_endpoint(endpoint).map(|_| ())
}

/// The endpoint option that overrides the key of the same name.
const MUST_SUCCEED: &str = "exit_on_failure";

/// Returns the endpoint's own `exit_on_failure`, if it has one.
pub fn option_flag(endpoint: &Endpoint) -> Option<bool> {
    endpoint.config().get(MUST_SUCCEED)?.parse().ok()
}
