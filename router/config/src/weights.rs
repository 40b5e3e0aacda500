// SPDX-License-Identifier: MIT OR Apache-2.0

//! The weights of links to other routers (`routing/router/linkstate/transport_weights`).

use zonda_codec::ZenohId;

use crate::{
    rule::{id, text},
    value::Value,
};

/// Reads the weights of a value, each with the router at the other end.
///
/// # Errors
/// The form that was expected instead of the first invalid weight, in words.
pub fn weights(value: &Value) -> Result<Vec<(ZenohId, u16)>, String> {
    let Value::List(items) = value else {
        return Err("a list of weights".into());
    };
    let mut weights: Vec<(ZenohId, u16)> = Vec::new();
    for (number, item) in items.iter().enumerate() {
        let at = |what: String| format!("weights (weight {}: {what})", number + 1);
        let (zid, weight) = weight(&item.value).map_err(at)?;
        if weights.iter().any(|(other, _)| *other == zid) {
            return Err(at(format!("{zid} has one already")));
        }
        weights.push((zid, weight));
    }
    Ok(weights)
}

fn weight(value: &Value) -> Result<(ZenohId, u16), String> {
    let Value::Object(members) = value else {
        return Err("is not an object".into());
    };
    let (mut zid, mut weight) = (None, None);
    for (name, member) in members {
        match name.as_str() {
            "dst_zid" => {
                zid = Some(id(text(name, member)?)?);
            }
            "weight" => weight = Some(number(&member.value)?),
            other => return Err(format!("{other:?} is not a part of a weight")),
        }
    }
    let zid = zid.ok_or("it has no dst_zid")?;
    Ok((zid, weight.ok_or("it has no weight")?))
}

fn number(value: &Value) -> Result<u16, String> {
    match value {
        Value::Number(n) if n.fract() == 0.0 && (1.0..=65535.0).contains(n) => Ok(*n as u16),
        other => Err(format!(
            "weight is {other}, not a whole number from 1 to 65535"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json5;

    fn read(text: &str) -> Result<Vec<(ZenohId, u16)>, String> {
        weights(&json5::parse(text).expect("it is JSON5").value)
    }

    #[test]
    fn weights_are_for_routers_by_their_ids() {
        let read_two = read("[{dst_zid: 'a1', weight: 7}, {weight: 65535, dst_zid: 'b2'}]");
        let weight = |zid: &str, weight| (zid.parse().expect("an id"), weight);
        assert_eq!(read_two, Ok(vec![weight("a1", 7), weight("b2", 65535)]));
        assert_eq!(read("[]"), Ok(vec![]));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            ("7", "a list of weights"),
            ("[7]", "weights (weight 1: is not an object)"),
            ("[{weight: 7}]", "weights (weight 1: it has no dst_zid)"),
            ("[{dst_zid: 'a1'}]", "weights (weight 1: it has no weight)"),
            (
                "[{dst_zid: 'a1', weight: 0}]",
                "weights (weight 1: weight is 0, not a whole number from 1 to 65535)",
            ),
            (
                "[{dst_zid: 'a1', weight: 1}, {dst_zid: 'a1', weight: 2}]",
                "weights (weight 2: a1 has one already)",
            ),
            (
                "[{dst_zid: 'x', weight: 1}]",
                "weights (weight 1: \"x\" is no id)",
            ),
        ] {
            assert_eq!(read(text), Err(expected.to_owned()), "{text}");
        }
    }
}
