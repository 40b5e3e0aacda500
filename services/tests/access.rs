// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rules of access control for the users of the REST interface.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use zonda::{Config, Wait};

use crate::served::{Answer, SOON, Served, alone_with, ask, started_on};

/// Headers of users, with the password or token `x`.
const ANN: &str = "Authorization: Basic YW5uOng=";
const BOB: &str = "Authorization: Basic Ym9iOng=";
const EVE: &str = "Authorization: Bearer evetoken";

const RULES: &str = "{
    enabled: true, default_permission: 'deny',
    rules: [
        {id: 'ask', permission: 'allow', messages: ['query'], flows: ['ingress'],
         key_exprs: ['demo/**']},
        {id: 'get', permission: 'allow', messages: ['reply', 'put', 'delete'], flows: ['egress'],
         key_exprs: ['demo/open/**']},
        {id: 'subscribe', permission: 'allow', messages: ['declare_subscriber'], flows: ['ingress'],
         key_exprs: ['demo/**']},
        {id: 'publish', permission: 'allow', messages: ['put', 'delete'], flows: ['ingress'],
         key_exprs: ['demo/**']},
        {id: 'not-secret', permission: 'deny', messages: ['put'], key_exprs: ['demo/secret']},
        {id: 'look', permission: 'allow', messages: ['query', 'reply'], key_exprs: ['@/**']},
    ],
    subjects: [
        {id: 'web', usernames: ['ann'], link_protocols: ['http']},
        {id: 'elsewhere', usernames: ['bob'], link_protocols: ['tcp']},
        {id: 'monitor', usernames: ['eve']},
    ],
    policies: [
        {rules: ['ask', 'get', 'subscribe', 'publish', 'not-secret'], subjects: ['web']},
        {rules: ['ask', 'get', 'subscribe', 'publish'], subjects: ['elsewhere']},
        {rules: ['look'], subjects: ['monitor']},
    ]}";

pub fn private_file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("zonda-access-{name}-{}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// Serves a node with the rules.
fn serve(name: &str) -> Served {
    let users = private_file(&format!("{name}-users"), "ann:x\nbob:x\n");
    let tokens = private_file(&format!("{name}-tokens"), "eve evetoken\n");
    let config = Config::peer()
        .with("services/http/listen", "'127.0.0.1:0'")
        .with("services/http/auth/dictionary_file", &format!("{users:?}"))
        .with("services/http/auth/token_file", &format!("{tokens:?}"));
    let session = alone_with("access_control", RULES);
    let served = started_on(&config, session).unwrap();
    for file in [users, tokens] {
        std::fs::remove_file(file).unwrap();
    }
    served
}

/// Answers each query below `demo` on these keys.
fn answering(served: &Served, keys: &'static [&'static str]) {
    let queryable = served.session.declare_queryable("demo/**");
    let mut queryable = queryable
        .callback(move |query| {
            for key in keys {
                // An error means that the query does not ask for this key.
                let _ = query.reply(*key, "value").wait();
            }
        })
        .wait()
        .unwrap();
    queryable.set_background(true);
}

fn denied(served: &Served) -> u64 {
    let samples = served.session.info().metrics();
    let text = zonda::session::openmetrics(&samples);
    let counts = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("zonda_access_control_denied_messages_total")?;
        rest.rsplit(' ').next()?.parse::<u64>().ok()
    });
    counts.sum()
}

