// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time-stamp stacks: nodes of both implementations record their times at the same points.

use std::sync::mpsc::channel;

use serde_json::{Value, json};
use zonda::timestamp_stack::{TimestampInstrumentation, TimestampInstrumentationBuilder};
use zonda::{Session, Wait};

use crate::environment;
use crate::message::{stack_named, stack_of};
use crate::party::{Party, Theirs};
use crate::scene::{self, Scene};
use crate::wait::{LONG, until};

const KEY: &str = "stacks/a";

fn every_point() -> TimestampInstrumentation {
    let builder = TimestampInstrumentationBuilder::new();
    let builder = builder.set_send(true).set_route(true).set_receive(true);
    builder.build().expect("points are chosen")
}

fn call(theirs: &Theirs, verb: &str, more: Value) -> Value {
    theirs.process.call(verb, theirs.command(more))
}

fn put(party: &Party) {
    match party {
        Party::Ours(session) => {
            let put = session.put(KEY, "value");
            put.timestamp_instrumentation(every_point())
                .wait()
                .expect("it is open");
        }
        Party::Theirs(theirs) => drop(call(theirs, "stack_put", json!({"key": KEY}))),
    }
}

/// Queries, and returns the stacks of the replies.
fn get(party: &Party) -> Vec<Vec<String>> {
    match party {
        Party::Ours(session) => {
            let get = session.get(KEY).timestamp_instrumentation(every_point());
            let replies = get.wait().expect("it is open");
            let stacks = replies.iter().map(|reply| {
                let sample = reply.into_result().expect("a sample");
                stack_named(sample.timestamp_stack().expect("a stack"))
            });
            stacks.collect()
        }
        Party::Theirs(theirs) => {
            let answer = call(theirs, "stack_get", json!({"key": KEY}));
            let stacks = answer["stacks"].as_array().expect("stacks").iter();
            stacks
                .map(|stack| stack_of(stack).expect("a stack"))
                .collect()
        }
    }
}

/// Declares a queryable that replies; the returned function returns the stack of the next query.
fn answer(party: &Party) -> Box<dyn Fn() -> Vec<String> + '_> {
    match party {
        Party::Ours(session) => Box::new(answer_ours(session)),
        Party::Theirs(theirs) => {
            let name = theirs.process.fresh("queryable");
            call(theirs, "stack_answer", json!({"name": name, "key": KEY}));
            Box::new(move || {
                let deadline = std::time::Instant::now() + LONG;
                let query = theirs.process.sample(&name, deadline).expect("a query");
                stack_of(&query).expect("a stack")
            })
        }
    }
}

fn answer_ours(session: &Session) -> impl Fn() -> Vec<String> + use<> {
    let (sender, receiver) = channel();
    let queryable = session.declare_queryable(KEY).callback(move |query| {
        let stack = stack_named(query.timestamp_stack().expect("a stack"));
        query.reply(KEY, "value").wait().expect("it waits");
        let _ = sender.send(stack);
    });
    queryable.background().wait().expect("it is open");
    move || receiver.recv_timeout(LONG).expect("a query")
}

/// Returns the records of a message on its way over these nodes.
fn way(nodes: &[String]) -> Vec<String> {
    let mut way: Vec<String> = nodes.iter().map(|node| format!("Route/{node}")).collect();
    way.insert(0, format!("Send/{}", nodes[0]));
    way.push(format!("Receive/{}", nodes[nodes.len() - 1]));
    way
}

fn stacks_are_those_of_the_way(scene: &Scene) {
    let mut nodes = vec![scene.from.zid()];
    nodes.extend(scene.router.as_ref().map(|router| router.zid.to_string()));
    nodes.push(scene.to.zid());
    let there = way(&nodes);
    let subscription = scene.to.subscribe(KEY);
    let publisher = scene.from.matched_publisher(KEY);
    put(&scene.from);
    assert_eq!(subscription.next().stack, Some(there.clone()));
    drop(publisher);

    let asked = answer(&scene.to);
    scene.settles();
    let stacks = get(&scene.from);
    assert_eq!(asked(), there);
    nodes.reverse();
    assert_eq!(stacks, [[there, way(&nodes)].concat()]);
    until("nothing is wrong", || scene.complaints().is_empty());
}

#[test]
fn stacks_pass_our_router() {
    if environment::python().is_some() {
        stacks_are_those_of_the_way(&scene::theirs_our_router_theirs());
        stacks_are_those_of_the_way(&scene::theirs_our_router_ours());
        stacks_are_those_of_the_way(&scene::ours_our_router_theirs());
    }
}

#[test]
fn stacks_pass_their_router() {
    if environment::python().is_some() {
        stacks_are_those_of_the_way(&scene::ours_their_router_ours());
    }
}

#[test]
fn stacks_pass_between_peers() {
    if environment::python().is_some() {
        stacks_are_those_of_the_way(&scene::ours_dials_theirs());
        stacks_are_those_of_the_way(&scene::theirs_dials_ours());
    }
}
