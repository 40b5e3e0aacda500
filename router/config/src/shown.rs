// SPDX-License-Identifier: MIT OR Apache-2.0

//! Values of the configuration in a form that may be shown: without passwords, private keys, and
//! anything below a member `private`, which marks secrets in the configurations of plugins.

use zonda_codec::masked;

use crate::{
    keys,
    rows::SECRETS,
    value::{Located, Value},
};

/// Placeholder for a value that is not shown.
const HIDDEN: &str = "(hidden)";

/// Words in names of members that are secrets in free-form sections, such as those of plugins.
const TELLING: [&str; 9] = [
    "password",
    "passwd",
    "secret",
    "token",
    "credential",
    "api_key",
    "apikey",
    "access_key",
    "private_key",
];

/// Returns the value of a key or section without secrets.
pub fn without_secrets(path: &str, value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        _ if is_secret(path) => Value::Text(HIDDEN.to_owned()),
        Value::Number(_) => value.clone(),
        Value::Text(text) => Value::Text(without_login(&masked(text))),
        Value::List(items) => {
            let shown = items.iter().map(|item| within(path, item));
            Value::List(shown.collect())
        }
        Value::Object(members) => {
            let shown = members.iter().map(|(name, member)| {
                let path = match path.is_empty() {
                    true => name.clone(),
                    false => format!("{path}/{name}"),
                };
                (name.clone(), within(&path, member))
            });
            Value::Object(shown.collect())
        }
    }
}

fn within(path: &str, item: &Located) -> Located {
    Located {
        value: without_secrets(path, &item.value),
        line: item.line,
    }
}

/// Returns true if the value at this path is a secret.
fn is_secret(path: &str) -> bool {
    let tells = |part: &str| {
        let part = part.to_lowercase();
        part == "private" || TELLING.iter().any(|word| part.contains(word))
    };
    SECRETS.contains(&path) || (keys::subtree_of(path).is_some() && path.split('/').any(tells))
}

/// Returns a text without the login in front of the host of a URL.
fn without_login(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let host_ends = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest.get(..host_ends).and_then(|host| host.rfind('@')) {
        Some(at) => format!("{scheme}://{HIDDEN}{}", rest.get(at..).unwrap_or("")),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, Sources};

    #[test]
    fn nothing_below_private_is_shown_anywhere() {
        // Secrets in a file, in arguments and in an endpoint.
        let file = std::env::temp_dir().join(format!("zonda-shown-{}.json5", std::process::id()));
        let text = "{ mode: 'router', metadata: { private: { note: 'hunter2' }, room: 'kitchen' },
            plugins: { storage_manager: {
            private: 'hunter2', password: 'hunter2', volumes: { influxdb: {
            url: 'db://bob:hunter2@db.example/api',
            private: { username: 'hunter2', token: 'hunter2', list: ['hunter2', 7] },
            backends: [{ private: { key: 'hunter2' } }] } } } } }";
        std::fs::write(&file, text).expect("a folder for temporary files");
        let arguments = [
            "plugins/rest/private/password:'hunter2'".to_owned(),
            "plugins/rest/api_token:'hunter2'".to_owned(),
            "transport/auth/usrpwd/user:'bob'".to_owned(),
            "transport/auth/usrpwd/password:'hunter2'".to_owned(),
            "connect/endpoints:['tls/h:1#connect_private_key_raw=hunter2']".to_owned(),
        ];
        let sources = Sources {
            file: Some(file.clone()),
            arguments: &arguments,
            ..Sources::default()
        };
        // No output of the configuration may have any of them.
        let examined = sources.examine();
        std::fs::remove_file(&file).expect("the file is ours");
        let config: &Config = &examined.config;
        let mut said = examined.lines(&[], false);
        for value in config.effective() {
            said.push(value.to_string());
            said.push(value.to_json());
        }
        said.push(format!("{config} {config:?}"));
        said.push(config.settings().metadata);
        let said = said.join("\n");
        assert!(!said.contains("hunter2"), "{said}");
        for shown in [
            "db://(hidden)@db.example/api",
            "kitchen",
            "plugins/rest/private/password",
        ] {
            assert!(said.contains(shown), "{shown}: {said}");
        }
    }
}
