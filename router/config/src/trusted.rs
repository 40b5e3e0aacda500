// SPDX-License-Identifier: MIT OR Apache-2.0

//! The routers that a router accepts as routers (`routing/router/trusted`).

use zonda_codec::{Endpoint, ZenohId};

use crate::{
    rule::{id, members, named, texts},
    value::Value,
};

/// Routers that are trusted: those that meet all conditions of the item.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trusted {
    /// Node ids; `None` for any.
    pub zids: Option<Vec<ZenohId>>,
    /// Users as which the router has authenticated; `None` for any or none.
    pub users: Option<Vec<String>>,
    /// Names in the router's certificate, one of which suffices; `None` for any or none.
    pub cert_names: Option<Vec<String>>,
    /// Endpoints of this node that the router connects to; `None` for any.
    pub listeners: Option<Vec<Endpoint>>,
}

/// Reads the items of a value; `None` if it is null, which trusts every router.
///
/// # Errors
/// The form that was expected instead of the first invalid item, in words.
pub fn trusted(value: &Value) -> Result<Option<Vec<Trusted>>, String> {
    let items = match value {
        Value::Null => return Ok(None),
        Value::List(items) => items,
        _ => return Err("a list of trusted routers".into()),
    };
    let each = items.iter().enumerate();
    let read = each.map(|(number, item)| {
        let wrong = |what: String| format!("trusted routers (item {}: {what})", number + 1);
        one(&item.value).map_err(wrong)
    });
    read.collect::<Result<Vec<_>, _>>().map(Some)
}

fn one(value: &Value) -> Result<Trusted, String> {
    let mut trusted = Trusted::default();
    for (name, member) in members("", value)? {
        let value = &member.value;
        match name {
            "zids" => trusted.zids = Some(named(name, value, id)?),
            "users" => trusted.users = Some(texts(name, value)?),
            "cert_names" => trusted.cert_names = Some(texts(name, value)?),
            "listeners" => trusted.listeners = Some(named(name, value, endpoint)?),
            other => {
                return Err(format!(
                    "{other:?} is none of zids, users, cert_names, listeners"
                ));
            }
        }
    }
    match trusted == Trusted::default() {
        true => Err("it names neither zids nor users nor cert_names nor listeners".into()),
        false => Ok(trusted),
    }
}

fn endpoint(text: &str) -> Result<Endpoint, String> {
    text.parse().map_err(|_| format!("{text:?} is no endpoint"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json5;

    fn read(text: &str) -> Result<Option<Vec<Trusted>>, String> {
        trusted(&json5::parse(text).expect("JSON5").value)
    }

    #[test]
    fn a_list_is_read() {
        assert_eq!(read("null"), Ok(None));
        assert_eq!(read("[]"), Ok(Some(Vec::new())));
        let items = read("[{users: ['uplink']}, {zids: ['a1'], listeners: ['tls/[::]:7448']}]");
        let items = items.expect("two items").expect("a list");
        assert_eq!(items[0].users, Some(vec!["uplink".to_owned()]));
        assert_eq!(items[0].cert_names, None);
        let named = read("[{cert_names: ['r7.example', 'spiffe://a/r7']}]");
        let named = named.expect("an item").expect("a list");
        assert_eq!(named[0].cert_names.as_ref().map(Vec::len), Some(2));
        assert!(items[1].zids.is_some() && items[1].listeners.is_some());
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, wrong) in [
            ("'all'", "a list of trusted routers"),
            ("[{}]", "item 1: it names neither"),
            ("[{zids: ['x']}]", "is no id"),
            (
                "[{zids: ['a']}, {name: 'a'}]",
                "item 2: \"name\" is none of",
            ),
            ("[{listeners: ['7447']}]", "is no endpoint"),
            ("[{cert_names: []}]", "with at least one text"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(wrong), "{error}");
        }
    }
}
