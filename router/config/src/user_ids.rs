// SPDX-License-Identifier: MIT OR Apache-2.0

//! The ids of users (`transport/auth/usrpwd/ids`).

use zonda_codec::ZenohId;

use crate::{
    rule::{id, members, named, text, unique_items},
    value::Value,
};

/// Reads the users of a list, each with its ids.
///
/// # Errors
/// The form that was expected instead of the first invalid item, in words.
pub fn user_ids(value: &Value) -> Result<Vec<(String, Vec<ZenohId>)>, String> {
    unique_items("user", value, one, |(user, _)| Some(user.as_str()))
}

fn one(value: &Value) -> Result<(String, Vec<ZenohId>), String> {
    let (mut user, mut zids) = (None, None);
    for (name, member) in members("", value)? {
        match name {
            "user" => user = Some(text(name, member)?.to_owned()),
            "zids" => zids = Some(named(name, &member.value, id)?),
            other => return Err(format!("{other:?} is neither user nor zids")),
        }
    }
    let user = user.ok_or("it has no user")?;
    Ok((user, zids.ok_or("it has no zids")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json5;

    #[test]
    fn users_have_ids() {
        let read = |text: &str| user_ids(&json5::parse(text).expect("JSON5").value);
        let found = read("[{user: 'ann', zids: ['a1', 'b2']}]").expect("it is valid");
        assert_eq!((found[0].0.as_str(), found[0].1.len()), ("ann", 2));
        for (text, said) in [
            ("{}", "a list of users"),
            ("[{user: 'ann'}]", "user 1: it has no zids"),
            ("[{zids: ['a1']}]", "user 1: it has no user"),
            ("[{user: 'ann', zids: []}]", "at least one"),
            ("[{user: 'ann', zids: ['x']}]", "\"x\" is no id"),
            ("[{user: 'ann', zid: 'a1'}]", "neither user nor zids"),
            (
                "[{user: 'ann', zids: ['a1']}, {user: 'ann', zids: ['b2']}]",
                "user 2: the id \"ann\" is repeated",
            ),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