#[test]
fn rules_name_the_users_of_requests_and_a_refusal_names_the_rule() {
    let served = serve("rules");
    answering(&served, &["demo/open/a", "demo/closed"]);
    let own = format!("{}/peer", served.session.zid());
    let metrics = "zonda_access_control_denied_messages";
    for (request, user, status, has) in [
        ("PUT /demo/a", ANN, 200, ""),
        ("PATCH /demo/a", ANN, 200, ""),
        ("DELETE /demo/a", ANN, 200, ""),
        ("PUT /demo/secret", ANN, 403, "by rule \"not-secret\""),
        ("PUT /elsewhere", ANN, 403, "no rule allows it"),
        ("PUT /demo/a", BOB, 403, "put on \"demo/a\""),
        ("DELETE /demo/a", BOB, 403, "delete on \"demo/a\""),
        ("GET /demo/open/a?_raw", ANN, 200, "value"),
        ("GET /demo/open/a", BOB, 403, "query on \"demo/open/a\""),
        ("POST /demo/open/a", EVE, 403, "query on \"demo/open/a\""),
        ("GET /demo/closed", ANN, 403, "reply on \"demo/closed\""),
        ("GET /metrics", ANN, 403, "query on \"@/"),
        ("GET /metrics", EVE, 200, metrics),
        ("GET /@page/updates", ANN, 403, "query on \"@/"),
        (&format!("GET /@/{own}"), EVE, 200, "[]"),
        (&format!("GET /@/{own}/trace"), EVE, 403, "zonda trace"),
    ] {
        let before = denied(&served);
        let answer = ask(&served, request, &[user], "");
        assert_eq!(answer.status, status, "{request} {user}: {}", answer.body);
        assert!(answer.body.contains(has), "{request}: {}", answer.body);
        let is_counted = status == 403 && !has.contains("trace");
        assert_eq!(denied(&served) - before, u64::from(is_counted), "{request}");
    }
    // A write of the configuration is a query with a body.
    let key = format!("POST /@/{own}/config/access_control/enabled");
    let write = ask(&served, &key, &[EVE], "false");
    assert_eq!(write.status, 403);
    assert!(write.body.contains("put on \"@/"), "{}", write.body);
    served.stop();
}

#[test]
fn a_user_gets_the_replies_and_events_that_the_rules_allow() {
    let served = serve("events");
    answering(&served, &["demo/open/a", "demo/closed"]);
    let all = ask(&served, "GET /demo/**", &[ANN], "");
    assert_eq!(all.status, 200);
    assert!(all.body.contains("demo/open/a") && !all.body.contains("demo/closed"));
    // Events: the next one after a closed one is an open one.
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let request = format!(
        "GET /demo/** HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{ANN}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.starts_with("retry:")));
    served.session.put("demo/closed", "1").wait().unwrap();
    served.session.put("demo/open/a", "2").wait().unwrap();
    let data = lines.find(|line| line.starts_with("data:")).unwrap();
    assert!(data.contains("demo/open/a"), "{data}");
    let events = ["Accept: text/event-stream", EVE];
    let refused: Answer = ask(&served, "GET /demo/**", &events, "");
    assert_eq!(refused.status, 403);
    let what = "declare_subscriber on \"demo/**\"";
    assert!(refused.body.contains(what), "{}", refused.body);
    served.stop();
}

#[test]
fn credentials_are_read_again_and_a_bad_file_keeps_the_old_ones() {
    let users = private_file("again", "ann:x\n");
    let config = Config::peer()
        .with("services/http/listen", "'127.0.0.1:0'")
        .with("services/http/auth/dictionary_file", &format!("{users:?}"));
    let served = crate::served::started(&config).unwrap();
    let status = |user: &str| ask(&served, "PUT /demo/a", &[user], "").status;
    assert_eq!((status(ANN), status(BOB)), (200, 401));
    std::fs::write(&users, "no colon\n").unwrap();
    let stays = served.running[0].reload_credentials().unwrap();
    let stays = stays.expect_err("a bad file");
    assert!(stays.contains("line 1") && !stays.contains('\n'), "{stays}");
    assert_eq!((status(ANN), status(BOB)), (200, 401));
    std::fs::write(&users, "bob:x\n").unwrap();
    assert_eq!(served.running[0].reload_credentials(), Some(Ok(1)));
    assert_eq!((status(ANN), status(BOB)), (401, 200));
    std::fs::remove_file(&users).unwrap();
    let stays = served.running[0].reload_credentials();
    assert!(stays.is_some_and(|stays| stays.is_err()));
    assert_eq!((status(ANN), status(BOB)), (401, 200));
    served.stop();
}
