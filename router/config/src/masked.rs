// SPDX-License-Identifier: MIT OR Apache-2.0

//! Masking of texts that should have been a key, or a key and its value, and that may have a secret
//! in the wrong place.

use zonda_codec::masked;

use crate::{
    keys,
    kind::{Key, Kind},
    rows::{ROWS, SECRETS},
};

/// Placeholder for a part that is not shown.
const REST: &str = "…";

/// Maximum length of an unknown key's name that is shown in a section with secrets: a private key
/// in base64 is longer.
const NAME_BYTES_MAX: usize = 40;

/// Returns the part of a written key that cannot be a secret: up to a character that no key has,
/// and not beyond a secret key. In sections with secrets, unknown keys are shown only if they have
/// the form of a name.
pub fn key(written: &str) -> String {
    let written = written.trim().trim_matches('/');
    let end = written
        .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '/' | '-' | '.'))
        .unwrap_or(written.len());
    let (path, rest) = written.split_at(end);
    let path = path.trim_end_matches('/');
    // Nothing behind a secret key is shown, and in its section only names.
    for secret in SECRETS {
        if path
            .strip_prefix(secret)
            .is_some_and(|more| !more.is_empty())
        {
            return format!("{secret}{REST}");
        }
        let section = section_of(secret);
        let inside = path
            .strip_prefix(section)
            .and_then(|more| more.strip_prefix('/'));
        if inside.is_some_and(|name| !is_name(name)) && !looks_known(path) {
            return format!("{section}/{REST}");
        }
    }
    match rest.is_empty() {
        true => path.to_owned(),
        false => format!("{path}{REST}"),
    }
}

fn section_of(key: &str) -> &str {
    key.rsplit_once('/').map_or("", |(section, _)| section)
}

/// Returns true if a text has the form of a key's name: words of letters, joined by `_`.
fn is_name(text: &str) -> bool {
    text.len() <= NAME_BYTES_MAX && text.chars().all(|c| c.is_ascii_alphabetic() || c == '_')
}

/// Masks a text without a `:`, whose front may not be a key at all. A known key is shown with the
/// text behind it if it holds no secret and no section with secrets is named.
pub fn argument(written: &str) -> String {
    let shown = key(written);
    let path = shown.trim_end_matches(REST).trim_end_matches('/');
    if path.is_empty() || !(keys::is_section(path) || looks_known(path)) {
        return REST.to_owned();
    }
    let may_hold_secret = |secret: &&str| written.contains(section_of(secret));
    let is_plain = keys::find(path).is_some_and(|key| key.kind.of_one_role() != Kind::Tree);
    match is_plain && !SECRETS.iter().any(may_hold_secret) {
        true => masked(written.trim()).into_owned(),
        false => shown,
    }
}

/// Returns a member's name if it is part of a known key.
pub fn name(written: &str) -> Option<&str> {
    let is_part = |key: &Key| key.path.split('/').any(|part| part == written);
    ROWS.iter().any(is_part).then_some(written)
}

fn looks_known(path: &str) -> bool {
    keys::find(path).is_some() || keys::subtree_of(path).is_some() || keys::resembles(path)
}

/// Returns true if a text names a secret key, so that the text near it may be a secret.
pub fn names_secret(text: &str) -> bool {
    SECRETS.iter().any(|secret| text.contains(secret))
}

#[cfg(test)]
mod tests {
    use crate::{Config, Examined, Sources, rows::SECRETS};

    const SECRET: &str = "hunter2";

    /// Forms of an argument: `KEY` stands for the key, `SECTION` for its section, `SECRET` for its
    /// value.
    const ARGUMENTS: &[&str] = &[
        "KEY:SECRET",
        "KEY:'SECRET'",
        "KEY=SECRET",
        "KEY='SECRET'",
        "KEY SECRET",
        "KEY:'SECRET",
        "KEY:\"SECRET'",
        "KEY:[SECRET]",
        "KEY:['SECRET']",
        "KEY:{SECRET: 1}",
        "KEY:{'SECRET': 1}",
        "KEY:{'SECRET'}",
        "KEY:12SECRET",
        "KEY:-SECRET",
        "KEY:0xSECRET",
        "KEY:'a'SECRET",
        "KEY:'a' SECRET",
        "KEY:'a\\uSECRET'",
        "KEY:true SECRET",
        "KEY/SECRET:1",
        "KEY/SECRET",
        "KEYSECRET:1",
        "/KEY/=SECRET:1",
        "KEY=tcp://SECRET",
        "KEY=tcp/SECRET:7447",
        "SECTION/SECRET:'x'",
        "SECTION:SECRET",
        "SECTION:'SECRET'",
        "SECTION:{SECRET:'x'}",
        "SECTION:{SECRET}",
        "SECTION=SECRET",
        ":{KEY:SECRET}",
        ":{'KEY':SECRET}",
        ":{'KEY':'SECRET}",
        ":SECRET",
        "SECRET",
    ];

