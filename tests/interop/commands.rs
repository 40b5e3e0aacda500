// SPDX-License-Identifier: MIT OR Apache-2.0
//! The commands `zonda pub`, `sub`, `put`, `delete`, `get`, `queryable`, `live` and `info`, each
//! with `--json`, at the reference's router. `zonda scout` is tested in `scouting`.

use serde_json::{Value, json};

use crate::environment::python;
use crate::party::{Party, Setup};
use crate::program::{Running, run, zonda};
use crate::questions::Conditions;
use crate::router::Router;
use crate::wait::until;

/// A client of their router, as which commands run.
struct Client<'a>(&'a Router);

impl Client<'_> {
    fn words<'w>(&'w self, command: &'w str) -> Vec<&'w str> {
        let connection = ["--json", "-m", "client", "-e", &self.0.endpoint];
        command.split(' ').chain(connection).collect()
    }

    /// Runs it to its end; returns its output.
    fn run(&self, command: &str) -> Vec<Value> {
        let ended = run(&zonda(), &self.words(command));
        assert_eq!((ended.code, &*ended.err), (Some(0), ""), "{command}");
        ended.out.lines().map(object).collect()
    }

    /// Starts a command; returns once it has connected.
    fn start(&self, command: &str) -> Running {
        let mut running = Running::start(&zonda(), &self.words(command));
        assert_eq!(object(&running.line())["event"], "ready", "{command}");
        running
    }
}

fn object(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn next(running: &mut Running) -> Value {
    object(&running.line())
}

/// Opens a session of ours at the same router, to observe when the router knows of a command.
fn beside(router: &Router) -> Party {
    Party::Ours(Setup::client(&router.endpoint).ours())
}

#[test]
fn values_pass_through_their_router() {
    if python().is_none() {
        return;
    }
    let router = Router::theirs();
    let client = Client(&router);
    let mut sub = client.start("sub -k commands/** -n 4");
    beside(&router).matched_publisher("commands/a");
    assert_eq!(client.run("put -k commands/a -p one").len(), 1);
    assert_eq!(
        client
            .run("pub -k commands/b -p two -n 2 --interval 0")
            .len(),
        2
    );
    assert_eq!(client.run("delete -k commands/a").len(), 1);
    let came: Vec<Value> = (0..4).map(|_| next(&mut sub)).collect();
    let came: Vec<(&Value, &Value)> = came.iter().map(|v| (&v["kind"], &v["key"])).collect();
    let (a, b) = (json!("commands/a"), json!("commands/b"));
    let (put, delete) = (json!("PUT"), json!("DELETE"));
    assert_eq!(came, [(&put, &a), (&put, &b), (&put, &b), (&delete, &a)]);
    assert_eq!(sub.end().code(), Some(0));
    assert_eq!(router.complaints(), [""; 0]);
}

#[test]
fn questions_pass_through_their_router() {
    if python().is_none() {
        return;
    }
    let router = Router::theirs();
    let client = Client(&router);
    let _queryable = client.start("queryable -k commands/answer -p 42");
    let querier = beside(&router).querier("commands/answer", Conditions::default());
    until("the queryable is known", || querier.is_matched());
    let replies = client.run("get -s commands/*");
    assert_eq!(replies.len(), 1, "{replies:?}");
    assert_eq!(replies[0]["key"], "commands/answer", "{replies:?}");
    assert_eq!(replies[0]["payload"], "42", "{replies:?}");
    assert_eq!(router.complaints(), [""; 0]);
}

#[test]
fn tokens_are_seen_through_their_router() {
    if python().is_none() {
        return;
    }
    let router = Router::theirs();
    let client = Client(&router);
    let mut watching = client.start("live -k commands/* -n 2");
    let mut alive = client.start("live --token commands/t");
    let told = |event: &str| json!({"event": event, "key": "commands/t"});
    assert_eq!(next(&mut watching), told("alive"));
    assert_eq!(client.run("live --get -k commands/*"), [told("alive")]);
    let mut late = client.start("live --history -k commands/* -n 1");
    assert_eq!(next(&mut late), told("alive"));
    alive.stop();
    assert_eq!(next(&mut watching), told("gone"));
    assert_eq!(watching.end().code(), Some(0));
    assert_eq!(router.complaints(), [""; 0]);
}

#[test]
fn info_names_their_router() {
    if python().is_none() {
        return;
    }
    let router = Router::theirs();
    let told = Client(&router).run("info");
    let link = &told[0]["links"][0];
    assert_eq!(
        (&link["zid"], &link["role"]),
        (&json!(router.zid), &json!("router"))
    );
    assert_eq!(told[0]["unreached"], json!([]));
    assert_eq!(router.complaints(), [""; 0]);
}

crate::environment::against_older! {
    values_pass_through_their_router
    questions_pass_through_their_router
    tokens_are_seen_through_their_router
    info_names_their_router
}