    /// Texts of several values; each secret in them alone is masked.
    const ENVIRONMENT: &[&str] = &[
        "mode:'peer',KEY:'SECRET'",
        "mode:'peer' KEY:'SECRET'",
        "mode:'peer';KEY:'SECRET",
        "mode:'peer';KEY=SECRET",
        "KEY:'SECRET',mode:'peer'",
        "KEY:'a';SECRET",
        "KEY:'a';;SECRET",
        "KEY:'a'SECRET;mode:'peer'",
    ];

    const FILE: &[&str] = &[
        "{ 'KEY': SECRET }",
        "{ SECTION { SECRET } }",
        "{ NAME: SECRET }",
        "{ NAME: 'SECRET }",
        "{ NAME: 'SECRET' SECRET }",
        "{ NAME 'SECRET' }",
        "{ 'SECRET' }",
        "{ 'SECRET': 1 }",
        "{ SECRET: 'NAME' }",
        "{ NAME: ['SECRET'] }",
        "{ NAME: { SECRET: 1 } }",
        "{ NAME: 3SECRET }",
        "'SECRET'",
        "SECRET",
        "['SECRET']",
    ];

    fn written(form: &str, key: &str) -> String {
        let (section, name) = key.rsplit_once('/').expect("it is in a section");
        let form = form.replace("KEY", key).replace("SECTION", section);
        form.replace("NAME", name).replace("SECRET", SECRET)
    }

    /// Returns all lines that a program may print about the configuration.
    fn said(examined: &Examined) -> String {
        let mut all = examined.lines(&[], false);
        all.extend(examined.lines(&[], true));
        all.extend(examined.problems.iter().map(|p| format!("{p:?}")));
        let config: &Config = &examined.config;
        all.extend(
            config
                .effective()
                .iter()
                .map(|e| e.to_string() + &e.to_json()),
        );
        all.extend(
            config
                .settings()
                .link_options()
                .err()
                .map(|e| e.to_string()),
        );
        all.push(format!("{config} {config:?}"));
        all.concat()
    }

    #[track_caller]
    fn is_silent(examined: &Examined, form: &str) {
        let said = said(examined);
        assert!(!said.contains(SECRET), "{form} was repeated: {said}");
    }

    #[test]
    fn no_form_of_a_secret_is_repeated() {
        // Arguments and environment variables of one value.
        let folder = std::env::temp_dir().join(format!("zonda-masked-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder of one's own");
        let file = folder.join("node.json5");
        for key in SECRETS {
            for form in ARGUMENTS {
                let argument = [written(form, key)];
                let by_flag = Sources {
                    arguments: &argument,
                    ..Sources::default()
                };
                is_silent(&by_flag.examine(), form);
                let environment = Some(written(form, key));
                is_silent(
                    &Sources {
                        environment,
                        ..Sources::default()
                    }
                    .examine(),
                    form,
                );
            }
            // Environment variables of several values.
            for form in ENVIRONMENT {
                let environment = Some(written(form, key));
                is_silent(
                    &Sources {
                        environment,
                        ..Sources::default()
                    }
                    .examine(),
                    form,
                );
            }
            // Files, with the section nested as deep as its path.
            let (section, _) = key.rsplit_once('/').expect("it is in a section");
            for form in FILE {
                let mut text = written(form, key);
                for part in section.rsplit('/') {
                    text = format!("{{ {part}: {text} }}");
                    std::fs::write(&file, &text).expect("a file of one's own");
                    let by_file = Sources {
                        file: Some(file.clone()),
                        ..Sources::default()
                    };
                    is_silent(&by_file.examine(), &text);
                }
            }
        }
        std::fs::remove_dir_all(&folder).expect("a folder of one's own");
    }

    #[test]
    fn what_is_no_secret_is_named() {
        use super::{argument, key, name};
        for (written, shown) in [
            ("connect/endpoint", "connect/endpoint"),
            ("connect/endpoints=tcp", "connect/endpoints…"),
            (
                "transport/auth/usrpwd/pasword",
                "transport/auth/usrpwd/pasword",
            ),
            (
                "transport/auth/usrpwd/password/x",
                "transport/auth/usrpwd/password…",
            ),
            ("transport/auth/usrpwd/hunter2", "transport/auth/usrpwd/…"),
            ("transport/link/tls/root_ca", "transport/link/tls/root_ca"),
            (
                "transport/link/tls/server_certificate=x",
                "transport/link/tls/server_certificate…",
            ),
        ] {
            assert_eq!(key(written), shown);
        }
        assert_eq!(argument("mode=peer"), "mode=peer");
        assert_eq!(
            argument("scouting/multicast/enabled=false"),
            "scouting/multicast/enabled=false"
        );
        assert_eq!(
            argument("connect/endpoints=['tls/h:1#listen_private_key_raw=x']"),
            "connect/endpoints=['tls/h:1#listen_private_key_raw=(hidden)']"
        );
        assert_eq!(argument("plugins=x"), "plugins…");
        assert_eq!(argument("hunter2"), "…");
        assert_eq!((name("mode"), name("hunter2")), (Some("mode"), None));
    }
}
